#include "train/optim/optimizer_run.h"

#include "train/optim/optimizer.h"

#include "model/kernels/row_kernels.h"

#include <math.h>
#include <string.h>

/* Set in the streams of stochastic rounding, and in no stream of dropout masks (model/pass.h). */
static const uint64_t ROUNDING = UINT64_C(1) << 63;

/* Whether all is fp32, so that nothing is copied and a whole piece is one run. */
static bool runs_in_place(const struct optimizer *o)
{
    return o->dtype == DTYPE_F32 && o->half_m == NULL;
}

void optimizer_run_gradients(struct optimizer_run *r, const struct optimizer_pass *j,
                             const struct optimizer_piece *p, size_t from)
{
    const struct optimizer *o = j->o;
    const void *grads = j->grads;
    size_t left = (size_t)p->n - from;
    r->at = p->first + from;
    const size_t at = r->at - o->first_gradient;
    r->unit = (size_t)(p - o->pieces) * RUNS + from / RUN;
    r->n = (runs_in_place(o) && j->exceeds == NULL) || left < RUN ? left : RUN;
    if (o->dtype == DTYPE_F32) {
        r->g = (const float *)grads + at;
    } else {
        row_kernels()->half_to_f32(r->g_copy, (const uint16_t *)grads + at, r->n);
        r->g = r->g_copy;
    }
}

/* A rehearsal works on copies. */
static void copy_for_rehearsal(float **at, float *copy, size_t n)
{
    if (*at != copy)
        memcpy(copy, *at, n * sizeof *copy);
    *at = copy;
}

void optimizer_run_open(struct optimizer_run *r, const struct optimizer_pass *j,
                        const struct optimizer_piece *p, size_t from)
{
    const struct row_kernels *k = row_kernels();
    const struct optimizer *o = j->o;
    optimizer_run_gradients(r, j, p, from);
    r->v = p->of_matrix ? NULL : o->v + p->second + from;
    r->w = o->dtype == DTYPE_F32 ? (float *)j->weights + r->at : r->w_copy;
    r->m = o->half_m == NULL ? o->m + r->at : r->m_copy;
    if (o->dtype == DTYPE_F16)
        k->half_to_f32(r->w, (uint16_t *)j->weights + r->at, r->n);
    if (o->half_m != NULL) {
        k->half_to_f32(r->m, o->half_m + r->at, r->n);
        k->scale(r->m, o->m_unit[r->unit], r->n);
    }
    if (j->exceeds != NULL) {
        copy_for_rehearsal(&r->w, r->w_copy, r->n);
        copy_for_rehearsal(&r->m, r->m_copy, r->n);
        if (r->v != NULL)
            copy_for_rehearsal(&r->v, r->v_copy, r->n);
    }
}

/* Store m in a unit, a power of two, such that max |m| / unit is in [2^14, 2^15), or less where the
 * unit would be subnormal. */
void optimizer_run_close_moment(struct optimizer_run *r, const struct optimizer_pass *j)
{
    const struct row_kernels *k = row_kernels();
    const struct optimizer *o = j->o;
    int exponent;
    if (o->half_m == NULL || j->exceeds != NULL)
        return;
    frexpf(optimizer_kernels()->max_abs(r->m, r->n), &exponent);
    float unit = ldexpf(1, exponent - 15 < -126 ? -126 : exponent - 15);
    k->scale(r->m, 1 / unit, r->n);
    k->half_from_f32(o->half_m + r->at, r->m, r->n);
    o->m_unit[r->unit] = unit;
}

/* A rehearsal's weights, before rounding. In a rehearsal LAMB's norms are summed in another order,
 * over moments that are not rounded, so 0.99 of the limit applies. */
static void check_limit(const struct optimizer_run *r, const struct optimizer_pass *j)
{
    const struct optimizer *o = j->o;
    const float limit = o->config.kind == OPTIMIZER_LAMB ? 0.99f * o->limit : o->limit;
    bool stay = true;
    for (size_t i = 0; i < r->n; i++)
        stay &= fabsf(r->w[i]) < limit; /* false for NaN */
    if (!stay)
        atomic_store(j->exceeds, true);
    if (j->rehearsed != NULL)
        memcpy(j->rehearsed + r->at, r->w, r->n * sizeof *r->w);
}

void optimizer_run_close_weights(struct optimizer_run *r, const struct optimizer_pass *j)
{
    const struct row_kernels *k = row_kernels();
    const struct optimizer *o = j->o;
    if (j->exceeds != NULL)
        check_limit(r, j);
    else if (o->dtype == DTYPE_F16 && o->config.stochastic_rounding)
        optimizer_kernels()->half_from_f32_random((uint16_t *)j->weights + r->at, r->w, r->n,
                                                  o->config.seed, ROUNDING | (uint64_t)o->steps,
                                                  r->unit * (RUN / 64));
    else if (o->dtype == DTYPE_F16)
        k->half_from_f32((uint16_t *)j->weights + r->at, r->w, r->n);
}
