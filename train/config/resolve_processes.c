#include "train/config/resolve_processes.h"

#include "model/base/err.h"
#include "model/shard.h"
#include "train/config/layout_advice.h"
#include "train/config/resolve_batches.h"
#include "train/parallel/layout.h"
#include "train/parallel/world.h"
#include "train/step/step_config.h"

#include <stdio.h>

/* The layout of the last error, and which would do. */
static int add_layout(const struct run_config *c, const struct config *shape, int stages)
{
    char said[400], near[ADVICE_TEXT];
    snprintf(said, sizeof said, "%s", err_text());
    return err_set(ERR_RANGE, "%s: %s", said,
                   advise_layout(near, c, shape, stages, c->execution.tensor_parallel, false));
}

static int refuse_adapter(const struct run_config *c, int stages)
{
    char whole[ADVICE_TEXT];
    err_set(ERR_RANGE,
            "layers_per_device has %d devices, but an adapter is trained with the whole model in "
            "each process: %s",
            stages, advise_no_stages(whole, c));
    return RUN_BLAME(c, RUN_ROW(execution.layers_per_device), RUN_ROW(lora.rank));
}

static int resolve_stages(const struct run_config *c, const struct config *shape,
                          struct layout *layout)
{
    const struct execution_section *e = &c->execution;
    const int there = world_size(), stages = layout_count(e->layers_per_device);
    if (stages > 1 && c->lora.rank > 0)
        return refuse_adapter(c, stages);
    if (layout_read(layout, e->layers_per_device, shape->n_layer) != 0) {
        /* Of no list, any. */
        const bool whole = c->lora.rank > 0 || e->phased;
        add_layout(c, shape, layout->stages > 0 || whole ? stages : 2);
        return RUN_BLAME(c, RUN_ROW(execution.layers_per_device));
    }
    if (there > 1 && there % stages != 0) {
        err_set(ERR_RANGE,
                "layers_per_device has %d devices, and %d processes are not a multiple of that",
                stages, there);
        add_layout(c, shape, stages);
        return RUN_BLAME(c, RUN_ROW(execution.layers_per_device));
    }
    if (layout_divide(layout, e->virtual_stages) != 0)
        return RUN_BLAME(c, RUN_ROW(execution.virtual_stages),
                         RUN_ROW(execution.layers_per_device));
    return 0;
}

/* What needs whole layers in a process. */
static int check_beside_tensor(const struct run_config *c)
{
    const struct execution_section *e = &c->execution;
    const int n = e->tensor_parallel;
    if (c->lora.rank > 0) {
        char whole[ADVICE_TEXT];
        err_set(ERR_RANGE,
                "tensor_parallel is %d, but an adapter is trained with the whole model in each "
                "process: %s",
                n, advise_whole_layers(whole, c));
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
static int refuse_number(const struct run_config *c, const struct config *shape, int stages)
{
    const int n = c->execution.tensor_parallel, there = world_size();
    char text[ADVICE_TEXT];
    const char *near = advise_layout(text, c, shape, stages, n, true);
    if (stages == 1) {
        err_set(ERR_RANGE, "tensor_parallel is %d, and %d processes are not a multiple of that: %s",
                n, there, near);
        return RUN_BLAME(c, RUN_ROW(execution.tensor_parallel));
    }
    err_set(ERR_RANGE,
            "tensor_parallel is %d for each of %d devices of layers_per_device, and %d processes "
            "are not a multiple of %d: %s",
            n, stages, there, n * stages, near);
    return RUN_BLAME(c, RUN_ROW(execution.tensor_parallel), RUN_ROW(execution.layers_per_device));
}

static int resolve_tensor(const struct run_config *c, const struct config *shape, int stages)
{
    const int n = c->execution.tensor_parallel, there = world_size(), most = shard_most(shape);
    if (n == 1)
        return 0;
    if (n > most) {
        char near[ADVICE_TEXT];
        err_set(ERR_RANGE, "tensor_parallel must be at most the model's %s (%d), not %d: %s",
                most < shape->n_head ? "n_inner" : "heads", most, n,
                advise_layout(near, c, shape, stages, n, true));
        return RUN_BLAME(c, RUN_ROW(execution.tensor_parallel));
    }
    return there == 1 || there % (n * stages) == 0 ? 0 : refuse_number(c, shape, stages);
}

/* Where nothing would be in parts. */
static int check_rts_activations(const struct run_config *c, const struct config *shape)
{
    const struct execution_section *e = &c->execution;
    int recomputed;
    if (!e->rts_activations)
        return 0;
    if (step_recomputed(&recomputed, e->recompute, shape->n_layer) != 0)
        return RUN_BLAME(c, RUN_ROW(execution.recompute));
    if (e->tensor_parallel == 1) {
        /* The processes there are may be no multiple. */
        const bool can = world_size() == 1 && advice_has_shards(c, shape);
        err_set(ERR_RANGE,
                "rts_activations is on, but tensor_parallel is 1, and one process keeps all: "
                "%s%s%srts_activations=off",
                can ? "tensor_parallel=2 or more" : "",
                can && recomputed == 0 ? " with recompute=all" : "", can ? ", or " : "");
        return RUN_BLAME(c, RUN_ROW(execution.rts_activations), RUN_ROW(execution.tensor_parallel));
    }
    if (recomputed > 0)
        return 0;
    err_set(ERR_RANGE,
            "rts_activations is on, but recompute is %s, and the inputs of recomputed "
            "layers alone are divided: recompute=all, or rts_activations=off",
            e->recompute);
    return RUN_BLAME(c, RUN_ROW(execution.rts_activations), RUN_ROW(execution.recompute));
}

/* The words that make a run one process. */
static void write_alone(char *out, size_t n, const struct run_config *c, int stages)
{
    const struct execution_section *e = &c->execution;
    char layers[ADVICE_TEXT], whole[ADVICE_TEXT];
    if (world_size() > 1)
        snprintf(out, n, "one process");
    else
        snprintf(out, n, "%s%s%s%s%s", stages > 1 ? advise_no_stages(layers, c) : "",
                 stages > 1 && e->tensor_parallel > 1 ? " " : "",
                 e->tensor_parallel > 1 ? advise_whole_layers(whole, c) : "",
                 e->replicas > 1 && stages * e->tensor_parallel > 1 ? " " : "",
                 e->replicas > 1 ? "replicas=1" : "");
}

/* What they have in memory is least where it is divided. */
static int check_phased(const struct run_config *c)
{
    const int stages = layout_count(c->execution.layers_per_device);
    const struct execution_section *e = &c->execution;
    char alone[120], memory[ADVICE_TEXT];
    if (!e->phased || (world_size() == 1 && e->replicas * stages * e->tensor_parallel == 1))
        return 0;
    write_alone(alone, sizeof alone, c, stages);
    const bool divides = advice_replicas(c) > 1 && e->zero < 2 && c->lora.rank == 0;
    err_set(ERR_UNSUPPORTED, "phased is on, but only one process trains from disk: %s%s, or %s",
            advise_in_memory(memory, c), divides ? " with zero=2" : "", alone);
    if (stages > 1)
        return RUN_BLAME(c, RUN_ROW(execution.phased), RUN_ROW(execution.layers_per_device));
    if (e->tensor_parallel > 1)
        return RUN_BLAME(c, RUN_ROW(execution.phased), RUN_ROW(execution.tensor_parallel));
    return RUN_BLAME(c, RUN_ROW(execution.phased), RUN_ROW(execution.replicas));
}

/* One that is continued. */
static bool keeps_blocks(const struct run_config *c)
{
    return settings_store_origin(&c->store, RUN_ROW(training.gradient_blocks)) == ORIGIN_CHECKPOINT;
}

static int refuse_replicas(const struct run_config *c, int of_replica)
{
    const struct execution_section *e = &c->execution;
    const int blocks = c->training.gradient_blocks, there = world_size();
    char batches[BATCHES_TEXT];
    if (!keeps_blocks(c))
        err_set(ERR_RANGE,
                "replicas must be at most gradient_blocks (%d), not %d: with gradient_blocks=%d%s "
                "the results are the same for 1 to %d replicas",
                blocks, e->replicas, e->replicas, run_config_batches_for(batches, c, e->replicas),
                e->replicas);
    else if (there == 1)
        err_set(ERR_RANGE,
                "replicas must be at most gradient_blocks (%d), which a run keeps, not %d: "
                "replicas=%d",
                blocks, e->replicas, blocks);
    else
        err_set(ERR_RANGE,
                "replicas must be at most gradient_blocks (%d), which a run keeps, not %d: start "
                "%d process%s or fewer",
                blocks, e->replicas, blocks * of_replica, blocks * of_replica == 1 ? "" : "es");
    return RUN_BLAME(c, RUN_ROW(execution.replicas), RUN_ROW(training.gradient_blocks));
}

/* The replicas of the processes there are, of so many each. */
static int count_replicas(struct run_config *c, int of_replica)
{
    struct execution_section *e = &c->execution;
    const enum origin from = settings_store_origin(&c->store, RUN_ROW(execution.replicas));
    const int there = world_size(), replicas = there / of_replica;
    if (there > 1 && e->replicas != replicas && from == ORIGIN_COMMAND_LINE) {
        char batches[BATCHES_TEXT], blocks[BATCHES_TEXT + 40] = "";
        if (replicas > c->training.gradient_blocks && !keeps_blocks(c))
            snprintf(blocks, sizeof blocks, ", with gradient_blocks=%d%s", replicas,
                     run_config_batches_for(batches, c, replicas));
        if (of_replica == 1)
            err_set(ERR_RANGE, "replicas is %d, but %d processes have been started: leave it out%s",
                    e->replicas, there, blocks);
        else
            err_set(ERR_RANGE,
                    "replicas is %d, but %d processes have been started, %d for each replica: "
                    "replicas=%d%s",
                    e->replicas, there, of_replica, replicas, blocks);
        return RUN_BLAME(c, RUN_ROW(execution.replicas));
    }
    if (there > 1)
        e->replicas = replicas;
    return e->replicas > c->training.gradient_blocks ? refuse_replicas(c, of_replica) : 0;
}

static int refuse_half_partials(const struct run_config *c)
{
    char batches[BATCHES_TEXT], blocks[BATCHES_TEXT + 40] = "";
    run_config_batches_for(batches, c, 2);
    if (!keeps_blocks(c))
        snprintf(blocks, sizeof blocks, "gradient_blocks=2%s%s, or ",
                 *batches == '\0' ? " or more" : "", batches);
    err_set(ERR_RANGE,
            "half_partials is on, but gradient_blocks is 1, and a single block is not added to "
            "others: %shalf_partials=off",
            blocks);
    return RUN_BLAME(c, RUN_ROW(execution.half_partials), RUN_ROW(training.gradient_blocks));
}

int run_config_resolve_processes(struct run_config *c, const struct config *shape)
{
    struct execution_section *e = &c->execution;
    struct layout layout;
    int rc = check_phased(c);
    if (rc == 0 && e->tensor_parallel > 1)
        rc = check_beside_tensor(c);
    if (rc == 0)
        rc = resolve_stages(c, shape, &layout);
    if (rc == 0)
        rc = resolve_tensor(c, shape, layout.stages);
    if (rc != 0)
        return rc;
    const int of_replica = layout.stages * e->tensor_parallel;
    if ((rc = count_replicas(c, of_replica)) != 0)
        return rc;
    if (e->half_partials && c->training.gradient_blocks == 1)
        return refuse_half_partials(c);
    if (e->zero > 0 && c->lora.rank > 0) {
        err_set(ERR_RANGE, "zero is %d, but an adapter's optimizer is not divided: zero=0",
                e->zero);
        return RUN_BLAME(c, RUN_ROW(execution.zero), RUN_ROW(lora.rank));
    }
    return check_rts_activations(c, shape);
}
