#include "train/run/report.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/progress.h"
#include "train/config/devices.h"
#include "train/run/inside.h"
#include "train/parallel/world.h"
#include "train/run/ranks.h"
#include "train/run/speed.h"

#include <math.h>

/* Of the machine's sgemm speed, its factors rounded as the run's are, which is measured once, and
 * again where something else had the processors then: no step is faster. By rank 0, whose line has
 * it. */
static double sgemm_share(struct run *r)
{
    const struct training_section *t = &r->config.training;
    const struct run_tally *y = &r->state.tally;
    int rows = t->micro_batch_size * t->sequence_length;
    double per_token = speed_token_flops(&r->model->config, t->sequence_length, r->adapter != NULL);
    if (y->hours == 0 || world_rank() != 0)
        return 0;
    double flops = (double)y->windows * t->sequence_length * per_token / (y->hours * 3600);
    flops /= world_size(); /* what was measured is this rank's */
    if (r->sgemm_flops < flops)
        r->sgemm_flops =
            fmax(r->sgemm_flops, speed_sgemm_estimate(&r->model->config, rows,
                                                      (enum product_factors)t->matmul_precision));
    return r->sgemm_flops > 0 ? flops / r->sgemm_flops : 0;
}

/* Where memory is short, as if the data were no mixture. */
static int count_reads(struct run *r)
{
    const struct draws *d = batches_draws(r->batches);
    const struct mixture *m = &r->train.mixture;
    if (d != NULL && r->reads == NULL)
        r->reads = mem_array((size_t)m->n_sources, sizeof *r->reads);
    if (d == NULL || r->reads == NULL)
        return 0;
    draw_cursor_move(d, &r->drawn, r->state.windows);
    for (int i = 0; i < m->n_sources; i++)
        r->reads[i] = (struct source_reads){.path = mixture_path(m, i),
                                            .times = (double)draw_cursor_count(d, &r->drawn, i) /
                                                     (double)batches_of_source(r->batches, i)};
    return m->n_sources;
}

void run_fill_metrics(struct run *r)
{
    const struct run_tally *t = &r->state.tally;
    const struct trainer_state *p = &r->state;
    double targets = (double)t->sum.n_targets, busy_s = t->hours * 3600;
    double per_second = r->config.logging.tokens_per_second;
    const int n_sources = count_reads(r);
    int waited_rank = 0;
    const double waited = run_ranks_waited(r, &waited_rank);
    r->metrics = (struct metrics){
        .step = p->step,
        .n_steps = r->n_steps,
        .epoch = (double)p->windows / (double)batches_per_epoch(r->batches),
        .tokens = p->tokens,
        .samples = p->windows,
        .hours = p->hours,
        .machine_hours = per_second > 0 ? (double)p->tokens / per_second / 3600 : 0,
        .loss = t->sum.loss_sum / targets,
        .accuracy = (double)t->sum.n_correct / targets,
        .learning_rate = p->rate,
        .grad_norm = p->grad_norm,
        .tokens_per_s = busy_s > 0 ? (double)t->tokens / busy_s : 0,
        .samples_per_s = busy_s > 0 ? (double)t->windows / busy_s : 0,
        .share = sgemm_share(r),
        .step_s = t->steps > 0 ? busy_s / (double)t->steps : 0,
        .waited = waited,
        .waited_rank = waited_rank,
        .finished = run_end(r) != END_NONE,
        .end_hours = run_config_end_hours(&r->config),
        .skipped = p->skipped,
        .loss_scale = p->scale.scale,
        .overflows = p->scale.overflows,
        .validation_loss = p->validation_loss,
        .validation_accuracy = p->validation_accuracy,
        .validation_step = p->validation_step,
        .best_loss = p->best_loss,
        .best_step = p->best_step,
        .evaluation = r->evaluated_step == p->step ? &r->evaluation : NULL,
        .sources = r->reads,
        .n_sources = n_sources,
    };
}

int run_devices(const struct run *r, struct buf *out)
{
    struct step_config step;
    if (r->layout.stages == 1 && r->layout.tensor == 1)
        return 0;
    run_config_step(&r->config, &r->model->config, &step);
    return run_config_devices(&r->config, &r->model->config, &step, r->model->params.dtype, out);
}

enum run_end run_end(const struct run *r)
{
    const double end_hours = run_config_end_hours(&r->config);
    const int patience = r->config.training.patience;
    return r->n_steps > 0 && r->state.step >= r->n_steps                 ? END_STEPS
           : end_hours > 0 && r->state.hours >= end_hours                ? END_HOURS
           : patience > 0 && r->state.validations_since_best >= patience ? END_EARLY
                                                                         : END_NONE;
}
const char *run_extension(const struct run *r)
{
    return run_end(r) == END_EARLY ? "patience=0" : "steps=N";
}
enum run_status run_status(const struct run *r)
{
    return r->status;
}
const struct run_config *run_settings(const struct run *r)
{
    return &r->config;
}
const struct metrics *run_metrics(const struct run *r)
{
    return &r->metrics;
}
struct metrics run_now(const struct run *r)
{
    const struct trainer_state *p = &r->state;
    struct metrics m = r->metrics;
    m.n_steps = r->n_steps;
    m.tokens = p->tokens;
    m.hours = p->hours;
    m.skipped = p->skipped;
    m.overflows = p->scale.overflows;
    m.loss_scale = p->scale.scale;
    return m;
}
int64_t run_step(const struct run *r)
{
    return r->state.step;
}
const char *run_path(const struct run *r)
{
    return r->folder.path;
}
int64_t run_saved_step(const struct run *r)
{
    return r->saved_step;
}

bool run_owes_checkpoint(const struct run *r)
{
    return r->due & DUE_SAVE;
}
