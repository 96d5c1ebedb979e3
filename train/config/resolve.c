/* What follows from a run's settings together: shape, batches, steps. */
#include "train/config/resolve.h"

#include "model/base/decimal.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/kernels/bf16_kernels.h"
#include "model/kernels/product.h"
#include "train/config/layout_advice.h"
#include "train/config/resolve_batches.h"
#include "train/config/resolve_processes.h"
#include "train/config/suggest.h"
#include "train/eval/eval.h"
#include "train/parallel/layout.h"
#include "train/parallel/world.h"
#include "train/step/step_config.h"
#include "weights/open.h"

#include <math.h>
#include <stdio.h>
#include <inttypes.h>
#include <string.h>

/* Less than float16's least number leaves nothing of a gradient of 1. */
#define LOSS_SCALING_MIN 0x1p-24

/* A setting that only a random model can have, if one is in force. */
static const struct setting *given_size(const struct model_section *m)
{
    return m->n_layer != 0               ? RUN_ROW(model.n_layer)
           : m->n_head != 0              ? RUN_ROW(model.n_head)
           : m->head_dim != 0            ? RUN_ROW(model.head_dim)
           : m->n_embd != 0              ? RUN_ROW(model.n_embd)
           : m->n_positions != 0         ? RUN_ROW(model.n_positions)
           : m->vocab_size != 0          ? RUN_ROW(model.vocab_size)
           : m->n_inner != 0             ? RUN_ROW(model.n_inner)
           : m->tie_word_embeddings != 0 ? RUN_ROW(model.tie_word_embeddings)
           : *m->tokenizer != '\0'       ? RUN_ROW(model.tokenizer)
                                         : NULL;
}

/* Which source gave a field's value, later ones having higher numbers; 0: none did. */
#define SOURCE_OF(c, field) settings_store_layer(&(c)->store, RUN_ROW(field))

/* Whether the tokenizer was named later than the size: it then brings its own, but for padding. */
static bool vocab_follows(const struct run_config *c)
{
    return c->model.vocab_size != 0 && *c->model.tokenizer != '\0' &&
           run_init_is_random(&c->model) &&
           SOURCE_OF(c, model.tokenizer) > SOURCE_OF(c, model.vocab_size);
}

int run_config_source(const struct run_config *c, struct buf *out)
{
    const struct model_section *m = &c->model;
    if (!run_init_is_random(m)) {
        const struct setting *size = given_size(m);
        if (size == NULL)
            return buf_str(out, m->init);
        if (size == RUN_ROW(model.tokenizer))
            err_set(ERR_RANGE,
                    "model.tokenizer is for a new model (init=random); a model that has weights "
                    "takes the tokenizer.json, or vocab.json and merges.txt, beside its files");
        else
            err_set(ERR_RANGE,
                    "model.%s is for a new model (init=random), not for one that has weights",
                    size->name);
        return RUN_BLAME(c, size, RUN_ROW(model.init));
    }
    const struct {
        const char *key;
        int value;
    } sizes[] = {{"n_layer", m->n_layer},
                 {"n_head", m->n_head},
                 {"head_dim", m->head_dim},
                 {"n_embd", m->n_embd},
                 {"n_positions", m->n_positions},
                 {vocab_follows(c) ? "vocab_padded" : "vocab_size", m->vocab_size},
                 {"n_inner", m->n_inner}};
    int rc = buf_str(out, m->init[6] == ':' ? m->init : "random:gpt2");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && rc == 0; i++)
        if (sizes[i].value != 0)
            rc = buf_printf(out, ",%s=%d", sizes[i].key, sizes[i].value);
    if (rc == 0 && m->tie_word_embeddings != 0)
        rc = buf_printf(out, ",tie_word_embeddings=%s", m->tie_word_embeddings == 1 ? "on" : "off");
    if (rc == 0 && *m->tokenizer != '\0')
        rc = buf_printf(out, ",tokenizer=%s", m->tokenizer);
    return rc;
}

int run_config_shape(const struct run_config *c, const struct config *loaded, struct config *out)
{
    struct buf path = {0};
    struct source s;
    int rc = run_config_source(c, &path);
    if (rc == 0 && path.n > 0) {
        if ((rc = source_open(&s, path.data, c->training.seed, true, NULL)) == 0) {
            *out = s.config;
            source_close(&s);
        } else {
            rc = RUN_BLAME(c, RUN_ROW(model.init));
        }
    } else if (rc == 0 && loaded != NULL) {
        *out = *loaded;
    } else if (rc == 0) {
        rc = err_set(ERR_MISSING, "there is no model to train: load one, or give init=PATH, "
                                  "init=random:gpt2 or a preset");
    }
    buf_release(&path);
    return rc;
}

/* -1, and nothing else below 0, is as said elsewhere. */
static int resolve_dropout(struct run_config *c, const struct config *shape)
{
    struct training_section *t = &c->training;
    const struct setting *const rows[] = {RUN_ROW(training.dropout), RUN_ROW(training.embd_pdrop),
                                          RUN_ROW(training.attn_pdrop),
                                          RUN_ROW(training.resid_pdrop)};
    const float of_model[] = {0, shape->embd_pdrop, shape->attn_pdrop, shape->resid_pdrop};
    float *p[] = {&t->dropout, &t->embd_pdrop, &t->attn_pdrop, &t->resid_pdrop};
    for (int i = 0; i < 4; i++) {
        if (*p[i] < 0 && *p[i] != -1) {
            err_set(ERR_RANGE, "%s must be -1 or 0 to 0.99, not %g", rows[i]->name, (double)*p[i]);
            return RUN_BLAME(c, rows[i]);
        }
        if (i > 0 && *p[i] < 0)
            *p[i] = t->dropout >= 0 ? t->dropout : of_model[i];
    }
    return 0;
}

static void resolve_precision(struct run_config *c)
{
    enum { ON = 1, OFF = 2 };
    struct training_section *t = &c->training;
    bool half = t->precision == DTYPE_F16;
    if (t->auto_loss_scaling == 0)
        t->auto_loss_scaling = half ? ON : OFF;
    if (t->loss_scaling == 0)
        t->loss_scaling = !half ? 1 : t->auto_loss_scaling == ON ? 65536 : 1024;
    if (c->optimizer.first_order_momentum == MOMENT_AS_WEIGHTS)
        c->optimizer.first_order_momentum = half && c->lora.rank == 0 ? MOMENT_F16 : MOMENT_F32;
    c->optimizer.seed = t->seed;
}

int run_config_resolve_names(struct run_config *c)
{
    if (*c->logging.label == '\0') {
        int rc = settings_table_parse(&run_table, RUN_ROW(logging.label), c,
                                      c->name == NULL ? "run" : c->name);
        if (rc != 0)
            return rc;
    }
    if (*c->checkpoint.folder == '\0') {
        const char *name = c->logging.label;
        if (strchr(name, '/') != NULL || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
            err_set(ERR_RANGE,
                    "the label %s cannot name the run's folder in " RUNS_FOLDER
                    ": give folder=DIR too",
                    file_quote(name));
            return RUN_BLAME(c, RUN_ROW(logging.label));
        }
        char *folder = mem_sprintf(RUNS_FOLDER "/%s", name);
        if (folder == NULL)
            return ERR_NOMEM;
        mem_free(c->checkpoint.folder);
        c->checkpoint.folder = folder;
    }
    return 0;
}

/* A length given later takes the place of those before it: steps=200 of a preset's epochs. */
static void resolve_length(struct run_config *c)
{
    struct training_section *t = &c->training;
    int steps = t->steps != 0 ? SOURCE_OF(c, training.steps) : 0;
    int epochs = t->epochs != 0 ? SOURCE_OF(c, training.epochs) : 0;
    int hours = t->budget_hours != 0 ? SOURCE_OF(c, training.budget_hours) : 0;
    if (steps < epochs || steps < hours)
        t->steps = 0;
    if (epochs < steps || epochs < hours)
        t->epochs = 0;
    if (hours < steps || hours < epochs)
        t->budget_hours = 0;
    if (t->steps == 0 && t->epochs == 0 && t->budget_hours == 0)
        t->epochs = 1;
}

static int check_eval(const struct run_config *c)
{
    const struct logging_section *l = &c->logging;
    const struct eval *e = eval_find(l->eval);
    char shown[64];
    if (*l->eval == '\0' || (e != NULL && !e->needs_other))
        return 0;
    file_show(shown, sizeof shown, l->eval);
    if (e != NULL)
        err_set(ERR_UNSUPPORTED,
                "eval is %s, which needs a second model: choose another evaluation", shown);
    else
        err_set(ERR_MISSING, "there is no evaluation %s; `:help eval` lists them", shown);
    return RUN_BLAME(c, RUN_ROW(logging.eval));
}

static bool can_be_phased(const struct run_config *c)
{
    const struct execution_section *e = &c->execution;
    return c->optimizer.kind != OPTIMIZER_MUON && world_size() == 1 &&
           e->replicas * layout_count(e->layers_per_device) * e->tensor_parallel == 1;
}

/* For a run from disk; one that leaves it may keep what it said before. */
static int check_memory(const struct run_config *c)
{
    const struct execution_section *e = &c->execution;
    if (e->memory <= 0 || e->phased ||
        SOURCE_OF(c, execution.memory) < SOURCE_OF(c, execution.phased) ||
        settings_store_origin(&c->store, RUN_ROW(execution.memory)) == ORIGIN_CHECKPOINT)
        return 0;
    err_set(ERR_RANGE, "memory is %g GB, but phased is off, and all is in memory: %smemory=0",
            (double)e->memory, can_be_phased(c) ? "phased=on, or " : "");
    return RUN_BLAME(c, RUN_ROW(execution.memory), RUN_ROW(execution.phased));
}

/* What is said of an adapter, where none is trained. */
static int check_lora(const struct run_config *c)
{
    const struct setting *rows[] = {RUN_ROW(lora.alpha), RUN_ROW(lora.dropout),
                                    RUN_ROW(lora.targets), RUN_ROW(lora.rslora)};
    for (size_t i = 0; c->lora.rank == 0 && i < sizeof rows / sizeof *rows; i++)
        if (settings_store_layer(&c->store, rows[i]) > SOURCE_OF(c, lora.rank)) {
            err_set(ERR_RANGE, "%s is given, but rank is 0, which trains no adapter: rank=8",
                    rows[i]->name);
            return RUN_BLAME(c, rows[i]);
        }
    return 0;
}

static int check_execution(const struct run_config *c, const struct config *shape)
{
    const struct execution_section *e = &c->execution;
    if (c->training.sequence_length > shape->n_ctx) {
        err_set(ERR_RANGE, "sequence_length must be at most %d (the model's context), not %d",
                shape->n_ctx, c->training.sequence_length);
        return RUN_BLAME(c, RUN_ROW(training.sequence_length));
    }
    if (e->embedding_serialization_factor > shape->n_vocab) {
        err_set(ERR_RANGE,
                "embedding_serialization_factor must be at most %d (the vocabulary), not %d",
                shape->n_vocab, e->embedding_serialization_factor);
        return RUN_BLAME(c, RUN_ROW(execution.embedding_serialization_factor));
    }
    int n;
    if (step_recomputed(&n, e->recompute, shape->n_layer) != 0)
        return RUN_BLAME(c, RUN_ROW(execution.recompute));
    return check_memory(c);
}

/* Muon orthogonalizes whole matrices, and each where the moments are: in memory, undivided. */
static int check_muon(const struct run_config *c)
{
    const struct execution_section *e = &c->execution;
    char memory[ADVICE_TEXT], whole[ADVICE_TEXT];
    if (c->optimizer.kind != OPTIMIZER_MUON)
        return 0;
    const struct {
        bool on;
        const struct setting *row;
        const char *text, *advice;
    } refused[] = {
        {c->lora.rank > 0, RUN_ROW(lora.rank), "muon trains whole matrices, not a LoRA adapter",
         "rank=0"},
        {e->phased, RUN_ROW(execution.phased), "muon has its momentum in memory, not on disk",
         advise_in_memory(memory, c)},
        {e->zero > 0, RUN_ROW(execution.zero), "muon's matrices are not divided among replicas",
         "zero=0"},
        {e->tensor_parallel > 1, RUN_ROW(execution.tensor_parallel),
         "muon's matrices are not divided among processes", advise_whole_layers(whole, c)},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].on) {
            err_set(ERR_UNSUPPORTED, "%s: %s, or optimizer=adamw", refused[i].text,
                    refused[i].advice);
            return RUN_BLAME(c, refused[i].row, RUN_ROW(optimizer.kind));
        }
    return 0;
}

/* The chains of such products are in groups (model/kernels/product.h), which neither windows nor
 * processes may divide. */
static int check_matmul(const struct run_config *c)
{
    const struct training_section *t = &c->training;
    const struct execution_section *e = &c->execution;
    if (t->matmul_precision != FACTORS_BFLOAT16)
        return 0;
    if (e->matrices == PRODUCT_OPENBLAS) {
        err_set(ERR_UNSUPPORTED, "OpenBLAS multiplies in float32: matrices=auto, or "
                                 "matmul_precision=float32");
        return RUN_BLAME(c, RUN_ROW(execution.matrices), RUN_ROW(training.matmul_precision));
    }
    if (e->tensor_parallel > 1) {
        char whole[ADVICE_TEXT];
        err_set(ERR_UNSUPPORTED,
                "sums in bfloat16's order are not divided among processes: %s, or "
                "matmul_precision=float32",
                advise_whole_layers(whole, c));
        return RUN_BLAME(c, RUN_ROW(execution.tensor_parallel), RUN_ROW(training.matmul_precision));
    }
    const struct {
        int value;
        const char *name;
        const struct setting *row;
    } whole[] = {
        {t->sequence_length, "sequence_length", RUN_ROW(training.sequence_length)},
        {e->serialized_seq_len, "serialized_seq_len", RUN_ROW(execution.serialized_seq_len)}};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (whole[i].value % BF16_GROUP != 0) {
            const int below = whole[i].value / BF16_GROUP * BF16_GROUP;
            err_set(ERR_RANGE,
                    "%s must be a multiple of %d for matmul_precision=bfloat16, not %d; try %d",
                    whole[i].name, BF16_GROUP, whole[i].value, below > 0 ? below : BF16_GROUP);
            return RUN_BLAME(c, whole[i].row, RUN_ROW(training.matmul_precision));
        }
    return 0;
}

/* A rate chosen by the model's size. */
static int resolve_auto_rate(struct run_config *c, const struct config *shape)
{
    struct schedule_config *s = &c->schedule;
    if (s->learning_rate != SETTING_AUTO)
        return 0;
    if (c->optimizer.kind != OPTIMIZER_ADAMW && c->optimizer.kind != OPTIMIZER_ADAM) {
        err_set(ERR_RANGE,
                "learning_rate is auto, which chooses for adamw and adam: give a number");
        return RUN_BLAME(c, RUN_ROW(schedule.learning_rate), RUN_ROW(optimizer.kind));
    }
    s->learning_rate = suggest_learning_rate(config_params(shape), c->lora.rank > 0);
    return 0;
}

/* A cycle that ends with its warmup never learns. */
static int check_cycles(const struct run_config *c)
{
    const struct schedule_config *s = &c->schedule;
    const int64_t n = c->training.steps, each = n / s->cycles, warmup = schedule_warmup(s, n);
    if (n == 0 || s->cycles < 2 || (each > 0 && (each > warmup || s->kind == SCHEDULE_COSINE_RAMP)))
        return 0;
    if (each == 0)
        err_set(ERR_RANGE, "cycles is %d, but the run has %" PRId64 " steps", s->cycles, n);
    else
        err_set(ERR_RANGE,
                "cycles is %d: of %" PRId64 " steps each has %" PRId64 ", and warmup takes %" PRId64
                " of them",
                s->cycles, n, each, warmup);
    return RUN_BLAME(c, RUN_ROW(schedule.cycles), RUN_ROW(schedule.warmup));
}

static int resolve_rates(struct run_config *c, const struct config *shape)
{
    struct schedule_config *s = &c->schedule;
    char rate[DECIMAL_BYTES], first[DECIMAL_BYTES];
    int rc = resolve_auto_rate(c, shape);
    if (rc != 0)
        return rc;
    /* Below a least rate that was there before, a rate takes its tenth for it, as the built-in
     * ones have it. */
    if (s->min_learning_rate > s->learning_rate &&
        SOURCE_OF(c, schedule.min_learning_rate) < SOURCE_OF(c, schedule.learning_rate))
        s->min_learning_rate = s->learning_rate / 10;
    if (s->kind != SCHEDULE_CONSTANT && s->min_learning_rate > s->learning_rate) {
        err_set(ERR_RANGE, "min_learning_rate must be at most learning_rate (%s), not %s",
                decimal_show(rate, s->learning_rate), decimal_show(first, s->min_learning_rate));
        return RUN_BLAME(c, RUN_ROW(schedule.min_learning_rate), RUN_ROW(schedule.learning_rate));
    }
    if (s->warmup_init > s->learning_rate) {
        err_set(ERR_RANGE, "warmup_init must be at most learning_rate (%s), not %s",
                decimal_show(rate, s->learning_rate), decimal_show(first, s->warmup_init));
        return RUN_BLAME(c, RUN_ROW(schedule.warmup_init), RUN_ROW(schedule.learning_rate));
    }
    if ((rc = check_cycles(c)) != 0)
        return rc;
    const double scaling = c->training.loss_scaling;
    if (scaling > 0 && scaling < LOSS_SCALING_MIN) {
        err_set(ERR_RANGE, "loss_scaling must be 0 or %g to 1e7, not %g", LOSS_SCALING_MIN,
                scaling);
        return RUN_BLAME(c, RUN_ROW(training.loss_scaling));
    }
    return 0;
}

/* here: by the processes there are. */
static int resolve_sections(struct run_config *c, const struct config *shape, bool here)
{
    struct training_section *t = &c->training;
    /* What a preset says is for models that have it. */
    if (t->sequence_length > shape->n_ctx &&
        settings_store_origin(&c->store, RUN_ROW(training.sequence_length)) == ORIGIN_PRESET)
        t->sequence_length = shape->n_ctx;
    int rc = check_execution(c, shape);
    if (rc == 0)
        rc = check_lora(c);
    if (rc == 0)
        rc = check_muon(c);
    if (rc == 0)
        rc = check_matmul(c);
    if (rc == 0)
        rc = resolve_rates(c, shape);
    if (rc != 0)
        return rc;
    if (vocab_follows(c))
        c->model.vocab_size = shape->n_vocab;
    if (t->sequence_length == 0)
        t->sequence_length = shape->n_ctx;
    resolve_length(c);
    if (c->data.seed == 0)
        c->data.seed = t->seed;
    resolve_precision(c);
    size_t n;
    rc = resolve_dropout(c, shape);
    if (rc == 0 && c->lora.rank > 0 && adapter_count(&n, &c->lora, shape) != 0)
        rc = RUN_BLAME(c, RUN_ROW(lora.targets));
    if (rc == 0)
        rc = check_eval(c);
    if (rc == 0)
        rc = run_config_resolve_batches(c);
    if (rc == 0 && here)
        rc = run_config_resolve_processes(c, shape);
    return rc != 0 ? rc : run_config_resolve_names(c);
}

/* Rows whose values are no longer what was given. */
static int mark_followers(struct run_config *c, const struct run_config *given)
{
    const struct setting *row;
    int rc = 0;
    for (int i = 0; rc == 0 && (row = settings_table_at(&run_table, i)) != NULL; i++) {
        struct buf was = {0}, is = {0};
        if (row->type == SETTING_SHORTHAND)
            continue;
        if ((rc = setting_format(row, given, &was)) == 0)
            rc = setting_format(row, c, &is);
        c->store.follows[i] |= strcmp(buf_text(&was), buf_text(&is)) != 0;
        buf_release(&was);
        buf_release(&is);
    }
    return rc;
}

static int resolve_config(struct run_config *c, const struct config *shape, bool here)
{
    struct run_config given;
    int rc = settings_table_copy(&run_table, &given, c);
    if (rc != 0)
        return rc;
    if ((rc = resolve_sections(c, shape, here)) == 0)
        rc = mark_followers(c, &given);
    settings_table_release(&run_table, &given);
    return rc;
}

int run_config_resolve(struct run_config *c, const struct config *shape)
{
    return resolve_config(c, shape, true);
}

int run_config_resolve_stored(struct run_config *c, const struct config *shape)
{
    return resolve_config(c, shape, false);
}

int run_config_resolve_implied(struct run_config *c)
{
    struct run_config given;
    int rc = settings_table_copy(&run_table, &given, c);
    if (rc != 0)
        return rc;
    if ((rc = run_config_resolve_batches(c)) == 0)
        rc = mark_followers(c, &given);
    settings_table_release(&run_table, &given);
    return rc;
}
