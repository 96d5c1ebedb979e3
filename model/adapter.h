#ifndef PRATTLE_MODEL_ADAPTER_H
#define PRATTLE_MODEL_ADAPTER_H
/*
 * A LoRA adapter (Hu et al. 2021): matrices A and B of low rank for some of a model's
 * matrices, W + scale A^T B standing for each W. adapter_switch.h applies one to a model in
 * memory.
 */
#include "model/low_rank.h"
#include "model/params.h"

struct adapter_config {
    int rank; /* 0: no adapter */
    float alpha;
    float dropout;
    bool rslora;   /* scale is alpha / sqrt(rank) (Kalajdzievski 2023), else alpha / rank */
    char *targets; /* as PEFT's target_modules: "c_attn,mlp.c_proj" match the ends of names
                      ("c_proj" both projections), "all-linear" all matrices of the layers */
};
enum { ADAPTER_MAX_RANK = 4096 };

struct adapter {
    struct adapter_config config; /* its text owned */
    struct low_rank *branches;    /* [n_branches], layer by layer */
    int n_branches;
    /* All A and B in one block, in the branches' order, and the table of it. */
    float *data; /* [n] */
    size_t n;
    struct param_tensor *tensors; /* [n_tensors], 2 a branch: "h.0.attn.c_attn.lora_A" */
    int n_tensors;
    size_t *offset; /* [n_tensors + 1] */
    bool changed;   /* is in no file */
    char *path;     /* of the file it came from or went to last; NULL: none */
    /* Of a model in memory (adapter_switch.h). */
    bool on;
    void *alternate; /* the other form of the matrices: with the adapter when it is off */
    size_t alternate_bytes;
};

/* How many parameters it would have for a model of this shape. ERR_RANGE names what does not
 * fit, a target that names no matrix too. */
int adapter_count(size_t *n, const struct adapter_config *a, const struct config *c);
/* Bytes of the other form of a model's matrices (adapter_reserve). */
size_t adapter_alternate_bytes(const struct adapter_config *a, const struct config *c, enum dtype dtype);
/* All zero. Fails as adapter_count, and with ERR_NOMEM. */
int adapter_new(struct adapter **out, const struct adapter_config *a, const struct config *c);
void adapter_free(struct adapter *a); /* NULL-safe */
/* As PEFT begins: A uniform within 1 / sqrt(K), from the seed; B zero. */
void adapter_start(struct adapter *a, uint64_t seed);
/* A branch's name without "transformer.", as the model's matrix: "h.0.attn.c_attn". */
const char *adapter_branch_name(char out[64], const struct low_rank *t);
/* Its matrix in the parameters of a model. */
struct linear *adapter_matrix(const struct low_rank *t, const struct params *p);
/* Its matrix in a table of tensors; NULL where that has none, or one of another shape. */
struct param_tensor *adapter_tensor(const struct low_rank *t, const struct params *table);

/*
 * w[i] += (scale A^T B)[first + i] for n elements of t's matrix as they lie in a file: [K,N],
 * or out_major [N,K]. The same bits wherever a call begins and ends.
 */
void adapter_add(const struct low_rank *t, float *w, bool out_major, uint64_t first, size_t n);

/* The branches become those of the matrices of training weights (LINEAR_ROWS). */
void adapter_set_branches(const struct adapter *a, struct params *p);

#endif
