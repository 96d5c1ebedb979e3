/* What an answer takes: prefill, decode of one text and of many, the device's loop, a terminal. */
#include "repl/bench/bench.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/kernels/peak.h"

#include <pty.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROMPT = 16, PREFILL = 512, NEW_TOKENS = 48, LONG_TEXT = 96 };

static double attention_ops(const struct config *c, double keys)
{
    double seen = 0;
    for (int i = 0; i < c->n_layer; i++) {
        const int window = config_window(c, i);
        seen += window > 0 && window < keys ? window : keys;
    }
    return 4.0 * config_heads_width(c) * seen;
}

int bench_prompt(const struct model *m, struct prompt *p, int n)
{
    for (int i = 0; i < n; i++) {
        token_id id = (token_id)((i * 7919 + 13) % m->config.n_vocab);
        int rc = ids_add(&p->ids, &id, 1);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* In a short context half of it. */
static int prompt_length(const struct config *c)
{
    const int half = c->n_ctx > 1 ? c->n_ctx / 2 : 1;
    return half < PROMPT ? half : PROMPT;
}

int bench_time_steps(struct bench *b, const struct generate_config *how, int texts, int n_new,
                     const struct generate_callbacks *callbacks, double *step_s)
{
    struct repl *r = b->repl;
    struct sampler_config sampler = r->options.settings.sampler;
    struct generate_config g = *how;
    struct answer *answers = mem_array((size_t)texts, sizeof *answers);
    struct prompt prompt = {0};
    struct sequence sequence;
    g.num_return_sequences = texts;
    g.max_new_tokens = n_new;
    sampler.ignore_eos = true;
    sampler.seed = 1;
    int rc = answers == NULL ? ERR_NOMEM : sequence_init(&sequence, &r->engine);
    if (rc != 0) {
        mem_free(answers);
        return rc;
    }
    rc = bench_prompt(r->model, &prompt, prompt_length(&r->model->config));
    if (rc == 0)
        rc = generate(&sequence, &prompt, &g, &sampler, callbacks, answers);
    /* The first token is drawn from the prompt's logits, without a pass; and a short context holds
     * fewer than were asked for. */
    const size_t drawn = answers[0].ids.n;
    *step_s = answers[0].decode_s / (drawn > 1 ? (double)(drawn - 1) : 1);
    for (int i = 0; i < texts; i++)
        answer_release(&answers[i]);
    mem_free(answers);
    prompt_release(&prompt);
    sequence_release(&sequence);
    return rc;
}

struct generate_config bench_plain(const struct bench *b)
{
    struct generate_config g = b->repl->options.settings.generate;
    g.num_beams = 1;
    g.penalty_alpha = 0;
    g.device_loop = true;
    g.speculate = "off";
    g.stop = NULL;
    return g;
}

const struct generate_callbacks bench_silent = {0};

int bench_decode(struct bench *b)
{
    const struct model *m = b->repl->model;
    struct generate_config g = bench_plain(b);
    struct rounds rate = {0}, step = {0};
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        double limit = bench_stream_limit(m), step_s;
        int rc = bench_time_steps(b, &g, 1, NEW_TOKENS, &bench_silent, &step_s);
        if (rc != 0)
            return rc;
        limit = (limit + bench_stream_limit(m)) / 2;
        rounds_add(&rate, 1 / step_s, (double)params_matmul_bytes(&m->params) / step_s / limit);
        rounds_add(&step, step_s * 1e3, 0);
        if ((rc = bench_peers(b, &rate, PEER_DECODE, 1, NEW_TOKENS)) != 0)
            return rc;
    }
    int rc = bench_report(b, "decode, one text", &rate, "tokens/s",
                          m->params.dtype == DTYPE_Q8 ? "reading q8" : "reading fp16");
    return rc == 0 ? bench_report(b, "decode, one text", &step, "ms/token", NULL) : rc;
}

double bench_ops(const struct config *c, int n, int heads)
{
    double head = (double)c->n_embd * c->n_vocab;
    double layers = (double)config_matmul_params(c) - head;
    return n * (2 * layers + attention_ops(c, n / 2.0)) + 2 * head * heads;
}

int bench_time_prefill(struct bench *b, int n, double *wall_s)
{
    struct engine *e = &b->repl->engine;
    struct prompt prompt = {0};
    struct kv_seq seq;
    int rc = bench_prompt(b->repl->model, &prompt, n);
    if (rc == 0 && (rc = kv_seq_init(&seq, &e->cache)) == 0) {
        struct engine_feed feed = {.seq = &seq, .ids = prompt.ids.data, .n = n};
        double start = clock_s();
        rc = engine_feed(e, &feed, 1, e->logits, NULL);
        *wall_s = clock_s() - start;
        kv_seq_release(&seq, &e->cache);
    }
    prompt_release(&prompt);
    return rc;
}

int bench_prefill(struct bench *b)
{
    const struct config *c = &b->repl->model->config;
    int n = c->n_ctx < PREFILL ? c->n_ctx : PREFILL, rc = 0;
    struct rounds rate = {0}, flops = {0};
    for (int i = 0; i < BENCH_ROUNDS && rc == 0; i++) {
        double limit = peak_fma_flops(), wall_s = 1;
        rc = bench_time_prefill(b, n, &wall_s);
        limit = (limit + peak_fma_flops()) / 2;
        rounds_add(&rate, n / wall_s, 0);
        rounds_add(&flops, bench_ops(c, n, 1) / wall_s * 1e-9, bench_ops(c, n, 1) / wall_s / limit);
        if (rc == 0)
            rc = bench_peers(b, &rate, PEER_PREFILL, 1, n);
    }
    char what[64];
    snprintf(what, sizeof what, "prefill of %d tokens", n);
    if (rc == 0)
        rc = bench_report(b, what, &rate, "tokens/s", NULL);
    return rc == 0 ? bench_report(b, what, &flops, "GFLOP/s", "fp32 multiply-adds") : rc;
}

int bench_batch(struct bench *b)
{
    const struct config *c = &b->repl->model->config;
    struct generate_config g = bench_plain(b);
    struct rounds rate = {0}, flops = {0};
    double ops =
        2.0 * (double)config_matmul_params(c) + attention_ops(c, PROMPT + NEW_TOKENS / 2.0);
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        double limit = peak_fma_flops(), step_s;
        int rc = bench_time_steps(b, &g, BENCH_TEXTS, NEW_TOKENS, &bench_silent, &step_s);
        if (rc != 0)
            return rc;
        limit = (limit + peak_fma_flops()) / 2;
        rounds_add(&rate, BENCH_TEXTS / step_s, 0);
        rounds_add(&flops, BENCH_TEXTS * ops / step_s * 1e-9, BENCH_TEXTS * ops / step_s / limit);
    }
    int rc = bench_report(b, "decode, 16 texts", &rate, "tokens/s", NULL);
    return rc == 0 ? bench_report(b, "decode, 16 texts", &flops, "GFLOP/s", "fp32 multiply-adds")
                   : rc;
}

int bench_loop(struct bench *b)
{
    static const int every[] = {1, 4, 16, NEW_TOKENS};
    int rc = 0;
    for (size_t n = 0; n < sizeof every / sizeof *every && rc == 0; n++) {
        struct generate_config loop = bench_plain(b), steps = loop;
        steps.device_loop = false;
        loop.device_iterations = every[n];
        struct rounds rate = {0};
        for (int i = 0; i < BENCH_ROUNDS && rc == 0; i++) {
            double loop_s = 0, step_s = 0;
            rc = bench_time_steps(b, &loop, 1, NEW_TOKENS, &bench_silent, &loop_s);
            if (rc == 0)
                rc = bench_time_steps(b, &steps, 1, NEW_TOKENS, &bench_silent, &step_s);
            rounds_add(&rate, 1 / loop_s, step_s / loop_s);
        }
        char what[64];
        snprintf(what, sizeof what, "device loop, output every %d", every[n]);
        if (rc == 0)
            rc = bench_report(b, what, &rate, "tokens/s", "step by step");
    }
    return rc;
}

static void write_text(void *user, int answer, const char *bytes, size_t n)
{
    (void)answer;
    if (write(*(int *)user, bytes, n) < 0)
        return;
}

/* Streaming to a terminal whose other end a process of its own reads; that ends by _exit, since
 * what is buffered here is its parent's to write. */
int bench_stream(struct bench *b)
{
    struct generate_config g = bench_plain(b);
    struct rounds rate = {0};
    int master, slave, rc = 0;
    if (openpty(&master, &slave, NULL, NULL, NULL) != 0)
        return err_errno("cannot open a terminal");
    pid_t reader = fork();
    if (reader < 0) {
        rc = err_errno("cannot start a process that reads");
        close(master);
        close(slave);
        return rc;
    }
    if (reader == 0) {
        char bytes[256];
        close(slave);
        while (read(master, bytes, sizeof bytes) > 0)
            ;
        _exit(0);
    }
    close(master);
    struct generate_callbacks terminal = {.text = write_text, .user = &slave};
    for (int i = 0; i < BENCH_ROUNDS && rc == 0; i++) {
        double shown_s = 0, silent_s = 0;
        rc = bench_time_steps(b, &g, 1, NEW_TOKENS, &bench_silent, &silent_s);
        if (rc == 0)
            rc = bench_time_steps(b, &g, 1, NEW_TOKENS, &terminal, &shown_s);
        rounds_add(&rate, 1 / shown_s, silent_s / shown_s);
    }
    close(slave);
    waitpid(reader, NULL, 0);
    return rc == 0 ? bench_report(b, "streaming to a terminal", &rate, "tokens/s", "no output")
                   : rc;
}

/* Texts with drafts and without, in turns. */
static int compare_drafts(struct bench *b, const char *what)
{
    struct generate_config plain = bench_plain(b), drafts = plain;
    struct rounds rate = {0};
    int rc = 0;
    drafts.speculate = "auto";
    for (int i = 0; i < BENCH_ROUNDS && rc == 0; i++) {
        double plain_s = 1, drafts_s = 1;
        rc = bench_time_steps(b, &plain, 1, LONG_TEXT, &bench_silent, &plain_s);
        if (rc == 0)
            rc = bench_time_steps(b, &drafts, 1, LONG_TEXT, &bench_silent, &drafts_s);
        rounds_add(&rate, 1 / drafts_s, plain_s / drafts_s);
    }
    return rc == 0 ? bench_report(b, what, &rate, "tokens/s", "plain decoding") : rc;
}

/* The two ends of what drafts can do: a text that is one token again and again, and one that says
 * nothing twice. */
int bench_speculate(struct bench *b)
{
    struct sampler_config *sampler = &b->repl->options.settings.sampler, set = *sampler;
    sampler_config_init(sampler);
    sampler->logit_bias = "1:1000";
    int rc = compare_drafts(b, "all drafts accepted");
    sampler->logit_bias = NULL;
    sampler->temperature = 100;
    sampler->top_p = 1;
    if (rc == 0)
        rc = compare_drafts(b, "a text without repetition");
    *sampler = set;
    return rc;
}
