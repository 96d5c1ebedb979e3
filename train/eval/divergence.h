#ifndef PRATTLE_TRAIN_EVAL_DIVERGENCE_H
#define PRATTLE_TRAIN_EVAL_DIVERGENCE_H
/*
 * How far what one model expects is from what another expects, over many targets: the
 * Kullback-Leibler divergence KL(other || this) of each, in nats.
 */
#include "model/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one target. */
struct divergence_row {
    double kl;               /* 0 or more */
    double loss, other_loss; /* -ln p of the target, by each model */
    bool same_top;           /* both expect the same token most */
};
/*
 * logits, other  [V] of each model
 * scratch        [2,V]
 */
void divergence_row(struct divergence_row *out, const float *logits, const float *other,
                    float *scratch, size_t V, token_id target);

struct divergence {
    double *kl; /* [n], room for cap; owned */
    size_t n, cap;
    double loss, other_loss;       /* sums */
    double change, change_squared; /* of loss - other_loss */
    double kl_sum, kl_squared;
    uint64_t same_top;
};
int divergence_add(struct divergence *d, const struct divergence_row *rows, size_t n);
void divergence_release(struct divergence *d);

/* A mean and its standard error (of the sample: divided by n - 1). */
struct mean {
    double value, error;
};
struct divergence_result {
    size_t n;
    struct mean kl, same_top;
    double median, p90, p95, p99, p99_9, greatest; /* of kl; linear between two values */
    double loss, other_loss;
    struct mean change; /* of loss - other_loss: ln of the ratio of the perplexities */
};
/* Sorts d->kl. d->n is 1 or more. */
void divergence_resolve(struct divergence *d, struct divergence_result *out);

#endif
