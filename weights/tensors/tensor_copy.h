#ifndef PRATTLE_WEIGHTS_TENSORS_TENSOR_COPY_H
#define PRATTLE_WEIGHTS_TENSORS_TENSOR_COPY_H
/*
 * Copying tensors from a source to a file in bounded memory, with conversion of precision and
 * orientation.
 */
#include "model/base/file.h"
#include "model/base/progress.h"
#include "model/params.h"

struct tensor_copy {
    struct file_writer *to; /* borrowed */
    const struct progress *progress;
    uint64_t done, total; /* bytes written, and to be written, for progress */
    uint64_t n_overflown; /* finite values that became infinite in F16, BF16 or Q8_0 */
    uint64_t n_unfinite;  /* NaN and infinite values of the source, which stay so */
    const struct param_tensor *overflown, *unfinite; /* the first tensor with one */
    size_t held;                                     /* elements that each of these has room for */
    float *from_file, *turned; /* owned, as large as the largest tensor needs so far */
};

/*
 * Append the elements of t, from r, as type dtype. The bits are unchanged if dtype is r->dtype, or
 * Q8_0 as r->read_q8 gives it, and F16 or BF16 widened to F32 can be restored bit for bit. For Q8_0
 * the rows written are whole blocks (tensor_dtype). out_major: a CONV1D tensor is written
 * [out,in], as in GGUF, else [in,out]. Fails as r->read and file_write; ERR_INTERRUPTED.
 */
int tensor_copy_write(struct tensor_copy *c, const struct param_tensor *t,
                      const struct tensor_reader *r, enum dtype dtype, bool out_major);
/* The memory that it takes for a file whose largest tensor has so many elements. */
size_t tensor_copy_bytes(uint64_t largest);
void tensor_copy_release(struct tensor_copy *c);
/* Note values that became infinite in dtype, and values that were NaN or infinite, if there were
 * any. */
void tensor_copy_warn(const struct tensor_copy *c, enum dtype dtype);

uint64_t tensor_elements(const struct param_tensor *t);
/* The bytes of t in a file as type dtype. */
uint64_t tensor_bytes(const struct param_tensor *t, enum dtype dtype);
/* dtype, or for Q8_0 F16 if t's rows [out,in] are not whole blocks. */
enum dtype tensor_dtype(const struct param_tensor *t, enum dtype dtype);

#endif
