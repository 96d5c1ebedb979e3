#ifndef PRATTLE_MODEL_KERNELS_Q8_H
#define PRATTLE_MODEL_KERNELS_Q8_H
/*
 * To Q8_0 and back.
 */
#include "model/kernels/q8_block.h"

/*
 * Quantize 32 floats as quantize_row_q8_0_ref of ggml-quants.c does: d is the largest magnitude
 * over 127, q is x / d rounded to nearest, halves away from zero, d rounded to binary16 after that.
 * A block with NaN or an infinity gets d = NaN; one whose 1 / d would be infinite, zeros.
 */
void q8_quantize(struct q8_block *out, const float x[Q8_BLOCK]);
/* Columns first .. last - 1 of x, to those of out. */
void q8_quantize_panel(struct q8_panel *out, const float x[Q8_BLOCK][Q8_COLUMNS], int first,
                       int last);
/* out [32] = the elements of a block. */
void q8_dequantize(float out[Q8_BLOCK], const struct q8_block *b);

#endif
