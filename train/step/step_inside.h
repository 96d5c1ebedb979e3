#ifndef PRATTLE_TRAIN_STEP_STEP_INSIDE_H
#define PRATTLE_TRAIN_STEP_STEP_INSIDE_H
/*
 * A step as step.c and step_memory.c see it; to all others it is opaque.
 */
#include "train/step/gradient.h"
#include "train/step/gradient_blocks.h"
#include "train/step/loss.h"
#include "train/step/saved.h"
#include "train/step/step_config.h"
#include "train/step/weights.h"

enum block { GRADIENTS, ACTIVATIONS, SCRATCH, LOGITS_BLOCK, WINDOW, EMBEDDING, WAITING, N_BLOCKS };

struct step {
    struct step_config config;
    bool recompute[CONFIG_MAX_LAYERS]; /* the layer is recomputed */
    struct weights *weights;
    size_t n_trainable; /* parameters that have gradients */
    struct forward forward;
    struct low_rank_scratch low_rank;
    struct forward_dropout dropout;
    struct activations *layers; /* [L+1] */
    struct saved saved;         /* float16 */
    void *gradients;            /* [n]; backward.gradients is their window */
    struct forward_seq *seqs;   /* [batch] */
    char **pages;               /* [batch][n_pages] */
    int n_pages;                /* of one sequence */
    struct backward backward;
    struct embedding_gradient embedding;
    struct gradient_blocks gradient_blocks;
    struct loss loss;
    struct activation_stats *activation_stats; /* NULL: none are collected */
    int piece; /* where an interrupted pass resumes; 0: none is interrupted */
    bool stop; /* what thread 0 saw of Ctrl-C, for all threads */
    void *blocks[N_BLOCKS];
    struct step_bytes bytes;
};

#endif
