#ifndef PRATTLE_MODEL_PARAMS_H
#define PRATTLE_MODEL_PARAMS_H
/*
 * The parameters of a model in one block: matrices in panels (model/kernels/linear.h) of the chosen
 * precision (linear_dtype), vectors and position embeddings in fp32. Loaders do not depend on this
 * layout: they walk the table of tensors and supply a reader for each.
 */
#include "model/base/progress.h"
#include "model/tensors.h"

#include <stdint.h>

/* Of the block: counted up when it is carved or panels are filled in another way, since blocks are
 * kept in files (weights/panel_cache.h). A test holds it against the bytes of a small model. */
enum { PARAMS_LAYOUT = 1 };
/* Bytes of the block for this configuration; allocates nothing. */
size_t params_bytes(const struct config *c, enum dtype dtype);
/* The table of tensors alone, without weights (block NULL): for converting files. Fails as
 * params_init. */
int params_describe(struct params *p, const struct config *c);
/* Allocate all parameters, zeroed. ERR_RANGE as config_check, ERR_NOMEM. */
int params_init(struct params *p, const struct config *c, enum dtype dtype);
/* The same, though the machine may have less memory than that: it is given as it is touched. */
int params_reserve(struct params *p, const struct config *c, enum dtype dtype);
void params_release(struct params *p);
/* ERR_IO where what is in memory are no weights any more (struct params); no pass has a use for
 * them, and nothing is made of them. */
int params_lost(const struct params *p);
/* ERR_IO as params_lost, ERR_UNSUPPORTED where some layers are in a file (layer_stream.h): what
 * needs all weights in memory, as in "a LoRA adapter". */
int params_need_memory(const struct params *p, const char *what);
/* The tensor of this name; NULL: there is none. */
struct param_tensor *params_find(const struct params *p, const char *name);

/*
 * Supplies the elements of one tensor. read stores elements first .. first + n - 1, in the file's
 * order and in `dtype`, at dst. Several threads call it at the same time.
 */
struct tensor_reader {
    int (*read)(void *user, void *dst, uint64_t first, size_t n);
    void *user;
    enum dtype dtype;
    bool out_major;     /* a PARAM_CONV1D is stored [out,in] */
    const char *stored; /* the file's type, if read computes the elements from it: "Q4_K"; static;
                           NULL: it is dtype */
    /* Blocks first .. first + n - 1 of a matrix stored in Q8_0, in rows [out,in] whatever out_major
     * says; read gives the same numbers in fp32. NULL: it is not in Q8_0. */
    int (*read_q8)(void *user, struct q8_block *dst, uint64_t first, size_t n);
};
/* Whether panels of t keep the blocks that r has. */
static inline bool params_keep_q8(const struct param_tensor *t, const struct tensor_reader *r)
{
    return r->read_q8 != NULL && t->linear != NULL && t->linear->dtype == DTYPE_Q8;
}
/*
 * Fill tensors [n], each from its reader, by the whole thread team. n_bad [n] receives how many
 * elements of each tensor are NaN or infinite in memory, which includes values that overflow
 * binary16 or Q8_0. A reader's error gets "cannot load tensor NAME: " in front; ERR_INTERRUPTED as
 * progress_step. After an error the tensors' contents are undefined.
 */
int params_fill(struct param_tensor *tensors, const struct tensor_reader *readers, int n,
                uint64_t *n_bad, const struct progress *progress);
/* out [n] = elements first .. first + n - 1 of t as fp32, t being [rows,cols] row-major. */
void params_read(const struct param_tensor *t, float *out, uint64_t first, size_t n);
/* Bytes of the matrices that each token is multiplied by (config_matmul_params): what a step must
 * read. Without the columns that fill the last panel. */
size_t params_matmul_bytes(const struct params *p);

#endif
