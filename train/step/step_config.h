#ifndef PRATTLE_TRAIN_STEP_STEP_CONFIG_H
#define PRATTLE_TRAIN_STEP_STEP_CONFIG_H
/* How a micro-batch is computed: sizes, slices, recomputation, dropout. */
#include "model/config.h"
#include "model/kernels/product.h"
#include "train/step/stage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adapter_config;
struct shard;

/* Where a block is one micro-batch, so many layers' gradients may wait to be taken. */
enum { GRADIENTS_PENDING = 4 };

struct dropout_config {
    float embd, attn, resid; /* probabilities in [0, 1), 0: off; adapter_config has its own */
    uint64_t seed;
};

struct step_config {
    enum product_engine matrices;
    enum product_factors factors;
    int batch, length;     /* at most `batch` sequences of at most `length` positions */
    const char *recompute; /* layers that save only their input and are recomputed in the
                              backward: "none" (or NULL), "all" (or "layers"), or a list
                              like "0,2,4-11"; read during calls only */
    int loss_rows;    /* positions whose logits exist at once (serialized_seq_len); 0: automatic */
    int loss_columns; /* vocabulary columns at once (embedding_serialization_factor), rounded up to
                         a multiple of 256; 0: all; with fewer, logits are computed twice */
    int gradient_blocks;         /* of the windows of a step, each a chain of sums of its own
                                    (gradient_blocks.h); 0: 1 */
    bool half_partials;          /* blocks' sums are rounded to 16 bits (half_partials.h) */
    int first_block, last_block; /* those computed here, up to last_block - 1; 0, 0: all */
    int block_batches;           /* micro-batches of a gradient block; 0: not known */
    bool taken;               /* by a gradient_taker (gradient_taker.h), which then must be set */
    int64_t step_tokens;      /* of all micro-batches of a step, at most; 0: not known */
    int attention_pieces;     /* into which a sequence's queries are divided in the backward of
                                 attention (attention_serialisation), with the same bits;
                                 0: as fits the CPU cache */
    struct model_stage stage; /* what this step has of the model, where there are slots */
    int slots[STAGE_MAX_CHUNKS]; /* of each chunk of these: micro-batches whose activations there
                                    are at once. The first 0: the whole model is here, and one is
                                    done after another */
    const struct shard *shard; /* what this step has of each tensor (model/shard.h), borrowed, with
                                  a link, and loss_rows that are those of all; a pass is then not
                                  interrupted, since others wait for it. NULL: all */
    bool rts_activations;      /* inputs of recomputed layers are in parts, one in each process of
                                  the shard (input_parts.h); without a shard: whole */
    bool phased;               /* weights and gradients are on disk (phased.h) */
    struct dropout_config dropout;
    const struct adapter_config *adapter; /* for step_bytes: the trainable adapter; NULL: all
                                             parameters are. step_new asks the weights. */
};
/* Where the inputs of layers and the gradients of the residual stream are; weights and their
 * gradients are where struct weights has them. */
struct phased_place {
    const char *folder;
    int micro_batches;   /* of a step, each of the same length */
    int n_inputs_kept;   /* of [L+1], spread evenly */
    bool residuals_kept; /* gradients of the residual stream */
    int n_outside_kept;  /* gradients outside the layers, of blocks, spread evenly */
};

/* The memory that a step takes, in bytes. */
struct step_bytes {
    size_t activations, scratch, logits;
    size_t gradients; /* at once: those that are taken give their memory back */
    size_t window;    /* float16: the fp32 window of the gradients (weights.h) */
    size_t embedding; /* gradients of the rows of wte that a step's tokens use */
    size_t waiting;   /* gradients of blocks that wait for others */
};

/* *n = how many layers of n_layer `recompute` names. ERR_RANGE. */
int step_recomputed(int *n, const char *recompute, int n_layer);
void step_config_init(struct step_config *s); /* 1 x 1024, no recomputation, no dropout */
/* Check s against the model; ERR_RANGE names the setting. recompute [L], all false before, becomes
 * true for the layers to recompute. */
int step_config_check(const struct step_config *s, const struct config *c, bool *recompute);
/* The size of a slice of the loss: positions, and vocabulary columns. */
int step_loss_rows(const struct config *c, const struct step_config *s);
int step_loss_columns(const struct config *c, const struct step_config *s);

#endif
