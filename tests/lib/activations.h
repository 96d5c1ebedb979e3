#ifndef PRATTLE_TESTS_ACTIVATIONS_H
#define PRATTLE_TESTS_ACTIVATIONS_H
#include "model/kernels/activation.h"

/* The activation's formula in float64. */
double activation_exact(double x, enum activation which);

#endif
