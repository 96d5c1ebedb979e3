#include "model/base/dtype.h"

static const struct {
    size_t bytes;
    const char *name, *torch_name, *short_name;
} dtypes[] = {[DTYPE_F32] = {4, "F32", "float32", "fp32"},
              [DTYPE_F16] = {2, "F16", "float16", "fp16"},
              [DTYPE_BF16] = {2, "BF16", "bfloat16", "bf16"},
              [DTYPE_Q8] = {0, "Q8_0", "q8_0", "q8"},
              [DTYPE_OTHER] = {0, "other", "other", "other"}};

size_t dtype_bytes(enum dtype d)
{
    return dtypes[d].bytes;
}

const char *dtype_name(enum dtype d)
{
    return dtypes[d].name;
}

const char *dtype_torch_name(enum dtype d)
{
    return dtypes[d].torch_name;
}

const char *dtype_short_name(enum dtype d)
{
    return dtypes[d].short_name;
}
