#ifndef PRATTLE_MODEL_SCHEMA_H
#define PRATTLE_MODEL_SCHEMA_H
/*
 * The ONE list of a model's tensors: names, shapes, what each is to an optimizer, and where the
 * forward pass finds it. Parameters, training weights, names in files and adapters all walk it,
 * so a member of the family with other tensors is another list here. Rows of the layers stand
 * together, a matrix right before its bias; rows that only an untied model has come last.
 */
#include "model/tensors.h"

struct schema_row {
    const char *name; /* Hugging Face's, without "transformer." and "h.N." */
    const char *gguf; /* llama.cpp's, without "blk.N." and the last part */
    enum param_kind kind;
    /* In letters of config.h: "C", "3C", "F", "V"; "n" is n_ctx, "1" one. */
    const char *rows, *cols;
    bool in_layer;    /* once a layer; else once */
    bool untied_only; /* where tie_word_embeddings is off */
    bool decays;
    /* Of a struct linear (CONV1D, EMBEDDING) or a float pointer, in struct layer or params. */
    size_t offset;
};

/* Tensor i of a model: its row, and its layer or -1. */
struct schema_tensor {
    const struct schema_row *row;
    int layer;
};

int schema_count(const struct config *c);
struct schema_tensor schema_tensor(const struct config *c, int i);
/* Of the tensors of a model, the first of layer 0, and how many each layer has. */
int schema_first_in_layers(void);
int schema_each_layer(void);
void schema_shape(const struct schema_row *row, const struct config *c, int *rows, int *cols);
/* "h.0.attn.c_attn.weight" */
void schema_name(char *out, size_t n, struct schema_tensor t);
/* The row of such a name, and its layer; row NULL: none has it. */
struct schema_tensor schema_find(const char *name);

/* Matrix i of a layer, the Conv1D in their order; NULL past the last. */
const struct schema_row *schema_matrix(int i);

static inline bool schema_is_linear(const struct schema_row *row)
{
    return row->kind == PARAM_CONV1D || row->kind == PARAM_EMBEDDING;
}
/* Where the forward pass finds a tensor; p->layers is there if the row is in them. */
struct linear *schema_linear(struct schema_tensor t, const struct params *p);
float *schema_data(struct schema_tensor t, const struct params *p); /* of no linear */
void schema_set_data(struct schema_tensor t, struct params *p, float *data);

#endif
