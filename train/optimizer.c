#include "train/optimizer.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"

#include <math.h>

enum { PIECE = 16384 };

struct optimizer_piece {
    size_t first; /* of the block */
    int n, tensor;
    bool decays;
};

void optimizer_config_init(struct optimizer_config *c)
{
    *c = (struct optimizer_config){.kind = OPTIMIZER_ADAMW,
                                   .beta1 = 0.9f,
                                   .beta2 = 0.95f,
                                   .eps = 1e-8f,
                                   .weight_decay = 0.1f,
                                   .decay = DECAY_MATRICES,
                                   .bias_correction = true,
                                   .grad_clip = 1};
}

size_t optimizer_bytes(size_t n)
{
    return 2 * n * sizeof(float);
}

/* All of w in pieces; with o->pieces NULL they are only counted. */
static void cut(struct optimizer *o, const struct masters *w)
{
    int count = 0;
    for (int i = 0; i < w->view.n_tensors; i++) {
        bool decays = o->config.decay == DECAY_ALL || w->view.tensors[i].kind != PARAM_VECTOR;
        for (size_t at = w->offset[i]; at < w->offset[i + 1]; at += PIECE, count++) {
            size_t left = w->offset[i + 1] - at;
            if (o->pieces != NULL)
                o->pieces[count] =
                    (struct optimizer_piece){at, left < PIECE ? (int)left : PIECE, i, decays};
        }
    }
    o->n_pieces = count;
}

int optimizer_init(struct optimizer *o, const struct optimizer_config *c, const struct masters *w)
{
    *o = (struct optimizer){.config = *c, .n = w->n, .n_tensors = w->view.n_tensors};
    cut(o, w);
    o->pieces = mem_array((size_t)o->n_pieces, sizeof *o->pieces);
    o->sums = mem_array((size_t)o->n_pieces, 2 * sizeof *o->sums);
    o->changes = mem_array((size_t)o->n_tensors, sizeof *o->changes);
    o->m = mem_map(o->n * sizeof *o->m);
    o->v = mem_map(o->n * sizeof *o->v);
    if (o->pieces == NULL || o->sums == NULL || o->changes == NULL || o->m == NULL ||
        o->v == NULL) {
        optimizer_release(o);
        return ERR_NOMEM;
    }
    cut(o, w);
    return 0;
}

void optimizer_release(struct optimizer *o)
{
    if (o == NULL)
        return;
    mem_unmap(o->m, o->n * sizeof *o->m);
    mem_unmap(o->v, o->n * sizeof *o->v);
    mem_free(o->pieces);
    mem_free(o->sums);
    mem_free(o->changes);
    *o = (struct optimizer){0};
}

/* ---- the norm ---- */

struct norm {
    struct optimizer *o;
    const float *grads;
};

static void norm_share(void *arg, int thread, int n_threads)
{
    const struct norm *j = arg;
    const struct kernels *k = kernels_active();
    int first, last;
    par_split(j->o->n_pieces, thread, n_threads, &first, &last);
    for (int i = first; i < last; i++) {
        const struct optimizer_piece *p = &j->o->pieces[i];
        j->o->sums[2 * i] = k->sum_squares(j->grads + p->first, (size_t)p->n);
    }
}

double optimizer_norm(struct optimizer *o, const float *grads, float scale)
{
    struct norm j = {o, grads};
    par_run(norm_share, &j);
    double total = 0, by = fabs((double)scale);
    for (int i = 0; i < o->n_tensors; i++)
        o->changes[i].grad_norm = 0;
    for (int i = 0; i < o->n_pieces; i++)
        o->changes[o->pieces[i].tensor].grad_norm += o->sums[2 * i];
    for (int i = 0; i < o->n_tensors; i++) {
        total += o->changes[i].grad_norm;
        o->changes[i].grad_norm = sqrt(o->changes[i].grad_norm) * by;
    }
    return sqrt(total) * by;
}

/* ---- the step ---- */

struct stride {
    struct optimizer *o;
    float *w;
    const float *grads;
    struct descent decaying, plain; /* for tensors that decay, and the others */
};

static const struct descent *descent_of(const struct stride *j, const struct optimizer_piece *p)
{
    return p->decays ? &j->decaying : &j->plain;
}

/* LAMB's rate of a tensor, from the norms of its weights and of their direction. */
static double trusted_rate(const struct stride *j, const struct tensor_change *c)
{
    bool both = c->weight_norm > 0 && c->update_norm > 0;
    return (double)j->plain.rate * (both ? c->weight_norm / c->update_norm : 1);
}

static void gather_norms(struct optimizer *o)
{
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

static void adam_share(void *arg, int thread, int n_threads)
{
    const struct stride *j = arg;
    const struct kernels *k = kernels_active();
    int first, last;
    par_split(j->o->n_pieces, thread, n_threads, &first, &last);
    for (int i = first; i < last; i++) {
        const struct optimizer_piece *p = &j->o->pieces[i];
        k->adam(&j->o->sums[2 * i], j->w + p->first, j->o->m + p->first, j->o->v + p->first,
                j->grads + p->first, (size_t)p->n, descent_of(j, p));
    }
}

static void lamb_share(void *arg, int thread, int n_threads)
{
    const struct stride *j = arg;
    const struct kernels *k = kernels_active();
    int first, last;
    par_split(j->o->n_pieces, thread, n_threads, &first, &last);
    for (int i = first; i < last; i++) {
        const struct optimizer_piece *p = &j->o->pieces[i];
        k->lamb_moments(&j->o->sums[2 * i], j->o->m + p->first, j->o->v + p->first, j->w + p->first,
                        j->grads + p->first, (size_t)p->n, descent_of(j, p));
    }
    par_barrier();
    if (thread == 0)
        gather_norms(j->o);
    par_barrier();
    for (int i = first; i < last; i++) {
        const struct optimizer_piece *p = &j->o->pieces[i];
        k->lamb_move(j->w + p->first, j->o->m + p->first, j->o->v + p->first, (size_t)p->n,
                     descent_of(j, p), (float)trusted_rate(j, &j->o->changes[p->tensor]));
    }
}

/* The constants of step t. */
static struct descent constants(const struct optimizer_config *c, int64_t t, float scale,
                                float rate)
{
    double beta1 = (double)c->beta1, beta2 = (double)c->beta2;
    struct descent d = {.scale = scale,
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

void optimizer_step(struct optimizer *o, struct masters *w, const float *grads, float scale,
                    double norm, float rate)
{
    const struct optimizer_config *c = &o->config;
    if (c->grad_clip > 0 && (double)c->grad_clip < norm + 1e-6)
        scale = (float)((double)scale * ((double)c->grad_clip / (norm + 1e-6)));
    struct stride j = {.o = o, .w = w->data, .grads = grads};
    j.plain = j.decaying = constants(c, ++o->steps, scale, rate);
    switch ((enum optimizer_kind)c->kind) {
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
    if (c->kind != OPTIMIZER_LAMB) {
        par_run(adam_share, &j);
        gather_norms(o);
        return;
    }
    par_run(lamb_share, &j);
    for (int i = 0; i < o->n_tensors; i++)
        o->changes[i].update_norm *= trusted_rate(&j, &o->changes[i]);
}
