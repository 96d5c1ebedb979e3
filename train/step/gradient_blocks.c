#include "train/step/gradient_blocks.h"

#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/kernels/row_kernels.h"

#include <string.h>

enum { UNIT = 4096 };

int gradient_blocks_heights(int n)
{
    int heights = 0;
    while (n > 1 && 1 << heights < n)
        heights++;
    return heights;
}

void gradient_blocks_begin(struct gradient_blocks *b)
{
    b->done = 0;
}

struct blocks_job {
    const struct gradient_blocks *b;
    void *left, *right;
};

static void add_halves(uint16_t *right, const uint16_t *left, size_t n)
{
    const struct row_kernels *k = row_kernels();
    float x[UNIT / 8], y[UNIT / 8];
    for (size_t i = 0, count; i < n; i += count) {
        count = n - i < UNIT / 8 ? n - i : UNIT / 8;
        k->half_to_f32(x, left + i, count);
        k->half_to_f32(y, right + i, count);
        k->add(x, y, count);
        k->half_from_f32(right + i, x, count);
    }
}

/* right = left + right; a sum of two has no order. */
static void add_share(void *arg, int thread, int n_threads)
{
    const struct blocks_job *j = arg;
    size_t first, n;
    par_split_units(j->b->n_gradients, UNIT, thread, n_threads, &first, &n);
    profile_set(PART_OPTIMIZER);
    if (j->b->dtype == DTYPE_F16)
        add_halves((uint16_t *)j->right + first, (const uint16_t *)j->left + first, n);
    else
        row_kernels()->add((float *)j->right + first, (const float *)j->left + first, n);
}

/* left = right, right = 0 */
static void move_share(void *arg, int thread, int n_threads)
{
    const struct blocks_job *j = arg;
    const size_t each = dtype_bytes(j->b->dtype);
    size_t first, n;
    par_split_units(j->b->n_gradients, UNIT, thread, n_threads, &first, &n);
    profile_set(PART_OPTIMIZER);
    memcpy((char *)j->left + first * each, (const char *)j->right + first * each, n * each);
    memset((char *)j->right + first * each, 0, n * each);
}

static void join_height(struct gradient_blocks *b, int height, void *gradients,
                        struct step_result *sums)
{
    const struct step_result *left = &b->sums[height];
    par_run(add_share, &(struct blocks_job){b, b->waiting[height], gradients});
    sums->loss_sum = left->loss_sum + sums->loss_sum;
    sums->n_targets += left->n_targets;
    sums->n_correct += left->n_correct;
}

void gradient_blocks_end(struct gradient_blocks *b, void *gradients, struct step_result *sums)
{
    /* As in a binary counter, a set bit of `done` is a height at which something waits. */
    const int before = b->done++;
    const bool last = b->done == b->n;
    int height = 0;
    for (; before >> height & 1; height++)
        join_height(b, height, gradients, sums);
    if (!last) {
        par_run(move_share, &(struct blocks_job){b, b->waiting[height], gradients});
        b->sums[height] = *sums;
        *sums = (struct step_result){0};
        return;
    }
    for (; height < b->n_heights; height++)
        if (before >> height & 1)
            join_height(b, height, gradients, sums);
}
