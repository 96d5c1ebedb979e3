#include "tests/lib/activations.h"

#include <math.h>

double activation_exact(double x, enum activation which)
{
    switch (which) {
    case ACTIVATION_GELU_TANH:
        return 0.5 * x * (1 + tanh(M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x)));
    case ACTIVATION_GELU_ERF:
        return 0.5 * x * erfc(-x * M_SQRT1_2);
    case ACTIVATION_RELU:
        return x > 0 ? x : 0;
    case ACTIVATION_SILU:
        return x / (1 + exp(-x));
    case ACTIVATION_QUICK_GELU:
        return x / (1 + exp(-1.702 * x));
    case ACTIVATION_TANH:
        return tanh(x);
    case N_ACTIVATIONS:
        break;
    }
    return NAN;
}
