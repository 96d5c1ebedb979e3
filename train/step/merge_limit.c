#include "train/step/merge_limit.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"

#include <float.h>
#include <limits.h>
#include <math.h>

enum { PART = 64 };

/* What is held; in Q8_0, some matrices are binary16. A rehearsal of LAMB is not the step bit for
 * bit: a thousandth is left to it. */
static float limit_of(enum dtype held)
{
    return held == DTYPE_F32 ? INFINITY : 0.999f * OPTIMIZER_HALF_LIMIT;
}

static const struct adapter *adapter_of(const struct merge_limit *m)
{
    return m->weights->adapter;
}

static const struct param_tensor *base_of(const struct merge_limit *m, int branch)
{
    return adapter_tensor(&adapter_of(m)->branches[branch], &m->weights->view);
}

/* A branch as it would be with the trial's A and B. */
static struct low_rank trial_branch(const struct merge_limit *m, int branch)
{
    const struct adapter *a = adapter_of(m);
    struct low_rank t = a->branches[branch];
    t.a = (float *)m->trial + (t.a - a->data);
    t.b = (float *)m->trial + (t.b - a->data);
    return t;
}

static double largest_of(const float *x, size_t n, double so_far)
{
    float largest = 0;
    for (size_t i = 0; i < n; i++) {
        const float size = fabsf(x[i]);
        largest = size > largest ? size : largest;
    }
    return fmax(so_far, (double)largest);
}

/* ---- before the first step ---- */

static void measure_share(void *arg, int thread, int n_threads)
{
    struct merge_limit *m = arg;
    for (int i = thread; i < adapter_of(m)->n_branches; i += n_threads) {
        const struct param_tensor *base = base_of(m, i);
        const uint64_t n = (uint64_t)base->rows * (uint64_t)base->cols;
        float part[PART];
        m->largest[i] = 0;
        for (uint64_t at = 0; at < n; at += PART) {
            const size_t count = n - at < PART ? (size_t)(n - at) : PART;
            params_read(base, part, at, count);
            m->largest[i] = largest_of(part, count, m->largest[i]);
        }
    }
}

/* W and rank products of two such elements, up to half the limit. */
static double reach_of(const struct merge_limit *m, int branch)
{
    const struct low_rank *t = &adapter_of(m)->branches[branch];
    const double room = 0.5 * fmin((double)m->limit, (double)FLT_MAX) - m->largest[branch];
    return room > 0 ? sqrt(room / ((double)t->rank * fabs((double)t->scale))) : 0;
}

int merge_limit_init(struct merge_limit *m, const struct weights *w, enum dtype held)
{
    const size_t n = (size_t)w->adapter->n_branches;
    *m = (struct merge_limit){.weights = w,
                              .limit = limit_of(held),
                              .largest = mem_array(n, sizeof *m->largest),
                              .near = mem_array(n, sizeof *m->near),
                              .reach = INFINITY,
                              .refused = INT_MAX};
    if (m->largest == NULL || m->near == NULL) {
        merge_limit_release(m);
        return ERR_NOMEM;
    }
    par_run(measure_share, m);
    for (int i = 0; i < (int)n; i++)
        m->reach = fmin(m->reach, reach_of(m, i));
    return 0;
}

void merge_limit_release(struct merge_limit *m)
{
    mem_free(m->largest);
    mem_free(m->near);
    *m = (struct merge_limit){0};
}

/* ---- a trial ---- */

/* Whether a sum of the branch may come near the limit: no element of row r of A^T B's factors is
 * larger than that row's largest. */
static bool may_reach_limit(const struct merge_limit *m, int branch)
{
    const struct low_rank t = trial_branch(m, branch);
    const size_t K = (size_t)t.K, N = (size_t)t.N;
    double sum = 0;
    for (size_t r = 0; r < (size_t)t.rank; r++)
        sum += largest_of(t.a + r * K, K, 0) * largest_of(t.b + r * N, N, 0);
    sum = m->largest[branch] + fabs((double)t.scale) * sum;
    return !(sum < 0.5 * fmin((double)m->limit, (double)FLT_MAX));
}

/* Whether all of row k of the merged matrix is held. */
static bool row_is_held(const struct merge_limit *m, const struct low_rank *t,
                        const struct param_tensor *base, int k)
{
    bool held = true;
    for (int col = 0; col < t->N && held; col += PART) {
        float part[PART];
        const size_t n = (size_t)(t->N - col < PART ? t->N - col : PART);
        weights_merge(base, t, part, (uint64_t)k * (uint64_t)t->N + (uint64_t)col, n);
        for (size_t i = 0; i < n; i++)
            held &= fabsf(part[i]) < m->limit; /* NaN is not */
    }
    return held;
}

static void refuse_branch(struct merge_limit *m, int branch)
{
    int now = atomic_load(&m->refused);
    while (branch < now && !atomic_compare_exchange_weak(&m->refused, &now, branch))
        ;
}

static void check_share(void *arg, int thread, int n_threads)
{
    struct merge_limit *m = arg;
    const int n = adapter_of(m)->n_branches;
    for (int i = thread; i < n; i += n_threads)
        m->near[i] = may_reach_limit(m, i);
    par_barrier();
    for (int i = 0; i < n; i++) {
        const struct low_rank t = trial_branch(m, i);
        const struct param_tensor *base = m->near[i] ? base_of(m, i) : NULL;
        int first, last;
        par_split(t.K, thread, n_threads, &first, &last);
        for (int k = first; k < last && base != NULL && atomic_load(&m->refused) > i; k++)
            if (!row_is_held(m, &t, base, k))
                refuse_branch(m, i);
    }
}

bool merge_limit_allows(struct merge_limit *m, const float *data)
{
    m->trial = data;
    merge_limit_clear(m);
    par_run(check_share, m);
    return atomic_load(&m->refused) == INT_MAX;
}

void merge_limit_clear(struct merge_limit *m)
{
    atomic_store(&m->refused, INT_MAX);
}

const char *merge_limit_refused(char out[64], const struct merge_limit *m)
{
    const int i = atomic_load(&m->refused);
    return m->weights == NULL || i == INT_MAX
               ? NULL
               : adapter_branch_name(out, &adapter_of(m)->branches[i]);
}
