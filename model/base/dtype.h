#ifndef PRATTLE_MODEL_BASE_DTYPE_H
#define PRATTLE_MODEL_BASE_DTYPE_H
/* The one list of element types of tensors, in memory and in files. */
#include <stddef.h>

enum dtype {
    DTYPE_F32,
    DTYPE_F16,  /* binary16 */
    DTYPE_BF16, /* bfloat16: in files only */
    DTYPE_Q8,   /* Q8_0, matrices only: blocks of 32 elements (model/kernels/q8_block.h) */
    DTYPE_OTHER /* a file's tensor that is not a parameter: mask buffers, ids */
};

/* Bytes of one element; 0 for DTYPE_Q8 and DTYPE_OTHER. */
size_t dtype_bytes(enum dtype d);
const char *dtype_name(enum dtype d);       /* in files: "F32", "F16", "BF16", "Q8_0" */
const char *dtype_torch_name(enum dtype d); /* "float32", "float16", "bfloat16", "q8_0" */
/* In options and reports: "fp32", "fp16", "bf16", "q8". */
const char *dtype_short_name(enum dtype d);

#endif
