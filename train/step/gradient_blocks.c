#include "train/step/gradient_blocks.h"

#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/kernels/row_kernels.h"
#include "train/step/half_partials.h"

#include <string.h>

enum { UNIT = 4096 };

bool gradient_blocks_are_parts(int n, int first, int middle, int last)
{
    for (int from = 0, to = n; to - from > 1;) {
        int left = 1;
        while (2 * left < to - from)
            left *= 2;
        if (from == first && to == last)
            return from + left == middle;
        if (last <= from + left)
            to = from + left;
        else if (first >= from + left)
            from += left;
        else
            break;
    }
    return false;
}

int gradient_blocks_waiting(int n, int first, int last)
{
    int begins[GRADIENT_NODES], waiting = 0, most = 0;
    for (int block = first; block + 1 < last; block++) {
        int from = block;
        while (waiting > 0 && gradient_blocks_are_parts(n, begins[waiting - 1], from, block + 1))
            from = begins[--waiting];
        begins[waiting++] = from;
        most = waiting > most ? waiting : most;
    }
    return most;
}

void gradient_blocks_begin(struct gradient_blocks *b)
{
    b->done = b->first;
    b->n_nodes = 0;
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

/* Rounded while it is in the cache. */
static void add_rounded(float *right, const float *left, size_t n)
{
    const struct row_kernels *k = row_kernels();
    for (size_t i = 0, count; i < n; i += count) {
        count = n - i < UNIT ? n - i : UNIT;
        k->add(right + i, left + i, count);
        half_partials_round(right + i, count);
    }
}

/* A sum of two has no order. */
void gradient_blocks_add(void *right, const void *left, size_t n, enum dtype dtype, bool half)
{
    if (dtype == DTYPE_F16)
        add_halves(right, left, n);
    else if (half_partials_of(half, dtype))
        add_rounded(right, left, n);
    else
        row_kernels()->add(right, left, n);
}

/* A thread's share of the i-th span of gradients that there are here; false: there are no more. */
static bool own_share(const struct gradient_blocks *b, int i, int thread, int n_threads,
                      struct span *out)
{
    const struct span all = {.n = b->n_gradients};
    if (i >= (b->own.n > 0 ? b->own.n : 1))
        return false;
    const struct span s = b->own.n > 0 ? b->own.at[i] : all;
    par_split_units(s.n, UNIT, thread, n_threads, &out->first, &out->n);
    out->first += s.first;
    return true;
}

static void add_share(void *arg, int thread, int n_threads)
{
    const struct blocks_job *j = arg;
    const size_t each = dtype_bytes(j->b->dtype);
    struct span s;
    profile_set(PART_OPTIMIZER);
    for (int i = 0; own_share(j->b, i, thread, n_threads, &s); i++)
        gradient_blocks_add((char *)j->right + s.first * each,
                            (const char *)j->left + s.first * each, s.n, j->b->dtype, j->b->half);
}

/* A block's own sum is a node too. */
static void round_share(void *arg, int thread, int n_threads)
{
    const struct blocks_job *j = arg;
    struct span s;
    profile_set(PART_OPTIMIZER);
    for (int i = 0; own_share(j->b, i, thread, n_threads, &s); i++)
        half_partials_round((float *)j->right + s.first, s.n);
}

/* left = right, right = 0 */
static void move_share(void *arg, int thread, int n_threads)
{
    const struct blocks_job *j = arg;
    const size_t each = dtype_bytes(j->b->dtype);
    struct span s;
    profile_set(PART_OPTIMIZER);
    for (int i = 0; own_share(j->b, i, thread, n_threads, &s); i++) {
        memcpy((char *)j->left + s.first * each, (const char *)j->right + s.first * each,
               s.n * each);
        memset((char *)j->right + s.first * each, 0, s.n * each);
    }
}

void gradient_blocks_add_sums(struct step_result *right, const struct step_result *left)
{
    right->loss_sum = left->loss_sum + right->loss_sum;
    right->n_targets += left->n_targets;
    right->n_correct += left->n_correct;
}

/* Those before that are the left parts of nodes which the block ends: *from becomes where these
 * begin. */
static void join_parts(struct gradient_blocks *b, int *from, void *gradients,
                       struct step_result *sums)
{
    for (; b->n_nodes > 0; b->n_nodes--) {
        const struct gradient_node *left = &b->nodes[b->n_nodes - 1];
        if (!gradient_blocks_are_parts(b->n, left->first, *from, b->done))
            break;
        par_run(add_share, &(struct blocks_job){b, left->data, gradients});
        gradient_blocks_add_sums(sums, &left->sums);
        *from = left->first;
    }
}

void gradient_blocks_end(struct gradient_blocks *b, void *gradients, struct step_result *sums)
{
    int from = b->done++;
    const bool last = b->done == b->last;
    if (half_partials_of(b->half, b->dtype))
        par_run(round_share, &(struct blocks_job){.b = b, .right = gradients});
    join_parts(b, &from, gradients, sums);
    struct gradient_node *node = &b->nodes[b->n_nodes];
    *node = (struct gradient_node){.first = from,
                                   .last = b->done,
                                   .data = last ? gradients : b->waiting[b->n_nodes],
                                   .sums = *sums};
    b->n_nodes++;
    if (last)
        return;
    par_run(move_share, &(struct blocks_job){b, node->data, gradients});
    *sums = (struct step_result){0};
}
