#ifndef PRATTLE_TRAIN_EVAL_SCORING_H
#define PRATTLE_TRAIN_EVAL_SCORING_H
/*
 * What evaluations share: scoring passages with one model or two, with progress, limits and partial
 * results.
 */
#include "sampling/score.h"
#include "train/eval/result.h"

/* An evaluation in progress. */
struct evaluation {
    struct engine *engine;     /* scores engine->max_seqs passages at once */
    struct engine *other;      /* kl: the model this one is compared with, else NULL */
    struct eval_config config; /* seq_length and overlap resolved; borrows its text */
    const char *path;          /* the file to read */
    struct eval_result *result;
    const struct progress *progress;
    bool agreed; /* by_ranks: all ranks have said whether they can score */
};

/*
 * Score the passages and call f(user, i, scores) for each in the list's order, with the scores of
 * its targets [list[i].n - list[i].first]. Sets done, total, targets, tokens, seconds and partial
 * of the result. A note says how long it will take if that is long. Sums over what f gets, in this
 * order, have the same bits for any batch size and thread team. With config.by_ranks all ranks call
 * it with the same list, or none: f is called on rank 0, for all passages, and on no other.
 * ERR_MISMATCH: a rank has another list. What keeps a rank from calling it the others hear from
 * eval_agree.
 */
int eval_score(struct evaluation *ev, const struct passage *list, size_t n,
               void (*f)(void *user, size_t i, const struct score *scores), void *user);

/* By all ranks with config.by_ranks, once an evaluation has ended for rc: what each of them
 * returns. A rank that failed before eval_score fails on all, which wait for it there. */
int eval_agree(struct evaluation *ev, int rc);

/* Consecutive targets, scored by one model or two. */
struct eval_slice {
    const struct scorer *scorer;
    const struct score_row *rows; /* [n] */
    const float *logits, *other;  /* [n,V] of each model */
    int n;                        /* at most SCORE_ROWS */
};
/*
 * Score the passages by ev->engine and ev->other, which have the same max_seqs. f is called for
 * each slice and counts targets and done of the result; if it returns an error code, that ends the
 * evaluation.
 */
int eval_compare(struct evaluation *ev, const struct passage *list, size_t n,
                 int (*f)(void *user, const struct eval_slice *slice), void *user);

/* How many of n to score by the setting limit. */
size_t eval_limited(const struct evaluation *ev, size_t n);
/* How a text is encoded, and what a definition says of it: "" where special tokens are text. */
int eval_encode_flags(const struct evaluation *ev);
const char *eval_special_words(const struct evaluation *ev);
/* ERR_MISSING: the model has no tokenizer. */
int eval_need_tokenizer(const struct evaluation *ev);
/* Append the text of ev->path to out. A note names the first byte that is not UTF-8; the bytes stay
 * as they are. ERR_MISSING, ERR_IO, ERR_RANGE (too large). */
int eval_read_text(const struct evaluation *ev, struct buf *out);

#endif
