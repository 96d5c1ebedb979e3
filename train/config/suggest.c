#include "train/config/suggest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Larger models want lower rates. Twice as much as an adapter takes at most diverges (FINETUNE.md).
 */
double suggest_learning_rate(uint64_t n_params, bool adapter)
{
    const double part = 7e6 / (double)(n_params > 0 ? n_params : 1);
    const double rate =
        adapter ? fmin(1.2e-2 * sqrt(part), 1.2e-2) : fmin(4.5e-4 * cbrt(part), 5e-3);
    char digits[32]; /* two, as one would type it */
    snprintf(digits, sizeof digits, "%.1e", rate);
    return strtod(digits, NULL);
}

double suggest_epochs(uint64_t n_tokens)
{
    const double epochs = 3 * sqrt(5e5 / (double)(n_tokens > 0 ? n_tokens : 1));
    return fmin(fmax(round(epochs), 1), 3);
}
