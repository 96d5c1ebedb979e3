#include "sampling/candidates.h"

#include "model/kernels/kernels.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { BUCKETS = 2048, FEW = 48, BLOCK = 64, LANES = 8, HALVINGS = 5, MANY = 8192 };

void candidates_carve(struct candidates *c, struct arena *a, int n_vocab)
{
    size_t n = (size_t)n_vocab;
    c->kernels = kernels_active();
    c->n_vocab = n_vocab;
    c->logit = arena_take(a, n * sizeof *c->logit);
    c->weight = arena_take(a, n * sizeof *c->weight);
    c->key = arena_take(a, n * sizeof *c->key);
    c->id = arena_take(a, n * sizeof *c->id);
    c->index = arena_take(a, n * sizeof *c->index);
    c->peak = arena_take(a, n / BLOCK * sizeof *c->peak);
}

void candidates_start(struct candidates *c, const float *logits)
{
    for (int i = 0; i < c->n_vocab; i++) {
        float x = logits[i] < FLT_MAX ? logits[i] : FLT_MAX;
        /* A NaN fails both comparisons; below -FLT_MAX there is only -inf. */
        c->logit[i] = logits[i] >= -FLT_MAX ? x : -INFINITY;
    }
    c->n = c->n_vocab;
    c->all = true;
    c->weighed = false;
}

const float *candidates_logits(struct candidates *c)
{
    if (c->all)
        return c->logit;
    for (int i = 0; i < c->n; i++)
        c->key[i] = c->logit[c->id[i]];
    return c->key;
}

/* In lanes, so that the additions do not wait for each other. */
static double sum_of(const float *x, int n)
{
    double lane[LANES] = {0};
    int i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += (double)x[i + l];
    for (int l = 0; i + l < n; l++)
        lane[l] += (double)x[i + l];
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

bool candidates_weigh(struct candidates *c)
{
    if (c->weighed)
        return true;
    const float *logit = candidates_logits(c);
    c->max = c->kernels->max(logit, (size_t)c->n);
    if (!(c->max >= -FLT_MAX)) {
        c->n = 0;
        return false;
    }
    c->sum = c->kernels->exp_sum(c->weight, logit, (size_t)c->n, c->max, 1);
    c->weighed = true;
    return true;
}

/* The list becomes its places index[0..n-1]. */
static void take(struct candidates *c, int n)
{
    for (int i = 0; i < n; i++) {
        c->id[i] = c->all ? c->index[i] : c->id[c->index[i]];
        c->weight[i] = c->weight[c->index[i]];
    }
    c->all = false;
    c->n = n;
    c->sum = sum_of(c->weight, n);
}

void candidates_keep(struct candidates *c, const float *key, float least, int n_ties)
{
    int found = (int)c->kernels->select(c->index, key, (size_t)c->n, least, INFINITY), kept = 0;
    for (int i = 0; i < found; i++)
        if (key[c->index[i]] > least || n_ties-- > 0)
            c->index[kept++] = c->index[i];
    take(c, kept);
}

struct cut {
    float key;  /* the lowest that stays */
    int n_ties; /* how many of those equal to it stay */
};

/* Few places: in order of key, then of place. */
static void sort(int32_t *index, int n, const float *key)
{
    for (int i = 1; i < n; i++) {
        int32_t x = index[i];
        int j = i;
        for (; j > 0 && key[index[j - 1]] < key[x]; j--)
            index[j] = index[j - 1];
        index[j] = x;
    }
}

static struct cut walk(const int32_t *index, int n, const float *key, const float *weight,
                       double sum, double target)
{
    struct cut cut = {.key = key[index[0]]};
    for (int i = 0; i < n; i++) {
        cut.n_ties = key[index[i]] == cut.key ? cut.n_ties + 1 : 1;
        cut.key = key[index[i]];
        sum += weight ? (double)weight[index[i]] : 1;
        if (sum >= target)
            break;
    }
    return cut;
}

static int bucket_of(float key, float high, double scale)
{
    double b = ((double)high - (double)key) * scale;
    return b < BUCKETS ? (int)b : BUCKETS - 1;
}

/*
 * The cut among the places index[0..n-1], n >= 1, ascending: keys go into buckets from
 * high to low, the one where the weights reach the target is looked at again, until
 * few are left or all are equal. Equal keys never part. low and high may be loose at
 * first; after that they are exact, and each round leaves at least one key out.
 * above is the weight of the keys over all of these.
 */
static struct cut find_cut(int32_t *index, int n, const float *key, const float *weight,
                           double above, double target, float low, float high)
{
    while (n > FEW && low < high) {
        double mass[BUCKETS] = {0};
        double scale = BUCKETS / ((double)high - (double)low);
        for (int i = 0; i < n; i++)
            mass[bucket_of(key[index[i]], high, scale)] += weight ? (double)weight[index[i]] : 1;
        int bucket = 0;
        double before = above;
        for (int b = 0; b < BUCKETS && above < target; b++) {
            if (mass[b] == 0)
                continue;
            /* Where rounding keeps the sum below the target, it is the last one. */
            bucket = b;
            before = above;
            above += mass[b];
        }
        above = before;
        int kept = 0;
        for (int i = 0; i < n; i++)
            if (bucket_of(key[index[i]], high, scale) == bucket)
                index[kept++] = index[i];
        n = kept;
        low = high = key[index[0]];
        for (int i = 1; i < n; i++) {
            low = key[index[i]] < low ? key[index[i]] : low;
            high = key[index[i]] > high ? key[index[i]] : high;
        }
    }
    if (n <= FEW)
        sort(index, n, key);
    return walk(index, n, key, weight, above, target);
}

/* A bound below the k-th highest key, from the highest of each block. */
static float bound_of_best(struct candidates *c, const float *key, int k)
{
    int n_blocks = c->n / BLOCK;
    if (k > n_blocks)
        return -FLT_MAX;
    for (int b = 0; b < n_blocks; b++) {
        c->peak[b] = c->kernels->max(key + (size_t)b * BLOCK, BLOCK);
        c->peak[b] = c->peak[b] > -FLT_MAX ? c->peak[b] : -FLT_MAX;
        c->index[b] = b;
    }
    float high = c->kernels->max(c->peak, (size_t)n_blocks);
    return find_cut(c->index, n_blocks, c->peak, NULL, 0, k, -FLT_MAX, high).key;
}

/*
 * find_cut of many places: where they weigh about the same, buckets of all are slow, so
 * the range of keys is halved a few times first, which is only adding up. False, and
 * the places lost, if rounding keeps the sum below the target.
 */
static bool find_cut_of_many(struct candidates *c, struct cut *cut, const float *key,
                             const float *weight, double target, float low, float top)
{
    float high = INFINITY; /* keys from here on are above the cut */
    double above = 0;
    for (int i = 0; i < HALVINGS; i++) {
        float middle = low / 2 + (high < top ? high : top) / 2;
        double sum = c->kernels->sum_least(weight, key, (size_t)c->n, middle);
        if (sum < target) {
            high = middle;
            above = sum;
        } else {
            low = middle;
        }
    }
    int near = (int)c->kernels->select(c->index, key, (size_t)c->n, low, high);
    if (near > 0)
        *cut = find_cut(c->index, near, key, weight, above, target, low, high < top ? high : top);
    return near > 0;
}

void candidates_keep_best(struct candidates *c, const float *key, const float *weight,
                          double target, float floor)
{
    if (!weight)
        floor = bound_of_best(c, key, target < c->n ? (int)target : c->n);
    if (!(floor >= -FLT_MAX))
        floor = -FLT_MAX;
    int n = (int)c->kernels->select(c->index, key, (size_t)c->n, floor, INFINITY);
    if (n == 0 || (!weight && n <= target)) {
        take(c, n);
        return;
    }
    float high = c->kernels->max(key, (size_t)c->n);
    struct cut cut;
    if (!weight || n < MANY)
        cut = find_cut(c->index, n, key, weight, 0, target, floor, high);
    else if (!find_cut_of_many(c, &cut, key, weight, target, floor, high))
        cut = (struct cut){.key = floor, .n_ties = n};
    candidates_keep(c, key, cut.key, cut.n_ties);
}

int candidates_best(struct candidates *c, int m)
{
    const float *key = candidates_logits(c);
    float bound = bound_of_best(c, key, m < c->n ? m : c->n);
    int n = (int)c->kernels->select(c->index, key, (size_t)c->n, bound, INFINITY), kept = 0;
    if (n > m) {
        float high = c->kernels->max(key, (size_t)c->n);
        struct cut cut = find_cut(c->index, n, key, NULL, 0, m, bound, high);
        n = (int)c->kernels->select(c->index, key, (size_t)c->n, cut.key, INFINITY);
        for (int i = 0; i < n; i++)
            if (key[c->index[i]] > cut.key || cut.n_ties-- > 0)
                c->index[kept++] = c->index[i];
        n = kept;
    }
    sort(c->index, n, key);
    return n;
}

int candidates_draw(const struct candidates *c, double u)
{
    double target = u * c->sum, sum = 0;
    int i = 0;
    for (; i + BLOCK <= c->n; i += BLOCK) {
        double next = sum + sum_of(c->weight + i, BLOCK);
        if (next > target)
            break;
        sum = next;
    }
    int end = c->n - i < BLOCK ? c->n : i + BLOCK;
    for (; i < end; i++) {
        sum += (double)c->weight[i];
        if (sum > target)
            return i;
    }
    /* Rounding kept the sum below the target: the last that weighs anything. */
    do
        i--;
    while (i > 0 && c->weight[i] == 0);
    return i;
}
