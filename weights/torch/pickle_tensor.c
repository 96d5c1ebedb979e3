#include "weights/torch/pickle_tensor.h"

#include <string.h>

const char *pickle_show(char out[PICKLE_SHOWN], const char *text, size_t n)
{
    char raw[PICKLE_SHOWN] = {0};
    memcpy(raw, text, n < PICKLE_SHOWN - 1 ? n : PICKLE_SHOWN - 1);
    return file_show(out, PICKLE_SHOWN, raw);
}
