#ifndef PRATTLE_TRAIN_STEP_STEP_CONFIG_H
#define PRATTLE_TRAIN_STEP_STEP_CONFIG_H
/* How a micro-batch is computed: sizes, slices, recomputation, dropout. */
#include "model/config.h"

#include <stdbool.h>
#include <stdint.h>

struct adapter_config;

struct dropout_config {
    float embd, attn, resid; /* probabilities in [0, 1), 0: off; adapter_config has its own */
    uint64_t seed;
};

struct step_config {
    int batch, length;     /* at most `batch` sequences of at most `length` positions */
    const char *recompute; /* layers that save only their input and are recomputed in the
                              backward: "none" (or NULL), "all" (or "layers"), or a list
                              like "0,2,4-11"; read during calls only */
    int loss_rows;    /* positions whose logits exist at once (serialized_seq_len); 0: automatic */
    int loss_columns; /* vocabulary columns at once (embedding_serialization_factor); 0: all; with
                         fewer, logits are computed twice */
    int attention_pieces; /* into which a sequence's queries are divided in the backward of
                             attention (attention_serialisation), with the same bits;
                             0: as fits the CPU cache */
    struct dropout_config dropout;
    const struct adapter_config *adapter; /* for step_bytes: the trainable adapter; NULL: all
                                             parameters are. step_new asks the weights. */
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
