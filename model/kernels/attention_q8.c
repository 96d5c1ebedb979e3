#include "model/kernels/attention_q8.h"

#include "model/kernels/attention_kernels.h"
#include "model/kernels/matrix_kernels.h"

#include <string.h>

enum { PAGE = 64 };

struct tile_scratch {
    float part[TILE_MAX_ROWS * PAGE], packed[TILE_MAX_ROWS * PAGE];
};

size_t attention_q8_scratch_bytes(void)
{
    return sizeof(struct tile_scratch);
}

/* The elements of block b. */
static int block_size(int D, int b)
{
    const int rest = D - b * Q8_BLOCK;
    return rest < Q8_BLOCK ? rest : Q8_BLOCK;
}

static size_t columns_of(int D)
{
    return ((size_t)D + 15) / 16 * 16;
}

void attention_q8_scores(float *scores, const float *q, int R, const char *keys, int D,
                         struct prefetch prefetch, void *scratch)
{
    const struct attention_kernels *k = attention_kernels();
    struct tile_scratch *s = scratch;
    if (R == 1) {
        k->scores_q8(scores, q, keys, D, prefetch);
        return;
    }
    for (int b = 0; b < attention_q8_blocks(D); b++) {
        const uint16_t *scales = (const void *)keys;
        const int8_t *integers = (const int8_t *)(scales + PAGE);
        const int n = block_size(D, b);
        matrix_kernels()->tile_i8(s->part, PAGE, true, q, (size_t)R, R, integers, PAGE, n, PAGE,
                                  NULL, prefetch);
        k->add_scaled(scores, scales, s->part, R, b == 0);
        keys = (const char *)(integers + n * PAGE);
        q += n * R;
        prefetch.step = 0;
    }
}

void attention_q8_values(float *acc, const float *w, int R, const char *values, int D16, int begin,
                         int end, struct prefetch prefetch, void *scratch)
{
    const struct matrix_kernels *m = matrix_kernels();
    const struct attention_kernels *k = attention_kernels();
    struct tile_scratch *s = scratch;
    if (R == 1) {
        k->values_q8(acc, w, values, D16, begin, end, prefetch);
        return;
    }
    const int blocks = attention_q8_blocks(D16);
    const uint16_t *scales = (const void *)values;
    const int8_t *integers = (const int8_t *)(scales + blocks * PAGE) + begin * D16;
    m->pack_rows(s->packed, w + begin, PAGE, R, end - begin);
    for (int b = 0; b < blocks; b++, scales += PAGE, integers += Q8_BLOCK, acc += Q8_BLOCK) {
        k->scale_packed(s->part, scales + begin, s->packed, end - begin, R);
        m->tile_i8(acc, (size_t)D16, false, s->part, (size_t)R, R, integers, (size_t)D16,
                   end - begin, block_size(D16, b), NULL, prefetch);
        prefetch.step = 0;
    }
}

/* A block of a row; a short one as if zeros followed, which quantize to zeros. */
static void quantize_block(struct q8_block *out, const float *x, int n)
{
    float whole[Q8_BLOCK] = {0};
    if (n == Q8_BLOCK) {
        q8_quantize(out, x);
        return;
    }
    memcpy(whole, x, (size_t)n * sizeof *x);
    q8_quantize(out, whole);
}

static void store_key(char *keys, const float *k, int D, int slot)
{
    /* Each element is in another cache line: prefetch all of them before the first store. */
    for (int line = 0; line < D + 2 * attention_q8_blocks(D); line++)
        __builtin_prefetch(keys + line * PAGE + slot, 1);
    for (int b = 0; b < attention_q8_blocks(D); b++) {
        uint16_t *scales = (void *)keys;
        int8_t *integers = (int8_t *)(scales + PAGE) + slot;
        const int n = block_size(D, b);
        struct q8_block block;
        quantize_block(&block, k + b * Q8_BLOCK, n);
        scales[slot] = block.d;
        for (int d = 0; d < n; d++)
            integers[d * PAGE] = block.q[d];
        keys += (2 + n) * PAGE;
    }
}

void attention_q8_store(char *keys, char *values, const float *k, const float *v, int D, int slot)
{
    const int blocks = attention_q8_blocks(D);
    uint16_t *scales = (uint16_t *)(void *)values + slot;
    int8_t *integers = (int8_t *)values + blocks * 2 * PAGE + (size_t)slot * columns_of(D);
    store_key(keys, k, D, slot);
    for (int b = 0; b < blocks; b++) {
        struct q8_block block;
        quantize_block(&block, v + b * Q8_BLOCK, block_size(D, b));
        scales[b * PAGE] = block.d;
        memcpy(integers + b * Q8_BLOCK, block.q, (size_t)block_size(D, b));
    }
}

void attention_q8_copy(char *keys, char *values, const char *from_keys, const char *from_values,
                       int D, int n)
{
    const int blocks = attention_q8_blocks(D);
    const size_t used = (size_t)n;
    for (int b = 0; b < blocks; b++) {
        memcpy(keys, from_keys, 2 * used);
        keys += 2 * PAGE;
        from_keys += 2 * PAGE;
        for (int d = 0; d < block_size(D, b); d++, keys += PAGE, from_keys += PAGE)
            memcpy(keys, from_keys, used);
    }
    for (int b = 0; b < blocks; b++, values += 2 * PAGE, from_values += 2 * PAGE)
        memcpy(values, from_values, 2 * used);
    memcpy(values, from_values, used * columns_of(D));
}
