#ifndef PRATTLE_MASTERS_H
#define PRATTLE_MASTERS_H
/*
 * The parameters as training holds them: fp32, in one block, each tensor in Hugging
 * Face's shape and order of elements ([in,out] for Conv1D, [V,C] for the embedding),
 * one behind the other in the order of the table of tensors. Gradients and moments are
 * blocks of the same layout.
 */
#include "model/model.h"
#include "weights/source.h"

struct masters {
    /* For the forward pass: matrices of the kinds LINEAR_MASTER and LINEAR_MASTER_T, all
     * pointing into data. Each tensor of its table is plain rows: data set, linear NULL. */
    struct params view;
    float *data; /* [n]; view.block */
    size_t n;
    size_t *offset; /* [view.n_tensors + 1], of each tensor in data; owned */
};

/*
 * From the model's source, in the file's own precision, while the model's weights are
 * those of the source; from memory when they were changed (a note says so when memory
 * has them in fp16 only). ERR_MISMATCH: the source is not what was loaded any more.
 */
int masters_init(struct masters *w, const struct model *m, const struct progress *p);
void masters_release(struct masters *w);
/*
 * Make the weights of m, a model of the same shape, anew: rounded to its precision, by
 * the whole team. Its version rises, and it counts as changed. Neither allocates nor
 * looks at Ctrl-C: m is never half-new.
 */
void masters_publish(const struct masters *w, struct model *m);
/* The masters as a source of fp32 tensors, with the name, tokenizer and stored settings
 * of m; both are borrowed until source_close. */
int masters_source(struct source *s, const struct masters *w, const struct model *m);

/* Of tensor i. */
static inline size_t masters_size(const struct masters *w, int i)
{
    return w->offset[i + 1] - w->offset[i];
}

#endif
