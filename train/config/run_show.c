/* The settings of a run, and what they will take, for people. */
#include "train/config/run_config.h"
#include "train/step/weights.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *origin_text(enum run_origin o)
{
    static const char *const names[] = {"built in", "preset", "file", "checkpoint", "command line"};
    return names[o];
}

/* The columns of names and of values: narrower where rows would not fit. */
static void fit_columns(int width, int *name, int *value)
{
    enum { NAME = 31, VALUE = 24, LONGEST = 2 + NAME + 1 + VALUE + 1 + 12, LEAST = 9 };
    int over = width > 0 && width < LONGEST ? LONGEST - width : 0;
    int of_value = over < VALUE - LEAST ? over : VALUE - LEAST;
    *value = VALUE - of_value;
    *name = NAME - (over - of_value) > LEAST ? NAME - (over - of_value) : LEAST;
}

static int between(int x, int least, int most)
{
    return x > most ? most : x < least ? least : x;
}

/* Of such columns, as far as they leave room for all of the row. */
static int show_row(struct buf *out, const char *name, const char *value, const char *origin,
                    int width)
{
    int names, values, n_name = (int)strlen(name), n_value = (int)strlen(value);
    fit_columns(width, &names, &values);
    int room = width - (2 + n_name + 1 + n_value + 1 + (int)strlen(origin));
    room = width == 0 ? INT_MAX : room < 0 ? 0 : room;
    int of_name = between(names - n_name, 0, room);
    int of_value = between(names + values - n_name - of_name - n_value, 0, room - of_name);
    return buf_printf(out, "  %s%*s %s%*s %s\n", name, of_name, "", value, of_value, "", origin);
}

int run_config_show(const struct run_config *c, int width, struct buf *out)
{
    const char *section = "";
    const struct setting *row;
    int rc = 0;
    for (int i = 0; rc == 0 && (row = run_row_at(i)) != NULL; i++) {
        struct buf value = {0};
        if (strcmp(section, row->group) != 0)
            rc = buf_printf(out, "%s\n", section = row->group);
        if (rc == 0)
            rc = setting_format(row, c, &value);
        if (rc == 0)
            rc =
                show_row(out, row->name, value.n > 0 ? buf_text(&value) : "\"\"",
                         c->follows[i] ? "follows" : origin_text(run_config_origin(c, row)), width);
        buf_release(&value);
    }
    return rc;
}

/* "12.5 MB": powers of 1024 under the names people use. */
static const char *size_text(char out[32], double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int u = 0;
    for (; bytes >= 1024 && u < 4; u++)
        bytes /= 1024;
    snprintf(out, 32, u == 0 ? "%.0f %s" : "%.1f %s", bytes, units[u]);
    return out;
}

static const char *precision_name(enum dtype d)
{
    return d == DTYPE_F16 ? "float16" : "float32";
}

static int memory_plan(const struct run_config *c, const struct config *shape, struct buf *out)
{
    struct step_config step;
    struct step_bytes bytes;
    enum dtype precision = (enum dtype)c->training.precision,
               moment = optimizer_moment(&c->optimizer, precision);
    run_config_step(c, shape, &step);
    int rc = step_bytes(&bytes, shape, precision, &step);
    if (rc != 0)
        return rc;
    bool kept = strcmp(step.recompute, "none") == 0;
    const bool all = c->lora.rank == 0;
    size_t n_trainable = (size_t)config_params(shape);
    if (!all && (rc = adapter_count(&n_trainable, &c->lora, shape)) != 0)
        return rc;
    double n = (double)config_params(shape), learning = (double)n_trainable;
    double window = precision == DTYPE_F16 ? 4.0 * (double)weights_window(shape, precision) : 0;
    const char *dtype = precision_name(precision), *moment_dtype = precision_name(moment);
    const char *learns = all ? dtype : "float32";
    const struct {
        const char *part, *note;
        double bytes;
    } parts[] = {
        {"parameters", dtype, n * (double)dtype_bytes(precision)},
        {"adapter", "float32", all ? 0 : learning * sizeof(float)},
        {"gradients", learns, (double)bytes.gradients},
        {"first moment", moment_dtype, learning * (double)dtype_bytes(moment)},
        {"second moment", "float32", learning * sizeof(float)},
        {"windows", "float32, weights and gradients of the layer at work, and the embedding's",
         window + (double)bytes.window},
        {"activations", kept ? "all layers" : "the inputs of layers, and one of those made again",
         (double)bytes.activations},
        {"logits", "of the positions at work", (double)bytes.logits},
        {"scratch", "of the layer at work", (double)bytes.scratch},
        {"model to talk to", "float16", (double)params_bytes(shape, DTYPE_F16)},
        {"its other form", "float16, what the adapter changes, for :lora off and on",
         all ? 0 : (double)adapter_room(&c->lora, shape, DTYPE_F16)},
    };
    double total = 0, here = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    char size[32], machine[32];
    size_t each = dtype_bytes(precision), learned = each + dtype_bytes(moment) + sizeof(float);
    rc = buf_printf(out, "memory, %zu bytes a parameter\n", each + (all ? learned : 0));
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && rc == 0; i++) {
        if (parts[i].bytes == 0)
            continue;
        rc = buf_printf(out, "  %-18s %10s  %s\n", parts[i].part, size_text(size, parts[i].bytes),
                        parts[i].note);
        total += parts[i].bytes;
    }
    if (rc == 0)
        rc = buf_printf(out, "  %-18s %10s  of %s in this machine%s\n", "together",
                        size_text(size, total), size_text(machine, here),
                        total > here ? ": it does not fit" : "");
    /* What could be done about it, the cheapest first. */
    if (rc == 0 && total > here * 0.9 && kept)
        rc = buf_printf(out, "  recompute=all or a smaller micro_batch_size takes less\n");
    return rc;
}

int run_config_plan(const struct run_config *c, const struct config *shape, uint64_t n_tokens,
                    uint64_t n_windows, struct buf *out)
{
    const struct training_section *t = &c->training;
    uint64_t per_step = (uint64_t)t->global_batch_size * (uint64_t)t->sequence_length;
    int rc = buf_printf(out,
                        "model\n  %" PRIu64 " parameters: n_layer %d, n_head %d, n_embd %d, "
                        "n_positions %d, vocab_size %d\n",
                        config_params(shape), shape->n_layer, shape->n_head, shape->n_embd,
                        shape->n_ctx, shape->n_vocab);
    if (rc == 0)
        rc = memory_plan(c, shape, out);
    if (rc == 0)
        rc = buf_printf(
            out, "run\n  a step: %d windows of %d, %" PRIu64 " tokens, as %d micro-batches of %d\n",
            t->global_batch_size, t->sequence_length, per_step, t->gradient_accumulation,
            t->micro_batch_size);
    if (rc == 0 && n_windows > 0)
        rc = buf_printf(out, "  an epoch: %" PRIu64 " tokens, %" PRIu64 " windows, %.1f steps\n",
                        n_tokens, n_windows, (double)n_windows / t->global_batch_size);
    int64_t steps = run_config_steps(c, n_windows);
    bool known = steps > 0 && (n_windows > 0 || t->epochs == 0);
    if (rc == 0 && known)
        rc = buf_printf(out, "  all: %" PRId64 " steps, %" PRIu64 " tokens\n", steps,
                        (uint64_t)steps * per_step);
    return rc;
}
