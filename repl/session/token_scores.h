#ifndef PRATTLE_REPL_SESSION_TOKEN_SCORES_H
#define PRATTLE_REPL_SESSION_TOKEN_SCORES_H
/*
 * The log-probabilities that a line of JSON asks for: of the likeliest tokens in each place of an
 * answer (top_logprobs), and of the prompt's tokens (echo). They are the model's own, before any
 * sampling setting; after a held space (prompt.h) the first token's are of those that begin with
 * one. The text is read once more, which gives the bits that it was drawn from.
 */
#include "repl/settings/options_table.h"
#include "sampling/text/prompt.h"

struct token_score {
    token_id id;
    float logprob;
};

/* Of one text's tokens. */
struct token_scores {
    size_t n;
    int top;                  /* up to the whole vocabulary */
    float *own;               /* [n] of the tokens themselves */
    struct token_score *best; /* [n,top] the likeliest first, of equal ones the lower id */
};

struct line_scores {
    const struct tokenizer *tokenizer; /* NULL: the model has none */
    bool echo;
    struct ids prompt;             /* as the model read it */
    struct token_scores of_prompt; /* of all but its first token; only with echo */
    struct token_scores *answers;  /* [n] */
    int n;
};

/* Whether these settings ask for any. */
bool line_scores_wanted(const struct settings *s);
/*
 * Score n answers to a prompt, whose ids are those given (it is cut here as for the answers). An
 * engine of one text is enough, and it must be no other's meanwhile. To be released also on
 * failure; ERR_INTERRUPTED as progress_step.
 */
int line_scores_make(struct line_scores *out, struct engine *e, const struct settings *s,
                     const struct prompt *prompt, const struct answer *answers, int n);
/* With an engine made for it. */
int line_scores_of(struct line_scores *out, struct model *m, const struct settings *s,
                   const struct prompt *prompt, const struct answer *answers, int n);
void line_scores_release(struct line_scores *l);

#endif
