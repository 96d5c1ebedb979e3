#ifndef PRATTLE_MODEL_ADAPTER_H
#define PRATTLE_MODEL_ADAPTER_H
/*
 * A LoRA adapter (Hu et al. 2021): for some matrices W [K,N] of a model, low-rank matrices A
 * [rank,K] and B [rank,N], such that the adapted matrix is W + scale A^T B. adapter_switch.h merges
 * an adapter into a model in memory and takes it out again.
 */
#include "model/low_rank.h"
#include "model/params.h"

struct adapter_config {
    int rank; /* 0: no adapter */
    float alpha;
    float dropout;
    bool rslora; /* scale = alpha / sqrt(rank) (Kalajdzievski 2023); else alpha / rank */
    /* Of an adapter of GPT-Neo in which queries, keys and values (bits 0 to 2) have an A each, as
     * PEFT trains them: the branch of c_attn then has three times the rank, B being zero but for
     * each one's own columns. 0: they share one A. */
    int qkv;
    char *targets; /* PEFT's target_modules: "c_attn,mlp.c_proj" match the last components of
                      names ("c_proj" both projections); "all-linear": all matrices of layers */
};
enum { ADAPTER_MAX_RANK = 4096 };

/* Values of the matrices that an adapter was trained with, rounded to binary16
 * (weights/tensors/weights_sample.h). */
enum { WEIGHTS_SAMPLE = 64 };
struct weights_sample {
    int n;            /* WEIGHTS_SAMPLE, or 0: not known */
    enum dtype dtype; /* the coarsest that they were in */
    uint16_t values[WEIGHTS_SAMPLE];
};

struct adapter {
    struct adapter_config config; /* targets owned */
    struct weights_sample base;   /* of the weights that it was trained with */
    enum model_type type;         /* of the model it is for */
    struct low_rank *branches;    /* [n_branches], layer by layer; owned */
    int n_branches;
    /* A and B of all branches in one block, and the table of its tensors. */
    float *data; /* [n]; owned */
    size_t n;
    struct param_tensor *tensors; /* [n_tensors], A and B of each branch, as lora_A and lora_B;
                                     owned */
    int n_tensors;
    size_t *offset; /* [n_tensors + 1], where each tensor begins in data; owned */
    bool changed;   /* differs from every file */
    char *path;     /* of the file it was last loaded from or saved to; NULL: none; owned */
    /* For the model it is attached to (adapter_switch.h). */
    bool on;         /* merged into the model's matrices */
    void *alternate; /* the matrices' other form: adapted while off, original while on; owned */
    size_t alternate_bytes;
};

/* The number of parameters of such an adapter for a model of configuration c. ERR_RANGE names the
 * setting that is invalid, also a target that matches no matrix. */
int adapter_count(size_t *n, const struct adapter_config *a, const struct config *c);
/* Bytes of the adapted matrices' other form, which adapter_reserve allocates. */
size_t adapter_alternate_bytes(const struct adapter_config *a, const struct config *c,
                               enum dtype dtype);
/* An adapter of zeros. Fails as adapter_count, and with ERR_NOMEM. */
int adapter_new(struct adapter **out, const struct adapter_config *a, const struct config *c);
void adapter_free(struct adapter *a); /* accepts NULL */
/* PEFT's initialization, from the seed: A uniform in +-1 / sqrt(K), B zero. */
void adapter_randomize(struct adapter *a, uint64_t seed);
/* The name of a branch, which is that of its matrix without "transformer.": "h.0.attn.c_attn". */
const char *adapter_branch_name(char out[64], const struct low_rank *t);
/* The branch's matrix in a model's parameters. */
struct linear *adapter_matrix(const struct low_rank *t, const struct params *p);
/* The weight of the branch's matrix in a table of tensors; NULL: absent, or of another shape. */
struct param_tensor *adapter_tensor(const struct low_rank *t, const struct params *table);

/*
 * w[i] += (scale A^T B)[first + i] for n elements of the branch's matrix in the order of a file:
 * [K,N], or [N,K] if out_major. The bits do not depend on how elements are divided into calls.
 */
void adapter_add(const struct low_rank *t, float *w, bool out_major, uint64_t first, size_t n);

/* Set the field lora of the adapted matrices in p, which are LINEAR_ROWS, to a's branches. */
void adapter_set_branches(const struct adapter *a, struct params *p);

#endif
