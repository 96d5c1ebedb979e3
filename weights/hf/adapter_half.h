#ifndef PRATTLE_WEIGHTS_HF_ADAPTER_HALF_H
#define PRATTLE_WEIGHTS_HF_ADAPTER_HALF_H
/*
 * The names in PEFT's adapters. A branch of the program's one matrix of queries, keys and values is
 * in GPT-Neo three modules; so are its B, and its A stands in each of them.
 */
#include "model/adapter.h"
#include "model/base/buf.h"

#include <jansson.h>

enum { ADAPTER_NAME = 160 };

/* One matrix in a file: A [rank,K] (half 0), or B [N / parts,rank], of a part of a branch. */
struct adapter_half {
    const struct low_rank *t; /* NULL: before the first */
    int half, part, parts;
    int rows, cols, rank;
};
/* Advance to the next matrix that the adapter has, in the order of files; false behind the last. */
bool adapter_half_next(struct adapter_half *h, const struct adapter *a);
/* Its name; whole: with "transformer.", which an adapter of a bare GPT2Model lacks. */
void adapter_half_name(char out[ADAPTER_NAME], const struct adapter *a,
                       const struct adapter_half *h, bool whole);
/* Whether the part has an A of its own. */
bool adapter_half_is_split(const struct adapter *a, const struct adapter_half *h);
/* Where element i of the file's is in the branch. */
float *adapter_half_element(const struct adapter *a, const struct adapter_half *h, size_t i);

/* Append target_modules of a model of this type in the program's own names, with commas between
 * them; *qkv gets a bit for each of GPT-Neo's q_proj, k_proj and v_proj. ERR_FORMAT,
 * ERR_UNSUPPORTED. */
int adapter_targets_read(struct buf *out, int *qkv, const json_t *o, enum model_type type);
/* target_modules of an adapter's configuration. NULL: no memory. */
json_t *adapter_targets_list(const struct adapter *a);

#endif
