#include "sampling/chain/candidates.h"

#include "model/kernels/sampling_kernels.h"

#include <float.h>
#include <math.h>
#include <string.h>

/*
 * Cutting the list to its best entries, without sorting it:
 *
 *   1. narrow    by count: only keys above the k-th highest block maximum (best_key_bound);
 *                by weight: only a range of keys guessed from a sample (guess_range) or found by
 *                halving (halve_range), and halved again among its own keys (narrow_range)
 *   2. bucket    distribute these keys over BUCKETS from high to low, descend into the bucket where
 *                the target is reached, and again, until FEW are left or all are equal (find_cut)
 *   3. walk      sort the few and add up until the target is reached (walk_places)
 *
 * A guess that turns out wrong (the cut is not within the range) is replaced by halving. Equal keys
 * are never separated before step 3, where the lowest ids stay. Sums run in lanes, in the order of
 * the list or of the one that was cut, so a result depends on the candidates alone.
 */

enum { BUCKETS = 2048, FEW = 48, SEVERAL = 128, BLOCK = 64 };
enum { LANES = 8, HALVINGS = 8, FEW_HALVINGS = 3, MANY = 8192 };
/* A sample has RUN adjacent places out of every SPACING. */
enum { RUN = 16, SPACING = 256 };

/* Of c->part: a sample, or MANY keys with their weights. */
static size_t part_length(size_t n_vocab)
{
    const size_t sample = n_vocab / 8 + 2 * RUN, whole = 2 * n_vocab;
    return sample > 2 * MANY ? sample : whole < 2 * MANY ? whole + 2 * RUN : 2 * MANY;
}

void candidates_carve(struct candidates *c, struct arena *a, int n_vocab)
{
    size_t n = (size_t)n_vocab;
    c->kernels = sampling_kernels();
    c->n_vocab = n_vocab;
    c->logit = arena_take(a, n * sizeof *c->logit);
    c->weight = arena_take(a, n * sizeof *c->weight);
    c->key = arena_take(a, n * sizeof *c->key);
    c->id = arena_take(a, n * sizeof *c->id);
    c->index = arena_take(a, n * sizeof *c->index);
    c->part = arena_take(a, part_length(n) * sizeof *c->part);
}

void candidates_start(struct candidates *c, const float *logits)
{
    c->high = c->kernels->sanitize(c->logit, logits, (size_t)c->n_vocab);
    c->n = c->n_vocab;
    c->all = c->measured = true;
    c->weighed = false;
}

float candidates_high(struct candidates *c)
{
    if (!c->measured)
        c->high = c->kernels->max(candidates_logits(c), (size_t)c->n);
    c->measured = true;
    return c->high;
}

const float *candidates_logits(struct candidates *c)
{
    if (c->all)
        return c->logit;
    for (int i = 0; i < c->n; i++)
        c->key[i] = c->logit[c->id[i]];
    return c->key;
}

/* In lanes, so that the additions are independent. */
static double sum_weights(const float *x, int n)
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
    c->max = candidates_high(c);
    if (!(c->max >= -FLT_MAX)) {
        c->n = 0;
        return false;
    }
    c->sum = c->kernels->exp_sum(c->weight, candidates_logits(c), (size_t)c->n, c->max, 1);
    c->weighed = true;
    return true;
}

/* The list becomes that of its places index[0..n-1]. */
static void list_places(struct candidates *c, int n)
{
    if (c->all) {
        token_id *id = c->id;
        c->id = c->index;
        c->index = id;
    } else {
        for (int i = 0; i < n; i++)
            c->id[i] = c->id[c->index[i]];
    }
    c->all = c->measured = false;
    c->n = n;
}

/* Keep the places index[0..n-1] of the list, and their weights. */
static void take_places(struct candidates *c, int n)
{
    c->kernels->gather(c->weight, c->weight, c->index, (size_t)n);
    c->sum = sum_weights(c->weight, n);
    list_places(c, n);
}

struct cut {
    float key;     /* the lowest that stays */
    int n_ties;    /* how many of those equal to it stay */
    int n_equal;   /* of how many */
    double weight; /* of what stays */
};

static void keep_cut(struct candidates *c, const float *key, const struct cut *cut)
{
    const struct sampling_kernels *k = c->kernels;
    const size_t n = (size_t)c->n;
    if (cut->n_ties == cut->n_equal) {
        list_places(c, (int)k->keep(c->index, c->weight, key, n, cut->key, &c->sum));
        return;
    }
    int found = (int)k->select(c->index, key, n, cut->key, INFINITY);
    int n_ties = cut->n_ties, kept = 0;
    for (int i = 0; i < found; i++)
        if (key[c->index[i]] > cut->key || n_ties-- > 0)
            c->index[kept++] = c->index[i];
    take_places(c, kept);
}

void candidates_keep(struct candidates *c, const float *key, float least)
{
    keep_cut(c, key, &(struct cut){.key = least});
}

/* Sort few places by descending key; equal keys stay in order of place. */
static void sort_places(int32_t *index, int n, const float *key)
{
    for (int i = 1; i < n; i++) {
        int32_t x = index[i];
        int j = i;
        for (; j > 0 && key[index[j - 1]] < key[x]; j--)
            index[j] = index[j - 1];
        index[j] = x;
    }
}

/* The places are in order of key, or all keys are equal. */
static struct cut walk_places(const int32_t *index, int n, const float *key, const float *weight,
                              double sum, double target)
{
    struct cut cut = {.key = key[index[0]], .weight = sum};
    int i = 0;
    do {
        cut.n_ties = key[index[i]] == cut.key ? cut.n_ties + 1 : 1;
        cut.key = key[index[i]];
        cut.weight += weight ? (double)weight[index[i]] : 1;
        i++;
    } while (i < n && cut.weight < target);
    for (cut.n_equal = cut.n_ties; i < n && key[index[i]] == cut.key; i++)
        cut.n_equal++;
    return cut;
}

static int key_bucket(float key, float high, double scale, int n)
{
    double b = ((double)high - (double)key) * scale;
    return b < n ? (int)b : n - 1;
}

/*
 * The cut among the places index[0..n-1], n >= 1, ascending. low and high bound the keys, loosely
 * at first; from the second round on they are exact, so that each round excludes at least one key.
 * above is the weight of all keys higher than these.
 */
static struct cut find_cut(int32_t *index, int n, const float *key, const float *weight,
                           double above, double target, float low, float high)
{
    while (n > FEW && low < high) {
        const int buckets = n < BUCKETS ? n : BUCKETS;
        double mass[BUCKETS];
        double scale = buckets / ((double)high - (double)low);
        memset(mass, 0, (size_t)buckets * sizeof *mass);
        for (int i = 0; i < n; i++)
            mass[key_bucket(key[index[i]], high, scale, buckets)] +=
                weight ? (double)weight[index[i]] : 1;
        int bucket = 0;
        double before = above;
        for (int b = 0; b < buckets && above < target; b++) {
            if (mass[b] == 0)
                continue;
            /* If rounding keeps the sum below the target, this ends with the last bucket. */
            bucket = b;
            before = above;
            above += mass[b];
        }
        above = before;
        int kept = 0;
        for (int i = 0; i < n; i++) {
            index[kept] = index[i];
            kept += key_bucket(key[index[kept]], high, scale, buckets) == bucket;
        }
        n = kept;
        low = high = key[index[0]];
        for (int i = 1; i < n; i++) {
            low = key[index[i]] < low ? key[index[i]] : low;
            high = key[index[i]] > high ? key[index[i]] : high;
        }
    }
    if (n <= FEW)
        sort_places(index, n, key);
    return walk_places(index, n, key, weight, above, target);
}

/* A bound below the k-th highest key, from the highest of each block. */
static float best_key_bound(struct candidates *c, const float *key, int k)
{
    int n_blocks = c->n / BLOCK;
    if (k > n_blocks)
        return -FLT_MAX;
    for (int b = 0; b < n_blocks; b++) {
        c->part[b] = c->kernels->max(key + (size_t)b * BLOCK, BLOCK);
        c->part[b] = c->part[b] > -FLT_MAX ? c->part[b] : -FLT_MAX;
        c->index[b] = b;
    }
    float high = c->kernels->max(c->part, (size_t)n_blocks);
    return find_cut(c->index, n_blocks, c->part, NULL, 0, k, -FLT_MAX, high).key;
}

/* Keys and their weights. */
struct keys {
    const float *key, *weight;
    int n;
};

/* Keys in which a cut lies: those from high on weigh `above`, less than the target;
 * high INFINITY: none. */
struct range {
    float low, high;
    double above;
};

/* Halve a range so many times by sums alone. top is the highest key; before: the weight of higher
 * keys that are none of these. */
static struct range halve_range(const struct sampling_kernels *k, const struct keys *of,
                                struct range r, float top, double before, double target, int times)
{
    for (int i = 0; i < times; i++) {
        float middle = r.low / 2 + (r.high < top ? r.high : top) / 2;
        double sum = before + k->sum_least(of->weight, of->key, (size_t)of->n, middle);
        if (sum < target) {
            r.high = middle;
            r.above = sum;
        } else {
            r.low = middle;
        }
    }
    return r;
}

/*
 * Narrow the range by a sample: it is taken to hold its share of the weight below the cut, give or
 * take a fifth. False if few keys are in the range anyway.
 */
static bool guess_range(struct candidates *c, const struct keys *of, struct range *r, float top,
                        double target)
{
    const struct sampling_kernels *k = c->kernels;
    float *key = c->part, *weight = c->part + of->n / RUN + RUN;
    int n = 0;
    for (int i = 0; i + RUN <= of->n; i += SPACING, n += RUN) {
        memcpy(key + n, of->key + i, RUN * sizeof *key);
        memcpy(weight + n, of->weight + i, RUN * sizeof *weight);
    }
    const struct keys sample = {key, weight, n};
    const struct range over = {.low = r->low, .high = INFINITY};
    double above = (double)k->select(c->index, key, (size_t)n, r->low, INFINITY);
    if (above * of->n < (double)MANY * n)
        return false;
    double whole = k->sum_least(weight, key, (size_t)n, -FLT_MAX);
    double below = (c->sum - target) * n / of->n;
    r->low = halve_range(k, &sample, over, top, 0, whole - 0.8 * below, HALVINGS).low;
    r->high = halve_range(k, &sample, over, top, 0, whole - 1.2 * below, HALVINGS).high;
    r->above = k->sum_least(of->weight, of->key, (size_t)of->n, r->high);
    return true;
}

/* Halve a range that has the places index[0..n-1] by sums of these alone. Returns how many are
 * left. */
static int narrow_range(struct candidates *c, int n, const struct keys *of, struct range *r,
                        float top, double target)
{
    const struct sampling_kernels *k = c->kernels;
    float *key = c->part, *weight = c->part + n;
    k->gather(key, of->key, c->index, (size_t)n);
    k->gather(weight, of->weight, c->index, (size_t)n);
    const struct keys here = {key, weight, n};
    const struct range half = halve_range(k, &here, *r, top, r->above, target, HALVINGS);
    int kept = 0;
    for (int i = 0; i < n; i++) {
        c->index[kept] = c->index[i];
        kept += (key[i] >= half.low) & (key[i] < half.high);
    }
    *r = half;
    return kept;
}

/* The cut in a range; false if nothing is there. */
static bool find_cut_within(struct candidates *c, struct cut *cut, const struct keys *of,
                            const struct range *r, float top, double target)
{
    struct range here = *r;
    int n = (int)c->kernels->select(c->index, of->key, (size_t)of->n, r->low, r->high);
    if (n > SEVERAL && n <= MANY)
        n = narrow_range(c, n, of, &here, top, target);
    if (n > 0)
        *cut = find_cut(c->index, n, of->key, of->weight, here.above, target, here.low,
                        here.high < top ? here.high : top);
    return n > 0;
}

/* Bucketing all of many places of similar weight is slow: narrow the range first, by a guess or, if
 * that fails, by halving. */
static struct cut find_cut_by_weight(struct candidates *c, const struct keys *of, double target,
                                     float floor, float top)
{
    const struct range whole = {.low = floor, .high = INFINITY};
    struct range r = whole;
    struct cut cut;
    if (of->n >= MANY && guess_range(c, of, &r, top, target)) {
        if (r.above < target && find_cut_within(c, &cut, of, &r, top, target) &&
            cut.weight >= target)
            return cut;
        r = halve_range(c->kernels, of, whole, top, 0, target, HALVINGS);
    } else if (of->n < MANY && of->n > SEVERAL) {
        r = halve_range(c->kernels, of, whole, top, 0, target, FEW_HALVINGS);
    }
    if (find_cut_within(c, &cut, of, &r, top, target))
        return cut;
    return (struct cut){.key = floor}; /* rounding keeps the sum below the target */
}

/* The lowest key above minus infinity. */
static float least_key(const float *key, int n)
{
    float least = FLT_MAX;
    for (int i = 0; i < n; i++) {
        float x = key[i] >= -FLT_MAX ? key[i] : FLT_MAX;
        least = x < least ? x : least;
    }
    return least;
}

void candidates_keep_best(struct candidates *c, const float *key, const float *weight,
                          double target, float floor)
{
    float top = key == c->logit ? candidates_high(c) : c->kernels->max(key, (size_t)c->n);
    if (!weight)
        floor = best_key_bound(c, key, target < c->n ? (int)target : c->n);
    if (!(floor > -FLT_MAX))
        floor = least_key(key, c->n);
    struct cut cut;
    if (weight) {
        cut = find_cut_by_weight(c, &(struct keys){key, weight, c->n}, target, floor, top);
    } else {
        int n = (int)c->kernels->select(c->index, key, (size_t)c->n, floor, INFINITY);
        if (n <= target) {
            take_places(c, n);
            return;
        }
        cut = find_cut(c->index, n, key, NULL, 0, target, floor, top);
    }
    keep_cut(c, key, &cut);
}

int candidates_best(struct candidates *c, int m)
{
    const float *key = candidates_logits(c);
    float bound = best_key_bound(c, key, m < c->n ? m : c->n);
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
    sort_places(c->index, n, key);
    return n;
}

int candidates_draw(const struct candidates *c, double u)
{
    double target = u * c->sum, sum = 0;
    int i = 0;
    for (; i + BLOCK <= c->n; i += BLOCK) {
        double next = sum + sum_weights(c->weight + i, BLOCK);
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
    /* Rounding kept the sum below the target: take the last entry with any weight. */
    do
        i--;
    while (i > 0 && c->weight[i] == 0);
    return i;
}
