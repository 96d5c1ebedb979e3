#include "train/config/plan.h"

#include "model/base/decimal.h"
#include "model/base/err.h"
#include "model/base/mem_room.h"
#include "train/config/devices.h"
#include "train/config/disk_room.h"
#include "train/config/moments.h"
#include "train/config/phased_plan.h"
#include "train/config/size_text.h"
#include "train/config/weight_parts.h"
#include "train/config/suggest.h"
#include "train/parallel/division.h"
#include "train/parallel/reduce_scatter.h"
#include "train/parallel/reduction.h"
#include "train/step/weights.h"
#include "weights/tensors/tensor_copy.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void run_config_step(const struct run_config *c, const struct config *shape,
                     struct step_config *out)
{
    const struct training_section *t = &c->training;
    const struct execution_section *e = &c->execution;
    int parts = e->embedding_serialization_factor;
    step_config_init(out);
    out->batch = t->micro_batch_size;
    out->length = t->sequence_length;
    out->gradient_blocks = t->gradient_blocks;
    out->half_partials = e->half_partials;
    out->block_batches = t->gradient_accumulation / t->gradient_blocks;
    out->taken = e->zero > 1 && e->replicas > 1;
    out->step_tokens = (int64_t)t->global_batch_size * t->sequence_length;
    out->matrices = (enum product_engine)e->matrices;
    out->factors = (enum product_factors)t->matmul_precision;
    out->recompute = e->recompute;
    out->rts_activations = e->rts_activations;
    out->adapter = c->lora.rank > 0 ? &c->lora : NULL;
    out->loss_rows = e->serialized_seq_len;
    out->attention_pieces = e->attention_serialisation;
    out->loss_columns = parts > 1 ? (shape->n_vocab + parts - 1) / parts : 0;
    out->dropout = (struct dropout_config){
        .embd = t->embd_pdrop, .attn = t->attn_pdrop, .resid = t->resid_pdrop, .seed = t->seed};
}

double run_config_epochs(const struct run_config *c, uint64_t n_windows)
{
    const struct training_section *t = &c->training;
    return t->epochs != SETTING_AUTO ? t->epochs
                                     : suggest_epochs(n_windows * (uint64_t)t->sequence_length);
}

/* At most as many as have tokens that 63 bits can count: no run gets there. */
static int64_t countable_steps(const struct training_section *t, double steps)
{
    return (int64_t)fmin(steps, 0x1p62 / ((double)t->global_batch_size * t->sequence_length));
}

int64_t run_config_steps(const struct run_config *c, uint64_t n_windows)
{
    const struct training_section *t = &c->training;
    int64_t steps = t->steps;
    if (t->epochs != 0) {
        const double epochs = run_config_epochs(c, n_windows);
        double windows = ceil((double)n_windows * epochs);
        int64_t of_epochs = countable_steps(t, ceil(windows / t->global_batch_size));
        steps = steps == 0 || of_epochs < steps ? of_epochs : steps;
    }
    if (t->budget_hours > 0 && c->logging.tokens_per_second > 0) {
        double tokens = t->budget_hours * 3600 * c->logging.tokens_per_second;
        int64_t of_hours =
            countable_steps(t, tokens / ((double)t->global_batch_size * t->sequence_length));
        of_hours = of_hours < 1 ? 1 : of_hours;
        steps = steps == 0 || of_hours < steps ? of_hours : steps;
    }
    return steps;
}

double run_config_end_hours(const struct run_config *c)
{
    return c->logging.tokens_per_second == 0 ? c->training.budget_hours : 0;
}

static const char *precision_name(enum dtype d)
{
    return d == DTYPE_Q8 ? "q8" : dtype_torch_name(d);
}

/* The sum, against what the machine has. kept: no layer is recomputed. */
static int memory_total(double total, bool kept, struct buf *out)
{
    const struct mem_limit limit = mem_limit_find();
    const double here = (double)limit.memory;
    char size[32], machine[32];
    int rc =
        buf_printf(out, "  %-18s %10s  of %s in %s%s\n", "total", size_text(size, total),
                   size_text(machine, here), limit.owner, total > here ? ": it does not fit" : "");
    /* What could be done about it, the cheapest first. */
    if (rc == 0 && total > here * 0.9 && kept)
        rc = buf_printf(out, "  recompute=all or a smaller micro_batch_size takes less\n");
    return rc;
}

/* The optimizer's moments of so many parameters, in bytes: in memory, or on disk but for a part. */
struct moment_bytes {
    double first, second, at_work, disk, scratch;
};

static struct moment_bytes moment_bytes(const struct run_config *c, const struct config *shape,
                                        double n)
{
    const size_t first =
        dtype_bytes(optimizer_moment(&c->optimizer, (enum dtype)c->training.precision));
    const double each = (double)(first + sizeof(float)), most = optimizer_disk_part(false);
    const bool phased = c->execution.phased && c->execution.replicas == 1;
    if (phased && c->lora.rank == 0) /* among what is on disk (phased_plan.h) */
        return (struct moment_bytes){0};
    if (c->optimizer.kind == OPTIMIZER_MUON) {
        const struct moment_sizes s = moment_sizes_all(c, shape);
        return (struct moment_bytes){.first = s.first, .second = s.second, .scratch = s.scratch};
    }
    if (!phased)
        return (struct moment_bytes){.first = n * (double)first, .second = n * sizeof(float)};
    return (struct moment_bytes){.at_work = (n < most ? n : most) * each, .disk = n * each};
}

/* Of others' gradients, what is on its way. */
static double message_bytes(const struct run_config *c, double n, enum dtype dtype)
{
    const struct execution_section *e = &c->execution;
    if (e->replicas == 1)
        return 0;
    return (double)(e->zero > 1 ? reduce_scatter_flights_bytes(e->replicas, dtype, e->half_partials)
                                : reduction_bytes(c->training.gradient_blocks, e->replicas,
                                                  (size_t)n, dtype, e->half_partials));
}

struct memory_part {
    const char *part, *note;
    double bytes;
};

static int print_parts(double *total, const struct memory_part *parts, size_t n, struct buf *out)
{
    char size[32];
    int rc = 0;
    *total = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (parts[i].bytes == 0)
            continue;
        rc = buf_printf(out, "  %-18s %10s  %s\n", parts[i].part, size_text(size, parts[i].bytes),
                        parts[i].note);
        *total += parts[i].bytes;
    }
    return rc;
}

/* Of the last replica, which has as many blocks as any. */
static void plan_replica(const struct run_config *c, const struct config *shape,
                         struct step_config *step)
{
    run_config_step(c, shape, step);
    division_share(step->gradient_blocks, c->execution.replicas, c->execution.replicas - 1,
                   &step->first_block, &step->last_block);
}

static int plan_step(const struct run_config *c, const struct config *shape, enum dtype held,
                     struct step_config *step, struct phased_plan *phased)
{
    plan_replica(c, shape, step);
    int rc = phased_plan(phased, c, shape, step, (double)params_bytes(shape, held));
    if (phased->streams)
        phased_config(step);
    return rc;
}

static int memory_head(const struct run_config *c, size_t bytes, struct buf *out)
{
    const int replicas = c->execution.replicas;
    if (replicas == 1 && c->optimizer.kind == OPTIMIZER_MUON)
        return buf_printf(out, "memory, %zu bytes a parameter, %zu in the matrices of layers\n",
                          bytes, bytes - sizeof(float));
    return replicas == 1 ? buf_printf(out, "memory, %zu bytes a parameter\n", bytes)
                         : buf_printf(out, "memory of each of %d processes\n", replicas);
}

/* What lies on disk: the moments, or all that a step larger than memory needs. */
static int print_disk(const struct moment_bytes *moments, const struct phased_plan *phased,
                      struct buf *out)
{
    char size[32], read[32], written[32];
    if (moments->disk > 0)
        return buf_printf(out, "disk\n  %-18s %10s  both, read and written at each step\n",
                          "moments", size_text(size, moments->disk));
    if (!phased->streams)
        return 0;
    return buf_printf(out,
                      "disk\n  %-18s %10s  weights, gradients, moments, inputs of layers\n"
                      "  %-18s %10s  read, %s written\n",
                      "working files", size_text(size, phased->disk), "a step",
                      size_text(read, phased->read), size_text(written, phased->write));
}

/* By process, where these have some layers each. */
static int stages_plan(const struct run_config *c, const struct config *shape, enum dtype held,
                       struct buf *out)
{
    struct step_config step;
    run_config_step(c, shape, &step);
    int rc = buf_str(out, "memory of each process\n");
    if (rc == 0)
        rc = run_config_devices(c, shape, &step, held, out);
    return rc == 0 ? run_config_disk_note(c, shape, 0, out) : rc;
}

/* Those that layers over several processes divide come first. */
enum { MEMORY_DIVIDED = 9, MEMORY_ACTIVATIONS = 11, MEMORY_PARTS = 19, FORM = 80 };

struct memory_list {
    struct memory_part parts[MEMORY_PARTS];
    char other_form[FORM];
    struct moment_bytes moments;
    struct phased_plan phased;
};

static int list_memory(struct memory_list *m, const struct run_config *c,
                       const struct config *shape, enum dtype held)
{
    struct step_config step;
    struct step_bytes bytes;
    const enum dtype precision = (enum dtype)c->training.precision;
    int rc = plan_step(c, shape, held, &step, &m->phased);
    if (rc != 0 || (rc = step_bytes(&bytes, shape, precision, &step)) != 0)
        return rc;
    const bool kept = strcmp(step.recompute, "none") == 0, all = c->lora.rank == 0;
    size_t n_trainable = (size_t)config_params(shape);
    if (!all && (rc = adapter_count(&n_trainable, &c->lora, shape)) != 0)
        return rc;
    const double n = (double)config_params(shape), learning = (double)n_trainable;
    const double window =
        precision == DTYPE_F16 ? 4.0 * (double)weights_window(shape, precision) : 0;
    const char *dtype = precision_name(precision), *learns = all ? dtype : "float32";
    snprintf(m->other_form, FORM, "%s, as the model for prompts has them without the adapter",
             precision_name(held));
    const struct moment_bytes moments = m->moments =
        moment_bytes(c, shape, c->execution.zero > 0 ? learning / c->execution.replicas : learning);
    const struct memory_part parts[MEMORY_PARTS] = {
        {"parameters", dtype, m->phased.streams ? 0 : n * (double)dtype_bytes(precision)},
        {"layers in memory", "weights, gradients, moments, inputs; the rest is on disk",
         m->phased.memory},
        {"adapter", "float32", all ? 0 : learning * sizeof(float)},
        {"gradients", learns, (double)bytes.gradients},
        {"first moment", precision_name(optimizer_moment(&c->optimizer, precision)), moments.first},
        {"second moment",
         c->optimizer.kind == OPTIMIZER_MUON ? "float32, but for the matrices of layers"
                                             : "float32",
         moments.second},
        {"moments in memory", "of those on disk", moments.at_work},
        {"gradient blocks", learns, (double)bytes.waiting},
        {"gradient slices", learns, run_config_slices(c, learning)},
        {"embedding gradient", "float32, of the rows that a step's tokens use",
         (double)bytes.embedding},
        {"float32 copies", "of one layer and the embedding", window + (double)bytes.window},
        {"activations",
         kept                ? "all layers"
         : m->phased.streams ? "of one layer"
                             : "inputs of all layers, and one layer recomputed",
         (double)bytes.activations},
        {"logits", "of the positions computed at once", (double)bytes.logits},
        {"scratch", "of one layer", (double)bytes.scratch},
        {"orthogonalization", "of one matrix", moments.scratch},
        {"model for prompts", precision_name(held), (double)params_bytes(shape, held)},
        {"adapted tensors", m->other_form,
         all ? 0 : (double)adapter_alternate_bytes(&c->lora, shape, held)},
        {"messages", "gradients of other processes",
         message_bytes(c, learning, all ? precision : DTYPE_F32)},
        {"program",
         c->execution.replicas > 1 ? "with its libraries and MPI's" : "with its libraries",
         run_config_program(c)},
    };
    memcpy(m->parts, parts, sizeof parts);
    return 0;
}

int run_config_memory(struct run_memory *out, const struct run_config *c,
                      const struct config *shape, enum dtype held)
{
    struct memory_list m;
    int rc = list_memory(&m, c, shape, held);
    *out = (struct run_memory){0};
    for (int i = 0; i < MEMORY_PARTS && rc == 0; i++)
        *(i < MEMORY_DIVIDED        ? &out->of_layers
          : i == MEMORY_ACTIVATIONS ? &out->activations
                                    : &out->rest) += m.parts[i].bytes;
    out->disk = rc == 0 ? m.moments.disk + m.phased.disk : 0;
    return rc;
}

/* Bytes of weight, gradient and moments where all are in memory. */
static size_t parameter_bytes(const struct run_config *c)
{
    const enum dtype precision = (enum dtype)c->training.precision;
    size_t bytes = dtype_bytes(precision);
    if (c->lora.rank > 0)
        return bytes;
    if (!c->execution.phased)
        bytes += dtype_bytes(optimizer_moment(&c->optimizer, precision)) + sizeof(float);
    return bytes + dtype_bytes(precision);
}

/* What tensors are copied to a file with; zero=2: where the gradients were that have been sent. */
static int print_copies(const struct run_config *c, const struct config *shape, struct buf *out)
{
    char size[SIZE_TEXT];
    const bool sent = c->execution.zero > 1 && c->execution.replicas > 1 &&
                      c->training.gradient_accumulation == c->training.gradient_blocks;
    const double gradients = (double)config_params(shape) *
                             (double)dtype_bytes((enum dtype)c->training.precision),
                 more = (double)tensor_copy_bytes(config_largest(shape)) - (sent ? gradients : 0);
    if (more <= 0)
        return 0;
    return buf_printf(out, "  writing a checkpoint takes %s more%s\n", size_text(size, more),
                      c->execution.replicas == 1   ? ""
                      : weight_parts(c, shape) > 1 ? " in each process"
                                                   : " on rank 0");
}

static int memory_plan(const struct run_config *c, const struct config *shape, enum dtype held,
                       struct buf *out)
{
    struct memory_list m;
    double total = 0;
    int rc = list_memory(&m, c, shape, held);
    if (rc == 0)
        rc = m.phased.streams ? buf_str(out, "memory\n") : memory_head(c, parameter_bytes(c), out);
    if (rc == 0)
        rc = print_parts(&total, m.parts, MEMORY_PARTS, out);
    if (rc == 0)
        rc = memory_total(total, strcmp(c->execution.recompute, "none") == 0 && !m.phased.streams,
                          out);
    if (rc == 0 && c->lora.rank == 0)
        rc = print_copies(c, shape, out);
    if (rc == 0)
        rc = print_disk(&m.moments, &m.phased, out);
    return rc == 0 ? run_config_disk_note(c, shape, m.moments.disk + m.phased.disk, out) : rc;
}

int run_config_plan(const struct run_config *c, const struct config *shape, enum dtype held,
                    uint64_t n_tokens, uint64_t n_windows, struct buf *out)
{
    const struct training_section *t = &c->training;
    uint64_t per_step = (uint64_t)t->global_batch_size * (uint64_t)t->sequence_length;
    char size[32] = "", rate[DECIMAL_BYTES];
    if (config_heads_width(shape) != shape->n_embd)
        snprintf(size, sizeof size, "head_dim %d, ", config_head_size(shape));
    int rc = buf_printf(out,
                        "model\n  %" PRIu64 " parameters: n_layer %d, n_head %d, %sn_embd %d, "
                        "n_positions %d, vocab_size %d\n",
                        config_params(shape), shape->n_layer, shape->n_head, size, shape->n_embd,
                        shape->n_ctx, shape->n_vocab);
    if (rc == 0)
        rc = run_config_replica(c) > 1 ? stages_plan(c, shape, held, out)
                                       : memory_plan(c, shape, held, out);
    if (rc == 0)
        rc = buf_printf(out,
                        "run\n  a step: %d window%s of %d, %" PRIu64
                        " tokens, as %d micro-batch%s of %d\n",
                        t->global_batch_size, t->global_batch_size == 1 ? "" : "s",
                        t->sequence_length, per_step, t->gradient_accumulation,
                        t->gradient_accumulation == 1 ? "" : "es", t->micro_batch_size);
    if (rc == 0 && n_windows > 0)
        rc = buf_printf(out, "  an epoch: %" PRIu64 " tokens, %" PRIu64 " window%s, %.1f steps\n",
                        n_tokens, n_windows, n_windows == 1 ? "" : "s",
                        (double)n_windows / t->global_batch_size);
    int64_t steps = run_config_steps(c, n_windows);
    bool known = steps > 0 && (n_windows > 0 || t->epochs == 0);
    if (rc == 0 && known)
        rc = buf_printf(out, "  total: %" PRId64 " step%s, %" PRIu64 " tokens", steps,
                        steps == 1 ? "" : "s", (uint64_t)steps * per_step);
    if (rc == 0 && known && n_windows > 0) {
        const double epochs = (double)steps * t->global_batch_size / (double)n_windows;
        rc =
            buf_printf(out, ", %.3g epoch%s", epochs, epochs >= 0.995 && epochs < 1.005 ? "" : "s");
    }
    if (rc == 0 && known)
        rc = buf_str(out, "\n");
    if (rc == 0)
        rc = buf_printf(out, "  peak learning rate: %s\n",
                        decimal_show(rate, c->schedule.learning_rate));
    return rc;
}
