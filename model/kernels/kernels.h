#ifndef PRATTLE_MODEL_KERNELS_KERNELS_H
#define PRATTLE_MODEL_KERNELS_KERNELS_H
/*
 * The arithmetic, as a table of functions: portable C, AVX2+FMA+F16C, AVX-512. All
 * tables give the same bits for the same arguments (NaN payloads excepted):
 *
 * - every fused multiply-add is one, in the order the formula gives;
 * - a sum or maximum over x[0..n-1] runs in 16 virtual lanes, lane l taking x[l],
 *   x[l+16], ... in order; then lanes fold 16 -> 8 -> 4 -> 2 -> 1, lane l with lane
 *   l + half;
 * - max(a, b) is a > b ? a : b, as the instruction has it;
 * - exp, erf and tanh are our own polynomials, within 2 ulp of the true value; GELU and SiLU
 *   are within 2 ulp of |x|.
 *
 * Pointers need no alignment unless said. n may be 0.
 */
#include "model/kernels/activation.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What happens to a sum and its bias on the way to y: nothing, y +=, or an activation. */
#define LINEAR_WORD(WORD, name, ...) LINEAR_##WORD,
enum linear_then { LINEAR_STORE, LINEAR_ADD, EACH_ACTIVATION(LINEAR_WORD) };
#undef LINEAR_WORD

static inline enum linear_then linear_activation(enum activation a)
{
    return (enum linear_then)(LINEAR_ADD + 1 + (int)a);
}

enum { TILE_MAX_ROWS = 16 };

/*
 * Memory to fetch into the second-level cache in the meantime: K `step` bytes from `at`
 * on, step even and at most 128. Step 0: none, `at` any address.
 */
struct ahead {
    const void *at;
    size_t step;
};

/*
 * Which elements a dropout keeps (Srivastava et al. 2014): those whose Philox word is
 * below keep. Element i of a row is word i % 64 / 16 of counter 16 (block + i / 64) +
 * i % 16 of (seed, stream), so a mask depends on where an element is and on nothing else.
 */
struct dropout {
    uint64_t seed;
    uint32_t keep; /* of 2^32; 0: dropout is off, the kernel not to be called */
    float scale;   /* 2^32 / keep: the mean stays */
};

/* A step of Adam and its kin (train/optim/optimizer.h), the same for all elements of a row. */
struct descent {
    float scale, l2;            /* slope: fma(l2, w, g scale) */
    float beta1, rest1;         /* m' = fma(beta1, m, rest1 slope) */
    float beta2, rest2;         /* v' = fma(beta2, v, rest2 slope^2) */
    float correct_m, correct_v; /* u = m' correct_m / fma(sqrt(v'), correct_v, eps) */
    float eps;
    float keep, rate; /* adam: w' = fma(-rate, u, w keep) */
    float decay;      /* LAMB: u' = fma(decay, w, u) */
};

struct kernels {
    const char *name;
    int lanes;     /* floats in a vector register: 1, 8 or 16 */
    int tile_rows; /* rows of the largest tile, at most TILE_MAX_ROWS */
    int tile_cols; /* its columns, 16 or 32 */
    int wide_rows; /* up to so many rows a tile of 64 columns is better */

    /*
     * acc [R,cols] += x W: for k ascending acc[r][n] = fma(x[k][r], W[k][n], acc[r][n]),
     * from 0 when `fresh`. x is [K,ldx], packed where ldx is R; W is [K,ldw] binary16 or fp32. R
     * 1..tile_rows; cols a multiple of 16, best tile_cols, or 64 when R <= wide_rows.
     * wide, if not NULL, receives W as fp32 [K,cols] on the way, cols <= tile_cols.
     */
    void (*tile_f16)(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx, int R,
                     const uint16_t *w, size_t ldw, int K, int cols, float *wide,
                     struct ahead ahead);
    void (*tile_f32)(float *acc, size_t ldacc, bool fresh, const float *x, size_t ldx, int R,
                     const float *w, size_t ldw, int K, int cols, float *wide, struct ahead ahead);
    /* The same for one row and `panels` whole panels [K,64], one behind the other: acc
     * [panels,64] from 0. */
    void (*row_f16)(float *acc, const float *x, const uint16_t *w, int K, int panels);
    void (*row_f32)(float *acc, const float *x, const float *w, int K, int panels);
    /* packed [K,R] = x [R,K] transposed, R 1..tile_rows. */
    void (*pack)(float *packed, const float *x, size_t ldx, int R, int K);
    /* y[r][i] = f(acc[r][i] + bias[i]) or y[r][i] += acc[r][i] + bias[i], i < n; bias NULL: none.
     */
    void (*finish)(float *y, size_t ldy, const float *acc, size_t ldacc, const float *bias,
                   int rows, size_t n, enum linear_then then);

    /* y = (x - mean) / sqrt(variance + epsilon) * weight + bias; y may be x. */
    void (*layernorm)(float *y, const float *x, const float *weight, const float *bias, size_t n,
                      float epsilon);
    /*
     * One key block of online softmax (Milakov & Gimelshein 2018), n <= 64 of the
     * scores s [64]: m' = max(m, max s scale), s = exp(s scale - m') (0 from n on),
     * sum' = sum exp(m - m') + sum of s. Returns exp(m - m'), what all earlier values
     * are to be multiplied by.
     */
    float (*softmax_block)(float *s, int n, float scale, float *m, float *sum);

    /* layernorm's gradients, added to dx [n], dweight [n] and dbias [n]. */
    void (*layernorm_grad)(float *dx, float *dweight, float *dbias, const float *dy, const float *x,
                           const float *weight, size_t n, float epsilon);
    /* dy *= f'(x), f the activation that `which` is. */
    void (*activation_grad)(float *dy, const float *x, size_t n, enum activation which);
    /*
     * Softmax's gradient over n <= 64 keys of a row: p [64] holds scores and becomes
     * their weights exp(p scale - lse), ds [64] holds the gradients of the weights and
     * becomes those of the scores, p (ds - delta) scale; both 0 from n on.
     */
    void (*softmax_grad)(float *p, float *ds, int n, float scale, float lse, float delta);
    /* y = x scale where kept, else 0; y may be x. */
    void (*dropout)(float *y, const float *x, size_t n, const struct dropout *d, uint64_t stream,
                    uint64_t block);

    float (*dot)(const float *x, const float *y, size_t n);      /* sum of x y */
    void (*add)(float *y, const float *x, size_t n);             /* y += x */
    void (*scale)(float *y, float a, size_t n);                  /* y *= a */
    void (*divide)(float *y, const float *x, float a, size_t n); /* y = x / a */
    void (*widen)(float *y, const uint16_t *x, size_t n);        /* binary16 -> fp32 */
    void (*narrow)(uint16_t *y, const float *x, size_t n);       /* to nearest even */
    /*
     * To one of the two neighbours, to the nearer the more likely: the mean is x, and what
     * binary16 has stays. Element i takes the word that dropout would (seed, stream, block).
     * Beyond 65504 it is 65504; x is no NaN.
     */
    void (*narrow_random)(uint16_t *y, const float *x, size_t n, uint64_t seed, uint64_t stream,
                          uint64_t block);

    float (*max)(const float *x, size_t n);     /* -INFINITY for n = 0; NaN passed over */
    float (*max_abs)(const float *x, size_t n); /* 0 for n = 0; NaN passed over */
    /* y = x, but -INFINITY for NaN and at most FLT_MAX; returns the max of y. */
    float (*admit)(float *y, const float *x, size_t n);
    size_t (*argmax)(const float *x, size_t n); /* the first of the greatest; 0 if all are NaN */
    /* y[i] = exp((x[i] - shift) * scale); returns their sum, kept in 16 double lanes.
     * y NULL: the sum alone; y may be x. */
    double (*exp_sum)(float *y, const float *x, size_t n, float shift, float scale);
    /* Indices i with least <= x[i] < below, ascending, into index (room for n); how many. */
    size_t (*select)(int32_t *index, const float *x, size_t n, float least, float below);
    /* y[i] = x[index[i]]; y may be x where the indices ascend. */
    void (*gather)(float *y, const float *x, const int32_t *index, size_t n);

    /* Sum of the y[i] with x[i] >= least, kept in 16 double lanes; x has no NaN. */
    double (*sum_least)(const float *y, const float *x, size_t n, float least);

    double (*sum_squares)(const float *x, size_t n); /* in 16 double lanes */
    /* Moments and weights of n elements with gradients g; sums, if not NULL, receives the
     * sums of the squares of w before and of w' - w. */
    void (*adam)(double sums[2], float *w, float *m, float *v, const float *g, size_t n,
                 const struct descent *d);
    /* LAMB in two halves: moments, and in sums those of the squares of w and u'; then,
     * from the moments, w' = fma(-rate, u', w). */
    void (*lamb_moments)(double sums[2], float *m, float *v, const float *w, const float *g,
                         size_t n, const struct descent *d);
    void (*lamb_move)(float *w, const float *m, const float *v, size_t n, const struct descent *d,
                      float rate);

    /* For the bench: `rounds` times as many independent multiply-adds on registers as
     * keep the machine busy; how many floating-point operations that was. */
    double (*burn)(long rounds);
    /* Sum of n binary16 numbers as fast as memory gives them, in no order worth knowing. */
    float (*stream)(const uint16_t *x, size_t n);
};

/* The table in use: the best of this machine until kernels_select. */
const struct kernels *kernels_active(void);
/* Choose by name, NULL or "auto" for the best; ERR_RANGE lists those of this machine. */
int kernels_select(const char *name);
/* The names this machine has, best last: "portable, avx2, avx512". */
const char *kernels_names(void);
/* Table i of this machine, portable first, NULL past the last: for tests and the bench. */
const struct kernels *kernels_nth(int i);

#endif
