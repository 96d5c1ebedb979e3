#ifndef PRATTLE_WEIGHTS_NOT_FINITE_H
#define PRATTLE_WEIGHTS_NOT_FINITE_H
/* The note of weights that are NaN or infinite. */
#include "model/base/progress.h"
#include "weights/tensors/source.h"

/* n_bad [n] of params_fill for tensors [n] of a model in dtype, read from s, in the order of the
 * table: add them up. */
struct not_finite {
    const struct param_tensor *first;
    uint64_t n;
};
void not_finite_add(struct not_finite *f, const struct param_tensor *tensors, const uint64_t *n_bad,
                    int n);
/* Nothing where there are none. */
void not_finite_note(const struct not_finite *f, enum dtype dtype, const struct source *s,
                     const struct progress *p);

#endif
