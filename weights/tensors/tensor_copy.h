#ifndef PRATTLE_WEIGHTS_TENSORS_TENSOR_COPY_H
#define PRATTLE_WEIGHTS_TENSORS_TENSOR_COPY_H
/*
 * Tensors from a source into a file, in another precision or orientation where asked,
 * in bounded memory.
 */
#include "model/base/file.h"
#include "model/base/progress.h"
#include "model/params.h"

struct tensor_copy {
    struct file_writer *to; /* borrowed */
    const struct progress *progress;
    uint64_t done, total; /* bytes written, and to be written, for progress */
    uint64_t n_overflown; /* finite values that F16 or BF16 cannot hold: infinite now */
    uint64_t n_unfinite;  /* NaN and infinite values of the source: they stay so */
    const struct param_tensor *overflown, *unfinite; /* the first that has one */
    float *from_file, *turned;                       /* owned, made at first use */
};

/*
 * Append the elements of t to the file. r's bits go through unchanged when dtype is
 * r->dtype; F16 and BF16 widened to F32 and back are the same bits too. out_major: a
 * CONV1D tensor is written [out,in], as GGUF wants it, else [in,out].
 */
int tensor_copy_write(struct tensor_copy *c, const struct param_tensor *t,
                      const struct tensor_reader *r, enum dtype dtype, bool out_major);
void tensor_copy_release(struct tensor_copy *c);
/* Notes of the values that became infinite, and of those that were NaN or infinite, if any. */
void tensor_copy_warn(const struct tensor_copy *c, enum dtype dtype);

uint64_t tensor_elements(const struct param_tensor *t);

#endif
