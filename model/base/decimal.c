#include "model/base/decimal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

char *decimal_shorten(char *text)
{
    char *e = strchr(text, 'e');
    if (e == NULL)
        return text;
    char *power = e + 1 + (e[1] == '-');
    const char *digits = e + 2 + strspn(e + 2, "0");
    memmove(power, digits, strlen(digits) + 1);
    return text;
}

const char *decimal_show(char out[DECIMAL_BYTES], double v)
{
    snprintf(out, DECIMAL_BYTES, "%g", v);
    return decimal_shorten(out);
}
