#ifndef PRATTLE_TRAIN_STEP_STAGE_H
#define PRATTLE_TRAIN_STEP_STAGE_H
/*
 * What one process of a pipeline has of a model: some layers, one behind another, and perhaps the
 * tensors outside the layers. Blocks of weights, gradients and moments keep the layout of the whole
 * model in all processes, so that an element has one number everywhere; memory is taken by what is
 * touched, which is the process's own spans.
 */
#include <stdbool.h>
#include <stddef.h>

struct model_stage {
    int first, last; /* layers first to last - 1 */
    bool ends;       /* the embedding, the last norm and the head too */
    bool alone;      /* it is the whole model */
};

/* Elements of a block. */
struct span {
    size_t first, n;
};

/* Those of a stage: with the ends, before and behind the layers of others. */
struct spans {
    int n;
    struct span at[2];
};

/* Give back the memory of whole pages of elements first to last - 1 of a mapped block, of so many
 * bytes each; of all n elements that are not of these spans. */
void stage_drop(void *block, size_t first, size_t last, size_t each);
void stage_drop_others(const struct spans *own, void *block, size_t n, size_t each);

#endif
