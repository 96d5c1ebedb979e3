#ifndef PRATTLE_MODEL_BASE_DECIMAL_H
#define PRATTLE_MODEL_BASE_DECIMAL_H
/*
 * Numbers as the shortest decimal that reads back as the same number: 0.05 for the float next to
 * it, not 0.05000000074505806.
 */

enum { DECIMAL_BYTES = 32 };

/* Returns out, as %g has it. */
const char *decimal_of_double(char out[DECIMAL_BYTES], double v);
const char *decimal_of_float(char out[DECIMAL_BYTES], float v);
/* Returns out: v in six digits, as people write them: 5e-5 and 1e6 where %g has 5e-05 and 1e+06. */
const char *decimal_show(char out[DECIMAL_BYTES], double v);
/* Shorten such an exponent. Returns text. */
char *decimal_shorten(char *text);

#endif
