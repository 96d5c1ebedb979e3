#ifndef PRATTLE_REPL_SESSION_JSON_LINES_H
#define PRATTLE_REPL_SESSION_JSON_LINES_H
/*
 * JSON lines: what --jsonl reads and writes, and --save-samples.
 */
#include "repl/session/token_scores.h"
#include "repl/settings/options.h"

/*
 * {"prompt": "...", "temperature": 0.5, ...}: the prompt, and settings over those of
 * `base` in `out` (a fresh copy, to be released also on failure; base is then as before). Where
 * neither says a seed it is `seed`; a value of a file that the line excludes is told of, as
 * options_check_answers does. "ids" may stand in
 * place of the prompt. "id", of any kind, comes back in the answer's line or the error's. As in
 * OpenAI's completions "n" is num_return_sequences and "logprobs" is top_logprobs; as in its chat
 * true changes nothing, and false leaves all log-probabilities out. ERR_*: a sentence about this
 * line; a member that is no per-line setting is refused.
 */
struct json_prompt {
    char *text; /* owned; NULL: ids */
    size_t n;
    char *id; /* owned; as JSON; NULL: none */
    struct ids ids;
    struct settings settings;
    bool no_logprobs; /* it says false of them */
    bool own_draw;    /* the line says which seed or draw: its place does not count */
};
int json_line_prompt(struct json_prompt *out, const char *line, size_t n, struct options *base,
                     uint64_t seed, void (*tell)(const char *sentence));
void json_prompt_release(struct json_prompt *p);

/* What a line's answer repeats of it; borrowed. */
struct json_asked {
    const char *text; /* [n]; NULL: left out */
    size_t n;
    const char *id; /* as JSON; NULL: left out */
    bool no_logprobs;
};
struct json_asked json_prompt_asked(const struct json_prompt *p);

/* Whether settings draw an answer's tokens: they are not greedy, and search nothing. */
bool json_is_drawn(const struct settings *s);

/*
 * {"id", "prompt", "text", "ids", "logprobs", "finish_reason", "draw", "logprobs_of": "model",
 * "seed"} and a newline, appended to out; of several answers, all from "text" to "draw" stand in
 * "answers". Bytes that are no UTF-8 are written as U+FFFD; ids say exactly what they were.
 *
 * s     that they were made with; what draws nothing has no seed and no draw
 * draw  which the first answer is; the next is the next
 * scores (NULL: none) add what the line asked for:
 *   top_logprobs  to each answer "tokens", the texts of its ids, and "top_logprobs", for each a
 *                 list of {"id", "token", "logprob"}, the likeliest first
 *   echo          "prompt_ids", "prompt_tokens", "prompt_logprobs" and, with both,
 *                 "prompt_top_logprobs"; the first token has null: nothing stands before it
 */
int json_line_answer(struct buf *out, struct json_asked asked, const struct settings *s,
                     int64_t draw, const struct answer *answers, int n_answers,
                     const struct line_scores *scores);
/* {"id", "prompt", "error"} and a newline. */
int json_line_error(struct buf *out, struct json_asked asked, const char *sentence);
/* text as a JSON string, which is a YAML one too. */
int json_string_text(struct buf *out, const char *text);

#endif
