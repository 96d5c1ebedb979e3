#ifndef PRATTLE_SAMPLING_CHAIN_CANDIDATES_H
#define PRATTLE_SAMPLING_CHAIN_CANDIDATES_H
/*
 * The tokens that may come next, on which every stage of the sampler works: logits by id, and the
 * list of the tokens that are left. The list is never sorted in full; a cut is found by bucketing.
 */
#include "model/base/mem.h"
#include "model/config.h"

struct sampling_kernels;

struct candidates {
    const struct sampling_kernels *kernels;
    int n_vocab;
    float *logit;   /* [V] by id, finite or -inf; -inf: cannot be drawn */
    token_id *id;   /* [n] the list, ascending; undefined while `all` */
    int n;          /* of the list; 0: nothing is left */
    bool all;       /* the list is 0..V-1 */
    bool measured;  /* high is the greatest logit of the list */
    float high;     /* -INFINITY: nothing is left */
    bool weighed;   /* the next three fit the present logits */
    float *weight;  /* [n] exp(logit - max), in the list's order */
    float max;      /* of the logits when they were weighed */
    double sum;     /* of the weights */
    float *key;     /* [V] scratch: what a stage cuts by, in the list's order */
    int32_t *index; /* [V] scratch: places in the list */
    float *part; /* scratch: highest keys of blocks; keys and weights of a sample, or of a range */
};

/* Carve the arrays out of an arena, or size them (mem.h). */
void candidates_carve(struct candidates *c, struct arena *a, int n_vocab);

/* List all tokens, with these logits [V]; NaN becomes -inf, +inf FLT_MAX. */
void candidates_start(struct candidates *c, const float *logits);

static inline token_id candidates_id(const struct candidates *c, int i)
{
    return c->all ? i : c->id[i];
}
/* To be called after changing logits. */
static inline void candidates_changed(struct candidates *c)
{
    c->weighed = c->measured = false;
}

/* The greatest logit of the list, -INFINITY if nothing is left. */
float candidates_high(struct candidates *c);
/* The logits in the list's order: borrowed until key is next written. */
const float *candidates_logits(struct candidates *c);
/* Fill weight, max and sum. False, with n = 0, if no token is left. */
bool candidates_weigh(struct candidates *c);

/* Keep the entries with key >= least. key is in the list's order. */
void candidates_keep(struct candidates *c, const float *key, float least);
/*
 * Keep the fewest entries, from the highest key down, whose weights add up to target; weight NULL:
 * each weighs 1. Of equal keys the lowest ids stay. Keys below `floor` are known to be cut
 * (-INFINITY: nothing is known); keys of -inf never stay.
 */
void candidates_keep_best(struct candidates *c, const float *key, const float *weight,
                          double target, float floor);
/* Put the places of the m highest logits, highest first, into c->index. Returns how many. */
int candidates_best(struct candidates *c, int m);

/* The place at which the weights, added in the list's order, pass u * sum, u in [0, 1). The list is
 * weighed and not empty. */
int candidates_draw(const struct candidates *c, double u);

#endif
