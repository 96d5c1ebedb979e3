#ifndef PRATTLE_TRAIN_STEP_STEP_CONFIG_H
#define PRATTLE_TRAIN_STEP_STEP_CONFIG_H
/* How a micro-batch is to be computed: sizes, slices, recomputation, dropout. */
#include "model/config.h"

#include <stdbool.h>
#include <stdint.h>

struct adapter_config;

struct dropout_config {
    float embd, attn, resid; /* probabilities in [0, 1), 0 = off; an adapter has its own */
    uint64_t seed;
};

struct step_config {
    int batch, length;     /* at most B sequences of at most T positions in a micro-batch */
    const char *recompute; /* layers whose activations are recomputed in the backward, each
                              saving its input alone: "none", "all" (or "layers"),
                              or a list as "0,2,4-11"; NULL: none. Borrowed for the call. */
    int loss_rows;    /* positions whose logits exist at once (serialized_seq_len); 0: as fits */
    int loss_columns; /* vocabulary columns at once (embedding_serialization_factor); 0: all.
                         Fewer mean that logits are computed twice. */
    int attention_pieces; /* that a text's queries go in through the backward of attention
                             (attention_serialisation); 0: as fits the cache. The same bits. */
    struct dropout_config dropout;
    const struct adapter_config *adapter; /* for step_bytes: one of these learns; NULL: all
                                             parameters do. step_new knows it from the weights. */
};
/* How many layers `recompute` names in a model of n_layer. ERR_RANGE. */
int step_recomputed(int *n, const char *recompute, int n_layer);
void step_config_init(struct step_config *s); /* 1 x 1024, no recomputation, no dropout */
/* ERR_RANGE names what does not fit the model. recompute [L], false before, gets the layers. */
int step_config_check(const struct step_config *s, const struct config *c, bool *recompute);
/* Positions and vocabulary columns of which logits exist at once. */
int step_loss_rows(const struct config *c, const struct step_config *s);
int step_loss_columns(const struct config *c, const struct step_config *s);

#endif
