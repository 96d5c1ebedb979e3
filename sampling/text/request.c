#include "sampling/text/request.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/words.h"
#include "model/forward.h"
#include "sampling/text/template.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 64 };

void generate_config_init(struct generate_config *c)
{
    *c = (struct generate_config){.max_new_tokens = 128,
                                  .device_iterations = 1,
                                  .device_loop = true,
                                  .speculate = "auto",
                                  .num_return_sequences = 1,
                                  .num_beams = 1,
                                  .length_penalty = 1,
                                  .trim = true};
}

static int check_int(const char *name, long long value, long long least, long long most)
{
    if (value >= least && value <= most)
        return 0;
    return err_set(ERR_RANGE, "%s must be %lld to %lld, not %lld", name, least, most, value);
}

static int check_float(const char *name, float value, float least, float most)
{
    if (value >= least && value <= most)
        return 0;
    return err_set(ERR_RANGE, "%s must be %g to %g, not %g", name, (double)least, (double)most,
                   (double)value);
}

static bool is_contrastive(const struct generate_config *g)
{
    return g->penalty_alpha > 0;
}

static const struct generate_odds two_searches = {"penalty_alpha", "num_beams"},
                                  too_few_beams = {"num_return_sequences", "num_beams"},
                                  no_candidates = {"penalty_alpha", "top_k"},
                                  no_beginning = {"grammar", "on_full"},
                                  no_stage = {"chain", "grammar"};

const struct generate_odds *generate_config_odds(const struct generate_config *g,
                                                 const struct sampler_config *c)
{
    if (g->num_beams > 1 && is_contrastive(g))
        return &two_searches;
    if (g->num_beams > 1 && g->num_return_sequences > g->num_beams)
        return &too_few_beams;
    if (is_contrastive(g) && (c->top_k < 2 || c->top_k > FORWARD_MAX_ROWS))
        return &no_candidates;
    const bool grammar = c->grammar != NULL && *c->grammar != '\0';
    if (grammar && g->on_full == ON_FULL_SLIDE)
        return &no_beginning;
    if (grammar && !chain_has(c->chain, STAGE_GRAMMAR))
        return &no_stage;
    return NULL;
}

int generate_odds_refuse(const struct generate_odds *odds, const struct generate_config *g,
                         const struct sampler_config *c)
{
    if (odds == &two_searches)
        return err_set(ERR_RANGE,
                       "num_beams is %d and penalty_alpha is %g: beam search and contrastive "
                       "search exclude each other",
                       g->num_beams, (double)g->penalty_alpha);
    if (odds == &too_few_beams)
        return err_set(ERR_RANGE, "num_return_sequences must be at most num_beams (%d), not %d",
                       g->num_beams, g->num_return_sequences);
    if (odds == &no_stage)
        return err_set(ERR_RANGE, "there is a grammar, and chain has no stage grammar: without it "
                                  "answers need not match");
    if (odds == &no_beginning)
        return err_set(ERR_RANGE,
                       "a grammar needs on_full=stop: of an answer whose beginning slides "
                       "out of the context it cannot tell what may follow");
    return err_set(ERR_RANGE, "top_k must be 2 to %d for contrastive search, not %d",
                   FORWARD_MAX_ROWS, c->top_k);
}

const char *speculate_name(int how)
{
    static const char *const names[] = {"auto", "off", "lookup"};
    return how >= 0 && how < (int)(sizeof names / sizeof *names) ? names[how] : NULL;
}

enum speculate speculate_of(const char *text)
{
    int how = SPECULATE_AUTO;
    if (text == NULL || *text == '\0')
        return SPECULATE_AUTO;
    while (speculate_name(how) != NULL && strcmp(text, speculate_name(how)) != 0)
        how++;
    return (enum speculate)how;
}

int generate_config_check(const struct generate_config *g, const struct sampler_config *c)
{
    const struct generate_odds *odds = generate_config_odds(g, c);
    int rc;
    if ((rc = check_int("max_new_tokens", g->max_new_tokens, 0, 1000000)) != 0 ||
        (rc = check_int("device_iterations", g->device_iterations, 1, 1000000)) != 0 ||
        (rc = check_int("num_return_sequences", g->num_return_sequences, 1, 512)) != 0 ||
        (rc = check_int("num_beams", g->num_beams, 1, 256)) != 0 ||
        (rc = check_int("on_full", g->on_full, ON_FULL_STOP, ON_FULL_SLIDE)) != 0 ||
        (rc = check_int("early_stopping", g->early_stopping, EARLY_STOPPING_FALSE,
                        EARLY_STOPPING_NEVER)) != 0 ||
        (rc = check_float("length_penalty", g->length_penalty, -100, 100)) != 0 ||
        (rc = check_float("penalty_alpha", g->penalty_alpha, 0, 1)) != 0 ||
        (rc = odds == NULL ? 0 : generate_odds_refuse(odds, g, c)) != 0)
        return rc;
    if ((rc = words_check("stop", g->stop)) != 0 || (rc = template_check(g->template)) != 0)
        return rc;
    return words_check("stop_token", g->stop_token);
}

int generate_texts(const struct generate_config *g, const struct sampler_config *c)
{
    if (g->num_beams > 1)
        return 2 * g->num_beams; /* the beams of two steps */
    return is_contrastive(g) ? c->top_k : g->num_return_sequences;
}

/* The token that a text is, or becomes when encoded. */
static token_id find_token(const struct tokenizer *t, const char *text, size_t n)
{
    struct ids ids = {0};
    token_id id = tokenizer_find(t, text, n);
    if (id == TOKEN_NONE &&
        tokenizer_encode(t, &ids, text, n, ENCODE_SPECIAL | ENCODE_GOES_ON) == 0 && ids.n == 1)
        id = ids.data[0];
    ids_release(&ids);
    return id;
}

static int add_stop_token(struct stop_tokens *out, const struct word *word, const struct model *m)
{
    char shown[NAME_BYTES], *end;
    long long number = strtoll(word->bytes, &end, 10);
    token_id id = TOKEN_NONE;
    if (isdigit((unsigned char)*word->bytes) && *end == '\0')
        id = number < m->config.n_vocab ? (token_id)number : TOKEN_NONE;
    else if (m->tokenizer != NULL)
        id = find_token(m->tokenizer, word->bytes, word->n);
    if (id == TOKEN_NONE)
        return err_set(ERR_RANGE,
                       "stop_token must be one token's text or an id, 0 to %d, not \"%s\"",
                       m->config.n_vocab - 1, file_show(shown, sizeof shown, word->bytes));
    if (stop_tokens_has(out, id))
        return 0;
    if (out->n == STOP_TOKENS_MAX)
        return err_set(ERR_RANGE, "stop_token has more than %d tokens", STOP_TOKENS_MAX);
    out->ids[out->n++] = id;
    return 0;
}

int generate_stop_tokens(struct stop_tokens *out, const struct generate_config *g,
                         const struct model *m)
{
    struct words words;
    *out = (struct stop_tokens){0};
    int rc = words_parse(&words, g->stop_token);
    if (rc != 0)
        return err_wrap("stop_token");
    for (size_t i = 0; i < words.n && rc == 0; i++)
        rc = add_stop_token(out, &words.list[i], m);
    words_release(&words);
    if (rc != 0 || out->n > 0)
        return rc;
    token_id end = m->config.eos_token_id;
    if (end == TOKEN_NONE && m->tokenizer != NULL)
        end = tokenizer_eos(m->tokenizer);
    if (end != TOKEN_NONE)
        out->ids[out->n++] = end;
    return 0;
}

enum finish finish_of(enum sampler_end end)
{
    return end == SAMPLER_COMPLETE ? FINISH_GRAMMAR : FINISH_NO_TOKEN;
}

const char *finish_name(enum finish f)
{
    static const char *const names[] = {"length",        "stop token", "stop string", "grammar",
                                        "no token left", "context",    "interrupted", "error"};
    return names[f];
}

int answer_add(struct answer *a, token_id id, const float *logprob)
{
    enum { FIRST = 64 }; /* and twice as many whenever they are full */
    const size_t n = a->ids.n, size = sizeof *a->logprobs;
    if (logprob != NULL && (n == 0 || (n >= FIRST && (n & (n - 1)) == 0))) {
        float *grown = mem_grow(a->logprobs, n * size, (n == 0 ? FIRST : 2 * n) * size);
        if (grown == NULL)
            return ERR_NOMEM;
        a->logprobs = grown;
    }
    if (logprob != NULL)
        a->logprobs[n] = *logprob;
    return ids_add(&a->ids, &id, 1);
}

void answer_release(struct answer *a)
{
    if (a == NULL)
        return;
    ids_release(&a->ids);
    mem_free(a->logprobs);
    buf_release(&a->text);
    *a = (struct answer){0};
}
