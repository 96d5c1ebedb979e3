#ifndef PRATTLE_MODEL_TENSORS_H
#define PRATTLE_MODEL_TENSORS_H
/*
 * The tensors of a model as the forward pass reads them, and the table by which loaders, savers
 * and training go through them. schema.h says which there are.
 */
#include "model/config.h"
#include "model/kernels/linear.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct layer {
    float *ln_1_weight, *ln_1_bias; /* [C] */
    struct linear c_attn;           /* [C,3C] */
    struct linear attn_proj;        /* [C,C] */
    float *ln_2_weight, *ln_2_bias; /* [C] */
    struct linear c_fc;             /* [C,F] */
    struct linear mlp_proj;         /* [F,C] */
};

struct params {
    struct config config;
    enum dtype dtype; /* of all matrices, and how they lie */
    enum linear_layout layout;
    struct linear wte;     /* token embedding as the head sees it: [C,V], column v is token v */
    struct linear lm_head; /* [C,V]; the same panels as wte when tied */
    float *wpe;            /* [n_ctx,C] */
    struct layer *layers;  /* [L]; owned */
    float *ln_f_weight, *ln_f_bias;
    void *block; /* owns all weights, and holds nothing else */
    size_t block_bytes;
    struct param_tensor *tensors; /* [n_tensors], in the order of schema.h */
    int n_tensors;
};

enum param_kind {
    PARAM_VECTOR,   /* [cols], rows = 1 */
    PARAM_ROWS,     /* [rows,cols] fp32 as it is: wpe */
    PARAM_CONV1D,   /* [rows,cols] = [in,out] in HF files, [out,in] in GGUF */
    PARAM_EMBEDDING /* [rows,cols] = [V,C] everywhere: wte, lm_head */
};

/* One tensor under its Hugging Face name without "transformer.": "h.0.attn.c_attn.weight". */
struct param_tensor {
    char name[64];
    enum param_kind kind;
    int rows, cols;
    int layer;   /* -1 outside the layers */
    bool decays; /* by what optimizers call weight decay on matrices */
    /* Where it is, the other two NULL: plain rows in fp32 (VECTOR and ROWS; in training
     * matrices too, as they lie in HF files), the same in binary16, or panels. */
    float *data;
    uint16_t *half;
    struct linear *linear;
};

#endif
