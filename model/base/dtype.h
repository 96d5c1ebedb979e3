#ifndef PRATTLE_MODEL_BASE_DTYPE_H
#define PRATTLE_MODEL_BASE_DTYPE_H
/* The element types of tensors, in memory and in files: the one list. */
#include <stddef.h>

enum dtype {
    DTYPE_F32,
    DTYPE_F16,  /* binary16 */
    DTYPE_BF16, /* bfloat16: in files only */
    DTYPE_OTHER /* of a file's tensor that is no parameter: mask buffers, ids */
};

/* Of one element; none is known of DTYPE_OTHER: 0. */
size_t dtype_bytes(enum dtype d);
const char *dtype_name(enum dtype d);       /* as safetensors has it: "F32", "F16", "BF16" */
const char *dtype_torch_name(enum dtype d); /* "float32", "float16", "bfloat16" */
const char *
dtype_short_name(enum dtype d); /* as options and reports have it: "fp32", "fp16", "bf16" */

#endif
