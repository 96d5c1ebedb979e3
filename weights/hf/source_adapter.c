#include "weights/hf/source_adapter.h"

#include "model/adapter_switch.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "weights/tensors/half_exact.h"

#include <string.h>

/* A matrix whose reader adds its LoRA branch. */
struct adapted {
    struct tensor_reader base;
    const struct low_rank *term;
    enum dtype to;
};

/* What stands around the format of the base. */
struct state {
    struct adapted *adapted; /* [n_branches] */
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

/* n <= PART elements as the base has them, then as fp32 with the LoRA branch in them. */
static int read_part(const struct adapted *a, float *x, uint64_t first, size_t n)
{
    uint16_t half[PART];
    const enum dtype from = a->base.dtype;
    int rc = a->base.read(a->base.user, from == DTYPE_F32 ? (void *)x : half, first, n);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < n && from != DTYPE_F32; i++)
        x[i] = half_exact_to_f32(half[i], from);
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

int source_find_matrix(const struct source *s, const struct low_rank *t)
{
    char name[64];
    const struct param_tensor *p = adapter_tensor(t, &s->table);
    if (p == NULL)
        return err_set(ERR_MISMATCH,
                       "the weights are of another model than when they were loaded: %s is not "
                       "[%d,%d]; :load them again",
                       adapter_branch_name(name, t), t->K, t->N);
    return (int)(p - s->table.tensors);
}

int source_adapt(struct source *s, const struct adapter *a, bool own_precision)
{
    struct state *st = mem_alloc(sizeof *st);
    if (st == NULL || (st->adapted = mem_array((size_t)a->n_branches, sizeof *st->adapted)) == NULL) {
        mem_free(st);
        return ERR_NOMEM;
    }
    st->format = s->format;
    st->close = s->close;
    s->format = st;
    s->close = close_state;
    for (int i = 0; i < a->n_branches; i++) {
        int at = source_find_matrix(s, &a->branches[i]);
        if (at < 0)
            return at;
        struct adapted *x = &st->adapted[i];
        *x = (struct adapted){.base = s->readers[at], .term = &a->branches[i]};
        x->to = own_precision ? x->base.dtype : DTYPE_F32;
        s->readers[at] = (struct tensor_reader){
            .read = read_adapted, .user = x, .dtype = x->to, .out_major = x->base.out_major};
    }
    return 0;
}

int source_adapt_owned(struct source *s, struct adapter *a)
{
    int rc = source_adapt(s, a, true);
    if (rc == 0)
        ((struct state *)s->format)->own = a;
    return rc;
}
