/*
 * Norms and steps. Threads share the pieces of the block and process each run by run
 * (optimizer_run.h). Sums are stored by piece and added in the order of pieces, whatever the team.
 *
 * A step that might break the limit is rehearsed first:
 *
 *   may_step?          yes ------------------------------------------> step, new bound o->largest
 *                      no --> rehearse_step: the same on copies,
 *                             nothing stored     all weights below the limit --> step
 *                                                otherwise --> steps -= 1, return false
 *
 * o->largest, an upper bound of the norm of every piece and so of every weight's size, comes from
 * the norms that a step computes anyway. Before the first step it is infinite, so that one is
 * always rehearsed.
 */
#include "train/optim/optimizer.h"

#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/kernels/optimizer_kernels.h"
#include "train/optim/optimizer_muon.h"
#include "train/optim/optimizer_run.h"
#include "train/optim/optimizer_walk.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>

/* ---- the norm ---- */

/* Those of other processes too. */
static void complete_sums(struct optimizer *o)
{
    if (o->share.spread_sums != NULL)
        o->share.spread_sums(o->share.user, o->sums);
}

static void norm_piece(const struct optimizer_pass *j, int i)
{
    const struct optimizer_piece *p = &j->o->pieces[i];
    double *sum = &j->o->sums[2 * i];
    struct optimizer_run r;
    *sum = 0;
    for (size_t from = 0; from < (size_t)p->n; from += r.n) {
        optimizer_run_gradients(&r, j, p, from);
        *sum += optimizer_kernels()->sum_squares(r.g, r.n);
    }
}

static void norm_share(void *arg, int thread, int n_threads)
{
    const struct optimizer_pass *j = arg;
    profile_set(PART_OPTIMIZER);
    profile_work(0, (double)(j->o->n * dtype_bytes(j->o->dtype)) / n_threads);
    optimizer_walk(j->o, thread, n_threads, GRADIENTS, 0, norm_piece, j);
}

double optimizer_norm(struct optimizer *o, const void *grads, float scale)
{
    struct optimizer_pass j = {.o = o, .grads = grads};
    par_run(norm_share, &j);
    complete_sums(o);
    double total = 0, by = fabs((double)scale);
    for (int i = 0; i < o->n_tensors; i++)
        o->changes[i] = (struct tensor_change){0};
    for (int i = 0; i < o->n_pieces; i++)
        o->changes[o->pieces[i].tensor].grad_norm += o->sums[2 * i];
    for (int i = 0; i < o->n_tensors; i++) {
        total += o->changes[i].grad_norm;
        o->changes[i].grad_norm = sqrt(o->changes[i].grad_norm) * by;
    }
    return sqrt(total) * by;
}

/* ---- the step ---- */

static const struct adam_constants *piece_constants(const struct optimizer_pass *j,
                                                    const struct optimizer_piece *p)
{
    return p->decays ? &j->decaying : &j->plain;
}

/* The rate times the trust ratio of a tensor, update_norm being |u|. */
static double lamb_rate(const struct optimizer_pass *j, const struct tensor_change *c)
{
    bool both = c->weight_norm > 0 && c->update_norm > 0;
    return (double)j->plain.rate * (both ? c->weight_norm / c->update_norm : 1);
}

static void gather_norms(const struct optimizer_pass *j)
{
    struct optimizer *o = j->o;
    for (int i = 0; i < o->n_tensors; i++)
        o->changes[i].weight_norm = o->changes[i].update_norm = 0;
    for (int i = 0; i < o->n_pieces; i++) {
        struct tensor_change *c = &o->changes[o->pieces[i].tensor];
        c->weight_norm += o->sums[2 * i];
        c->update_norm += o->sums[2 * i + 1];
    }
    for (int i = 0; i < o->n_tensors; i++) {
        o->changes[i].weight_norm = sqrt(o->changes[i].weight_norm);
        o->changes[i].update_norm = sqrt(o->changes[i].update_norm);
    }
}

/* The whole step of a piece for Adam and AdamW; its moments and norms alone for LAMB; of Muon the
 * pieces that are AdamW's. */
static void step_piece(const struct optimizer_pass *j, int i)
{
    const struct optimizer_kernels *k = optimizer_kernels();
    const struct optimizer_piece *p = &j->o->pieces[i];
    bool lamb = j->o->config.kind == OPTIMIZER_LAMB;
    double *sums = &j->o->sums[2 * i], more[2];
    struct optimizer_run r;
    if (p->of_matrix)
        return;
    sums[0] = sums[1] = 0;
    for (size_t from = 0; from < (size_t)p->n; from += r.n) {
        optimizer_run_open(&r, j, p, from);
        if (lamb)
            k->lamb_moments(more, r.m, r.v, r.w, r.g, r.n, piece_constants(j, p));
        else
            k->adam(more, r.w, r.m, r.v, r.g, r.n, piece_constants(j, p));
        optimizer_run_close_moment(&r, j);
        if (!lamb)
            optimizer_run_close_weights(&r, j);
        sums[0] += more[0];
        sums[1] += more[1];
    }
}

/* The weights of a piece for LAMB, once the norms of its tensor are known. */
static void update_piece(const struct optimizer_pass *j, int i)
{
    const struct optimizer_piece *p = &j->o->pieces[i];
    float rate = (float)lamb_rate(j, &j->o->changes[p->tensor]);
    double sums[2];
    struct optimizer_run r;
    for (size_t from = 0; from < (size_t)p->n; from += r.n) {
        optimizer_run_open(&r, j, p, from);
        if (j->exceeds != NULL) /* a rehearsal stored no moments */
            optimizer_kernels()->lamb_moments(sums, r.m, r.v, r.w, r.g, r.n, piece_constants(j, p));
        optimizer_kernels()->lamb_update(r.w, r.m, r.v, r.n, piece_constants(j, p), rate);
        optimizer_run_close_weights(&r, j);
    }
}

/* Gradients are read; weights and moments are read and, but in a rehearsal, written. */
static double step_bytes(const struct optimizer_pass *j)
{
    const struct optimizer *o = j->o;
    const size_t element = dtype_bytes(o->dtype), times = j->exceeds != NULL ? 1 : 2;
    const size_t first = o->half_m != NULL ? sizeof(uint16_t) : sizeof(float);
    return (double)(o->n * (element + times * (element + first)) +
                    o->n_second * times * sizeof *o->v);
}

static void step_share(void *arg, int thread, int n_threads)
{
    const struct optimizer_pass *j = arg;
    profile_set(PART_OPTIMIZER);
    profile_work(0, step_bytes(j) / n_threads);
    const unsigned steps = j->o->config.kind == OPTIMIZER_LAMB ? MOMENTS : MOMENTS | WEIGHTS;
    optimizer_walk(j->o, thread, n_threads, MOMENTS | WEIGHTS | GRADIENTS,
                   j->exceeds == NULL ? steps : 0, step_piece, j);
}

static void update_share(void *arg, int thread, int n_threads)
{
    const struct optimizer_pass *j = arg;
    profile_set(PART_OPTIMIZER);
    optimizer_walk(j->o, thread, n_threads, MOMENTS | WEIGHTS | GRADIENTS,
                   j->exceeds == NULL ? WEIGHTS : 0, update_piece, j);
}

static void run_pass(struct optimizer_pass *j)
{
    par_run(step_share, j);
    if (j->o->n_matrices > 0)
        par_run(optimizer_muon_share, j);
    complete_sums(j->o);
    gather_norms(j);
    if (j->o->config.kind == OPTIMIZER_LAMB)
        par_run(update_share, j);
}

/* ---- whether the weights stay within the limit ---- */

/* An upper bound of the norm of every piece after the step: the norm before, plus that of the
 * update. */
static double bound_weights(const struct optimizer_pass *j)
{
    const struct optimizer *o = j->o;
    double largest = 0;
    for (int i = 0; i < o->n_pieces; i++) {
        const struct tensor_change *c = &o->changes[o->pieces[i].tensor];
        double by = o->config.kind == OPTIMIZER_LAMB ? lamb_rate(j, c) : 1;
        largest = fmax(largest, sqrt(o->sums[2 * i]) + by * sqrt(o->sums[2 * i + 1]));
    }
    return largest;
}

/*
 * An upper bound of |u|. With |m'| <= beta1 |m| + (1 - beta1) |g|, sqrt(v') >= sqrt(beta2 v) and
 * sqrt(v') >= sqrt(1 - beta2) |g|, the ratio m / sqrt(v) stays below
 *
 *   (1 - beta1) / sqrt(1 - beta2) / (1 - beta1 / sqrt(beta2)),
 *
 * which is doubled for rounding errors. A first moment in binary16 adds its own rounding error, at
 * most 2^-38 of the largest of its run, over eps.
 */
static double bound_direction(const struct optimizer *o, const struct adam_constants *d,
                              double norm)
{
    enum { ROUNDED = -37 };
    const struct optimizer_config *c = &o->config;
    double ratio = (double)c->beta1 / sqrt((double)c->beta2);
    if (!(ratio < 0.999 && c->eps >= 1e-15f && norm < 1e18))
        return INFINITY;
    double most = 2 * (double)d->rest1 / sqrt((double)d->rest2) / (1 - ratio);
    if (o->half_m != NULL)
        most +=
            c->grad_clip > 0
                ? ldexp((double)c->grad_clip + (double)d->l2 * o->largest, ROUNDED) / (double)c->eps
                : INFINITY;
    most *= (double)d->correct_m;
    return o->n_matrices == 0 ? most : fmax(most, 2 * optimizer_muon_most(o));
}

/* An upper bound of the size of any weight after the step. LAMB moves a weight by no more than rate
 * times the norm of its tensor, or where that is 0, rate times |u|. */
static double bound_step(const struct optimizer_pass *j, double norm)
{
    const struct optimizer *o = j->o;
    const struct adam_constants *d = &j->decaying;
    double distance = bound_direction(o, d, norm) + (double)d->decay * o->largest;
    if (o->config.kind == OPTIMIZER_LAMB)
        distance = fmax(distance, sqrt(o->n_pieces) * o->largest);
    return o->largest * fmax(1, fabs((double)d->keep)) + (double)d->rate * distance;
}

/* The constants of step t, without weight decay. */
static struct adam_constants step_constants(const struct optimizer_config *c, int64_t t,
                                            float scale, float rate)
{
    double beta1 = (double)c->beta1, beta2 = (double)c->beta2;
    struct adam_constants d = {.scale = scale,
                               .beta1 = c->beta1,
                               .rest1 = (float)(1 - beta1),
                               .beta2 = c->beta2,
                               .rest2 = (float)(1 - beta2),
                               .correct_m = 1,
                               .correct_v = 1,
                               .eps = c->eps,
                               .keep = 1,
                               .rate = rate};
    if (c->bias_correction) {
        d.correct_m = (float)(1 / (1 - pow(beta1, (double)t)));
        d.correct_v = (float)(1 / sqrt(1 - pow(beta2, (double)t)));
    }
    return d;
}

/* Run the step on copies. False: a weight would reach the limit, or the guard, if it is asked,
 * refuses the weights. */
static bool rehearse_step(struct optimizer_pass *j, bool ask_guard)
{
    struct optimizer *o = j->o;
    atomic_bool exceeds = false;
    j->exceeds = &exceeds;
    j->rehearsed = ask_guard ? o->rehearsed : NULL;
    run_pass(j);
    if (o->share.any != NULL)
        exceeds = o->share.any(o->share.user, exceeds);
    j->exceeds = NULL;
    j->rehearsed = NULL;
    bool good = !exceeds && (!ask_guard || o->guard.allows(o->guard.user, o->rehearsed));
    for (int i = 0; i < o->n_tensors && !good; i++)
        o->changes[i].weight_norm = o->changes[i].update_norm = 0;
    return good;
}

/* False: the step must not be taken. It is rehearsed first if it might bring a weight halfway to
 * the limit or above the guard's reach. */
static bool may_step(struct optimizer_pass *j, double norm)
{
    const struct optimizer *o = j->o;
    const double bound = bound_step(j, norm);
    const bool near_limit = !(bound < 0.5 * fmin((double)o->limit, (double)FLT_MAX));
    const bool ask_guard = o->guard.allows != NULL && !(bound <= o->guard.reach);
    return !(near_limit || ask_guard) || rehearse_step(j, ask_guard);
}

bool optimizer_step(struct optimizer *o, void *weights, const void *grads, float scale, double norm,
                    float rate)
{
    const struct optimizer_config *c = &o->config;
    if (optimizer_error(o) != 0)
        return false;
    if (c->grad_clip > 0 && (double)c->grad_clip < norm + 1e-6) {
        scale = (float)((double)scale * ((double)c->grad_clip / (norm + 1e-6)));
        norm = (double)c->grad_clip;
    }
    struct optimizer_pass j = {.o = o, .weights = weights, .grads = grads};
    j.plain = j.decaying = step_constants(c, ++o->steps, scale, rate);
    switch ((enum optimizer_kind)c->kind) {
    case OPTIMIZER_MUON:
        j.momentum.scale = scale;
        j.momentum.beta1 = c->momentum;
        j.momentum.rest1 = (float)(1 - (double)c->momentum);
        /* fall through */
    case OPTIMIZER_ADAMW:
        j.decaying.keep = (float)(1 - (double)rate * (double)c->weight_decay);
        break;
    case OPTIMIZER_ADAM:
        j.decaying.l2 = c->weight_decay;
        break;
    case OPTIMIZER_LAMB:
        j.decaying.decay = c->weight_decay;
        break;
    }
    if (!may_step(&j, norm)) {
        o->steps--;
        return false;
    }
    run_pass(&j);
    o->largest = bound_weights(&j);
    for (int i = 0; i < o->n_tensors && c->kind == OPTIMIZER_LAMB; i++)
        o->changes[i].update_norm *= lamb_rate(&j, &o->changes[i]);
    return true;
}
