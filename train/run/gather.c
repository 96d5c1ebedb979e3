#include "train/run/gather.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/run/inside.h"
#include "train/run/ranks.h"

/* A tensor as the block's own reader has it, once it is whole. */
struct gather_reader {
    struct run_gather *gather;
    int tensor;
    struct tensor_reader own;
};

void run_gather_begin(struct run_gather *g, struct run *r)
{
    *g = (struct run_gather){.run = r, .here = -1};
}

void run_gather_tensor(void *user, int tensor)
{
    struct run_gather *g = user;
    struct run *r = g->run;
    if (tensor == g->here || !run_shares_is_divided(r, SHARE_WEIGHTS))
        return;
    const struct weights *w = &r->weights;
    const size_t each = dtype_bytes(w->dtype), first = w->offset[tensor] * each;
    run_shares_drop(r, SHARE_WEIGHTS);
    run_ranks_read(r, SHARE_WEIGHTS, 0, (char *)w->view.block + first, first,
                   weights_size(w, tensor) * each);
    g->here = tensor;
}

static int read_gathered(void *user, void *dst, uint64_t first, size_t n)
{
    const struct gather_reader *k = user;
    run_gather_tensor(k->gather, k->tensor);
    return k->own.read(k->own.user, dst, first, n);
}

int run_gather_source(struct run_gather *g, struct source *s)
{
    const int n = s->table.n_tensors;
    if (!run_shares_is_divided(g->run, SHARE_WEIGHTS))
        return 0;
    if ((g->readers = mem_array((size_t)n, sizeof *g->readers)) == NULL)
        return ERR_NOMEM;
    for (int i = 0; i < n; i++) {
        g->readers[i] = (struct gather_reader){g, i, s->readers[i]};
        s->readers[i].read = read_gathered;
        s->readers[i].user = &g->readers[i];
    }
    return 0;
}

void run_gather_end(struct run_gather *g)
{
    run_shares_drop(g->run, SHARE_WEIGHTS);
    mem_free(g->readers);
    *g = (struct run_gather){0};
}
