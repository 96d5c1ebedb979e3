#ifndef PRATTLE_TESTS_GOLDEN_FLOATS_H
#define PRATTLE_TESTS_GOLDEN_FLOATS_H
#include "model/base/buf.h"

/* The n floats of tests/golden/NAME.f32, which has no more; borrowed from b. */
const float *golden_floats(struct buf *b, const char *name, size_t n);

#endif
