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

/* How tokens were chosen. */
struct chooser {
    struct sampler_config config; /* its strings borrowed from the settings */
    const char *note;             /* where nothing is drawn: what the numbers are; else NULL */
};
void chooser_init(struct chooser *c, const struct settings *s);
/* The model alone. */
void chooser_plain(struct chooser *c);

struct explained {
    const token_id *ids; /* [n], borrowed: the prompt, `start` >= 1 of them, and the answer */
    size_t n, start;
    size_t first, last; /* explain these, start <= first < last <= n */
    bool held_space;    /* the prompt's: its first token begins with a space */
    int max;            /* alternatives of each, at most */
};
/* What they were chosen from, by number from ids[start] on, the first is 1. */
struct explanation {
    struct choice *list; /* [n] */
    size_t n;
    struct alternative *others;
};
void explanation_release(struct explanation *e);
int explain(struct explanation *out, struct engine *e, const struct explained *text,
            const struct chooser *by, const struct settings *s, const struct progress *p);

/* The logits [V] behind a text of n >= 1 ids, apart from any text in progress. ERR_FULL: it is
 * longer than the context. */
int explain_logits(float *logits, struct engine *e, const struct ids *text,
                   const struct progress *p);
/* What may come there, at most `max` tokens; how many, or a code. logits may be changed. */
int explain_next(struct alternative *out, int max, float *logits, const struct model *m,
                 const struct ids *text, bool held_space, const struct chooser *by,
                 const struct settings *s);
/* Where the context begins that ids[n] was drawn in, which began at `begin` before. */
size_t explain_context(const struct kvcache *c, size_t begin, size_t n);

#endif
