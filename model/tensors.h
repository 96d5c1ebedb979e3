#ifndef PRATTLE_MODEL_TENSORS_H
#define PRATTLE_MODEL_TENSORS_H
/*
 * A model's tensors: as fields for the forward pass, and as a table for loaders, savers and
 * training. schema.h lists them.
 */
#include "model/config.h"
#include "model/kernels/linear.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One transformer block, pre-norm. */
struct layer {
    float *ln_1_weight, *ln_1_bias; /* [C] */
    struct linear c_attn;           /* [C,3A]; no bias in GPT-Neo */
    struct linear attn_proj;        /* [A,C] */
    float *ln_2_weight, *ln_2_bias; /* [C] */
    struct linear c_fc;             /* [C,F] */
    struct linear mlp_proj;         /* [F,C] */
};

struct layer_stream;
struct params {
    struct config config;
    enum dtype dtype;          /* of all matrices */
    enum linear_layout layout; /* LINEAR_PANELS, or LINEAR_ROWS in training */
    struct linear wte;         /* the token embedding, as output head: [C,V], column v is token v */
    struct linear lm_head;     /* [C,V]; equal to wte if the embeddings are tied */
    float *wpe;                /* [n_ctx,C] */
    struct layer *layers;      /* [L]; owned */
    float *ln_f_weight, *ln_f_bias; /* [C] */
    void *block;                    /* holds all weights and nothing else; owned */
    size_t block_bytes;
    struct param_tensor *tensors; /* [n_tensors], in the order of schema.h; owned */
    int n_tensors;
    /* Brings in the layers that have no memory in the block (layer_stream.h): then the fields of
     * layers are valid in a pass alone, and the table's pointers not at all. NULL: all have; owned
     */
    struct layer_stream *stream;
    bool lost; /* they could not be read back from where they were kept: params_lost */
};

enum param_kind {
    PARAM_VECTOR,   /* [cols], rows = 1 */
    PARAM_ROWS,     /* [rows,cols], plain rows in memory and in all files: wpe */
    PARAM_CONV1D,   /* [rows,cols] = [in,out]; stored so in Hugging Face files, [out,in] in GGUF */
    PARAM_EMBEDDING /* [rows,cols] = [V,C], stored so in all files: wte, lm_head */
};

/* One tensor. */
struct param_tensor {
    char name[64]; /* in Hugging Face files, less "transformer.": "h.0.attn.c_attn.weight" */
    enum param_kind kind;
    int rows, cols;
    int layer;   /* -1 outside the layers */
    bool decays; /* weight decay on matrices applies to it */
    int fused;   /* how many matrices of one size lie side by side in its columns: 3 in c_attn, Q, K
                    and V; 0: it is one */
    /* Where the elements are; the other two pointers are NULL. Borrowed. */
    float *data;           /* [rows,cols] fp32: VECTOR, ROWS, and all in float32 training */
    uint16_t *half;        /* [rows,cols] binary16: all in float16 training */
    struct linear *linear; /* panels: CONV1D and EMBEDDING in inference */
};

#endif
