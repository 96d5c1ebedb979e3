/* What a step larger than memory has on disk, and what it has in memory beside its step. */
#include "train/step/phased_memory.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/step/phased_inside.h"
#include "train/step/step.h"

/* n arrays of so many bytes each, one behind another, of which n_kept of each `group` stay. */
struct rows {
    const char *what;
    size_t bytes;
    int n, group, n_kept;
};

static int open_rows(struct disk_array **out, const struct rows *r, const char *folder,
                     struct disk_queue *queue)
{
    size_t *ends = mem_array((size_t)r->n, sizeof *ends);
    bool *kept = mem_array((size_t)r->n, sizeof *kept);
    int rc = ends == NULL || kept == NULL ? ERR_NOMEM : 0;
    const int64_t groups = r->n / r->group, keep = r->n_kept;
    for (int i = 0; i < r->n && rc == 0; i++) {
        const int64_t g = i / r->group;
        ends[i] = (size_t)(i + 1) * r->bytes;
        kept[i] = (g + 1) * keep / groups > g * keep / groups;
    }
    const struct disk_array_config c = {
        .what = r->what, .folder = folder, .queue = queue, .n = r->n, .ends = ends, .kept = kept};
    if (rc == 0)
        rc = disk_array_new(out, &c);
    mem_free(ends);
    mem_free(kept);
    return rc;
}

static int open_arrays(struct phased_step *k, const struct phased_place *place)
{
    const struct step *x = k->step;
    struct disk_queue *q = x->weights->disk->queue;
    const int M = place->micro_batches, L = x->weights->view.config.n_layer;
    const struct rows inputs = {"layer inputs", k->input_bytes, (L + 1) * M, M,
                                place->n_inputs_kept},
                      residuals = {"residual gradients", k->residual_bytes, M, M,
                                   place->residuals_kept ? 1 : 0},
                      outside = {"gradient blocks", k->outside_bytes, x->gradient_blocks.n, 1,
                                 place->n_outside_kept};
    int rc = open_rows(&k->inputs, &inputs, place->folder, q);
    if (rc == 0)
        rc = open_rows(&k->residuals, &residuals, place->folder, q);
    return rc == 0 && outside.n > 1 ? open_rows(&k->outside, &outside, place->folder, q) : rc;
}

static void size_spans(struct phased_step *k)
{
    const struct weights *w = k->step->weights;
    const int end = w->view.config.n_layer + 1;
    k->span_bytes[0] = weights_disk_first(w->disk, 1);
    k->span_first[1] = weights_disk_first(w->disk, end);
    k->span_bytes[1] = weights_disk_first(w->disk, end + 1) - k->span_first[1];
    k->outside_bytes = (size_t)disk_round(k->span_bytes[0] + k->span_bytes[1]);
}

/* The tree of blocks for one span, whose nodes wait where those of all do. */
static struct gradient_blocks blocks_of(const struct step *x, size_t offset, size_t bytes)
{
    struct gradient_blocks b = x->gradient_blocks;
    b.n_gradients = bytes / dtype_bytes(b.dtype);
    b.own = (struct spans){.n = 0};
    for (int i = 0; i < b.n_waiting; i++)
        b.waiting[i] = (char *)b.waiting[i] + offset;
    return b;
}

static int open_phased(struct phased_step *k, const struct phased_place *place)
{
    const struct step *x = k->step;
    const size_t n = phased_rows(x) * (size_t)place->micro_batches;
    const struct config *c = &x->weights->view.config;
    const size_t row = phased_rows(x) * (size_t)c->n_embd;
    k->place = *place;
    k->layer = k->gradient_layer = -1;
    k->input_bytes = (size_t)disk_round(row * dtype_bytes(x->weights->dtype));
    k->residual_bytes = (size_t)disk_round(row * sizeof(float));
    size_spans(k);
    k->of_layer = blocks_of(x, 0, phased_layer_first(k, 1) - phased_layer_first(k, 0));
    k->of_span[0] = blocks_of(x, 0, k->span_bytes[0]);
    k->of_span[1] = blocks_of(x, k->span_bytes[0], k->span_bytes[1]);
    k->ids = mem_array(n, sizeof *k->ids);
    k->labels = mem_array(n, sizeof *k->labels);
    k->sequences = mem_array((size_t)place->micro_batches, sizeof *k->sequences);
    k->sums = mem_array((size_t)x->gradient_blocks.n, sizeof *k->sums);
    if (k->ids == NULL || k->labels == NULL || k->sequences == NULL || k->sums == NULL)
        return ERR_NOMEM;
    return open_arrays(k, place);
}

void phased_config(struct step_config *s)
{
    s->phased = true;
    s->recompute = "all";
}

int phased_new(struct phased_step **out, struct weights *w, const struct step_config *s,
               const struct phased_place *place)
{
    struct step_config all = *s;
    struct phased_step *k = *out = mem_alloc(sizeof *k);
    if (k == NULL)
        return ERR_NOMEM;
    phased_config(&all);
    int rc = step_new(&k->step, w, &all);
    if (rc == 0)
        rc = open_phased(k, place);
    if (rc != 0) {
        phased_free(k);
        *out = NULL;
    }
    return rc;
}

void phased_free(struct phased_step *k)
{
    if (k == NULL)
        return;
    disk_array_free(k->inputs);
    disk_array_free(k->residuals);
    disk_array_free(k->outside);
    mem_free(k->ids);
    mem_free(k->labels);
    mem_free(k->sequences);
    mem_free(k->sums);
    step_free(k->step);
    mem_free(k);
}

struct phased_bytes phased_bytes(const struct config *c, enum dtype dtype,
                                 const struct step_config *s, int micro_batches)
{
    /* Read, at work, and being written. */
    enum { INPUTS = 5, RESIDUALS = 4, OUTSIDE = 1 + DISK_ARRAY_LEAVING };
    const double row = (double)s->batch * s->length * c->n_embd, M = micro_batches,
                 L = c->n_layer + 1.0;
    const double input = row * (double)dtype_bytes(dtype), residual = row * sizeof(float);
    struct config none = *c;
    none.n_layer = 0;
    const double outside = (double)config_params(&none) * (double)dtype_bytes(dtype);
    const int blocks = s->gradient_blocks > 1 ? s->gradient_blocks : 0;
    return (struct phased_bytes){.inputs = L * M * input,
                                 .residuals = M * residual,
                                 .blocks = blocks,
                                 .outside_at_work = (blocks < OUTSIDE ? blocks : OUTSIDE) * outside,
                                 .inputs_at_work = (L * M < INPUTS ? L * M : INPUTS) * input,
                                 .residuals_at_work = (M < RESIDUALS ? M : RESIDUALS) * residual};
}
