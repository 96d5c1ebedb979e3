#include "model/base/decimal.h"

#include <stdio.h>
#include <stdlib.h>

/* Digits that distinguish any two doubles, and any two floats. */
enum { DOUBLE_DIGITS = 17, FLOAT_DIGITS = 9 };

const char *decimal_of_double(char out[DECIMAL_BYTES], double v)
{
    for (int digits = 1; digits <= DOUBLE_DIGITS; digits++) {
        snprintf(out, DECIMAL_BYTES, "%.*g", digits, v);
        if (strtod(out, NULL) == v)
            break;
    }
    return out;
}

const char *decimal_of_float(char out[DECIMAL_BYTES], float v)
{
    for (int digits = 1; digits <= FLOAT_DIGITS; digits++) {
        snprintf(out, DECIMAL_BYTES, "%.*g", digits, (double)v);
        if (strtof(out, NULL) == v)
            break;
    }
    return out;
}
