#ifndef PRATTLE_TRAIN_OPTIM_OPTIMIZER_MUON_H
#define PRATTLE_TRAIN_OPTIM_OPTIMIZER_MUON_H
/*
 * Muon's step of the matrices that are stepped here, one after another, each by the whole team:
 * the momentum and the direction, which is then made orthogonal (newton_schulz.h), and the weights.
 */
#include "train/optim/optimizer_internal.h"

/* A job; arg is a struct optimizer_pass. */
void optimizer_muon_share(void *arg, int thread, int n_threads);
/* What no element of a direction exceeds in size, in exact arithmetic, factor and all. */
double optimizer_muon_most(const struct optimizer *o);

#endif
