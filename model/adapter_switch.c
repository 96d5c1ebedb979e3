/*
 * Both forms of the adapted matrices exist at once: one in the model's panels, the other in
 * adapter->alternate, and adapter->on says which is which. A switch exchanges their bytes, so
 * either form comes back bit for bit however often it is done.
 */
#include "model/adapter_switch.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"

#include <string.h>

static size_t panels_bytes(const struct adapter *a, const struct model *m, int branch)
{
    const struct linear *w = adapter_matrix(&a->branches[branch], &m->params);
    return linear_bytes(w->dtype, w->K, w->N);
}

int adapter_reserve(struct adapter *a, const struct model *m)
{
    int rc = params_need_memory(&m->params, "a LoRA adapter");
    if (rc != 0)
        return rc;
    a->alternate_bytes = adapter_alternate_bytes(&a->config, &m->config, m->params.dtype);
    a->alternate = mem_map("LoRA merged", a->alternate_bytes);
    if (a->alternate == NULL)
        return ERR_NOMEM;
    /* Touch every page now rather than during training. */
    memset(a->alternate, 0, a->alternate_bytes);
    return 0;
}

struct linear adapter_alternate(const struct adapter *a, const struct model *m, int branch)
{
    struct linear w = *adapter_matrix(&a->branches[branch], &m->params);
    size_t at = 0;
    for (int i = 0; i < branch; i++)
        at += panels_bytes(a, m, i);
    w.data = (char *)a->alternate + at;
    return w;
}

void adapter_attach(struct adapter *a, struct model *m)
{
    adapter_drop(m);
    m->adapter = a;
    a->on = false;
}

static void exchange_bytes(char *x, char *y, size_t n)
{
    char part[4096];
    for (size_t at = 0, count; at < n; at += count) {
        count = n - at < sizeof part ? n - at : sizeof part;
        memcpy(part, x + at, count);
        memcpy(x + at, y + at, count);
        memcpy(y + at, part, count);
    }
}

static void exchange_share(void *arg, int thread, int n_threads)
{
    const struct model *m = arg;
    const struct adapter *a = m->adapter;
    for (int i = 0; i < a->n_branches; i++) {
        /* The bytes of panels are a multiple of 128. */
        int first, last, parts = (int)(panels_bytes(a, m, i) / 128);
        par_split(parts, thread, n_threads, &first, &last);
        exchange_bytes((char *)adapter_matrix(&a->branches[i], &m->params)->data +
                           (size_t)first * 128,
                       (char *)adapter_alternate(a, m, i).data + (size_t)first * 128,
                       (size_t)(last - first) * 128);
    }
}

void adapter_switch(struct model *m, bool on)
{
    if (m->adapter == NULL || m->adapter->on == on)
        return;
    par_run(exchange_share, m);
    m->adapter->on = on;
    m->version++;
}

void adapter_drop(struct model *m)
{
    adapter_switch(m, false);
    adapter_free(m->adapter);
    m->adapter = NULL;
}

void adapter_merge(struct model *m)
{
    adapter_switch(m, true);
    adapter_free(m->adapter);
    m->adapter = NULL;
    m->changed = true;
}
