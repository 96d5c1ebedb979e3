/* A draw from logits, by each stage of the chain, beside the step that it follows. */
#include "repl/bench/bench.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/mem.h"

#include <stdio.h>

enum { SLICES = 40 };

/* Seconds of one draw from logits, the mean of SLICES. */
static int time_draw(struct bench *b, const struct sampler_config *config, const float *logits,
                     const struct ids *text, double *draw_s)
{
    const struct model *m = b->repl->model;
    struct sampler *s;
    struct stop_tokens stop = {{m->config.eos_token_id}, m->config.eos_token_id != TOKEN_NONE};
    int rc = sampler_new(&s, config, m->config.n_vocab, m->config.n_ctx, m->tokenizer, &stop);
    if (rc != 0)
        return rc;
    sampler_reset(s, 0, false);
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
    {NULL, "temperature", "0.8"}, /* the settings as built in */
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
    struct rounds draw = {0};
    struct generate_config g = bench_plain(b);
    const struct sampler_config *mine = &b->repl->options.settings.sampler;
    int rc = settings_copy(&s, &b->repl->options.settings);
    if (rc != 0)
        return rc;
    const struct setting *o = settings_table_find(&options_table, stages[row].name);
    struct sampler_config fresh;
    sampler_config_init(&fresh);
    s.sampler.temperature = 1;
    s.sampler.top_p = stages[row].chain == NULL ? fresh.top_p : 1;
    s.sampler.top_k = o == OPTION(sampler.topk_uniform) ? 40 : mine->top_k;
    rc = settings_table_parse(&options_table, o, &s, stages[row].value);
    struct sampler_config config = s.sampler;
    config.chain = (char *)(uintptr_t)stages[row].chain; /* only read */
    config.seed = 1;
    for (int i = 0; i < BENCH_ROUNDS && rc == 0; i++) {
        double draw_s = 0, step_s = 0;
        rc = time_draw(b, &config, logits, text, &draw_s);
        if (rc == 0)
            rc = bench_time_steps(b, &g, 1, 9, &bench_silent, &step_s);
        rounds_add(&draw, draw_s * 1e6, draw_s / step_s);
    }
    char what[64];
    snprintf(what, sizeof what, "sampling: %s%s%s",
             stages[row].chain == NULL ? "the default settings" : stages[row].name,
             stages[row].chain == NULL ? "" : " ",
             stages[row].chain == NULL ? "" : stages[row].value);
    if (rc == 0)
        rc = bench_report(b, what, &draw, "us/token", "decode step");
    settings_release(&s);
    return rc;
}

int bench_sampling(struct bench *b)
{
    struct repl *r = b->repl;
    struct prompt prompt = {0};
    struct kv_seq seq;
    int rc = bench_prompt(r->model, &prompt, r->model->config.n_ctx / 2);
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
