#ifndef PRATTLE_MODEL_BASE_XXH64_H
#define PRATTLE_MODEL_BASE_XXH64_H
/*
 * XXH64 of n bytes with seed 0 (Yann Collet, the xxHash specification 0.1.1): a checksum against
 * accidents, at several GB/s in portable C. It is no protection against somebody who forges bytes.
 */
#include <stddef.h>
#include <stdint.h>

uint64_t xxh64(const void *bytes, size_t n);

#endif
