#ifndef PRATTLE_TRAIN_STEP_STAGE_H
#define PRATTLE_TRAIN_STEP_STAGE_H
/*
 * What one process of a pipeline has of a model: some layers, one behind another, and perhaps the
 * tensors outside the layers. Blocks of weights, gradients and moments keep the layout of the whole
 * model in all processes, so that an element has one number everywhere; memory is taken by what is
 * touched, which is the process's own spans. Its layers may be several chunks, with those of others
 * between them (interleaved stages).
 */
#include <stdbool.h>
#include <stddef.h>

enum { STAGE_MAX_CHUNKS = 16, STAGE_MAX_SPANS = STAGE_MAX_CHUNKS + 1 };

/* Layers first to last - 1. */
struct layer_range {
    int first, last;
};

struct model_stage {
    int n_chunks;
    struct layer_range chunks[STAGE_MAX_CHUNKS]; /* in the order of the model */
    bool ends; /* the embedding, the last norm and the head too; the first chunk begins with layer 0
                */
    bool alone; /* it is the whole model */
};

static inline struct model_stage stage_whole(int n_layer)
{
    return (struct model_stage){
        .n_chunks = 1, .chunks = {{0, n_layer}}, .ends = true, .alone = true};
}

/* Elements of a block. */
struct span {
    size_t first, n;
};

/* Those of a stage, one behind another: of its chunks, and with the ends what lies before and
 * behind all layers. */
struct spans {
    int n;
    struct span at[STAGE_MAX_SPANS];
};

/* Give back the memory of whole pages of elements first to last - 1 of a mapped block, of so many
 * bytes each; of all n elements that are not of these spans. */
void stage_drop(void *block, size_t first, size_t last, size_t each);
void stage_drop_others(const struct spans *own, void *block, size_t n, size_t each);

#endif
