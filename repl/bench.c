/*
 * :bench: how fast this model runs here, each figure beside the machine's own limit
 * measured next to it. Medians of several rounds; ratios are medians of ratios, so
 * that they hold where the machine's speed drifts. Operations are counted as the
 * README says: 2 a weight that is multiplied, and attention's.
 */
#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/progress.h"
#include "model/kernels/kernels.h"
#include "model/kernels/peak.h"
#include "repl/commands.h"
#include "repl/repl.h"
#include "repl/table.h"
#include "weights/save.h"

#include <fcntl.h>
#include <pty.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 5, TEXTS = 16, PROMPT = 16, PREFILL = 512, NEW_TOKENS = 48, SLICES = 40 };

struct bench {
    struct repl *repl;
    const char *file; /* a text for the tokenizer, NULL: none given */
    struct table table;
};

/* What was measured in each round, and what it is a share of. */
struct rounds {
    double value[ROUNDS], share[ROUNDS];
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v)
{
    qsort(v, ROUNDS, sizeof *v, compare);
    return v[ROUNDS / 2];
}

static int report(struct bench *b, const char *what, struct rounds *m, const char *unit,
                  const char *limit)
{
    double middle = median(m->value);
    int rc = table_row(&b->table);
    if (rc == 0)
        rc = table_cell(&b->table, 0, "%s", what);
    if (rc == 0)
        rc = table_cell(&b->table, 1, "%.4g", middle);
    if (rc == 0)
        rc = table_cell(&b->table, 2, "%s", unit);
    if (rc == 0)
        rc = table_cell(&b->table, 3, "%.4g", m->value[0]);
    if (rc == 0)
        rc = table_cell(&b->table, 4, "%.4g", m->value[ROUNDS - 1]);
    if (rc == 0 && limit != NULL)
        rc = table_cell(&b->table, 5, "%.3f", median(m->share));
    if (rc == 0 && limit != NULL)
        rc = table_cell(&b->table, 6, "%s", limit);
    return rc;
}

static double stream_limit(const struct model *m)
{
    return peak_stream_bytes(m->params.block, m->params.block_bytes);
}

/* Bytes of weights that a step must read. */
static double weight_bytes(const struct model *m)
{
    return (double)config_matmul_params(&m->config) * (m->params.kind == LINEAR_F32 ? 4 : 2);
}

static double attention_ops(const struct config *c, double keys)
{
    return 4.0 * c->n_layer * c->n_embd * keys;
}

static int bench_limits(struct bench *b)
{
    struct rounds fma, stream;
    for (int i = 0; i < ROUNDS; i++) {
        fma.value[i] = peak_fma_flops() * 1e-9;
        stream.value[i] = stream_limit(b->repl->model) * 1e-9;
    }
    int rc = report(b, "limit: fp32 multiply-adds", &fma, "GFLOP/s", NULL);
    return rc == 0 ? report(b, "limit: reading fp16", &stream, "GB/s", NULL) : rc;
}

/* A prompt of n ids that are all in the vocabulary. */
static int make_prompt(const struct model *m, struct prompt *p, int n)
{
    for (int i = 0; i < n; i++) {
        token_id id = (token_id)((i * 7919 + 13) % m->config.n_vocab);
        int rc = ids_add(&p->ids, &id, 1);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* Generate `texts` answers of n_new tokens to a short prompt; the seconds of a step. */
static int time_steps(struct bench *b, const struct generate_config *how, int texts, int n_new,
                      const struct generate_host *host, double *step_s)
{
    struct repl *r = b->repl;
    struct sampler_config sampler = r->options.settings.sampler;
    struct generate_config g = *how;
    struct answer *answers = mem_array((size_t)texts, sizeof *answers);
    struct prompt prompt = {0};
    struct session session;
    g.num_return_sequences = texts;
    g.max_new_tokens = n_new;
    sampler.ignore_eos = true;
    sampler.seed = 1;
    int rc = answers == NULL ? ERR_NOMEM : session_init(&session, &r->engine);
    if (rc != 0) {
        mem_free(answers);
        return rc;
    }
    rc = make_prompt(r->model, &prompt, PROMPT);
    if (rc == 0)
        rc = generate(&session, &prompt, &g, &sampler, host, answers);
    /* The first token is drawn from the prompt's logits, without a pass. */
    *step_s = answers[0].decode_s / (n_new - 1);
    for (int i = 0; i < texts; i++)
        answer_release(&answers[i]);
    mem_free(answers);
    prompt_release(&prompt);
    session_release(&session);
    return rc;
}

static struct generate_config plain(const struct bench *b)
{
    struct generate_config g = b->repl->options.settings.generate;
    g.num_beams = 1;
    g.penalty_alpha = 0;
    g.device_loop = true;
    g.stop = NULL;
    return g;
}

static const struct generate_host silent = {0};

static int bench_decode(struct bench *b)
{
    const struct model *m = b->repl->model;
    struct generate_config g = plain(b);
    struct rounds rate, step;
    for (int i = 0; i < ROUNDS; i++) {
        double limit = stream_limit(m), step_s;
        int rc = time_steps(b, &g, 1, NEW_TOKENS, &silent, &step_s);
        if (rc != 0)
            return rc;
        limit = (limit + stream_limit(m)) / 2;
        rate.value[i] = 1 / step_s;
        rate.share[i] = weight_bytes(m) / step_s / limit;
        step.value[i] = step_s * 1e3;
    }
    int rc = report(b, "decode, one text", &rate, "tokens/s", "reading fp16");
    return rc == 0 ? report(b, "decode, one text", &step, "ms/token", NULL) : rc;
}

static int bench_prefill(struct bench *b)
{
    struct repl *r = b->repl;
    const struct config *c = &r->model->config;
    int n = c->n_ctx < PREFILL ? c->n_ctx : PREFILL;
    double head = (double)c->n_embd * c->n_vocab;
    double layers = (double)config_matmul_params(c) - head;
    double ops = n * (2 * layers + attention_ops(c, n / 2.0)) + 2 * head;
    struct prompt prompt = {0};
    struct kv_seq seq;
    struct rounds rate, flops;
    int rc = make_prompt(r->model, &prompt, n);
    if (rc == 0)
        rc = kv_seq_init(&seq, &r->engine.cache);
    for (int i = 0; i < ROUNDS && rc == 0; i++) {
        double limit = peak_fma_flops(), start = clock_s();
        struct engine_feed feed = {.seq = &seq, .ids = prompt.ids.data, .n = n};
        rc = engine_feed(&r->engine, &feed, 1, r->engine.logits, NULL);
        double wall = clock_s() - start;
        limit = (limit + peak_fma_flops()) / 2;
        rate.value[i] = n / wall;
        flops.value[i] = ops / wall * 1e-9;
        flops.share[i] = ops / wall / limit;
        kv_seq_truncate(&seq, &r->engine.cache, 0);
    }
    if (rc == 0) {
        char what[64];
        snprintf(what, sizeof what, "prefill of %d tokens", n);
        rc = report(b, what, &rate, "tokens/s", NULL);
        if (rc == 0)
            rc = report(b, what, &flops, "GFLOP/s", "fp32 multiply-adds");
        kv_seq_release(&seq, &r->engine.cache);
    }
    prompt_release(&prompt);
    return rc;
}

static int bench_batch(struct bench *b)
{
    const struct config *c = &b->repl->model->config;
    struct generate_config g = plain(b);
    struct rounds rate, flops;
    double ops =
        2.0 * (double)config_matmul_params(c) + attention_ops(c, PROMPT + NEW_TOKENS / 2.0);
    for (int i = 0; i < ROUNDS; i++) {
        double limit = peak_fma_flops(), step_s;
        int rc = time_steps(b, &g, TEXTS, NEW_TOKENS, &silent, &step_s);
        if (rc != 0)
            return rc;
        limit = (limit + peak_fma_flops()) / 2;
        rate.value[i] = TEXTS / step_s;
        flops.value[i] = TEXTS * ops / step_s * 1e-9;
        flops.share[i] = TEXTS * ops / step_s / limit;
    }
    int rc = report(b, "decode, 16 texts", &rate, "tokens/s", NULL);
    return rc == 0 ? report(b, "decode, 16 texts", &flops, "GFLOP/s", "fp32 multiply-adds") : rc;
}

static int bench_loop(struct bench *b)
{
    static const int every[] = {1, 4, 16, NEW_TOKENS};
    int rc = 0;
    for (size_t n = 0; n < sizeof every / sizeof *every && rc == 0; n++) {
        struct generate_config loop = plain(b), steps = loop;
        steps.device_loop = false;
        loop.device_iterations = every[n];
        struct rounds rate;
        for (int i = 0; i < ROUNDS && rc == 0; i++) {
            double loop_s = 0, step_s = 0;
            rc = time_steps(b, &loop, 1, NEW_TOKENS, &silent, &loop_s);
            if (rc == 0)
                rc = time_steps(b, &steps, 1, NEW_TOKENS, &silent, &step_s);
            rate.value[i] = 1 / loop_s;
            rate.share[i] = step_s / loop_s;
        }
        char what[64];
        snprintf(what, sizeof what, "device loop, %d a hand-over", every[n]);
        if (rc == 0)
            rc = report(b, what, &rate, "tokens/s", "step by step");
    }
    return rc;
}

static void show(void *user, int answer, const char *bytes, size_t n)
{
    (void)answer;
    if (write(*(int *)user, bytes, n) < 0)
        return;
}

/* Streaming to a terminal whose other end a process of its own reads. */
static int bench_stream(struct bench *b)
{
    struct generate_config g = plain(b);
    struct rounds rate;
    int master, slave, rc = 0;
    if (openpty(&master, &slave, NULL, NULL, NULL) != 0)
        return err_errno("cannot open a terminal");
    pid_t reader = fork();
    if (reader == 0) {
        char bytes[256];
        close(slave);
        while (read(master, bytes, sizeof bytes) > 0)
            ;
        _exit(0);
    }
    close(master);
    struct generate_host terminal = {.text = show, .user = &slave};
    for (int i = 0; i < ROUNDS && rc == 0; i++) {
        double shown_s = 0, silent_s = 0;
        rc = time_steps(b, &g, 1, NEW_TOKENS, &silent, &silent_s);
        if (rc == 0)
            rc = time_steps(b, &g, 1, NEW_TOKENS, &terminal, &shown_s);
        rate.value[i] = 1 / shown_s;
        rate.share[i] = silent_s / shown_s;
    }
    close(slave);
    if (reader > 0)
        waitpid(reader, NULL, 0);
    return rc == 0 ? report(b, "streaming to a terminal", &rate, "tokens/s", "silent") : rc;
}

/* Seconds of one draw from logits, the mean of SLICES. */
static int time_draw(struct bench *b, const struct sampler_config *config, const float *logits,
                     const struct ids *text, double *draw_s)
{
    const struct model *m = b->repl->model;
    struct sampler *s;
    int rc = sampler_new(&s, config, m->config.n_vocab, m->config.n_ctx, m->tokenizer,
                         m->config.eos_token_id);
    if (rc != 0)
        return rc;
    sampler_reset(s, 0);
    double start = clock_s();
    for (int i = 0; i < SLICES; i++)
        sampler_pick(s, logits, text->data, text->n, i);
    *draw_s = (clock_s() - start) / SLICES;
    sampler_free(s);
    return 0;
}

/* Each row: the stages in use, and a setting that switches one on. */
static const struct {
    const char *chain, *name, *value;
} stages[] = {
    {NULL, "temperature", "0.8"}, /* the chain as built in */
    {"temperature", "temperature", "0"},
    {"temperature", "temperature", "0.8"},
    {"temperature", "dynatemp_range", "0.5"},
    {"top_k", "top_k", "40"},
    {"top_p", "top_p", "0.95"},
    {"min_p", "min_p", "0.05"},
    {"typical_p", "typical_p", "0.9"},
    {"top_n_sigma", "top_n_sigma", "1"},
    {"xtc", "xtc_probability", "1"},
    {"topk_uniform", "topk_uniform", "on"},
    {"mirostat", "mirostat", "1"},
    {"mirostat", "mirostat", "2"},
    {"penalties", "repetition_penalty", "1.3"},
    {"dry", "dry_multiplier", "0.8"},
    {"no_repeat_ngram", "no_repeat_ngram_size", "3"},
    {"logit_bias", "logit_bias", "5:-3,7:2"},
};

static int bench_stage(struct bench *b, size_t row, const float *logits, const struct ids *text)
{
    struct settings s;
    struct rounds draw;
    struct generate_config g = plain(b);
    const struct sampler_config *mine = &b->repl->options.settings.sampler;
    int rc = settings_copy(&s, &b->repl->options.settings);
    if (rc != 0)
        return rc;
    const struct setting *o = option_find(stages[row].name);
    struct sampler_config fresh;
    sampler_config_init(&fresh);
    s.sampler.temperature = 1;
    s.sampler.top_p = stages[row].chain == NULL ? fresh.top_p : 1;
    s.sampler.top_k = strcmp(stages[row].name, "topk_uniform") == 0 ? 40 : mine->top_k;
    rc = option_parse(o, &s, stages[row].value);
    struct sampler_config config = s.sampler;
    config.chain = (char *)(uintptr_t)stages[row].chain; /* only read */
    config.seed = 1;
    for (int i = 0; i < ROUNDS && rc == 0; i++) {
        double draw_s = 0, step_s = 0;
        rc = time_draw(b, &config, logits, text, &draw_s);
        if (rc == 0)
            rc = time_steps(b, &g, 1, 9, &silent, &step_s);
        draw.value[i] = draw_s * 1e6;
        draw.share[i] = draw_s / step_s;
    }
    char what[64];
    snprintf(what, sizeof what, "sampling: %s%s%s",
             stages[row].chain == NULL ? "the default chain" : stages[row].name,
             stages[row].chain == NULL ? "" : " ",
             stages[row].chain == NULL ? "" : stages[row].value);
    if (rc == 0)
        rc = report(b, what, &draw, "us/token", "decode step");
    settings_release(&s);
    return rc;
}

static int bench_sampling(struct bench *b)
{
    struct repl *r = b->repl;
    struct prompt prompt = {0};
    struct kv_seq seq;
    int rc = make_prompt(r->model, &prompt, r->model->config.n_ctx / 2);
    if (rc == 0)
        rc = kv_seq_init(&seq, &r->engine.cache);
    float *logits = rc == 0 ? mem_array((size_t)r->model->config.n_vocab, sizeof *logits) : NULL;
    if (rc == 0 && logits == NULL)
        rc = ERR_NOMEM;
    if (rc == 0) {
        struct engine_feed feed = {.seq = &seq, .ids = prompt.ids.data, .n = (int)prompt.ids.n};
        rc = engine_feed(&r->engine, &feed, 1, logits, NULL);
        kv_seq_release(&seq, &r->engine.cache);
    }
    for (size_t i = 0; i < sizeof stages / sizeof *stages && rc == 0; i++)
        rc = bench_stage(b, i, logits, &prompt.ids);
    mem_free(logits);
    prompt_release(&prompt);
    return rc;
}

/* Text for the tokenizer: the file given, else pieces of the vocabulary in a row. */
static int text_to_encode(struct bench *b, struct buf *text)
{
    const struct tokenizer *t = b->repl->model->tokenizer;
    if (b->file != NULL)
        return file_read_all(text, b->file, 1 << 30);
    int rc = 0;
    for (uint32_t i = 0; text->n < 4 << 20 && rc == 0; i++) {
        token_id id = (token_id)(i * 2654435761u % (uint32_t)tokenizer_size(t));
        rc = tokenizer_is_special(t, id) ? 0 : tokenizer_decode(t, text, &id, 1);
    }
    return rc;
}

static int bench_tokenizer(struct bench *b)
{
    struct rounds rate;
    struct buf text = {0};
    if (b->repl->model->tokenizer == NULL)
        return 0;
    int rc = text_to_encode(b, &text);
    for (int i = 0; i < ROUNDS && rc == 0; i++) {
        struct ids ids = {0};
        double start = clock_s();
        rc = tokenizer_encode(b->repl->model->tokenizer, &ids, text.data, text.n, ENCODE_TEXT);
        rate.value[i] = (double)text.n / (clock_s() - start) * 1e-6;
        ids_release(&ids);
    }
    buf_release(&text);
    return rc == 0 ? report(b, "encoding text, one core", &rate, "MB/s", NULL) : rc;
}

/* Run this program, what it prints into out. */
static int run_self(char *const argv[], struct buf *out)
{
    extern char **environ;
    int pipe_ends[2], status = -1, rc;
    pid_t pid;
    if (pipe2(pipe_ends, O_CLOEXEC) != 0)
        return err_errno("cannot make a pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 1);
    rc = posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_ends[1]);
    if (rc == 0) {
        rc = file_read_fd(out, pipe_ends[0]);
        waitpid(pid, &status, 0);
    }
    close(pipe_ends[0]);
    return rc == 0 && status == 0 ? 0 : err_set(ERR_IO, "cannot run this program once more");
}

/* Seconds from the start on a file to the first token. */
static int time_start(char *path, double *wall_s)
{
    char *argv[] = {"prattle",          "generate", "--model",  path,  "--ids", "0",
                    "--max-new-tokens", "1",        "--output", "ids", NULL};
    struct buf out = {0};
    double start = clock_s();
    int rc = run_self(argv, &out);
    *wall_s = clock_s() - start;
    buf_release(&out);
    return rc;
}

/* The most memory it has had when the prompt stands. */
static int peak_at_prompt(char *path, double *bytes)
{
    char *argv[] = {"prattle", "devices", "--model", path, NULL};
    struct buf out = {0};
    int rc = run_self(argv, &out);
    const char *row = rc == 0 ? strstr(buf_text(&out), "peak memory") : NULL;
    double megabytes;
    if (row != NULL && sscanf(row, "peak memory %lf MB", &megabytes) == 1)
        *bytes = megabytes * 1e6;
    else if (rc == 0)
        rc = err_set(ERR_UNSUPPORTED, "this system does not say how much memory a program had");
    buf_release(&out);
    return rc;
}

static int bench_start(struct bench *b)
{
    const struct model *m = b->repl->model;
    const char *temp = getenv("TMPDIR");
    char *path =
        mem_sprintf("%s/prattle-bench-%d.gguf", temp == NULL ? "/tmp" : temp, (int)getpid());
    struct save_config how = {.dtype = SAVE_F16};
    struct rounds wall, memory;
    if (path == NULL)
        return ERR_NOMEM;
    int rc = weights_convert(m->source, path, 1, &how, NULL);
    for (int i = -1; i < ROUNDS && rc == 0; i++) {
        double wall_s = 0, peak_bytes = 0;
        rc = time_start(path, &wall_s);
        if (rc == 0)
            rc = peak_at_prompt(path, &peak_bytes);
        if (i < 0) /* the first warms the page cache */
            continue;
        wall.value[i] = wall_s;
        memory.value[i] = (peak_bytes - 2.0 * (double)config_params(&m->config)) * 1e-6;
    }
    unlink(path);
    mem_free(path);
    if (rc == 0)
        rc = report(b, "start to the first token, F16 GGUF", &wall, "s", NULL);
    return rc == 0 ? report(b, "peak memory beyond the fp16 weights", &memory, "MB", NULL) : rc;
}

static const struct {
    const char *name;
    int (*run)(struct bench *b);
} benches[] = {
    {"limits", bench_limits},     {"decode", bench_decode},       {"prefill", bench_prefill},
    {"batch", bench_batch},       {"loop", bench_loop},           {"stream", bench_stream},
    {"sampling", bench_sampling}, {"tokenizer", bench_tokenizer}, {"start", bench_start},
};
enum { N_BENCHES = sizeof benches / sizeof *benches };

/* Which are asked for, as bits; a word that is no name is the tokenizer's text. */
static int choose(struct bench *b, const struct call *c, unsigned *chosen)
{
    *chosen = 0;
    for (int i = 0; i < c->n; i++) {
        int k = 0;
        while (k < N_BENCHES && strcmp(c->words[i], benches[k].name) != 0)
            k++;
        if (k < N_BENCHES)
            *chosen |= 1u << k;
        else if (file_exists(c->words[i]))
            b->file = c->words[i];
        else
            return err_set(ERR_RANGE,
                           "no bench and no file %s: limits, decode, prefill, batch, loop, stream, "
                           "sampling, tokenizer, start, or a text for the tokenizer",
                           c->words[i]);
    }
    if (*chosen == 0)
        *chosen = (1u << N_BENCHES) - 1;
    return 0;
}

static void print_table(const struct bench *b)
{
    enum table_format format = (enum table_format)b->repl->options.settings.call.format;
    struct buf out = {0};
    if (format == TABLE_TEXT)
        printf("%s, %d threads, %s kernels\n", b->repl->model->name, par_threads(),
               kernels_active()->name);
    if (table_format(&b->table, format, &out) == 0)
        fwrite(out.data, 1, out.n, stdout);
    buf_release(&out);
}

int cmd_bench(struct repl *r, const struct call *c)
{
    static const char *const heads[] = {"what", "median", "unit", "min", "max", "share", "of"};
    struct bench b = {.repl = r};
    unsigned chosen;
    int rc = choose(&b, c, &chosen);
    if (rc != 0)
        return rc;
    if (r->model == NULL && r->options.settings.device.model[0] == '\0')
        rc = repl_load(r, "random:gpt2", r->options.settings.sampler.seed);
    else
        rc = repl_need_model(r);
    if (rc == 0)
        rc = repl_ready(r, TEXTS);
    if (rc != 0)
        return rc;
    table_init(&b.table, heads, sizeof heads / sizeof *heads);
    for (int i = 0; i < N_BENCHES && rc == 0; i++)
        if (chosen & 1u << i && (rc = progress_step(NULL, "", 0, 0)) == 0)
            rc = benches[i].run(&b);
    if (b.table.n_rows > 0)
        print_table(&b); /* after an interrupt too: what there is */
    table_release(&b.table);
    return rc;
}
