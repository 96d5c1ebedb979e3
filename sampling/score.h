#ifndef PRATTLE_SAMPLING_SCORE_H
#define PRATTLE_SAMPLING_SCORE_H
/*
 * Log-probabilities of given texts, for :why and the evaluations. Logits exist for SCORE_ROWS
 * targets at a time, never for a whole text. The bits of a score do not depend on what is scored
 * with it or on the number of threads.
 */
#include "kvcache/engine.h"

enum { SCORE_ROWS = 128 };

/* Targets ids[first] .. ids[n - 1], each predicted from all the ids before it. */
struct passage {
    const token_id *ids; /* [n], borrowed */
    size_t n, first;     /* 1 <= first < n <= n_ctx + 1 */
    size_t shared; /* so many ids, < first, are shared with the passage before and read once */
};

/* One target: ids[target] of list[passage]. */
struct score_row {
    size_t passage, target;
    token_id id;
};

/* How the model predicted a target. */
struct score {
    double logprob; /* natural logarithm of its probability */
    token_id best;  /* the most likely token, the lowest id of several */
    int above;      /* how many tokens are more likely: its rank from 0 */
};

/* The position of a scorer. */
struct scorer_place {
    uint64_t read, total; /* ids so far and in all; shared ones count once */
    size_t passage;       /* the next to read */
    bool at_end;          /* all targets have been returned */
};

struct scorer;

/* A scorer that reads up to e->max_seqs passages in one pass; e is borrowed, and its pool must have
 * free pages for as many texts. ERR_NOMEM. */
int scorer_new(struct scorer **out, struct engine *e);
void scorer_free(struct scorer *s);
/* Begin a list of passages [n], borrowed, and drop the one before. ERR_FULL: a passage is longer
 * than the context; ERR_RANGE: an id outside the vocabulary, or a wrong first or shared. */
int scorer_begin(struct scorer *s, const struct passage *list, size_t n);
/*
 * The next *n <= SCORE_ROWS targets, in the order of the list and within each text, with the logits
 * [n,V] that predict them, borrowed until the next call; *n is 0 at the end. Two scorers of equal
 * max_seqs return the same targets for the same list. ERR_INTERRUPTED as progress_step; the next
 * call continues.
 */
int scorer_next(struct scorer *s, const struct score_row **rows, const float **logits, int *n,
                const struct progress *p);
struct scorer_place scorer_place(const struct scorer *s);
/* out [n] = the scores of the targets that scorer_next returned last, by the whole thread team.
 * ERR_NOT_FINITE: one has none (chain/logits.h). */
int scorer_judge(const struct scorer *s, struct score *out);

/* Call f(user, i, logits [V]) with the logits that predict ids[i], for targets first .. n - 1 of
 * one text; first 0 counts as 1. ERR_NOT_FINITE: f gets no logits that are NaN or infinite. */
int score_text(struct engine *e, const token_id *ids, size_t n, size_t first,
               void (*f)(void *user, size_t i, const float *logits), void *user,
               const struct progress *p);

#endif
