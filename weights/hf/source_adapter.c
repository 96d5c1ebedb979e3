/* Weights with an adapter merged into them, on their way from a source. */
#include "weights/hf/adapter_file.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "weights/tensors/half_exact.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A matrix whose reader adds its term. */
struct adapted {
    struct tensor_reader base;
    const struct low_rank *term;
    enum dtype to;
};

/* What stands around the format of the base. */
struct state {
    struct adapted *adapted; /* [n_terms] */
    struct adapter *own;     /* NULL: the adapter is borrowed */
    void *format;
    void (*close)(void *format);
};

static void close_state(void *format)
{
    struct state *st = format;
    if (st->close != NULL)
        st->close(st->format);
    adapter_free(st->own);
    mem_free(st->adapted);
    mem_free(st);
}

enum { PART = 4096 };

/* n <= PART elements as the base has them, then as fp32 with the term in them. */
static int read_part(const struct adapted *a, float *x, uint64_t first, size_t n)
{
    uint16_t half[PART];
    const enum dtype from = a->base.dtype;
    int rc = a->base.read(a->base.user, from == DTYPE_F32 ? (void *)x : half, first, n);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < n && from != DTYPE_F32; i++)
        x[i] = widen_exactly(half[i], from);
    adapter_add(a->term, x, a->base.out_major, first, n);
    return 0;
}

static int read_adapted(void *user, void *dst, uint64_t first, size_t n)
{
    const struct adapted *a = user;
    float x[PART];
    int rc = 0;
    for (size_t done = 0, count; done < n && rc == 0; done += count) {
        count = n - done < PART ? n - done : PART;
        rc = read_part(a, x, first + done, count);
        if (a->to == DTYPE_F32)
            memcpy((float *)dst + done, x, count * sizeof *x);
        for (size_t i = 0; i < count && a->to != DTYPE_F32; i++)
            ((uint16_t *)dst)[done + i] =
                a->to == DTYPE_F16 ? half_from_f32(x[i]) : bf16_from_f32(x[i]);
    }
    return rc;
}

/* The place of the term's matrix in the table, or a code. */
static int find_matrix(const struct params *table, const struct low_rank *t)
{
    char name[64];
    const struct param_tensor *p = adapter_tensor(t, table);
    if (p == NULL)
        return err_set(ERR_MISMATCH,
                       "the weights are of another model than when they were loaded: %s is not "
                       "[%d,%d]; :load them again",
                       adapter_term_name(name, t), t->K, t->N);
    return (int)(p - table->tensors);
}

int source_adapt(struct source *s, const struct adapter *a, bool own_precision)
{
    struct state *st = mem_alloc(sizeof *st);
    if (st == NULL || (st->adapted = mem_array((size_t)a->n_terms, sizeof *st->adapted)) == NULL) {
        mem_free(st);
        return ERR_NOMEM;
    }
    st->format = s->format;
    st->close = s->close;
    s->format = st;
    s->close = close_state;
    for (int i = 0; i < a->n_terms; i++) {
        int at = find_matrix(&s->table, &a->terms[i]);
        if (at < 0)
            return at;
        struct adapted *x = &st->adapted[i];
        *x = (struct adapted){.base = s->readers[at], .term = &a->terms[i]};
        x->to = own_precision ? x->base.dtype : DTYPE_F32;
        s->readers[at] = (struct tensor_reader){
            .read = read_adapted, .user = x, .dtype = x->to, .out_major = x->base.out_major};
    }
    return 0;
}

int source_open_adapter(struct source *s, const char *path, bool need_weights,
                        const struct progress *p)
{
    char *base = NULL;
    struct adapter *a = NULL;
    int rc = adapter_base(&base, path);
    if (rc == 0)
        rc = source_open(s, base, 0, need_weights, p);
    mem_free(base);
    if (rc != 0 || s->table.n_tensors == 0)
        return rc;
    if ((rc = adapter_read(&a, path, &s->config)) == 0 && (rc = source_adapt(s, a, true)) == 0) {
        ((struct state *)s->format)->own = a;
        return 0;
    }
    source_close(s);
    adapter_free(a);
    return rc;
}

/* ---- into a model in memory ---- */

static void note_bad(const struct adapter *a, enum linear_kind kind, const uint64_t *bad,
                     const struct progress *p)
{
    char name[64];
    for (int i = 0; i < a->n_terms; i++)
        if (bad[i] > 0) {
            progress_note(p,
                          "with the adapter %" PRIu64 " weights of %s are NaN or infinite%s: "
                          "what the model says may be nonsense",
                          bad[i], adapter_term_name(name, &a->terms[i]),
                          kind == LINEAR_F16 ? " (or beyond fp16's 65504; --dtype fp32 keeps those)"
                                             : "");
            return;
        }
}

/* Fill the other form of each matrix from the source, the adapter merged in. */
static int fill_others(struct adapter *a, const struct model *m, const struct source *s,
                       const struct progress *p)
{
    const size_t n = (size_t)a->n_terms;
    struct param_tensor *to = mem_array(n, sizeof *to);
    struct linear *linears = mem_array(n, sizeof *linears);
    struct tensor_reader *readers = mem_array(n, sizeof *readers);
    uint64_t *bad = mem_array(n, sizeof *bad);
    int rc = to == NULL || linears == NULL || readers == NULL || bad == NULL ? ERR_NOMEM : 0;
    for (int i = 0; i < a->n_terms && rc == 0; i++) {
        int at = find_matrix(&s->table, &a->terms[i]);
        if (at < 0) {
            rc = at;
            break;
        }
        linears[i] = adapter_other(a, m, i);
        to[i] = s->table.tensors[at];
        to[i].linear = &linears[i];
        readers[i] = s->readers[at];
    }
    if (rc == 0 && (rc = params_fill(to, readers, a->n_terms, bad, p)) == 0)
        note_bad(a, m->params.kind, bad, p);
    mem_free(to);
    mem_free(linears);
    mem_free(readers);
    mem_free(bad);
    return rc;
}

int adapter_load(struct adapter *a, struct model *m, const struct progress *p)
{
    struct source s;
    const bool was_on = m->adapter != NULL && m->adapter->on;
    int rc = adapter_make_room(a, m);
    if (rc != 0)
        return rc;
    /* Memory serves as a base only while nothing is merged into it. */
    adapter_switch(m, false);
    if ((rc = source_of_model(&s, m, p)) == 0) {
        if ((rc = source_adapt(&s, a, false)) == 0)
            rc = fill_others(a, m, &s, p);
        source_close(&s);
    }
    if (rc == 0) {
        adapter_attach(a, m);
        adapter_switch(m, true);
    } else {
        adapter_switch(m, was_on);
    }
    return rc;
}
