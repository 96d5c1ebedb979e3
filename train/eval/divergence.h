#ifndef PRATTLE_TRAIN_EVAL_DIVERGENCE_H
#define PRATTLE_TRAIN_EVAL_DIVERGENCE_H
/*
 * How far the distributions that two models predict lie apart, over many targets: the
 * Kullback-Leibler divergence KL(other || this) at each, in nats.
 */
#include "model/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one target. */
struct divergence_row {
    double kl;               /* 0 or more */
    double loss, other_loss; /* -ln p of the target, by each model */
    bool same_top;           /* both have the same most probable token */
};
/*
 * Compare two predictions of one target.
 *
 * logits, other  [V], of this and of the other model
 * scratch        [2,V]
 */
void divergence_row(struct divergence_row *out, const float *logits, const float *other,
                    float *scratch, size_t V, token_id target);

struct divergence {
    double *kl; /* [n], room for cap; owned */
    size_t n, cap;
    double loss, other_loss; /* sums */
    double loss_squared, other_squared;
    double change, change_squared; /* of loss - other_loss */
    double kl_sum, kl_squared;
    uint64_t same_top;
};
/* Add n rows. ERR_NOMEM. */
int divergence_add(struct divergence *d, const struct divergence_row *rows, size_t n);
void divergence_release(struct divergence *d);

/*
 * A figure and its standard error, the targets taken as independent; NaN: none is known.
 *
 * mean        of the sample, divided by n - 1
 * percentile  Woodruff's ("Confidence intervals for medians and other position measures", JASA 47,
 *             1952): half the distance of the percentiles at p - s and p + s, where
 *             s = sqrt(p (1 - p) / n) is the standard error of the part of the targets below; none
 *             where one of these is beyond 0 or 1
 *
 * A perplexity exp(loss) has the error exp(loss) times the loss's, by the delta method (Oehlert,
 * "A note on the delta method", The American Statistician 46, 1992).
 */
struct estimate {
    double value, error;
};
struct divergence_result {
    size_t n;
    struct estimate kl, same_top;
    struct estimate median, p90, p95, p99, p99_9; /* of kl; linear between two values */
    double greatest;
    struct estimate loss, other_loss;
    struct estimate change; /* of loss - other_loss: ln of the ratio of the perplexities */
};
/* The statistics of all rows added, at least one. Sorts d->kl. */
void divergence_resolve(struct divergence *d, struct divergence_result *out);

#endif
