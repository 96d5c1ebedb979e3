#include "weights/hf/neo_config.h"

#include "model/base/err.h"
#include "model/base/json.h"

#include <string.h>

enum { SHOWN = 60 };

void neo_config_init(struct config *c)
{
    config_init(c);
    c->type = MODEL_GPT_NEO;
    c->n_layer = 24;
    c->n_head = 16;
    c->n_embd = 2048;
    c->n_ctx = 2048;
    c->window_size = 256;
    c->scale_attn_weights = false;
    c->embd_pdrop = c->attn_pdrop = c->resid_pdrop = 0;
}

/* ---- reading ---- */

/* The layers listed so far. */
struct listed {
    struct config *c;
    int n;
};

static int add_layer(struct listed *l, const json_t *kind)
{
    char shown[SHOWN];
    const char *name = json_string_value(kind);
    if (name == NULL || (strcmp(name, "global") != 0 && strcmp(name, "local") != 0))
        return err_set(ERR_UNSUPPORTED, "attention_types has %s, must be \"global\" or \"local\"",
                       json_shown(shown, sizeof shown, kind));
    if (l->n == l->c->n_layer)
        return err_set(ERR_MISMATCH, "attention_types lists more than the %d of num_layers",
                       l->c->n_layer);
    if (strcmp(name, "local") == 0)
        config_set_local(l->c, l->n);
    l->n++;
    return 0;
}

static int add_layers(struct listed *l, const json_t *kinds)
{
    int rc = 0;
    for (size_t i = 0; i < json_array_size(kinds) && rc == 0; i++)
        rc = add_layer(l, json_array_get(kinds, i));
    return rc;
}

/* [["global", "local"], 12]: these kinds, so many times. */
static int add_repeated(struct listed *l, const json_t *item)
{
    char shown[SHOWN];
    const json_t *kinds = json_array_get(item, 0), *times = json_array_get(item, 1);
    if (json_array_size(item) != 2 || json_array_size(kinds) == 0 || !json_is_integer(times) ||
        json_integer_value(times) < 0)
        return err_set(ERR_FORMAT,
                       "attention_types has %s, must be like [[\"global\", \"local\"], 12]",
                       json_shown(shown, sizeof shown, item));
    int rc = 0;
    for (json_int_t i = 0; i < json_integer_value(times) && rc == 0; i++)
        rc = add_layers(l, kinds);
    return rc;
}

static int check_list(const char *key, const json_t *list)
{
    char shown[SHOWN];
    if (list == NULL || json_is_null(list) || json_is_array(list))
        return 0;
    return err_set(ERR_FORMAT, "%s is %s, must be a list", key,
                   json_shown(shown, sizeof shown, list));
}

int neo_config_read_layers(struct config *c, const json_t *o)
{
    const json_t *types = json_object_get(o, "attention_types"),
                 *layers = json_object_get(o, "attention_layers");
    struct listed l = {.c = c};
    int64_t window = c->window_size;
    int rc = json_take_int(o, "window_size", 1, INT32_MAX, &window);
    c->window_size = (int)window;
    if (rc == 0 && (rc = check_list("attention_types", types)) == 0)
        rc = check_list("attention_layers", layers);
    /* config_check comes later: the list must not run past the bits of the layers. */
    if (rc == 0 && c->n_layer > CONFIG_MAX_LAYERS)
        return config_check(c);
    for (size_t i = 0; i < json_array_size(types) && rc == 0; i++)
        rc = add_repeated(&l, json_array_get(types, i));
    if (rc == 0 && json_array_size(types) == 0)
        rc = add_layers(&l, layers);
    if (rc != 0)
        return rc;
    if (l.n == 0)
        for (; l.n < c->n_layer; l.n++)
            if (l.n % 2 == 1)
                config_set_local(c, l.n);
    if (l.n != c->n_layer)
        return err_set(ERR_MISMATCH, "attention_types lists %d layers, num_layers is %d", l.n,
                       c->n_layer);
    return 0;
}

/* ---- writing ---- */

static bool is_local(const struct config *c, int layer)
{
    return config_window(c, layer) > 0;
}

/* After how many layers their kinds repeat. */
static int layer_period(const struct config *c)
{
    for (int n = 1; n < c->n_layer; n++) {
        bool repeats = c->n_layer % n == 0;
        for (int i = n; repeats && i < c->n_layer; i++)
            repeats = is_local(c, i) == is_local(c, i - n);
        if (repeats)
            return n;
    }
    return c->n_layer;
}

static int write_layers(struct buf *out, const struct config *c, int n)
{
    int rc = buf_char(out, '[');
    for (int i = 0; i < n && rc == 0; i++)
        rc = buf_printf(out, "%s\"%s\"", i == 0 ? "" : ", ", is_local(c, i) ? "local" : "global");
    return rc != 0 ? rc : buf_char(out, ']');
}

int neo_config_write_shape(struct buf *out, const struct config *c)
{
    const int period = layer_period(c);
    int rc = buf_printf(out,
                        "{\n  \"architectures\": [\"GPTNeoForCausalLM\"],\n"
                        "  \"model_type\": \"gpt_neo\",\n  \"vocab_size\": %d,\n"
                        "  \"max_position_embeddings\": %d,\n  \"hidden_size\": %d,\n"
                        "  \"num_layers\": %d,\n  \"num_heads\": %d,\n"
                        "  \"intermediate_size\": %d,\n  \"window_size\": %d,\n"
                        "  \"attention_types\": [[",
                        c->n_vocab, c->n_ctx, c->n_embd, c->n_layer, c->n_head, c->n_inner,
                        c->window_size);
    if (rc == 0 && (rc = write_layers(out, c, period)) == 0 &&
        (rc = buf_printf(out, ", %d]],\n  \"attention_layers\": ", c->n_layer / period)) == 0)
        rc = write_layers(out, c, c->n_layer);
    if (rc == 0)
        rc = buf_printf(out,
                        ",\n  \"activation_function\": \"%s\",\n  \"tie_word_embeddings\": %s,\n",
                        activation_name(c->activation), c->tie_word_embeddings ? "true" : "false");
    return rc;
}
