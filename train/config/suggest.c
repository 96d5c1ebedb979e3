#include "train/config/suggest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Larger models want lower rates, by about the square root of their size. */
double suggest_learning_rate(uint64_t n_params, bool adapter)
{
    static const double most[] = {5e-3, 1.2e-2}; /* twice of which diverges (FINETUNE.md) */
    const double rate = 6e-4 * sqrt(7e6 / (double)(n_params > 0 ? n_params : 1));
    char digits[32]; /* two, as one would type it */
    snprintf(digits, sizeof digits, "%.1e", fmin(adapter ? 20 * rate : rate, most[adapter]));
    return strtod(digits, NULL);
}

double suggest_epochs(uint64_t n_tokens)
{
    const double epochs = 2 * sqrt(5e5 / (double)(n_tokens > 0 ? n_tokens : 1));
    return fmin(fmax(round(epochs), 1), 2);
}
