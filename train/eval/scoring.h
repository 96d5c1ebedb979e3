#ifndef PRATTLE_TRAIN_EVAL_SCORING_H
#define PRATTLE_TRAIN_EVAL_SCORING_H
/*
 * What evaluations share while they work: passages are scored by one model or two, with progress,
 * limits and partial results.
 */
#include "sampling/score.h"
#include "train/eval/result.h"

/* One evaluation at work. */
struct evaluation {
    struct engine *engine;     /* engine->max_seqs passages are worked on at once */
    struct engine *other;      /* kl: the model this one is compared with, else NULL */
    struct eval_config config; /* seq_length and overlap resolved; borrows its text */
    const char *path;          /* the file to read */
    struct eval_result *result;
    const struct progress *progress;
};

/*
 * Score the passages, f(user, i, scores) with the scores of passage i's
 * targets [list[i].n - list[i].first], in the list's order. Sets the result's done, total,
 * targets, tokens, seconds, partial; says at the start how long it will take if that is long.
 * Whatever adds up what f gets, in this order, gets the same bits for any batch and team.
 */
int eval_score(struct evaluation *ev, const struct passage *list, size_t n,
               void (*f)(void *user, size_t i, const struct score *scores), void *user);

/* Some targets in a row, by two models. */
struct eval_slice {
    const struct scorer *scorer;
    const struct score_row *rows; /* [n] */
    const float *logits, *other;  /* [n,V] of each model */
    int n;                        /* at most SCORE_ROWS */
};
/*
 * The same by ev->engine and ev->other, which are for as many passages at once.
 * f takes slice after slice, and counts the result's targets and done; what it returns but 0 ends
 * it.
 */
int eval_compare(struct evaluation *ev, const struct passage *list, size_t n,
                 int (*f)(void *user, const struct eval_slice *slice), void *user);

/* How many of n to score, by --limit. */
size_t eval_limited(const struct evaluation *ev, size_t n);
/* ERR_MISSING: the model has no tokenizer. */
int eval_need_tokenizer(const struct evaluation *ev);
/* The whole text of ev->path; bytes that are no UTF-8 are noted, and stay as they are. */
int eval_read_text(const struct evaluation *ev, struct buf *out);

#endif
