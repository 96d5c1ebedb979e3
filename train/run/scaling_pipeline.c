#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/run/scaling_parts.h"

#include <math.h>

enum { FILLINGS = 16 /* of a pipeline, in micro-batches: those behind are all alike */ };

static void fill_seconds(double *forward, double *backward, const struct scaling_work *w)
{
    const struct layout *l = &w->l->over;
    const struct chunk_ring ring = layout_ring(l);
    const double again = w->micro.again / w->shape->n_layer;
    for (int i = 0; i < chunk_ring_size(&ring); i++) {
        const struct layer_range layers =
            layout_chunk(l, chunk_ring_stage(&ring, i), chunk_ring_chunk(&ring, i));
        const int n = layers.last - layers.first;
        forward[i] = n * w->micro.forward;
        backward[i] = n * (w->micro.layer - w->micro.forward + again);
    }
}

/* A step of so many blocks of so many micro-batches, and how it would be without messages. */
static int time_blocks(struct pipeline_time out[2], const struct scaling_work *w,
                       const struct pipeline_seconds *s, int rounds, int of_block)
{
    const struct pipeline p = {
        .ring = layout_ring(&w->l->over), .n_micro = rounds * of_block, .of_block = of_block};
    struct pipeline_seconds free = *s;
    struct pipeline_plan plan;
    int rc = layout_plan(&plan, &w->l->over, w->shape, p.n_micro, of_block, PIPELINE_ALL);
    if (rc != 0)
        return rc;
    free.message = free.latency = 0;
    rc = pipeline_time(&out[0], &p, &plan, s);
    if (rc == 0)
        rc = pipeline_time(&out[1], &p, &plan, &free);
    pipeline_plan_release(&plan);
    return rc;
}

static void extend_times(struct pipeline_time *of, const struct pipeline_time *more, double times)
{
    for (int i = 0; i < 2; i++) {
        of[i].all += (more[i].all - of[i].all) * times;
        of[i].busy += (more[i].busy - of[i].busy) * times;
    }
}

/* Of a step that is much longer than it takes to fill the pipeline the rest is reckoned from how
 * much two more fillings take: first of a block, then of the blocks. */
static int time_block(struct pipeline_time out[2], const struct scaling_work *w,
                      const struct pipeline_seconds *s, int rounds)
{
    const int few = FILLINGS / 2 * w->l->over.stages, many = 2 * few;
    struct pipeline_time more[2];
    if (w->of_block <= many)
        return time_blocks(out, w, s, rounds, w->of_block);
    int rc = time_blocks(out, w, s, rounds, few);
    if (rc == 0)
        rc = time_blocks(more, w, s, rounds, many);
    if (rc == 0)
        extend_times(out, more, (double)(w->of_block - few) / (many - few));
    return rc;
}

static int time_step(struct pipeline_time out[2], const struct scaling_work *w,
                     const struct pipeline_seconds *s)
{
    const int filling = (FILLINGS / 2 * w->l->over.stages + w->of_block - 1) / w->of_block,
              few = filling > 2 ? filling : 2, many = 2 * few;
    struct pipeline_time more[2];
    if (w->rounds <= many)
        return time_block(out, w, s, w->rounds);
    int rc = time_block(out, w, s, few);
    if (rc == 0)
        rc = time_block(more, w, s, many);
    if (rc == 0)
        extend_times(out, more, (double)(w->rounds - few) / (many - few));
    return rc;
}

int scaling_pipeline(struct step_time *out, const struct scaling_work *w)
{
    const struct training_section *t = &w->c->training;
    const struct chunk_ring ring = layout_ring(&w->l->over);
    const size_t n = (size_t)chunk_ring_size(&ring);
    const double bytes = 4.0 * t->micro_batch_size * t->sequence_length * w->shape->n_embd;
    struct pipeline_time found[2];
    double *forward = mem_array(2 * n, sizeof *forward);
    if (forward == NULL)
        return ERR_NOMEM;
    const struct pipeline_seconds s = {.forward = forward,
                                       .backward = forward + n,
                                       .head = w->micro.head,
                                       .message = bytes / w->k->link,
                                       .latency = w->k->latency_s};
    fill_seconds(forward, forward + n, w);
    int rc = time_step(found, w, &s);
    mem_free(forward);
    if (rc != 0)
        return rc;
    out->compute = found[1].busy;
    out->bubble = fmax(0, found[1].all - found[1].busy);
    out->stages = fmax(0, found[0].all - found[1].all);
    /* Forward and back again, of each chunk. */
    out->sent += 2.0 * w->rounds * w->of_block * w->l->over.chunks * bytes;
    return 0;
}
