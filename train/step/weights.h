#ifndef PRATTLE_TRAIN_STEP_WEIGHTS_H
#define PRATTLE_TRAIN_STEP_WEIGHTS_H
/*
 * The parameters as training holds them: in one block, each tensor in Hugging Face's
 * shape and order of elements ([in,out] for Conv1D, [V,C] for the embedding), one behind
 * the other in the order of the table of tensors. Gradients and moments are blocks of the
 * same layout.
 *
 * In float32 the block is what forward and backward read. In float16 there is no fp32
 * copy of it: they read a window, the fp32 form of the tensors outside the layers and of
 * those of one layer, into which each layer is widened in its turn. A block of gradients
 * has a window of the same layout.
 */
#include "model/adapter.h"
#include "model/base/progress.h"
#include "model/model.h"
#include "train/optim/optimizer.h"
#include "weights/tensors/source.h"

struct weights {
    /* For the forward pass: matrices as LINEAR_ROWS and LINEAR_COLUMNS, all
     * pointing into the window, every layer at the same place in float16. Each tensor of
     * its table is plain rows of the block, in fp32 or binary16. */
    struct params view;
    enum dtype dtype; /* of the block: DTYPE_F32, DTYPE_F16 */
    float *data;      /* [n], NULL in float16; view.block, as half */
    uint16_t *half;   /* [n], NULL in float32 */
    size_t n;
    float *window; /* [n_window]; in float32 data */
    size_t n_window;
    size_t *offset;                /* [view.n_tensors + 1], of each tensor in data; owned */
    const struct adapter *adapter; /* trained in their place; NULL: they are trained; borrowed */
};

/*
 * From the model's source, in the file's own precision, while the model's weights are
 * those of the source; from memory when that has as many digits, or they were changed (a
 * note says so when memory has fewer). ERR_MISMATCH: the source is not what was loaded
 * any more. dtype: DTYPE_F32 or DTYPE_F16, to which weights are rounded to nearest.
 */
int weights_init(struct weights *w, const struct model *m, enum dtype dtype,
                 const struct progress *p);
void weights_release(struct weights *w);
/* Floats of a window, before anything is allocated. */
size_t weights_window(const struct config *c, enum dtype dtype);
/* From now on a, an adapter for their shape, is trained, and the weights are frozen. */
void weights_freeze(struct weights *w, const struct adapter *a);
/* What is trainable as the optimizer takes it, borrowed from w or its adapter: not to be released.
 */
struct weights weights_trainable(const struct weights *w);
/*
 * Make the weights of m, a model of the same shape, anew: rounded to its precision, by
 * the whole team. Its version rises, and it counts as changed. Neither allocates nor
 * looks at Ctrl-C: m is never half-new.
 */
void weights_publish(const struct weights *w, struct model *m);
/*
 * The same with the adapter that is trained: `shown`, of the same shape and with room made for
 * m, becomes a copy of it, is attached to m and switched on. m's own weights stay
 * those of its source.
 */
void weights_publish_adapter(const struct weights *w, struct adapter *shown, struct model *m);
/* The weights as a source of tensors, with the name, tokenizer and stored settings
 * of m; both are borrowed until source_close. */
int weights_source(struct source *s, const struct weights *w, const struct model *m);

/*
 * Float16 only: what a block has of a layer, or with layer -1 of all outside the layers,
 * into a window, and back, to nearest even. This thread's share; no barrier.
 */
void weights_load_window(const struct weights *w, float *window, const void *block, int layer, int thread,
                   int n_threads);
void weights_store_window(const struct weights *w, void *block, const float *window, int layer,
                    int thread, int n_threads);

/* As the optimizer takes them: what lies where, and the block. */
static inline struct optimizer_layout weights_layout(const struct weights *w)
{
    return (struct optimizer_layout){.dtype = w->dtype,
                                     .n_tensors = w->view.n_tensors,
                                     .tensors = w->view.tensors,
                                     .offset = w->offset};
}
static inline void *weights_block(const struct weights *w)
{
    return w->dtype == DTYPE_F16 ? (void *)w->half : w->data;
}

/* Of tensor i. */
static inline size_t weights_size(const struct weights *w, int i)
{
    return w->offset[i + 1] - w->offset[i];
}

#endif
