#ifndef PRATTLE_TRAIN_STEP_HALF_PARTIALS_H
#define PRATTLE_TRAIN_STEP_HALF_PARTIALS_H
/*
 * half_partials: the sums of gradient blocks in 16 bits. Every node of the tree of
 * gradient_blocks.h, a block's own sum and each sum of two, is rounded to the nearest bfloat16,
 * ties to even, wherever it is computed, by one process too. So what processes send each other of
 * float32 gradients, nodes and the step's sum, is 2 bytes an element without a further loss, and
 * the bits are the same for any number of processes, any `zero` and any division into stages or
 * shards. In memory the nodes stay float32, of which the lower 16 bits are zero. Gradients that are
 * float16 have 2 bytes anyway and are as without it.
 *
 * bfloat16, and not float16 with a scale: gradients of one step are of very different sizes, and
 * those of a float32 run are not scaled. Below 2^-24 float16 has none, and Micikevicius et al.
 * (Mixed Precision Training, 2018) found much of a network's gradients there; a scale that fits all
 * tensors would have to be agreed on before the sums are known, and an overflow costs a step.
 * bfloat16 has float32's exponents, so it neither overflows nor vanishes where float32 does not
 * (Kalamkar et al., A Study of BFLOAT16 for Deep Learning Training, 2019), and Adam and LAMB, which
 * divide by the gradient's own size, ask for an element's relative error alone. Each rounding is
 * off by at most 2^-8 of the node: with N blocks an element of the step's sum to first order by
 * (1 + ceil(log2 N)) 2^-8 of the sum of the blocks' absolute values, where a ring that adds in 16
 * bits rounds N - 1 times one after another. float16 would have 2^-11, within its range.
 *
 * What is not rounded: sums within a block, the loss, norms, moments, and weights, whose float32
 * zero=1 and zero=2 send whole; activations between stages, and the sums of tensor parallelism.
 */
#include "model/base/dtype.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether nodes of this type are rounded, with the setting on or off. */
static inline bool half_partials_of(bool on, enum dtype d)
{
    return on && d == DTYPE_F32;
}
/* x [n] to the nearest bfloat16. Infinity and NaN stay what they are; what lies above the largest
 * bfloat16 by half a step or more becomes infinite. */
void half_partials_round(float *x, size_t n);
/* The same as bfloat16, to [n]. */
void half_partials_pack(uint16_t *to, const float *from, size_t n);
void half_partials_unpack(float *to, const uint16_t *from, size_t n);

#endif
