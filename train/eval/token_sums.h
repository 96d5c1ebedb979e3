#ifndef PRATTLE_TRAIN_EVAL_TOKEN_SUMS_H
#define PRATTLE_TRAIN_EVAL_TOKEN_SUMS_H
/*
 * Sums over targets that the evaluations of running text share.
 */
#include "sampling/score.h"
#include "train/eval/result.h"

struct token_sums {
    const struct passage *list;
    const struct tokenizer *tokenizer; /* NULL: no bytes */
    /* Targets that do not count: those of the ids of which omitted [i] is set, i from `ids` on.
     * NULL: all count. */
    const bool *omitted;
    const token_id *ids;
    struct eval_mean loss, top_1, top_10;
    uint64_t bytes; /* of the targets' texts; special tokens have none */
};

/* Takes a passage's scores: eval_score's f, with the sums as user. */
void token_sums_take(void *sums, size_t i, const struct score *scores);
/* "loss" and "perplexity", of a loss of at most so much. */
void token_sums_add_loss(const struct token_sums *s, struct eval_result *r, double most);
/* "loss_per_byte", "perplexity_per_byte" and "bits_per_byte"; nothing where bytes are unknown. */
void token_sums_add_bytes(const struct token_sums *s, struct eval_result *r);
void token_sums_add_accuracy(const struct token_sums *s, struct eval_result *r);
/* exp(min(most, loss)); where it is cut, without an error. format: as of eval_figure. */
void token_sums_add_perplexity(struct eval_result *r, const char *name, const char *text,
                               double loss, double error, double most, const char *format);

#endif
