#include "model/base/err.h"
#include "model/base/progress.h"
#include "model/shard.h"
#include "train/config/resolve_batches.h"
#include "train/run/scaling.h"

#include <math.h>

enum { ZEROS = 3 /* from zero=0 on */ };

/* The best so far. */
struct search {
    const struct scaling_run *run;
    const struct cluster *k;
    struct scaling_layout best;
    double time_s, bytes; /* of it; INFINITY: none yet */
    bool undivided;       /* stages of one chunk alone are tried */
};

/* Its matrices are stepped whole. */
static bool is_muon(const struct run_config *c)
{
    return c->optimizer.kind == OPTIMIZER_MUON;
}

/* A layout with zero=0 and so on: how long their steps take, once it is asked for. */
struct timed {
    struct step_time of[ZEROS];
    int first, n; /* n: of how many; 0: not asked for yet */
};

static int time_layout(double *time_s, struct timed *t, int n, const struct search *s,
                       const struct scaling_layout *l)
{
    int rc = 0;
    if (t->n == 0) {
        *t = (struct timed){.first = l->zero, .n = n};
        rc = scaling_times(t->of, n, s->run, s->k, l);
    }
    *time_s = step_time_total(&t->of[l->zero - t->first]);
    return rc;
}

/* Whether a layout of so many bytes or more may be better than the best. */
static bool can_be_best(const struct search *s, double bytes)
{
    return bytes <= s->k->memory || bytes < s->bytes;
}

/* One that fits, of these the fastest; else that of the least memory. What is known at once comes
 * first: the memory's least, then its pipeline's time or order, whichever is needed. n: how many
 * with the zeros from this on. */
static int try_layout(struct search *s, struct timed *t, int n, const struct scaling_layout *l)
{
    double bytes, time_s = INFINITY;
    const bool fits = s->bytes <= s->k->memory;
    if (interrupt_pending())
        return err_set(ERR_INTERRUPTED, "interrupted");
    int rc = fits ? scaling_time_least(&time_s, s->run, s->k, l) : 0;
    if (rc != 0 || (fits && time_s >= s->time_s))
        return rc;
    rc = scaling_memory_least(&bytes, s->run, l);
    if (rc != 0 || !can_be_best(s, bytes))
        return rc;
    if (fits && (rc = time_layout(&time_s, t, n, s, l)) != 0)
        return rc;
    if (fits && time_s >= s->time_s * (1 - 1e-9))
        return 0;
    if ((rc = scaling_memory(&bytes, s->run, l)) != 0 || !can_be_best(s, bytes))
        return rc;
    if (!fits && bytes <= s->k->memory && (rc = time_layout(&time_s, t, n, s, l)) != 0)
        return rc;
    s->best = *l;
    s->time_s = time_s;
    s->bytes = bytes;
    return 0;
}

static int try_zeros(struct search *s, struct scaling_layout *l)
{
    const bool undivided = s->run->c->lora.rank > 0 || is_muon(s->run->c);
    const int n = l->over.replicas == 1 || undivided ? 1 : ZEROS;
    struct timed t = {.n = 0};
    int rc = 0;
    for (l->zero = 0; l->zero < n && rc == 0; l->zero++)
        rc = try_layout(s, &t, n - l->zero, l);
    return rc;
}

/* Layers for the first stage; the others have about as many as each other. */
static void divide_layers(struct layout *l, int stages, int first)
{
    const int rest = l->n_layer - first, others = stages - 1;
    l->stages = stages;
    l->layers[0] = first;
    for (int i = 0; i < others; i++)
        l->layers[i + 1] = (int)((long)rest * (i + 1) / others - (long)rest * i / others);
}

static int try_chunks(struct search *s, struct scaling_layout *l)
{
    int most = STAGE_MAX_CHUNKS, filled = 0, rc = 0;
    for (int i = 0; i < l->over.stages; i++) {
        filled += l->over.layers[i] > 0;
        if (l->over.layers[i] > 0 && l->over.layers[i] < most)
            most = l->over.layers[i];
    }
    most = filled > 1 && !s->undivided ? most : 1;
    for (l->over.chunks = 1; l->over.chunks <= most && rc == 0; l->over.chunks++)
        rc = try_zeros(s, l);
    return rc;
}

/* No stage is done before the one that has most to do; so a replica by fewer processes that is as
 * fast need not be compared with it. */
static bool can_be_faster(const struct search *s, const struct layout *l, double alone_s)
{
    return s->bytes > s->k->memory || alone_s / (l->replicas * l->stages * l->tensor) < s->time_s;
}

/* Where nothing fits yet: all that the first stage may have, which has more in memory than others.
 */
static int try_firsts(struct search *s, struct scaling_layout *l, int most)
{
    int rc = 0;
    const bool was = s->undivided;
    s->undivided = true;
    for (int first = most; first >= 0 && rc == 0 && s->bytes > s->k->memory; first--) {
        divide_layers(&l->over, l->over.stages, first);
        rc = try_chunks(s, l);
    }
    s->undivided = was;
    return rc;
}

/* As many layers for the first stage as for others, and as many as its head leaves time for. */
static int try_stages(struct search *s, int stages, int tensor, double alone_s)
{
    const int n = s->run->shape->n_layer, replicas = s->k->ranks / stages / tensor;
    struct scaling_layout l = {.blocks = scaling_blocks(s->run->c, replicas)};
    const double C = s->run->shape->n_embd, F = s->run->shape->n_inner,
                 head = s->run->shape->n_vocab / (4 * C + 2 * F); /* in layers */
    const int even = n / stages, left = (int)floor((n + head) / stages - head + 0.5),
              lighter = left > 0 && even > 0 ? left : 0;
    layout_init(&l.over, n, replicas);
    l.over.tensor = tensor;
    if (stages == 1)
        return try_zeros(s, &l);
    int rc = 0;
    if (even > 0) {
        divide_layers(&l.over, stages, even);
        if (can_be_faster(s, &l.over, alone_s))
            rc = try_chunks(s, &l);
    }
    if (rc == 0 && (even == 0 || lighter < even)) {
        divide_layers(&l.over, stages, lighter);
        if (can_be_faster(s, &l.over, alone_s))
            rc = try_chunks(s, &l);
    }
    return rc == 0 && tensor == 1 ? try_firsts(s, &l, even - 1) : rc;
}

/* What the settings say is worth a look, as it may be none of those above. */
static int try_given(struct search *s)
{
    if (s->run->given == NULL || s->run->given->blocks == 0)
        return 0;
    struct scaling_layout l = *s->run->given;
    struct timed t = {.n = 0};
    if (l.over.replicas * l.over.stages * l.over.tensor != s->k->ranks)
        return 0;
    return try_layout(s, &t, 1, &l);
}

static bool is_divided(const struct run_config *c, int ranks, int by)
{
    return ranks % by == 0 && scaling_blocks(c, ranks / by) > 0;
}

/* Into how many stages and shards a replica can be divided. */
static void find_most(int *stages, int *tensor, const struct run_config *c,
                      const struct config *shape)
{
    /* An adapter is trained with the whole model in each process. */
    const bool whole = c->lora.rank > 0,
               in_shards = !whole && !is_muon(c) && c->logging.log_activations_every == 0 &&
                           c->training.matmul_precision != FACTORS_BFLOAT16;
    *stages = whole ? 1 : shape->n_layer + 1;
    *tensor = in_shards ? shard_most(shape) : 1;
}

static bool can_divide(const struct run_config *c, const struct config *shape, int ranks)
{
    int most_stages, most_tensor;
    find_most(&most_stages, &most_tensor, c, shape);
    for (int tensor = 1; tensor <= most_tensor && tensor <= ranks; tensor++)
        for (int n = 1; n <= most_stages && n <= ranks / tensor; n++)
            if (is_divided(c, ranks, n * tensor))
                return true;
    return false;
}

/* With the next smaller number that can be, and a step for so many replicas. */
static int refuse_ranks(const struct run_config *c, const struct config *shape, int ranks)
{
    const struct training_section *t = &c->training;
    const bool follow = run_config_batches_follow(c);
    const int units = follow ? t->global_batch_size : t->gradient_accumulation,
              blocks = t->gradient_blocks > ranks ? t->gradient_blocks : ranks;
    char batches[BATCHES_TEXT] = "";
    int most_stages, most_tensor, near = ranks - 1;
    find_most(&most_stages, &most_tensor, c, shape);
    if ((double)near > (double)units * most_stages * most_tensor)
        near = units * most_stages * most_tensor;
    while (near > 1 && !can_divide(c, shape, near))
        near--;
    if (blocks <= RUN_ROW(training.gradient_blocks)->max)
        run_config_batches_for(batches, c, blocks);
    return err_set(ERR_RANGE,
                   "a step of %d %s%s and %d layer%s is not divided among %d processes: "
                   "ranks=%d%s%s",
                   units, follow ? "window" : "micro-batch",
                   units == 1 ? ""
                   : follow   ? "s"
                              : "es",
                   shape->n_layer, shape->n_layer == 1 ? "" : "s", ranks, near,
                   *batches == '\0' ? "" : ", or", batches);
}

/* Stages of shards, where neither alone comes near what so many processes could do; the best of
 * these in chunks too. */
static int try_both(struct search *s, int most_stages, int most_tensor, double alone_s)
{
    const double well = 0.9;
    int rc = 0;
    s->undivided = true;
    for (int tensor = 2; tensor <= most_tensor && rc == 0; tensor++)
        for (int n = 2; n <= most_stages && n * tensor <= s->k->ranks && rc == 0; n++)
            if (is_divided(s->run->c, s->k->ranks, n * tensor) &&
                (s->bytes > s->k->memory || alone_s / s->k->ranks < well * s->time_s))
                rc = try_stages(s, n, tensor, alone_s);
    s->undivided = false;
    struct scaling_layout best = s->best;
    return rc == 0 && best.over.stages > 1 && best.over.tensor > 1 ? try_chunks(s, &best) : rc;
}

int scaling_best(struct scaling_layout *out, const struct scaling_run *run, const struct cluster *k)
{
    const struct run_config *c = run->c;
    const struct config *shape = run->shape;
    struct search s = {run, k, .time_s = INFINITY, .bytes = INFINITY};
    int most_stages, most_tensor;
    struct scaling_layout one;
    struct step_time alone;
    find_most(&most_stages, &most_tensor, c, shape);
    layout_init(&one.over, shape->n_layer, 1);
    one.zero = 0;
    one.blocks = c->training.gradient_blocks;
    /* Stages and shards are not trained from disk. */
    struct run_config in_memory = *c; /* strings are borrowed */
    in_memory.execution.phased = false;
    int rc = scaling_time(&alone, &(struct scaling_run){&in_memory, shape, run->held, NULL, NULL},
                          k, &one);
    for (int n = 1; n <= most_stages && n <= k->ranks && rc == 0; n++)
        if (is_divided(c, k->ranks, n))
            rc = try_stages(&s, n, 1, alone.compute);
    for (int n = 2; n <= most_tensor && n <= k->ranks && rc == 0; n++)
        if (is_divided(c, k->ranks, n))
            rc = try_stages(&s, 1, n, alone.compute);
    if (rc == 0)
        rc = try_both(&s, most_stages, most_tensor, alone.compute);
    if (rc == 0)
        rc = try_given(&s);
    *out = s.best;
    return rc != 0 || out->over.replicas > 0 ? rc : refuse_ranks(c, shape, k->ranks);
}
