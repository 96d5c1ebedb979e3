#ifndef PRATTLE_MODEL_PARAMS_H
#define PRATTLE_MODEL_PARAMS_H
/*
 * The parameters of one model, in one block: matrices in panels of the chosen
 * precision, vectors and position embeddings in fp32. The loaders never see the
 * layout: they go through the table of tensors and fill each from whatever reads
 * their file.
 */
#include "model/base/progress.h"
#include "model/tensors.h"

#include <stdint.h>

/* Bytes of the block for this shape, before anything is allocated. */
size_t params_bytes(const struct config *c, enum dtype dtype);
/* The table alone, no weights allocated (block NULL): for converting files. */
int params_describe(struct params *p, const struct config *c);
/* Allocate, all zero. config is checked first. */
int params_init(struct params *p, const struct config *c, enum dtype dtype);
void params_release(struct params *p);
struct param_tensor *params_find(const struct params *p, const char *name); /* NULL: none */

/*
 * Where a tensor's elements come from. read fills dst with n elements from element
 * `first` on, as they lie in the file; it is called from several threads at once.
 */
struct tensor_reader {
    int (*read)(void *user, void *dst, uint64_t first, size_t n);
    void *user;
    enum dtype dtype;
    bool out_major; /* a CONV1D stored [out,in] */
};
/*
 * Fill n tensors, each from its reader, by all threads of the team. n_bad[i] counts
 * elements that are NaN or infinite once in place (a value beyond fp16's range is
 * infinite then). An error of a reader gets "cannot load tensor NAME: " in front;
 * ERR_INTERRUPTED as progress_step. The contents are then undefined.
 */
int params_fill(struct param_tensor *tensors, const struct tensor_reader *readers, int n,
                uint64_t *n_bad, const struct progress *progress);
/* The other way: elements first .. first+n-1 of t in HF's order ([rows,cols]) as fp32. */
void params_read(const struct param_tensor *t, float *out, uint64_t first, size_t n);
/* SHA-256 over config and weights, 32 bytes; by all threads. */
void params_hash(const struct params *p, unsigned char out[32]);

#endif
