#include "model/base/rng.h"

#include "model/base/half.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

void rng_words(uint32_t out[4], uint64_t seed, uint64_t stream, uint64_t counter)
{
    uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32);
    uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0;
        uint64_t p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

static double unit_interval(uint32_t hi, uint32_t lo)
{
    return (double)((uint64_t)hi << 21 | lo >> 11) * 0x1p-53;
}

double rng_uniform(uint64_t seed, uint64_t stream, uint64_t counter)
{
    uint32_t w[4];
    rng_words(w, seed, stream, counter);
    return unit_interval(w[0], w[1]);
}

/*
 * Normal numbers are made LANES counters at a time, in loops that compilers turn into
 * vector code: word j of counter LANES b + i gives number LANES (4 b + j) + i.
 */
enum { LANES = 64, BLOCK = 4 * LANES };

static void words_of_block(uint32_t w[4][LANES], uint64_t seed, uint64_t stream, uint64_t block)
{
    uint64_t first = block * LANES;
    for (uint32_t i = 0; i < LANES; i++) {
        w[0][i] = (uint32_t)first + i; /* a block never crosses a multiple of 2^32 */
        w[1][i] = (uint32_t)(first >> 32);
        w[2][i] = (uint32_t)stream;
        w[3][i] = (uint32_t)(stream >> 32);
    }
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < LANES; i++) {
            uint64_t p0 = (uint64_t)0xD2511F53u * w[0][i];
            uint64_t p1 = (uint64_t)0xCD9E8D57u * w[2][i];
            w[0][i] = (uint32_t)(p1 >> 32) ^ w[1][i] ^ k0;
            w[2][i] = (uint32_t)(p0 >> 32) ^ w[3][i] ^ k1;
            w[1][i] = (uint32_t)p1;
            w[3][i] = (uint32_t)p0;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

/* ln(x 2^-31) for x in (0, 2^31], by the polynomial of Cephes' logf. */
static inline float log_unit(float x)
{
    uint32_t u = float_bits(x) - 0x3f3504f3u; /* the mantissa goes to [sqrt(1/2), sqrt(2)) */
    float e = (float)((int32_t)u >> 23);
    float m = float_of_bits((u & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
    float z = m * m, y = 7.0376836292e-2f;
    y = y * m - 1.1514610310e-1f;
    y = y * m + 1.1676998740e-1f;
    y = y * m - 1.2420140846e-1f;
    y = y * m + 1.4249322787e-1f;
    y = y * m - 1.6668057665e-1f;
    y = y * m + 2.0000714765e-1f;
    y = y * m - 2.4999993993e-1f;
    y = y * m + 3.3333331174e-1f;
    return (m - 0.5f * z + y * m * z) + (e - 31.0f) * 0.69314718f;
}

/* The Box-Muller transform: radius from a, angle 2 pi b / 2^32. */
static inline void normal_pair(float *c, float *s, uint32_t a, uint32_t b)
{
    float radius = sqrtf(-2.0f * log_unit((float)(int32_t)(a >> 1) + 0.5f));
    uint32_t quarter = (b + 0x20000000u) >> 30;
    float t = (float)(int32_t)(b << 2) * 3.6572952e-10f; /* pi / 2 / 2^32: |t| <= pi / 4 */
    float z = t * t;
    float sine = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * t + t;
    float cosine =
        ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z -
        0.5f * z + 1.0f;
    uint32_t swap = 0u - (quarter & 1u), sb = float_bits(sine), cb = float_bits(cosine);
    uint32_t x = (cb & ~swap) | (sb & swap), y = (sb & ~swap) | (cb & swap);
    *c = radius * float_of_bits(x ^ ((quarter ^ quarter >> 1) & 1u) << 31);
    *s = radius * float_of_bits(y ^ (quarter >> 1) << 31);
}

static void normals_of_block(float out[BLOCK], uint64_t seed, uint64_t stream, uint64_t block)
{
    uint32_t w[4][LANES];
    words_of_block(w, seed, stream, block);
    for (int i = 0; i < LANES; i++)
        normal_pair(&out[i], &out[LANES + i], w[0][i], w[1][i]);
    for (int i = 0; i < LANES; i++)
        normal_pair(&out[2 * LANES + i], &out[3 * LANES + i], w[2][i], w[3][i]);
}

void rng_normals(float *out, uint64_t seed, uint64_t stream, uint64_t first, size_t n)
{
    float part[BLOCK];
    while (n > 0) {
        size_t skip = (size_t)(first % BLOCK), count = BLOCK - skip < n ? BLOCK - skip : n;
        bool whole = count == BLOCK;
        normals_of_block(whole ? out : part, seed, stream, first / BLOCK);
        if (!whole)
            memcpy(out, part + skip, count * sizeof *out);
        out += count;
        first += count;
        n -= count;
    }
}

uint64_t rng_fresh_seed(void)
{
    uint32_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        seed = (uint32_t)time(NULL);
    return seed == 0 ? 1 : seed;
}
