#ifndef PRATTLE_TRAIN_STEP_STEP_INSIDE_H
#define PRATTLE_TRAIN_STEP_STEP_INSIDE_H
/*
 * A step as the files of this folder see it; to all others it is opaque.
 */
#include "train/step/gradient.h"
#include "train/step/gradient_blocks.h"
#include "train/step/gradient_taker.h"
#include "train/step/input_parts.h"
#include "train/step/loss.h"
#include "train/step/saved.h"
#include "train/step/step_config.h"
#include "train/step/weights.h"
#include "train/step/weights_waiter.h"

enum block { GRADIENTS, ACTIVATIONS, SCRATCH, LOGITS_BLOCK, WINDOW, EMBEDDING, WAITING, N_BLOCKS };

/* A micro-batch between its forward and its backward through a chunk of the stage. */
struct slot {
    struct layer_range range; /* the chunk's layers */
    bool ends; /* and those outside the layers: the first chunk of the stage that has */
    struct activations *layers; /* [L+1] */
    struct saved saved;         /* float16 */
    void **parts;               /* [L+1], of inputs (input_parts.h); NULL: that one is whole */
    struct forward_seq *seqs;   /* [batch] */
    int n_seqs, length;
    uint64_t sequence;
    const token_id *ids, *labels; /* [n_seqs,length] */
    /* In a pipeline: */
    token_id *own_ids, *own_labels; /* what these are then */
    float *gradient;      /* [rows,C], of the output of the chunk's layers, then of their input */
    float *head_gradient; /* [rows,C], of the output of the model's layers */
};

struct step {
    struct step_config config;
    bool recompute[CONFIG_MAX_LAYERS]; /* the layer is recomputed */
    struct weights *weights;
    size_t n_trainable; /* parameters that have gradients, of so many bytes */
    size_t gradient_bytes;
    struct forward forward;
    struct low_rank_scratch low_rank;
    struct forward_dropout dropout;
    struct model_stage stage;
    struct spans own;   /* of the gradients */
    struct slot *slots; /* [n_slots] */
    int n_slots;
    struct slot *slot; /* the one at work */
    struct input_parts inputs;
    void *gradients; /* [n]; backward.gradients is their window */
    char **pages;    /* [batch][n_pages] */
    int n_pages;     /* of one sequence */
    struct backward backward;
    struct embedding_gradient embedding;
    struct gradient_blocks gradient_blocks;
    struct gradient_taker taker;
    struct weights_waiter waiter; /* await NULL: all weights are there */
    int batches;     /* micro-batches of the block that are done */
    bool ends_block; /* the one at work is its last */
    struct loss loss;
    struct activation_stats *activation_stats; /* NULL: none are collected */
    int piece; /* where an interrupted pass resumes; 0: none is interrupted */
    bool stop; /* what thread 0 saw of Ctrl-C, for all threads */
    void *blocks[N_BLOCKS];
    struct step_bytes bytes;
};

/* Whether the memory of a layer's gradients goes back to the system once they are taken, so that
 * few are there at once: where each micro-batch's are, and a pass waits for its layers' memory. */
static inline bool step_gives_back(const struct step *x)
{
    return x->config.taken && x->config.block_batches == 1 && x->config.slots[0] == 0 &&
           x->config.shard == NULL;
}

/* How many pieces a pass has of each kind. */
struct pieces {
    int forward, loss, backward;
};
struct pieces step_pieces(const struct step *x, bool backward);

/* Pieces first to last - 1 of a pass over the slot that was entered; by the team. The step's piece
 * is then where it was interrupted, or 0. */
struct step_pass {
    struct step *x;
    const token_id *labels;
    float scale;
    bool backward;
    int first, last;
};
void step_run_pieces(void *pass, int thread, int n_threads);
/* Its activations and sequences are those at work. */
void step_enter_slot(struct step *x, struct slot *s, bool backward);
/* What the embedding's tokens have is added to the gradient of wte. */
void step_end_embedding(struct step *x);
/* Float16: bring a layer's weights, or its gradients, into their window; layer -1: the tensors
 * outside the layers. And the gradients back. By every thread of the job; end with a barrier. */
void step_load_weights(struct backward_thread *p, struct step *x, int layer);
void step_load_gradients(struct backward_thread *p, struct step *x, int layer);
void step_store_gradients(struct backward_thread *p, struct step *x, int layer);

#endif
