#include "repl/settings/unused.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "sampling/chain/stages.h"

#include <string.h>

/* ---- reasons ---- */

static bool has_no_dry(const struct settings *s)
{
    return s->sampler.dry_multiplier == 0;
}

static bool has_no_xtc(const struct settings *s)
{
    return s->sampler.xtc_probability == 0;
}

static bool has_no_range(const struct settings *s)
{
    return s->sampler.dynatemp_range == 0;
}

static bool has_no_mirostat(const struct settings *s)
{
    return s->sampler.mirostat == 0;
}

static bool is_contrastive(const struct settings *s)
{
    return s->generate.penalty_alpha > 0;
}

static bool has_mirostat(const struct settings *s)
{
    return s->sampler.mirostat > 0 && chain_has(s->sampler.chain, STAGE_MIROSTAT) &&
           !is_contrastive(s);
}

static bool has_no_top_k(const struct settings *s)
{
    return s->sampler.top_k == 0;
}

static bool has_no_penalty(const struct settings *s)
{
    const struct sampler_config *c = &s->sampler;
    return c->repetition_penalty == 1 && c->frequency_penalty == 0 && c->presence_penalty == 0;
}

static bool has_one_beam(const struct settings *s)
{
    return s->generate.num_beams <= 1;
}

static bool has_beams(const struct settings *s)
{
    return s->generate.num_beams > 1;
}

static bool is_greedy(const struct settings *s)
{
    return s->sampler.temperature == 0 && !is_contrastive(s);
}

static bool has_no_loop(const struct settings *s)
{
    return !s->generate.device_loop;
}

static bool is_of_shell(const struct settings *s)
{
    (void)s;
    return true;
}

static bool has_no_lines(const struct settings *s)
{
    return !s->batch.jsonl;
}

#define CUTS "top_p min_p typical_p top_n_sigma xtc_probability topk_uniform"
#define OFF_AT_1 "top_p typical_p temperature repetition_penalty"
#define DRAWS CUTS " dynatemp_range mirostat"

static const struct unused {
    const char *names;
    bool (*is)(const struct settings *s);
    const char *why;
} reasons[] = {
    {DRAWS " temperature top_k", has_beams, "beam search draws nothing"},
    {DRAWS " temperature", is_contrastive, "contrastive search draws nothing"},
    {DRAWS " top_k", is_greedy, "temperature is 0"},
    {CUTS " top_k", has_mirostat, "mirostat takes its place"},
    {"dry_base dry_allowed_length dry_window dry_breakers", has_no_dry, "dry_multiplier is 0"},
    {"xtc_threshold", has_no_xtc, "xtc_probability is 0"},
    {"dynatemp_exponent", has_no_range, "dynatemp_range is 0"},
    {"mirostat_tau mirostat_eta", has_no_mirostat, "mirostat is 0"},
    {"topk_uniform", has_no_top_k, "top_k is 0"},
    {"penalty_window", has_no_penalty, "there is no penalty"},
    {"length_penalty early_stopping", has_one_beam, "num_beams is 1"},
    {"device_iterations", has_no_loop, "device_loop is off"},
    {"top_logprobs", has_no_lines, "jsonl is off"},
    {"keep", is_of_shell, "outside the prompt each text is new"},
    {"seq_length overlap last_n data_dir data_field data_prompt_template data_completion_template", is_of_shell, "it is for evaluations"},
};

/* A stage that `chain` leaves out, and what it would do. */
static const struct {
    const char *names;
    enum stage stage;
    const char *why;
} stages[] = {
    {"logit_bias", STAGE_LOGIT_BIAS, "chain has no stage logit_bias"},
    {"repetition_penalty frequency_penalty presence_penalty", STAGE_PENALTIES,
     "chain has no stage penalties"},
    {"dry_multiplier", STAGE_DRY, "chain has no stage dry"},
    {"no_repeat_ngram_size", STAGE_NO_REPEAT_NGRAM, "chain has no stage no_repeat_ngram"},
    {"bad_words", STAGE_BAD_WORDS, "chain has no stage bad_words"},
    {"min_new_tokens ignore_eos", STAGE_MIN_NEW_TOKENS, "chain has no stage min_new_tokens"},
    {"temperature dynatemp_range", STAGE_TEMPERATURE, "chain has no stage temperature"},
    {"top_p", STAGE_TOP_P, "chain has no stage top_p"},
    {"min_p", STAGE_MIN_P, "chain has no stage min_p"},
    {"typical_p", STAGE_TYPICAL_P, "chain has no stage typical_p"},
    {"top_n_sigma", STAGE_TOP_N_SIGMA, "chain has no stage top_n_sigma"},
    {"xtc_probability", STAGE_XTC, "chain has no stage xtc"},
    {"topk_uniform", STAGE_TOPK_UNIFORM, "chain has no stage topk_uniform"},
    {"mirostat", STAGE_MIROSTAT, "chain has no stage mirostat"},
};

/* ---- which ---- */

static bool has_name(const char *names, const char *name)
{
    const size_t n = strlen(name);
    const char *at = names;
    while ((at = strstr(at, name)) != NULL) {
        if ((at == names || at[-1] == ' ') && (at[n] == '\0' || at[n] == ' '))
            return true;
        at += n;
    }
    return false;
}

/* Whether a value is what it would be if nobody had given it, or turns the setting off. */
static int is_idle(bool *idle, const struct settings *s, const struct setting *row)
{
    struct settings built;
    struct buf now = {0}, then = {0};
    settings_init(&built);
    int rc = setting_format(row, s, &now);
    if (rc == 0 && (rc = setting_format(row, &built, &then)) == 0)
        *idle = strcmp(buf_text(&now), buf_text(&then)) == 0;
    const char *text = buf_text(&now);
    *idle = *idle || *text == '\0' || strcmp(text, "off") == 0 || strcmp(text, "0") == 0 ||
            (has_name(OFF_AT_1, row->name) && strcmp(text, "1") == 0);
    buf_release(&now);
    buf_release(&then);
    return rc;
}

static const char *find_reason(const struct settings *s, const char *name)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (has_name(reasons[i].names, name) && reasons[i].is(s))
            return reasons[i].why;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        if (has_name(stages[i].names, name) && !chain_has(s->sampler.chain, stages[i].stage))
            return stages[i].why;
    const bool takes_k =
        is_contrastive(s) || chain_has(s->sampler.chain, STAGE_TOP_K) ||
        (s->sampler.topk_uniform && chain_has(s->sampler.chain, STAGE_TOPK_UNIFORM));
    return strcmp(name, "top_k") == 0 && !takes_k ? "chain has no stage top_k" : NULL;
}

int options_say_unused(const struct options *o, enum origin origin,
                       void (*tell)(const char *sentence))
{
    const struct setting *row;
    int rc = 0;
    for (int i = 0; rc == 0 && (row = settings_table_at(&options_table, i)) != NULL; i++) {
        const char *why = settings_store_origin(&o->store, row) == origin
                              ? find_reason(&o->settings, row->name)
                              : NULL;
        bool idle = false;
        if (why == NULL || (rc = is_idle(&idle, &o->settings, row)) != 0 || idle)
            continue;
        char *sentence = mem_sprintf("%s is not used: %s", row->name, why);
        if (sentence == NULL)
            return ERR_NOMEM;
        tell(sentence);
        mem_free(sentence);
    }
    return rc;
}
