#ifndef PRATTLE_TRAIN_STEP_WEIGHTS_H
#define PRATTLE_TRAIN_STEP_WEIGHTS_H
/*
 * The parameters in training: one block with all tensors one after another, in the order of
 * schema.h, each row-major in the shape of Hugging Face files ([in,out] for Conv1D, [V,C] for
 * embeddings). Gradients and moments are blocks of the same layout.
 *
 * In float32, passes read the block itself. In float16 there is no fp32 copy of the block: passes
 * read a window, an fp32 copy of the tensors outside the layers and of one layer at a time. A
 * block of gradients has a window of the same layout.
 *
 *   block    | outside | layer 0 | layer 1 | ... | layer L - 1 | outside |   binary16
 *   window   | outside | one layer | outside |                              fp32
 */
#include "model/adapter.h"
#include "model/base/progress.h"
#include "model/model.h"
#include "train/optim/optimizer.h"
#include "train/step/stage.h"
#include "train/step/weights_disk.h"
#include "weights/tensors/source.h"

struct weights {
    /* The parameters for passes: matrices are LINEAR_ROWS and LINEAR_COLUMNS in the window, in
     * float16 all layers at the same address. The table's tensors are rows of the block. */
    struct params view;
    enum dtype dtype; /* of the block: DTYPE_F32 or DTYPE_F16 */
    float *data;      /* [n], the block in float32, else NULL; view owns the memory */
    uint16_t *half;   /* [n], the block in float16, else NULL */
    size_t n;
    float *window; /* [n_window]; in float32 the same as data */
    size_t n_window;
    size_t *offset; /* [view.n_tensors + 1], where each tensor begins in the block; owned */
    struct model_stage
        stage;        /* what there is of the model here; the rest of the block is not touched */
    struct spans own; /* of the block */
    unsigned char digest[32]; /* SHA-256 of the whole block as it was read, unless stage.alone */
    const struct adapter *adapter; /* trainable, the weights being frozen; NULL: the weights are
                                      trainable; borrowed */
    struct weights_disk *disk; /* has the block's layers (weights_disk.h); NULL: all is in memory */
};

/* Memory for the weights of a model of c, whose dtype w has (weights_init.h); place NULL: no layers
 * on disk. ERR_NOMEM, ERR_IO: weights_release takes it back. */
int weights_allocate(struct weights *w, const struct config *c, const struct weights_place *place);
void weights_release(struct weights *w);
/* The spans of a stage, and forget what others have. */
struct spans weights_spans(const struct weights *w, const struct model_stage *stage);
/* Of each of these the part that a process updates, which may be empty: whole pieces of the
 * optimizer's work. Replicas divide a span, and the n processes of one of them its part of that. */
struct weights_slice {
    int replicas, replica; /* 1, 0: each replica updates all */
    int n, own;
};
struct spans weights_slices(const struct weights *w, const struct model_stage *stage,
                            const struct weights_slice *s);
void weights_drop_others(struct weights *w);
/* How many floats a window has; allocates nothing. */
size_t weights_window(const struct config *c, enum dtype dtype);
/* Freeze the weights and train the adapter a instead, which is borrowed. */
void weights_freeze(struct weights *w, const struct adapter *a);
/* The trainable weights, w or its adapter, for the optimizer. Borrowed: not to be released. */
struct weights weights_trainable(const struct weights *w);
/*
 * Copy the weights to m, a model of the same shape, rounded to its precision, by the whole thread
 * team; m counts as changed and its version increases. Allocates nothing and cannot be
 * interrupted, so m never has a mixture of old and new weights; but for an error of the disk that
 * has layers of w (ERR_IO, ERR_FORMAT), after which it has.
 */
int weights_publish(const struct weights *w, struct model *m);
/* The same of weights in memory, tensor after tensor: before one is read, `bring` has it in its
 * place. */
void weights_publish_each(const struct weights *w, struct model *m,
                          void (*bring)(void *user, int tensor), void *user);
/* x [n] = the elements from `first` on of base with t merged into them, in fp32. */
void weights_merge(const struct param_tensor *base, const struct low_rank *t, float *x,
                   uint64_t first, size_t n);
/*
 * The same for a trainable adapter: copy it to `shown`, an adapter of the same shape for which
 * adapter_reserve was called with m, attach that to m and switch it on. m's own weights stay those
 * of its source.
 */
void weights_publish_adapter(const struct weights *w, struct adapter *shown, struct model *m);
/* The same with what `shown` has already, w being the frozen weights beside it. */
void weights_show_adapter(const struct weights *w, struct adapter *shown, struct model *m);

/*
 * Float16 only: copy a layer, or with layer -1 all tensors outside the layers, from a block to a
 * window, and back, rounded to nearest even. This thread's share; no barrier.
 */
void weights_load_window(const struct weights *w, float *window, const void *block, int layer,
                         int thread, int n_threads);
void weights_store_window(const struct weights *w, void *block, const float *window, int layer,
                          int thread, int n_threads);

/* The layout and the block, for the optimizer. */
static inline struct optimizer_layout weights_layout(const struct weights *w)
{
    return (struct optimizer_layout){.dtype = w->dtype,
                                     .n_tensors = w->view.n_tensors,
                                     .tensors = w->view.tensors,
                                     .offset = w->offset,
                                     .weights = w->disk == NULL ? NULL : w->disk->block,
                                     .gradients = w->disk == NULL ? NULL : w->disk->gradients};
}
static inline void *weights_block(const struct weights *w)
{
    return w->dtype == DTYPE_F16 ? (void *)w->half : w->data;
}

/* Elements of tensor i. */
static inline size_t weights_size(const struct weights *w, int i)
{
    return w->offset[i + 1] - w->offset[i];
}

#endif
