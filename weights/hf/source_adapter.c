#include "weights/hf/source_adapter.h"

#include "model/adapter_switch.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "weights/tensors/half_exact.h"

#include <math.h>
#include <string.h>

/* A matrix whose reader adds its LoRA branch. */
struct adapted {
    struct tensor_reader base;
    const struct low_rank *branch;
    int at;               /* in the source's table */
    enum dtype to, holds; /* the type that is read, and the type that must represent it */
};

/* The source's state: its own format, wrapped. */
struct state {
    struct adapted *adapted; /* [n], of the matrices whose readers these are */
    int n;
    struct adapter *own; /* NULL: the adapter is borrowed */
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

/* How many of n elements are NaN or infinite as type d. */
static size_t count_beyond_range(const float *x, size_t n, enum dtype d)
{
    /* From here on values round to infinity. */
    const float limit = d == DTYPE_F16    ? 65520.0f
                        : d == DTYPE_BF16 ? 0x1.ffp127f
                        : d == DTYPE_Q8   ? Q8_LIMIT
                                          : INFINITY;
    size_t beyond = 0;
    for (size_t i = 0; i < n; i++)
        beyond += !(fabsf(x[i]) < limit);
    return beyond;
}

static int refuse_merged(const struct adapted *a)
{
    char name[64];
    return err_set(ERR_RANGE, "the adapter makes weights of %s NaN or infinite%s",
                   adapter_branch_name(name, a->branch),
                   a->holds == DTYPE_F16  ? " (or beyond fp16's 65504; --dtype fp32 keeps those)"
                   : a->holds == DTYPE_Q8 ? " (or beyond q8's 8.3e6; --dtype fp32 keeps those)"
                                          : "");
}

/* Read n <= PART elements of the base as fp32 and add the LoRA branch. */
static int read_adapted_part(const struct adapted *a, float *x, uint64_t first, size_t n)
{
    int rc = a->base.read(a->base.user, x, first, n);
    if (rc != 0)
        return rc;
    half_exact_widen(x, x, a->base.dtype, n);
    const size_t before = count_beyond_range(x, n, a->holds);
    adapter_add(a->branch, x, a->base.out_major, first, n);
    return count_beyond_range(x, n, a->holds) > before ? refuse_merged(a) : 0;
}

static int read_adapted(void *user, void *dst, uint64_t first, size_t n)
{
    const struct adapted *a = user;
    float x[PART];
    int rc = 0;
    for (size_t done = 0, count; done < n && rc == 0; done += count) {
        count = n - done < PART ? n - done : PART;
        rc = read_adapted_part(a, x, first + done, count);
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

void source_unadapt(struct source *s)
{
    struct state *st = s->format;
    for (int i = 0; i < st->n; i++)
        s->readers[st->adapted[i].at] = st->adapted[i].base;
    s->format = st->format;
    s->close = st->close;
    st->close = NULL;
    close_state(st);
}

/* own_precision: `to` and `holds` are each tensor's own type. */
static int adapt_source(struct source *s, const struct adapter *a, bool own_precision,
                        enum dtype holds)
{
    struct state *st = mem_alloc(sizeof *st);
    if (st == NULL ||
        (st->adapted = mem_array((size_t)a->n_branches, sizeof *st->adapted)) == NULL) {
        mem_free(st);
        return ERR_NOMEM;
    }
    st->format = s->format;
    st->close = s->close;
    s->format = st;
    s->close = close_state;
    for (int i = 0; i < a->n_branches; i++) {
        int at = source_find_matrix(s, &a->branches[i]);
        if (at < 0) {
            source_unadapt(s);
            return at;
        }
        struct adapted *x = &st->adapted[i];
        *x = (struct adapted){.base = s->readers[at], .branch = &a->branches[i], .at = at};
        x->to = own_precision ? x->base.dtype : DTYPE_F32;
        x->holds = own_precision ? x->base.dtype : linear_dtype(holds, x->branch->K);
        st->n = i + 1;
        s->readers[at] = (struct tensor_reader){.read = read_adapted,
                                                .user = x,
                                                .dtype = x->to,
                                                .out_major = x->base.out_major,
                                                .stored = x->base.stored};
    }
    return 0;
}

int source_adapt(struct source *s, const struct adapter *a)
{
    return adapt_source(s, a, true, DTYPE_F32);
}

int source_adapt_sums(struct source *s, const struct adapter *a, enum dtype holds)
{
    return adapt_source(s, a, false, holds);
}

int source_adapt_owned(struct source *s, struct adapter *a)
{
    int rc = source_adapt(s, a);
    if (rc == 0)
        ((struct state *)s->format)->own = a;
    return rc;
}
