#ifndef PRATTLE_MODEL_BASE_DTYPE_H
#define PRATTLE_MODEL_BASE_DTYPE_H
/* The one list of element types of tensors, in memory and in files. */
#include <stddef.h>

enum dtype {
    DTYPE_F32,
    DTYPE_F16,  /* binary16 */
    DTYPE_BF16, /* bfloat16: in files only */
    DTYPE_OTHER /* a file's tensor that is not a parameter: mask buffers, ids */
};

/* Bytes of one element; 0 for DTYPE_OTHER. */
size_t dtype_bytes(enum dtype d);
const char *dtype_name(enum dtype d);       /* in safetensors: "F32", "F16", "BF16" */
const char *dtype_torch_name(enum dtype d); /* "float32", "float16", "bfloat16" */
/* In options and reports: "fp32", "fp16", "bf16". */
const char *dtype_short_name(enum dtype d);

#endif
