#include "train/run/layer_units.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/schema.h"

static void add_unit(struct layer_units *u, size_t first, size_t last)
{
    u->units[u->n++] = (struct sliced_unit){first, last - first};
}

static void add_layers(struct layer_units *u, const struct weights *w, int begin)
{
    const int each = schema_tensors_per_layer(&w->view.config);
    for (int i = w->stage.n_chunks - 1; i >= 0; i--)
        for (int layer = w->stage.chunks[i].last - 1; layer >= w->stage.chunks[i].first; layer--) {
            u->of_layer[layer] = u->n;
            add_unit(u, w->offset[begin + layer * each], w->offset[begin + (layer + 1) * each]);
        }
}

static void turn_round(struct layer_units *u, int n_layer)
{
    for (int i = 0; i < u->n / 2; i++) {
        const struct sliced_unit first = u->units[i];
        u->units[i] = u->units[u->n - 1 - i];
        u->units[u->n - 1 - i] = first;
    }
    for (int i = 0; i < n_layer; i++)
        u->of_layer[i] = u->n - 1 - u->of_layer[i];
}

int layer_units_init(struct layer_units *u, const struct weights *w, enum layer_order order)
{
    const struct config *c = &w->view.config;
    const int begin = schema_first_of_layers(c),
              end = begin + c->n_layer * schema_tensors_per_layer(c);
    *u = (struct layer_units){.units = mem_array((size_t)c->n_layer + 2, sizeof *u->units),
                              .of_layer = mem_array((size_t)c->n_layer, sizeof *u->of_layer)};
    if (u->units == NULL || u->of_layer == NULL)
        return ERR_NOMEM;
    add_layers(u, w, begin);
    if (w->stage.ends) {
        add_unit(u, w->offset[end], w->n);
        add_unit(u, 0, w->offset[begin]);
    }
    if (order == UNITS_FORWARD)
        turn_round(u, c->n_layer);
    u->outside = order == UNITS_FORWARD && w->stage.ends ? 1 : u->n - 1;
    return 0;
}

void layer_units_release(struct layer_units *u)
{
    mem_free(u->units);
    mem_free(u->of_layer);
}

int layer_units_of(const struct layer_units *u, int layer)
{
    return layer < 0 ? u->outside : u->of_layer[layer];
}
