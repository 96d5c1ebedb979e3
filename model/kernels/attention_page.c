#include "model/kernels/attention_page.h"

#include "model/kernels/attention_q8.h"
#include "model/kernels/row_kernels.h"

#include <string.h>

static size_t columns_of(int D)
{
    return ((size_t)D + 15) / 16 * 16;
}

/* Of the scales of q8; of other types there are none. */
static size_t scale_bytes(enum dtype dtype, int D)
{
    return dtype == DTYPE_Q8 ? (size_t)attention_q8_blocks(D) * ATTENTION_BLOCK * sizeof(uint16_t)
                             : 0;
}

static size_t element_bytes(enum dtype dtype)
{
    return dtype == DTYPE_Q8 ? 1 : dtype_bytes(dtype);
}

size_t attention_key_bytes(enum dtype dtype, int D)
{
    return (size_t)D * ATTENTION_BLOCK * element_bytes(dtype) + scale_bytes(dtype, D);
}

size_t attention_value_bytes(enum dtype dtype, int D)
{
    return columns_of(D) * ATTENTION_BLOCK * element_bytes(dtype) + scale_bytes(dtype, D);
}

void attention_page_copy(enum dtype dtype, int D, char *keys, char *values, const char *from_keys,
                         const char *from_values, int n)
{
    const size_t row = ATTENTION_BLOCK * element_bytes(dtype),
                 used = (size_t)n * element_bytes(dtype);
    if (dtype == DTYPE_Q8) {
        attention_q8_copy(keys, values, from_keys, from_values, D, n);
        return;
    }
    for (int d = 0; d < D; d++, keys += row, from_keys += row)
        memcpy(keys, from_keys, used);
    memcpy(values, from_values, used * columns_of(D));
}

static void store_fp32(int D, float *keys, float *values, const float *k, const float *v, int slot)
{
    memcpy(values + (size_t)slot * columns_of(D), v, (size_t)D * sizeof *v);
    for (int d = 0; d < D; d++)
        keys[d * ATTENTION_BLOCK + slot] = k[d];
}

static void store_half(int D, uint16_t *keys, uint16_t *values, const float *k, const float *v,
                       int slot)
{
    const struct row_kernels *row = row_kernels();
    uint16_t part[64];
    /* Each element is in another cache line: prefetch all of them before the first store. */
    for (int d = 0; d < D; d++)
        __builtin_prefetch(keys + d * ATTENTION_BLOCK + slot, 1);
    row->half_from_f32(values + (size_t)slot * columns_of(D), v, (size_t)D);
    for (int d = 0; d < D; d += 64) {
        const int m = D - d < 64 ? D - d : 64;
        row->half_from_f32(part, k + d, (size_t)m);
        for (int j = 0; j < m; j++)
            keys[(d + j) * ATTENTION_BLOCK + slot] = part[j];
    }
}

void attention_page_store(enum dtype dtype, int D, char *keys, char *values, const float *k,
                          const float *v, int slot)
{
    if (dtype == DTYPE_Q8)
        attention_q8_store(keys, values, k, v, D, slot);
    else if (dtype == DTYPE_F32)
        store_fp32(D, (void *)keys, (void *)values, k, v, slot);
    else
        store_half(D, (void *)keys, (void *)values, k, v, slot);
}
