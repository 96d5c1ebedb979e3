#include "train/parallel/jitter.h"

#include "model/base/clock.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/rng.h"
#include "model/kernels/product.h"
#include "train/parallel/world.h"

#include <math.h>
#include <stdbool.h>

/* ---- measured ---- */

enum { ROWS = 64, SIDE = 256, PIECES = 1500 };
static const double PIECE_S = 1e-3;

struct work {
    float *a, *b, *c; /* [ROWS,SIDE], [SIDE,SIDE], [ROWS,SIDE] */
    char *scratch;    /* [n_threads] of product_scratch_bytes() */
    double *seconds;  /* [2][PIECES] */
    int products;     /* of a piece */
};

static void multiply(void *arg, int thread, int n_threads)
{
    const struct work *w = arg;
    const struct product p = {.m = ROWS,
                              .n = SIDE,
                              .k = SIDE,
                              .alpha = 1,
                              .a = w->a,
                              .lda = SIDE,
                              .b = w->b,
                              .ldb = SIDE,
                              .c = w->c,
                              .ldc = SIDE};
    for (int i = 0; i < w->products; i++) {
        product_share(&p, thread, n_threads, w->scratch + (size_t)thread * product_scratch_bytes());
        par_barrier();
    }
}

static double time_piece(struct work *w)
{
    const double begun = clock_s();
    par_run(multiply, w);
    return clock_s() - begun;
}

/* Each in parts of its own mean: how fast a process is otherwise is no jitter. */
static void scale_by_mean(double *seconds)
{
    double all = 0;
    for (int i = 0; i < PIECES; i++)
        all += seconds[i];
    for (int i = 0; i < PIECES; i++)
        seconds[i] *= PIECES / fmax(all, 1e-9);
}

static double compare_pieces(struct work *w)
{
    double *own = w->seconds, *others = own + PIECES, later = 0;
    for (w->products = 1; w->products < 1 << 16 && time_piece(w) < PIECE_S;)
        w->products *= 2;
    for (int i = 0; i < PIECES; i++)
        own[i] = time_piece(w);
    scale_by_mean(own);
    world_swap(1 - world_rank(), own, others, PIECES * sizeof *own);
    for (int i = 0; i < PIECES; i++)
        later += fmax(own[i], others[i]) - 1;
    return later / PIECES;
}

double jitter_measure(void)
{
    const size_t scratch = (size_t)par_threads() * product_scratch_bytes();
    struct work w = {.a = mem_map("jitter", ROWS * SIDE * sizeof(float)),
                     .b = mem_map("jitter", SIDE * SIDE * sizeof(float)),
                     .c = mem_map("jitter", ROWS * SIDE * sizeof(float)),
                     .scratch = mem_map("jitter", scratch),
                     .seconds = mem_array(2 * PIECES, sizeof *w.seconds)};
    /* Both have to say so, or one would wait. */
    bool here = w.a != NULL && w.b != NULL && w.c != NULL && w.scratch != NULL && w.seconds != NULL,
         there;
    world_swap(1 - world_rank(), &here, &there, sizeof here);
    const double found = here && there ? compare_pieces(&w) : -1;
    mem_free(w.seconds);
    mem_unmap(w.scratch, scratch);
    mem_unmap(w.c, ROWS * SIDE * sizeof(float));
    mem_unmap(w.b, SIDE * SIDE * sizeof(float));
    mem_unmap(w.a, ROWS * SIDE * sizeof(float));
    return found;
}

/* ---- reckoned ---- */

static const double SAME_S = 0.1; /* for so long a process is as fast as it was */
static const double LEAST = 0.25; /* no work is done in less of its time */

/* The standard deviation, in parts of the time: the larger of two normals lies 1 / sqrt(pi) of it
 * above their mean. */
static double deviation(double jitter, double seconds)
{
    return jitter * sqrt(M_PI) / sqrt(1 + seconds / SAME_S);
}

float jitter_moment(struct jitter_moments *m, int process, int moment)
{
    enum { N = sizeof m->of / sizeof *m->of };
    const int at = moment / 2, block = at / N + 1;
    if (m->block != block)
        rng_normals(m->of, 0, (uint64_t)process, (uint64_t)(at / N * N), N);
    m->block = block;
    return moment % 2 == 0 ? m->of[at % N] : -m->of[at % N];
}

double jitter_at(double jitter, float moment, double seconds)
{
    if (jitter == 0)
        return seconds;
    const double away = deviation(jitter, seconds) * moment, most = 1 - LEAST;
    return seconds * (1 + fmin(most, fmax(-most, away)));
}

/* Of n normals the largest lies where one of them all is expected: Blom's plotting position, with
 * Tukey's lambda for the inverse of the normal distribution; 4 % too much for two, 3 % too little
 * for a thousand. */
double jitter_last(double jitter, int n, double seconds)
{
    const double p = (n - 0.375) / (n + 0.25);
    const double z = 4.91 * (pow(p, 0.14) - pow(1 - p, 0.14));
    return seconds * (1 + deviation(jitter, seconds) * z);
}
