#include "weights/not_finite.h"

#include <inttypes.h>

void not_finite_add(struct not_finite *f, const struct param_tensor *tensors, const uint64_t *n_bad,
                    int n)
{
    for (int i = 0; i < n; i++) {
        if (n_bad[i] > 0 && f->first == NULL)
            f->first = &tensors[i];
        f->n += n_bad[i];
    }
}

void not_finite_note(const struct not_finite *f, enum dtype dtype, const struct source *s,
                     const struct progress *p)
{
    if (f->first == NULL)
        return;
    progress_note(p,
                  "%" PRIu64
                  " weight%s NaN or infinite%s, the first in %s: what the model says may "
                  "be nonsense",
                  f->n, f->n == 1 ? " is" : "s are",
                  dtype == DTYPE_F16 && s->dtype != DTYPE_F16
                      ? " (or beyond fp16's 65504; --dtype fp32 keeps those)"
                  : dtype == DTYPE_Q8 ? " (or beyond q8's 8.3e6; --dtype fp32 keeps those)"
                                      : "",
                  f->first->name);
}
