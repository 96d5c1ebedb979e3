/* An index of any bytes beside a TFRecord file of any bytes: refused with a sentence, or right. The
 * first byte says how long the index is. */
#include "model/base/err.h"
#include "tests/lib/scratch.h"
#include "train/prepare/check_index.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t n = 0;
    if (size == 0)
        return 0;
    const size_t left = size - 1, index = data[0] < left ? data[0] : left;
    scratch_file("x.tfrecord.index", data + 1, index);
    const char *path = scratch_file("x.tfrecord", data + 1 + index, left - index);
    err_clear();
    if (check_index(&n, path, NULL) != 0 && err_text()[0] == '\0')
        abort();
    return 0;
}
