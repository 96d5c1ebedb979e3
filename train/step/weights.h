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

struct masters {
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
    const struct adapter *adapter; /* learns in their place; NULL: they learn; borrowed */
};

/*
 * From the model's source, in the file's own precision, while the model's weights are
 * those of the source; from memory when that has as many digits, or they were changed (a
 * note says so when memory has fewer). ERR_MISMATCH: the source is not what was loaded
 * any more. dtype: DTYPE_F32 or DTYPE_F16, to which weights are rounded to nearest.
 */
int masters_init(struct masters *w, const struct model *m, enum dtype dtype,
                 const struct progress *p);
void masters_release(struct masters *w);
/* Floats of a window, before anything is allocated. */
size_t masters_window(const struct config *c, enum dtype dtype);
/* From now on a, an adapter for their shape, learns beside the masters, which stay as they are. */
void masters_stand_still(struct masters *w, const struct adapter *a);
/* What learns as the optimizer takes it, borrowed from w or its adapter: not to be released. */
struct masters masters_learning(const struct masters *w);
/*
 * Make the weights of m, a model of the same shape, anew: rounded to its precision, by
 * the whole team. Its version rises, and it counts as changed. Neither allocates nor
 * looks at Ctrl-C: m is never half-new.
 */
void masters_publish(const struct masters *w, struct model *m);
/*
 * The same with an adapter, which learns beside them: `shown`, of the same shape and with room
 * made for m, becomes a copy of it, stands beside m and is switched on. m's own weights stay
 * those of its source.
 */
void masters_publish_adapter(const struct masters *w, struct adapter *shown, struct model *m);
/* The masters as a source of tensors, with the name, tokenizer and stored settings
 * of m; both are borrowed until source_close. */
int masters_source(struct source *s, const struct masters *w, const struct model *m);

/*
 * Float16 only: what a block has of a layer, or with layer -1 of all outside the layers,
 * into a window, and back, to nearest even. This thread's share; no barrier.
 */
void masters_widen(const struct masters *w, float *window, const void *block, int layer, int thread,
                   int n_threads);
void masters_narrow(const struct masters *w, void *block, const float *window, int layer,
                    int thread, int n_threads);

/* As the optimizer takes them: what lies where, and the block. */
static inline struct optimizer_layout masters_layout(const struct masters *w)
{
    return (struct optimizer_layout){.dtype = w->dtype,
                                     .n_tensors = w->view.n_tensors,
                                     .tensors = w->view.tensors,
                                     .offset = w->offset};
}
static inline void *masters_block(const struct masters *w)
{
    return w->dtype == DTYPE_F16 ? (void *)w->half : w->data;
}

/* Of tensor i. */
static inline size_t masters_size(const struct masters *w, int i)
{
    return w->offset[i + 1] - w->offset[i];
}

#endif
