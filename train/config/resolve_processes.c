#include "train/config/resolve_processes.h"

#include "model/base/err.h"
#include "model/shard.h"
#include "train/parallel/layout.h"
#include "train/parallel/world.h"
#include "train/step/step_config.h"

#include <stdio.h>
#include <stdlib.h>

/* The number of stages nearest to `stages` that so many processes divide into. */
static int nearest_stages(int stages, int processes, int n_layer)
{
    int near = 1;
    for (int i = 1; i <= processes && i <= n_layer; i++)
        if (processes % i == 0 && abs(i - stages) <= abs(near - stages))
            near = i;
    return near;
}

static int resolve_stages(const struct run_config *c, const struct config *shape,
                          struct layout *layout)
{
    const struct execution_section *e = &c->execution;
    const int there = world_size();
    char near[256];
    if (layout_read(layout, e->layers_per_device, shape->n_layer) != 0)
        return RUN_BLAME(c, RUN_ROW(execution.layers_per_device));
    if (layout_divide(layout, e->virtual_stages) != 0)
        return RUN_BLAME(c, RUN_ROW(execution.virtual_stages),
                         RUN_ROW(execution.layers_per_device));
    if (layout->stages > 1 && c->lora.rank > 0) {
        err_set(ERR_RANGE,
                "layers_per_device has %d devices, but an adapter is trained with the "
                "whole model in each process: layers_per_device=none",
                layout->stages);
        return RUN_BLAME(c, RUN_ROW(execution.layers_per_device), RUN_ROW(lora.rank));
    }
    if (there == 1 || there % layout->stages == 0)
        return 0;
    layout_suggest(near, sizeof near, nearest_stages(layout->stages, there, shape->n_layer),
                   shape->n_layer);
    err_set(ERR_RANGE,
            "layers_per_device has %d devices, and %d processes are not a multiple of that: "
            "layers_per_device=%s",
            layout->stages, there, near);
    return RUN_BLAME(c, RUN_ROW(execution.layers_per_device));
}

/* The number nearest to n of ranks with whole heads that so many processes divide into. */
static int nearest_tensor(int n, int processes, int most)
{
    int near = 1;
    for (int i = 1; i <= processes && i <= most; i++)
        if (processes % i == 0 && abs(i - n) <= abs(near - n))
            near = i;
    return near;
}

/* What needs whole layers in a process. */
static int refuse_beside_tensor(const struct run_config *c)
{
    const struct execution_section *e = &c->execution;
    const int n = e->tensor_parallel;
    if (c->lora.rank > 0) {
        err_set(ERR_RANGE,
                "tensor_parallel is %d, but an adapter is trained with the whole model in each "
                "process: tensor_parallel=1",
                n);
        return RUN_BLAME(c, RUN_ROW(execution.tensor_parallel), RUN_ROW(lora.rank));
    }
    if (c->logging.log_activations_every > 0) {
        err_set(ERR_RANGE,
                "log_activations_every is %d, but with tensor_parallel=%d no process has all of "
                "a layer's activations: log_activations_every=0",
                c->logging.log_activations_every, n);
        return RUN_BLAME(c, RUN_ROW(logging.log_activations_every),
                         RUN_ROW(execution.tensor_parallel));
    }
    return 0;
}

/* Processes that a whole number of pipelines, or of single stages, does not divide into. */
static int refuse_number(const struct run_config *c, int stages, int most)
{
    const int n = c->execution.tensor_parallel, there = world_size(),
              near = nearest_tensor(n, there / stages, most);
    if (stages == 1) {
        err_set(ERR_RANGE,
                "tensor_parallel is %d, and %d processes are not a multiple of that: "
                "tensor_parallel=%d",
                n, there, near);
        return RUN_BLAME(c, RUN_ROW(execution.tensor_parallel));
    }
    err_set(ERR_RANGE,
            "tensor_parallel is %d for each of %d devices of layers_per_device, and %d processes "
            "are not a multiple of %d: tensor_parallel=%d",
            n, stages, there, n * stages, near);
    return RUN_BLAME(c, RUN_ROW(execution.tensor_parallel), RUN_ROW(execution.layers_per_device));
}

static int resolve_tensor(const struct run_config *c, const struct config *shape, int stages)
{
    const int n = c->execution.tensor_parallel, there = world_size(), most = shard_most(shape);
    if (n == 1)
        return 0;
    int rc = refuse_beside_tensor(c);
    if (rc != 0)
        return rc;
    if (n > most) {
        err_set(ERR_RANGE, "tensor_parallel must be at most the model's %s (%d), not %d",
                most < shape->n_head ? "n_inner" : "heads", most, n);
        return RUN_BLAME(c, RUN_ROW(execution.tensor_parallel));
    }
    return there == 1 || there % (n * stages) == 0 ? 0 : refuse_number(c, stages, most);
}

/* Where nothing would be in parts. */
static int check_rts_activations(const struct run_config *c, const struct config *shape)
{
    const struct execution_section *e = &c->execution;
    int recomputed;
    if (!e->rts_activations)
        return 0;
    if (e->tensor_parallel == 1) {
        err_set(ERR_RANGE, "rts_activations is on, but tensor_parallel is 1, and one process keeps "
                           "all: tensor_parallel=2 or more, or rts_activations=off");
        return RUN_BLAME(c, RUN_ROW(execution.rts_activations), RUN_ROW(execution.tensor_parallel));
    }
    if (step_recomputed(&recomputed, e->recompute, shape->n_layer) != 0)
        return RUN_BLAME(c, RUN_ROW(execution.recompute));
    if (recomputed > 0)
        return 0;
    err_set(ERR_RANGE,
            "rts_activations is on, but recompute is %s, and the inputs of recomputed "
            "layers alone are divided: recompute=all, or rts_activations=off",
            e->recompute);
    return RUN_BLAME(c, RUN_ROW(execution.rts_activations), RUN_ROW(execution.recompute));
}

/* The words that make a run one process. */
static void write_alone(char *out, size_t n, const struct execution_section *e, int stages)
{
    if (world_size() > 1)
        snprintf(out, n, "one process");
    else
        snprintf(out, n, "%s%s%s%s%s", stages > 1 ? "layers_per_device=none" : "",
                 stages > 1 && e->tensor_parallel > 1 ? " " : "",
                 e->tensor_parallel > 1 ? "tensor_parallel=1" : "",
                 e->replicas > 1 && stages * e->tensor_parallel > 1 ? " " : "",
                 e->replicas > 1 ? "replicas=1" : "");
}

/* What they have in memory is least where it is divided. */
static int refuse_phased(const struct run_config *c, const struct layout *l)
{
    const struct execution_section *e = &c->execution;
    char alone[80];
    write_alone(alone, sizeof alone, e, l->stages);
    const bool divides = e->replicas > 1 && e->zero < 2 && c->lora.rank == 0;
    err_set(ERR_UNSUPPORTED,
            "phased is on, but only one process trains from disk: phased=off%s, or %s",
            divides ? " with zero=2" : "", alone);
    if (l->stages > 1)
        return RUN_BLAME(c, RUN_ROW(execution.phased), RUN_ROW(execution.layers_per_device));
    if (e->tensor_parallel > 1)
        return RUN_BLAME(c, RUN_ROW(execution.phased), RUN_ROW(execution.tensor_parallel));
    return RUN_BLAME(c, RUN_ROW(execution.phased), RUN_ROW(execution.replicas));
}

bool run_config_batches_follow(const struct run_config *c)
{
    const struct settings_store *s = &c->store;
    const enum origin accumulation =
        settings_store_origin(s, RUN_ROW(training.gradient_accumulation));
    return settings_store_origin(s, RUN_ROW(training.micro_batch_size)) <= ORIGIN_PRESET &&
           accumulation <= ORIGIN_PRESET;
}

void run_config_fit_batches(struct run_config *c)
{
    struct training_section *t = &c->training;
    if (!run_config_batches_follow(c) || t->global_batch_size % t->gradient_blocks != 0)
        return;
    t->micro_batch_size = run_config_micro_for(c, t->gradient_blocks);
    t->gradient_accumulation = t->global_batch_size / t->micro_batch_size;
}

int run_config_micro_for(const struct run_config *c, int blocks)
{
    int micro = c->training.micro_batch_size;
    while (c->training.global_batch_size / blocks % micro != 0)
        micro--;
    return micro;
}

const char *run_config_batches_for(char text[BATCHES_TEXT], const struct run_config *c, int blocks)
{
    const struct training_section *t = &c->training;
    const bool follow = run_config_batches_follow(c);
    const int64_t unit = blocks * (follow ? 1LL : t->micro_batch_size);
    text[0] = '\0';
    if (t->gradient_accumulation % blocks == 0 || (follow && t->global_batch_size % blocks == 0))
        return text;
    if (t->global_batch_size % blocks == 0) {
        const int micro = run_config_micro_for(c, blocks);
        snprintf(text, BATCHES_TEXT, " micro_batch_size=%d gradient_accumulation=%d", micro,
                 t->global_batch_size / micro);
    } else {
        snprintf(text, BATCHES_TEXT, " global_batch_size=%lld",
                 (long long)((t->global_batch_size / unit + 1) * unit));
    }
    return text;
}

int run_config_resolve_processes(struct run_config *c, const struct config *shape)
{
    struct execution_section *e = &c->execution;
    const enum origin from = settings_store_origin(&c->store, RUN_ROW(execution.replicas));
    const int there = world_size(), blocks = c->training.gradient_blocks;
    struct layout layout;
    int rc = resolve_stages(c, shape, &layout);
    if (rc == 0)
        rc = resolve_tensor(c, shape, layout.stages);
    if (rc != 0)
        return rc;
    const int of_replica = layout.stages * e->tensor_parallel, replicas = there / of_replica;
    if (there > 1 && e->replicas != replicas && from == ORIGIN_COMMAND_LINE) {
        if (of_replica == 1)
            err_set(ERR_RANGE, "replicas is %d, but %d processes have been started: leave it out",
                    e->replicas, there);
        else
            err_set(ERR_RANGE,
                    "replicas is %d, but %d processes have been started, %d for each replica: "
                    "replicas=%d",
                    e->replicas, there, of_replica, replicas);
        return RUN_BLAME(c, RUN_ROW(execution.replicas));
    }
    if (there > 1)
        e->replicas = replicas;
    if (e->replicas > blocks) {
        char batches[BATCHES_TEXT];
        err_set(ERR_RANGE,
                "replicas must be at most gradient_blocks (%d), not %d: with gradient_blocks=%d%s "
                "the results are the same for 1 to %d replicas",
                blocks, e->replicas, e->replicas, run_config_batches_for(batches, c, e->replicas),
                e->replicas);
        return RUN_BLAME(c, RUN_ROW(execution.replicas), RUN_ROW(training.gradient_blocks));
    }
    if (e->half_partials && blocks == 1) {
        err_set(ERR_RANGE,
                "half_partials is on, but gradient_blocks is 1, and a single block is not added to "
                "others: gradient_blocks=2 or more");
        return RUN_BLAME(c, RUN_ROW(execution.half_partials), RUN_ROW(training.gradient_blocks));
    }
    if (e->phased && e->replicas * of_replica > 1)
        return refuse_phased(c, &layout);
    if (e->zero > 0 && c->lora.rank > 0) {
        err_set(ERR_RANGE, "zero is %d, but an adapter's optimizer is not divided: zero=0",
                e->zero);
        return RUN_BLAME(c, RUN_ROW(execution.zero), RUN_ROW(lora.rank));
    }
    return check_rts_activations(c, shape);
}
