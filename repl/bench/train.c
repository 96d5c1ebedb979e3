/*
 * Steps of training in float32, the optimizer's included, and one size with the factors of products
 * in bfloat16: as a share of what the machine's sgemm does on the step's own products, and where
 * the time goes.
 */
#include "repl/bench/bench.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/base/progress.h"
#include "model/kernels/bf16_kernels.h"
#include "model/kernels/blas.h"
#include "model/kernels/kernels.h"
#include "train/step/weights_init.h"
#include "train/optim/optimizer.h"
#include "train/run/speed.h"
#include "train/step/step.h"

#include <stdio.h>
#include <string.h>

enum { TRAIN_ROUNDS = 3 };

/* The training of one size. */
struct drill {
    struct step_config config;
    struct weights *weights;
    struct optimizer *optimizer;
    struct step *step;
    token_id *ids, *labels; /* [batch,length] */
    struct rounds rate, flops, parts[N_PARTS], small;
};

static int count_tokens(const struct drill *d)
{
    return d->config.batch * d->config.length;
}

static bool rounded(const struct drill *d)
{
    return d->config.factors == FACTORS_BFLOAT16;
}

/* Portable kernels would take minutes for a step; in float32 they have OpenBLAS's products. */
static bool can_round(const struct drill *d)
{
    return d->config.length % BF16_GROUP == 0 && strcmp(kernels_name(), "portable") != 0;
}

static int run_step_once(struct drill *d)
{
    struct step_result result = {0};
    const float scale = 1.0f / (float)count_tokens(d);
    step_zero(d->step);
    int rc = step_run(d->step, &result, d->ids, d->labels, d->config.batch, d->config.length, 1, 0,
                      true);
    if (rc != 0)
        return rc;
    double norm = optimizer_norm(d->optimizer, step_gradients(d->step), scale);
    optimizer_step(d->optimizer, weights_block(d->weights), step_gradients(d->step), scale, norm,
                   1e-5f);
    return 0;
}

/* What it took beside the limit, and its parts; those that are little sums add up to few. */
static void note_times(struct drill *d, double wall_s, double limit, const double seconds[N_PARTS])
{
    const struct config *c = &d->weights->view.config;
    const double flops = speed_token_flops(c, d->config.length, false) * count_tokens(d) / wall_s;
    const int n_threads = par_threads();
    double busy = 0, few = 0;
    rounds_add(&d->rate, count_tokens(d) / wall_s, 0);
    rounds_add(&d->flops, flops * 1e-9, flops / limit);
    for (int i = 0; i < N_PARTS; i++) {
        /* A thread that has no job waits for one. */
        double part = (i == PART_WAITS ? wall_s * n_threads - busy : seconds[i]) / n_threads;
        busy += seconds[i];
        rounds_add(&d->parts[i], part * 1e3, part / wall_s);
        if (i >= PART_ATTENTION && i <= PART_OPTIMIZER)
            few += part;
    }
    rounds_add(&d->small, few * 1e3, few / wall_s);
}

static int run_rounds(struct bench *b, struct drill *d)
{
    const struct config *c = &d->weights->view.config;
    const int loss_rows = step_loss_rows(c, &d->config);
    int rc = blas_open() == 0 ? 0 : err_wrap("training is measured beside OpenBLAS");
    if (rc == 0)
        rc = run_step_once(d); /* the first touches its memory */
    for (int i = 0; i < TRAIN_ROUNDS && rc == 0; i++) {
        double seconds[N_PARTS], limit = speed_sgemm_flops(c, count_tokens(d), loss_rows);
        if (limit == 0)
            return interrupt_pending() ? ERR_INTERRUPTED : ERR_NOMEM;
        if ((rc = profile_start(par_threads())) != 0)
            return rc;
        double start = clock_s();
        rc = run_step_once(d);
        double wall_s = clock_s() - start;
        profile_stop(seconds);
        seconds[PART_MATRICES] += seconds[PART_HEAD]; /* the head's are among the step's */
        seconds[PART_HEAD] = 0;
        note_times(d, wall_s, limit, seconds);
        if (rc == 0)
            rc = bench_peers(b, &d->rate, rounded(d) ? PEER_TRAIN_BF16 : PEER_TRAIN,
                             d->config.batch, d->config.length);
    }
    return rc;
}

static int report_size(struct bench *b, struct drill *d)
{
    /* Those of a step, the rest last. */
    static const enum profile_part shown[] = {PART_MATRICES,   PART_ATTENTION, PART_LAYERNORM,
                                              PART_ACTIVATION, PART_LOSS,      PART_OPTIMIZER,
                                              PART_WAITS,      PART_REST};
    char size[48], what[80];
    snprintf(size, sizeof size, "training, %d x %d%s", d->config.batch, d->config.length,
             rounded(d) ? ", bfloat16" : "");
    int rc = bench_report(b, size, &d->rate, "tokens/s", NULL);
    if (rc == 0)
        rc = bench_report(b, size, &d->flops, "GFLOP/s", "sgemm on its shapes");
    for (size_t i = 0; i < sizeof shown / sizeof *shown && rc == 0; i++) {
        const enum profile_part part = shown[i];
        snprintf(what, sizeof what, "  %s", profile_part_name(part));
        rc = bench_report(b, what, &d->parts[part], "ms/step", "a step");
        if (rc == 0 && part == PART_OPTIMIZER)
            rc = bench_report(b, "  attention to optimizer", &d->small, "ms/step", "a step");
    }
    return rc;
}

static int bench_size(struct bench *b, struct drill *d)
{
    const struct config *c = &d->weights->view.config;
    int rc = step_new(&d->step, d->weights, &d->config);
    if (rc != 0)
        return rc;
    d->ids = mem_array((size_t)count_tokens(d), sizeof *d->ids);
    d->labels = mem_array((size_t)count_tokens(d), sizeof *d->labels);
    rc = d->ids == NULL || d->labels == NULL ? ERR_NOMEM : 0;
    if (rc == 0) {
        for (int i = 0; i < count_tokens(d); i++) {
            d->ids[i] = (token_id)((uint32_t)i * 2654435761u % (uint32_t)c->n_vocab);
            d->labels[i] = (token_id)((uint32_t)(i + 1) * 2654435761u % (uint32_t)c->n_vocab);
        }
        rc = run_rounds(b, d);
    }
    if (rc == 0)
        rc = report_size(b, d);
    step_free(d->step);
    mem_free(d->ids);
    mem_free(d->labels);
    return rc;
}

int bench_train(struct bench *b)
{
    static const struct {
        struct bench_size size;
        enum product_factors factors;
    } usual[] = {
        {{4, 256}, FACTORS_FLOAT32}, {{1, 1024}, FACTORS_FLOAT32}, {{4, 256}, FACTORS_BFLOAT16}};
    enum { N_USUAL = sizeof usual / sizeof *usual };
    const bool sized = b->n_sizes > 0;
    const struct model *m = b->repl->model;
    const int n_ctx = m->config.n_ctx;
    struct weights weights;
    struct optimizer *optimizer = NULL;
    struct optimizer_config adamw;
    optimizer_config_init(&adamw);
    int rc = weights_init(&weights, m, NULL, DTYPE_F32, NULL);
    if (rc == 0)
        rc = optimizer_new(&optimizer, &adamw, weights_layout(&weights));
    for (int i = 0; i < (sized ? b->n_sizes : N_USUAL) && rc == 0; i++) {
        struct drill d = {.weights = &weights, .optimizer = optimizer};
        step_config_init(&d.config);
        const struct bench_size size = sized ? b->sizes[i] : usual[i].size;
        d.config.batch = size.batch;
        d.config.length = size.length;
        if (!sized && d.config.length > n_ctx)
            d.config.length = n_ctx;
        d.config.factors = sized ? FACTORS_FLOAT32 : usual[i].factors;
        if (!rounded(&d) || can_round(&d))
            rc = bench_size(b, &d);
    }
    optimizer_free(optimizer);
    weights_release(&weights);
    return rc;
}
