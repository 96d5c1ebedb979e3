#ifndef PRATTLE_SAMPLING_SCORE_H
#define PRATTLE_SAMPLING_SCORE_H
/*
 * Log-probabilities of given texts: what :why and the evaluations stand on. Logits exist
 * for SCORE_ROWS targets at once, never for a whole text; what comes out does not depend,
 * to the last bit, on what is scored beside it nor on the number of threads.
 */
#include "kvcache/engine.h"

enum { SCORE_ROWS = 128 };

/* Targets ids[first] .. ids[n - 1], each predicted from all the ids before it. */
struct passage {
    const token_id *ids; /* [n], borrowed */
    size_t n, first;     /* 1 <= first < n <= n_ctx + 1 */
    size_t shared; /* the first so many, < first, are those of the passage before: not read again */
};

/* One target: ids[target] of list[passage]. */
struct score_row {
    size_t passage, target;
    token_id id;
};

/* What the model thought of it. */
struct score {
    double logprob; /* natural logarithm of its probability */
    token_id best;  /* the likeliest token, the lowest id of several */
    int above;      /* how many are likelier: its rank from 0 */
};

/* How far a scorer has come. */
struct scorer_place {
    uint64_t read, total; /* ids, so far and in all; none twice that are shared */
    size_t passage;       /* the next to read */
    bool at_end;          /* all targets were given */
};

struct scorer;

/* Scores by this engine, up to e->max_seqs passages side by side; e is borrowed, and its
 * pool must have as many free. */
int scorer_new(struct scorer **out, struct engine *e);
void scorer_free(struct scorer *s);
/* Begin a list of passages, dropping what was under way. ERR_FULL: one is longer than the
 * context, ERR_RANGE: an id outside the vocabulary, a bad first or shared. */
int scorer_begin(struct scorer *s, const struct passage *list, size_t n);
/*
 * The next targets, in the order of the list and of each text: up to SCORE_ROWS of them with
 * the logits [n,V] that predict them, borrowed until the next call. n is 0 at the end. Two
 * scorers of equal max_seqs go in step over the same list. ERR_INTERRUPTED: as progress_step;
 * the next call goes on.
 */
int scorer_next(struct scorer *s, const struct score_row **rows, const float **logits, int *n,
                const struct progress *p);
struct scorer_place scorer_place(const struct scorer *s);
/* The scores of the targets that scorer_next gave last, by all threads. */
void scorer_judge(const struct scorer *s, struct score *out);

/* f(user, i, logits [V]) with the logits that predict ids[i], for targets first .. n - 1 of
 * one text; first 0 is 1. */
int score_text(struct engine *e, const token_id *ids, size_t n, size_t first,
               void (*f)(void *user, size_t i, const float *logits), void *user,
               const struct progress *p);

#endif
