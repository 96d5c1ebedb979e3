#include "tests/lib/golden_floats.h"

#include "model/base/file.h"
#include "tests/lib/test.h"

#include <limits.h>

const float *golden_floats(struct buf *b, const char *name, size_t n)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "tests/golden/%s.f32", name);
    b->n = 0;
    assert_ok(file_read_all(b, path, UINT64_MAX));
    assert_int_equal(b->n, n * sizeof(float));
    return (const float *)(const void *)b->data;
}
