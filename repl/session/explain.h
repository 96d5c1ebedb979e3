#ifndef PRATTLE_REPL_SESSION_EXPLAIN_H
#define PRATTLE_REPL_SESSION_EXPLAIN_H
/*
 * What the tokens of a text were chosen from, found by reading it once more: the same text gives
 * the same logits, bit for bit, and the same seed, draw and position the same choice. A text longer
 * than the context slides where it slid when it was made.
 */
#include "kvcache/engine.h"
#include "repl/settings/options_table.h"
#include "repl/terminal/chances.h"

/* The settings by which tokens were chosen. */
struct chooser {
    struct sampler_config config; /* its strings borrowed from the settings */
    const char *note;             /* if nothing was sampled: what the numbers are; else NULL */
};
void chooser_init(struct chooser *c, const struct settings *s);
/* The same, but of temperature 0 what it leaves: one token. */
void chooser_of_next(struct chooser *c, const struct settings *s);
/* The model's own distribution, without settings. */
void chooser_plain(struct chooser *c);
/* Append what two columns of probabilities are, with the settings that change the second:
 * "% after temperature 0.8, top_p 0.95 and the model's own". */
int chooser_describe(const struct settings *s, struct buf *out);

struct explained {
    const token_id *ids; /* [n], borrowed: the prompt, `start` >= 1 of them, and the answer */
    size_t n, start;
    size_t first, last; /* explain these, start <= first < last <= n */
    bool held_space;    /* the prompt's: its first token begins with a space */
    int max;            /* alternatives of each, at most */
};
/* What each token was chosen from; ids[start] has number 1. */
struct explanation {
    struct choice *list; /* [n] */
    size_t n;
    struct alternative *others;
};
void explanation_release(struct explanation *e);
int explain(struct explanation *out, struct engine *e, const struct explained *text,
            const struct chooser *by, const struct settings *s, const struct progress *p);

/* The logits [V] after a text of at least one id, without touching the text in progress. ERR_FULL:
 * the text is longer than the context. */
int explain_logits(float *logits, struct engine *e, const struct ids *text,
                   const struct progress *p);
/* The next tokens by these logits, at most `max`. Returns how many, or an error code. logits may be
 * changed. */
int explain_next(struct alternative *out, int max, float *logits, const struct model *m,
                 const struct ids *text, bool held_space, const struct chooser *by,
                 const struct settings *s);
/* Where the context begins in which ids[n] was drawn, if it began at `begin` before. */
size_t explain_context(const struct kvcache *c, size_t begin, size_t n);

#endif
