#include "train/config/resolve_batches.h"

#include "model/base/err.h"
#include "train/config/layout_advice.h"

#include <stdio.h>

/* Which source gave a field's value, later ones having higher numbers; 0: none did. */
#define SOURCE_OF(c, field) settings_store_layer(&(c)->store, RUN_ROW(field))

/* By a user or a checkpoint. */
static bool is_named(const struct run_config *c, const struct setting *row)
{
    return settings_store_origin(&c->store, row) > ORIGIN_PRESET;
}

bool run_config_batches_follow(const struct run_config *c)
{
    return !is_named(c, RUN_ROW(training.micro_batch_size)) &&
           !is_named(c, RUN_ROW(training.gradient_accumulation));
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
    int n = 0;
    text[0] = '\0';
    if (t->gradient_accumulation % blocks == 0 || (follow && t->global_batch_size % blocks == 0))
        return text;
    if (t->global_batch_size % blocks == 0) {
        const int micro = run_config_micro_for(c, blocks);
        snprintf(text, BATCHES_TEXT, " micro_batch_size=%d gradient_accumulation=%d", micro,
                 t->global_batch_size / micro);
        return text;
    }
    /* Of the two that which was named must change; both, where both were. */
    const long long windows = (t->global_batch_size / unit + 1) * unit;
    const bool accumulates = is_named(c, RUN_ROW(training.gradient_accumulation));
    if (!accumulates || is_named(c, RUN_ROW(training.global_batch_size)))
        n = snprintf(text, BATCHES_TEXT, " global_batch_size=%lld", windows);
    if (accumulates)
        snprintf(text + n, BATCHES_TEXT - (size_t)n, " gradient_accumulation=%lld",
                 windows / t->micro_batch_size);
    return text;
}

/* Of n >= 1, the one nearest to d that is not below `from`; of two the larger. 0: none. */
static int nearest_divisor(int64_t n, int d, int from)
{
    for (int away = 1; d + (int64_t)away <= n || d - away >= from; away++) {
        if (d + (int64_t)away <= n && d + away >= from && n % (d + (int64_t)away) == 0)
            return d + away;
        if (d - away >= from && n % (d - away) == 0)
            return d - away;
    }
    return 0;
}

/* A preset's blocks are for its own batch. */
static int common_divisor(int64_t accumulation, int blocks)
{
    while (accumulation % blocks != 0)
        blocks--;
    return blocks;
}

/* Another step for so many blocks as were asked for, or more where there are more replicas; another
 * number of blocks for this step. A run keeps its blocks. */
static void advise_blocks(char *out, size_t n, const struct run_config *c)
{
    const struct training_section *t = &c->training;
    const bool follow = run_config_batches_follow(c);
    const int blocks = t->gradient_blocks, replicas = advice_replicas(c),
              from = c->execution.half_partials && replicas < 2 ? 2 : replicas,
              near = nearest_divisor(follow ? t->global_batch_size : t->gradient_accumulation,
                                     blocks, from),
              need = blocks < replicas ? replicas : blocks;
    char batches[BATCHES_TEXT], more[40] = "", other[40] = "";
    run_config_batches_for(batches, c, need);
    if (settings_store_origin(&c->store, RUN_ROW(training.gradient_blocks)) == ORIGIN_CHECKPOINT) {
        snprintf(out, n, "%s", run_config_batches_for(batches, c, blocks));
        return;
    }
    if (need != blocks)
        snprintf(more, sizeof more, " gradient_blocks=%d", need);
    if (near > 0 && near != need)
        snprintf(other, sizeof other, ", or gradient_blocks=%d", near);
    snprintf(out, n, "%s%s%s", more, batches, other);
}

static int refuse_blocks(const struct run_config *c)
{
    const struct training_section *t = &c->training;
    char advice[BATCHES_TEXT + 80];
    advise_blocks(advice, sizeof advice, c);
    err_set(ERR_RANGE,
            "gradient_blocks is %d, and a step's %d window%s in micro-batches of %d do%s not "
            "divide into so many blocks:%s",
            t->gradient_blocks, t->global_batch_size, t->global_batch_size == 1 ? "" : "s",
            t->micro_batch_size, t->global_batch_size == 1 ? "es" : "", advice);
    return RUN_BLAME(c, RUN_ROW(training.gradient_blocks), RUN_ROW(training.global_batch_size),
                     RUN_ROW(training.micro_batch_size));
}

/* Of global_batch_size and gradient_accumulation the one given later decides; given
 * together they must agree. What an earlier call has made of them stays. */
int run_config_resolve_batches(struct run_config *c)
{
    struct training_section *t = &c->training;
    int64_t micro = t->micro_batch_size, accumulation = t->gradient_accumulation;
    int of_global = t->global_batch_size == 0 ? 0 : SOURCE_OF(c, training.global_batch_size);
    int of_accumulation = accumulation == 0 ? 0 : SOURCE_OF(c, training.gradient_accumulation);
    const bool neither = of_global == 0 && of_accumulation == 0;
    if (neither)
        accumulation = 1;
    if (of_global > of_accumulation || (neither && t->global_batch_size != 0)) {
        if (run_config_batches_follow(c))
            micro = t->micro_batch_size = run_config_micro_for(c, 1);
        if (t->global_batch_size % micro != 0) {
            err_set(ERR_RANGE,
                    "global_batch_size must be a multiple of micro_batch_size (%d), not %d",
                    t->micro_batch_size, t->global_batch_size);
            return RUN_BLAME(c, RUN_ROW(training.global_batch_size),
                             RUN_ROW(training.micro_batch_size));
        }
        accumulation = t->global_batch_size / micro;
    }
    if (of_global != 0 && of_global == of_accumulation &&
        micro * accumulation != t->global_batch_size) {
        err_set(ERR_RANGE,
                "micro_batch_size %d x gradient_accumulation %d is %lld windows per step, but "
                "global_batch_size is %d: leave out global_batch_size%s",
                t->micro_batch_size, t->gradient_accumulation, (long long)(micro * accumulation),
                t->global_batch_size,
                t->global_batch_size % micro == 0 ? " or gradient_accumulation" : "");
        return RUN_BLAME(c, RUN_ROW(training.micro_batch_size),
                         RUN_ROW(training.gradient_accumulation),
                         RUN_ROW(training.global_batch_size));
    }
    if (micro * accumulation > INT32_MAX) {
        err_set(ERR_RANGE, "micro_batch_size %d x gradient_accumulation %lld is too large",
                t->micro_batch_size, (long long)accumulation);
        return RUN_BLAME(c, RUN_ROW(training.micro_batch_size),
                         RUN_ROW(training.gradient_accumulation));
    }
    t->gradient_accumulation = (int)accumulation;
    t->global_batch_size = (int)(micro * accumulation);
    if (settings_store_origin(&c->store, RUN_ROW(training.gradient_blocks)) == ORIGIN_PRESET)
        t->gradient_blocks = common_divisor(accumulation, t->gradient_blocks);
    run_config_fit_batches(c);
    if (t->gradient_accumulation % t->gradient_blocks != 0)
        return refuse_blocks(c);
    return 0;
}
