#ifndef PRATTLE_SAMPLING_CHAIN_CANDIDATES_H
#define PRATTLE_SAMPLING_CHAIN_CANDIDATES_H
/*
 * The tokens that may come next: logits by id, and the list of those still in the
 * running. What every stage of the sampler works on. Nothing is ever sorted in full: a
 * cut of the list is found by bucketing.
 */
#include "model/base/mem.h"
#include "model/config.h"

struct sampling_kernels;

struct candidates {
    const struct sampling_kernels *kernels;
    int n_vocab;
    float *logit;   /* [V] by id, finite or -inf; -inf: out of the running */
    token_id *id;   /* [n] the list, ascending; not filled while `all` */
    int n;          /* of the list; 0 when nothing is left */
    bool all;       /* the list is 0..V-1 */
    bool measured;  /* high is the greatest logit of the list */
    float high;     /* -INFINITY: nothing is left */
    bool weighed;   /* the next three belong to the logits as they are */
    float *weight;  /* [n] exp(logit - max), in the list's order */
    float max;      /* of the logits when they were weighed */
    double sum;     /* of the weights */
    float *key;     /* [V] scratch: what a stage cuts by, in the list's order */
    int32_t *index; /* [V] scratch: places in the list */
    float *part;    /* [V / 8 + 32] scratch: highest keys of blocks; keys and weights of a sample */
};

/* Take the arrays out of an arena (sizing or carving). */
void candidates_carve(struct candidates *c, struct arena *a, int n_vocab);

/* All tokens, with these logits; NaN becomes -inf, what is beyond float's range its end. */
void candidates_start(struct candidates *c, const float *logits);

static inline token_id candidates_id(const struct candidates *c, int i)
{
    return c->all ? i : c->id[i];
}
/* To be said after changing logits. */
static inline void candidates_changed(struct candidates *c)
{
    c->weighed = c->measured = false;
}

/* The greatest logit of the list, -INFINITY if nothing is left. */
float candidates_high(struct candidates *c);
/* The logits in the list's order: borrowed until key is next written. */
const float *candidates_logits(struct candidates *c);
/* Fill weight, max and sum; false if nothing is left (then n is 0). */
bool candidates_weigh(struct candidates *c);

/* Keep the entries with key >= least. key is in the list's order. */
void candidates_keep(struct candidates *c, const float *key, float least);
/*
 * Keep the fewest entries of the highest keys whose weights reach target; with weight
 * NULL each weighs 1. Of equal keys the lowest ids. Keys below `floor` are known to
 * be cut (-INFINITY: nothing known), and those of -inf never stay.
 */
void candidates_keep_best(struct candidates *c, const float *key, const float *weight,
                          double target, float floor);
/* Places in the list of its m highest logits, highest first, into c->index; how many. */
int candidates_best(struct candidates *c, int m);

/* The place in the list where the weights summed in the list's order pass u * sum, u in
 * [0, 1). The list is weighed and not empty. */
int candidates_draw(const struct candidates *c, double u);

#endif
