#include "train/optim/newton_schulz.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/kernels/optimizer_kernels.h"
#include "model/kernels/product.h"
#include "model/kernels/row_kernels.h"

#include <math.h>
#include <string.h>

enum { ITERATIONS = 5 };
static const float FIRST = 3.4445f, THIRD = -4.7750f, FIFTH = 2.0315f;
static const double EPSILON = 1e-7; /* added to the norm */

/* Of a symmetric product, rows at a time: from their own diagonal block on to the right. */
enum { BLOCK = 96 };
/* Of a matrix transposed, rows at a time. */
enum { STRIPE = 16 };

static void carve_scratch(struct newton_schulz *s, struct arena *a)
{
    const size_t side = (size_t)s->side;
    s->x = arena_take(a, s->most * sizeof *s->x);
    s->y = arena_take(a, s->most * sizeof *s->y);
    s->gram = arena_take(a, side * side * sizeof *s->gram);
    s->poly = arena_take(a, side * side * sizeof *s->poly);
    s->sums = arena_take(a, side * sizeof *s->sums);
    s->products = arena_take(a, (size_t)s->n_threads * s->product_bytes);
    s->bytes = a->used;
}

static struct newton_schulz describe_scratch(size_t most, int side)
{
    struct newton_schulz s = {.most = most,
                              .side = side,
                              .n_threads = par_threads(),
                              .product_bytes = product_scratch_bytes()};
    struct arena a = {0};
    carve_scratch(&s, &a);
    return s;
}

size_t newton_schulz_bytes(size_t most, int side)
{
    return describe_scratch(most, side).bytes;
}

double newton_schulz_flops(int rows, int cols)
{
    const double r = rows < cols ? rows : cols, c = rows < cols ? cols : rows;
    return ITERATIONS * (r * (r + BLOCK) * (c + r) + 2 * r * r * c);
}

int newton_schulz_init(struct newton_schulz *s, size_t most, int side)
{
    *s = describe_scratch(most, side);
    struct arena a = {.base = s->block = mem_map("orthogonalization", s->bytes)};
    if (s->block == NULL)
        return ERR_NOMEM;
    carve_scratch(s, &a);
    return 0;
}

void newton_schulz_release(struct newton_schulz *s)
{
    mem_unmap(s->block, s->bytes);
    *s = (struct newton_schulz){0};
}

/* ---- one iteration ---- */

/* X and the next one [r,c], and this thread. */
struct iteration {
    const struct newton_schulz *s;
    float *x, *next;
    int r, c, thread, n_threads;
};

static void run_product(const struct iteration *t, const struct product *p)
{
    const struct newton_schulz *s = t->s;
    const int n = t->n_threads < s->n_threads ? t->n_threads : s->n_threads;
    if (t->thread < n)
        product_share(p, t->thread, n, s->products + (size_t)t->thread * s->product_bytes);
}

/* A block of rows of a symmetric product, that begins at its place on the diagonal. */
struct symmetric_block {
    float *of;         /* [r,r], the whole product */
    const float *term; /* [r,r], added with a factor; NULL: none */
    float by;
    int r, first, rows;
};

/* What lies to the right of the diagonal block is written beneath it too. */
static void finish_symmetric(void *user, int row, int rows, int col, int cols)
{
    const struct symmetric_block *b = user;
    const size_t r = (size_t)b->r, at = (size_t)b->first, below = at + (size_t)b->rows;
    const size_t top = at + (size_t)row, bottom = top + (size_t)rows,
                 end = at + (size_t)(col + cols);
    size_t left = at + (size_t)col;
    for (size_t i = top; i < bottom && b->term != NULL; i++)
        for (size_t k = left; k < end; k++)
            b->of[i * r + k] += b->by * b->term[i * r + k];
    left = left < below ? below : left;
    for (size_t k = left; k < end; k++)
        for (size_t i = top; i < bottom; i++)
            b->of[k * r + i] = b->of[i * r + k];
}

/* out = alpha A A' + by term, A [r,k] with A A' or, A being symmetric too, A A. */
static void multiply_symmetric(const struct iteration *t, float *out, const float *a, int k,
                               float alpha, const float *term, float by)
{
    const int r = t->r;
    for (int first = 0; first < r; first += BLOCK) {
        const int rows = r - first < BLOCK ? r - first : BLOCK;
        struct symmetric_block b = {
            .of = out, .term = term, .by = by, .r = r, .first = first, .rows = rows};
        const float *from = a + (size_t)first * (size_t)k;
        const struct product p = {.transpose_b = true,
                                  .m = rows,
                                  .n = r - first,
                                  .k = k,
                                  .alpha = alpha,
                                  .a = from,
                                  .b = from,
                                  .c = out + (size_t)first * (size_t)r + first,
                                  .lda = k,
                                  .ldb = k,
                                  .ldc = r,
                                  .finish = finish_symmetric,
                                  .user = &b};
        run_product(t, &p);
    }
}

static void finish_next(void *user, int row, int rows, int col, int cols)
{
    const struct iteration *t = user;
    for (int i = row; i < row + rows; i++) {
        const float *x = t->x + (size_t)i * (size_t)t->c;
        float *next = t->next + (size_t)i * (size_t)t->c;
        for (int k = col; k < col + cols; k++)
            next[k] += FIRST * x[k];
    }
}

static void iterate(struct iteration *t)
{
    const struct newton_schulz *s = t->s;
    multiply_symmetric(t, s->gram, t->x, t->c, 1, NULL, 0);
    par_barrier();
    multiply_symmetric(t, s->poly, s->gram, t->r, FIFTH, s->gram, THIRD);
    par_barrier();
    const struct product p = {.m = t->r,
                              .n = t->c,
                              .k = t->r,
                              .alpha = 1,
                              .a = s->poly,
                              .b = t->x,
                              .c = t->next,
                              .lda = t->r,
                              .ldb = t->c,
                              .ldc = t->c,
                              .finish = finish_next,
                              .user = t};
    run_product(t, &p);
    par_barrier();
}

/* ---- to and from it ---- */

/* Rows first to last - 1 of x [r,c], from g [c,r] with ld floats from row to row; or back. */
static void transpose_rows(float *x, float *g, int first, int last, int c, size_t ld, bool back)
{
    for (int i = first; i < last; i += STRIPE) {
        const int n = last - i < STRIPE ? last - i : STRIPE;
        for (int k = 0; k < c; k++)
            for (int j = i; j < i + n; j++) {
                float *here = x + (size_t)j * (size_t)c + k, *there = g + (size_t)k * ld + j;
                *(back ? there : here) = *(back ? here : there);
            }
    }
}

static void move_rows(float *x, float *g, int first, int last, int c, size_t ld, bool back)
{
    for (int i = first; i < last; i++) {
        float *here = x + (size_t)i * (size_t)c, *there = g + (size_t)i * ld;
        memcpy(back ? there : here, back ? here : there, (size_t)c * sizeof *x);
    }
}

void newton_schulz_share(struct newton_schulz *s, float *g, int rows, int cols, size_t ld,
                         int thread, int n_threads)
{
    const bool tall = rows > cols;
    struct iteration t = {.s = s,
                          .x = s->x,
                          .next = s->y,
                          .r = tall ? cols : rows,
                          .c = tall ? rows : cols,
                          .thread = thread,
                          .n_threads = n_threads};
    const size_t c = (size_t)t.c;
    int first, last;
    double sum = 0;
    par_split(t.r, thread, n_threads, &first, &last);
    (tall ? transpose_rows : move_rows)(s->x, g, first, last, t.c, ld, false);
    for (int i = first; i < last; i++)
        s->sums[i] = optimizer_kernels()->sum_squares(s->x + (size_t)i * c, c);
    par_barrier();
    for (int i = 0; i < t.r; i++)
        sum += s->sums[i];
    const float norm = (float)(sqrt(sum) + EPSILON);
    for (int i = first; i < last; i++)
        row_kernels()->divide(s->x + (size_t)i * c, s->x + (size_t)i * c, norm, c);
    par_barrier();
    for (int i = 0; i < ITERATIONS; i++) {
        iterate(&t);
        float *x = t.x;
        t.x = t.next;
        t.next = x;
    }
    (tall ? transpose_rows : move_rows)(t.x, g, first, last, t.c, ld, true);
    par_barrier();
}
