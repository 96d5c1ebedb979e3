#include "train/data/draws.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double TOTAL_MAX = 1 << 28; /* counts x weights x 2 sources stay below 2^63 */

struct draw_phase {
    int64_t step;                  /* its first */
    uint64_t window;               /* its first */
    uint64_t weights[MIXTURE_MAX]; /* without common factors */
    uint64_t total;
    int n_drawn;                  /* sources with a weight above 0 */
    uint64_t before[MIXTURE_MAX]; /* windows drawn from each in all phases before */
};
struct draws {
    int n_sources, n_phases;
    struct draw_phase *phases; /* [n_phases]; owned */
};

/* ---- weights ---- */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Whether all weights are whole numbers when multiplied by `scale`, and not too large together. */
static bool has_whole_weights(const double *weights, int n, double scale)
{
    double total = 0;
    for (int i = 0; i < n; i++) {
        double x = weights[i] * scale;
        if (fabs(x - round(x)) > 1e-9 * x)
            return false;
        total += round(x);
    }
    return total <= TOTAL_MAX;
}

/* Whole numbers in the place of weights of which one at least is above 0. */
static void resolve_weights(struct draw_phase *p, const double *weights, int n)
{
    double scale = 1, sum = 0;
    int exponent = 0;
    for (int i = 0; i < n; i++)
        sum += weights[i];
    while (scale <= 1e9 && !has_whole_weights(weights, n, scale))
        scale *= 10;
    /* A power of two changes no bit, and the scale of weights of 1e-301 would be infinite. */
    if (scale > 1e9)
        scale = (TOTAL_MAX - MIXTURE_MAX) / frexp(sum, &exponent);
    uint64_t divisor = 0;
    p->total = 0;
    for (int i = 0; i < n; i++) {
        double x = round(ldexp(weights[i], -exponent) * scale);
        p->weights[i] = weights[i] > 0 && x < 1 ? 1 : (uint64_t)x;
        divisor = common_divisor(divisor, p->weights[i]);
        p->n_drawn += p->weights[i] > 0;
    }
    for (int i = 0; i < n; i++)
        p->total += p->weights[i] /= divisor;
}

/* ---- the order within a phase ---- */

/* The source of window number n of a round of which `counts` came before. */
static int next_source(const struct draw_phase *p, int n_sources, const uint64_t *counts,
                       uint64_t n)
{
    const uint64_t d = p->n_drawn > 1 ? 2 * (uint64_t)p->n_drawn - 2 : 1;
    int best = -1;
    uint64_t due = 0; /* of the best, times its weight over the total */
    for (int i = 0; i < n_sources; i++) {
        uint64_t w = p->weights[i];
        /* Ahead by 1 / d: d ((n + 1) w / total - count) >= 1. */
        if (w == 0 || d * (n + 1) * w < (d * counts[i] + 1) * p->total)
            continue;
        uint64_t deadline = d * counts[i] + d - 1;
        if (best < 0 || deadline * p->weights[best] < due * w) {
            best = i;
            due = deadline;
        }
    }
    return best;
}

static void advance_cursor(const struct draw_phase *p, struct draw_cursor *c, int source)
{
    c->counts[source]++;
    c->window++;
    if (++c->n == p->total) {
        memset(c->counts, 0, sizeof c->counts);
        c->n = 0;
        c->rounds++;
    }
}

static void begin_phase(const struct draws *d, struct draw_cursor *c, int phase)
{
    *c = (struct draw_cursor){.window = d->phases[phase].window, .phase = phase};
}

/* Forwards within the phase. */
static void walk_cursor(const struct draws *d, struct draw_cursor *c, uint64_t window)
{
    const struct draw_phase *p = &d->phases[c->phase];
    uint64_t left = window - c->window, rest = p->total - c->n;
    if (left >= rest) {
        left -= rest;
        c->rounds += 1 + left / p->total;
        c->n = 0;
        memset(c->counts, 0, sizeof c->counts);
        c->window = window - left % p->total;
        left %= p->total;
    }
    while (left-- > 0)
        advance_cursor(p, c, next_source(p, d->n_sources, c->counts, c->n));
}

static uint64_t phase_end(const struct draws *d, int phase)
{
    return phase + 1 < d->n_phases ? d->phases[phase + 1].window : UINT64_MAX;
}

/* The phase of a window. */
static int phase_at(const struct draws *d, uint64_t window)
{
    int k = 0;
    while (window >= phase_end(d, k))
        k++;
    return k;
}

void draw_cursor_move(const struct draws *d, struct draw_cursor *c, uint64_t window)
{
    if (window < c->window || window >= phase_end(d, c->phase))
        begin_phase(d, c, phase_at(d, window));
    walk_cursor(d, c, window);
}

uint64_t draw_cursor_count(const struct draws *d, const struct draw_cursor *c, int source)
{
    const struct draw_phase *p = &d->phases[c->phase];
    return p->before[source] + c->rounds * p->weights[source] + c->counts[source];
}

int draw_cursor_next(const struct draws *d, struct draw_cursor *c, uint64_t *before)
{
    if (c->window >= phase_end(d, c->phase))
        begin_phase(d, c, c->phase + 1);
    const struct draw_phase *p = &d->phases[c->phase];
    int source = next_source(p, d->n_sources, c->counts, c->n);
    *before = draw_cursor_count(d, c, source);
    advance_cursor(p, c, source);
    return source;
}

/* ---- phases ---- */

/* In steps; an end at the run's own or behind it is none. */
struct span {
    int64_t from, until;
};

static int resolve_span(struct span *s, const struct mixture_entry *e, int64_t n_steps)
{
    const bool parts = (e->from > 0 && e->from <= 1) || e->until < 1;
    if (parts && n_steps == 0)
        return err_set(ERR_RANGE,
                       "%s is drawn in a fraction of the run, whose length is not known: give FROM "
                       "and UNTIL in steps, or set training.steps or training.epochs",
                       file_quote(e->path));
    s->from = mixture_step(e->from, n_steps);
    s->until = mixture_step(e->until, n_steps);
    if (s->until >= n_steps && (n_steps > 0 || e->until == 1))
        s->until = INT64_MAX;
    /* One of them a fraction of the run, else the words were refused; equal ones may be rounded. */
    if (s->from > s->until)
        return err_set(ERR_RANGE,
                       "%s begins at step %" PRId64 " and ends at step %" PRId64
                       " of a run of %" PRId64 ": FROM must come before UNTIL",
                       file_quote(e->path), s->from + 1, s->until, n_steps);
    return 0;
}

static int compare_steps(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The steps at which a phase begins, in order, each once: at most 2 n + 1. */
static int list_steps(int64_t *steps, const struct span *spans, size_t n, int64_t n_steps)
{
    size_t all = 0;
    int kept = 0;
    steps[all++] = 0;
    for (size_t i = 0; i < n; i++) {
        steps[all++] = spans[i].from;
        steps[all++] = spans[i].until;
    }
    qsort(steps, all, sizeof *steps, compare_steps);
    for (size_t i = 0; i < all; i++)
        if (steps[i] != INT64_MAX && (n_steps == 0 || steps[i] < n_steps) &&
            (kept == 0 || steps[i] != steps[kept - 1]))
            steps[kept++] = steps[i];
    return kept;
}

/* The weights of the sources from `step` on. */
static void add_weights(double *weights, const struct mixture *m, const struct span *spans,
                        const uint64_t *n_windows, int64_t step)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct mixture_entry *e = &m->list[i];
        if (spans[i].from <= step && step < spans[i].until)
            weights[e->source] += isnan(e->weight) ? (double)n_windows[e->source] : e->weight;
    }
}

static int refuse_gap(int64_t from, int64_t until)
{
    return until == INT64_MAX
               ? err_set(ERR_RANGE,
                         "no source of the data has a weight above 0 from step %" PRId64 " on",
                         from + 1)
               : err_set(ERR_RANGE,
                         "no source of the data has a weight above 0 in steps %" PRId64
                         " to %" PRId64,
                         from + 1, until);
}

/* Phase number k, those before it being there. */
static void fill_phase(struct draws *d, int k, const double *weights, int64_t step,
                       uint64_t per_step)
{
    struct draw_phase *p = &d->phases[k];
    struct draw_cursor end = {0};
    p->step = step;
    p->window = (uint64_t)step * per_step;
    resolve_weights(p, weights, d->n_sources);
    if (k == 0)
        return;
    begin_phase(d, &end, k - 1);
    walk_cursor(d, &end, p->window);
    for (int i = 0; i < d->n_sources; i++)
        p->before[i] = draw_cursor_count(d, &end, i);
}

static int fill_phases(struct draws *d, const struct mixture *m, const struct span *spans,
                       const int64_t *steps, int n, const uint64_t *n_windows, int64_t n_steps,
                       uint64_t per_step)
{
    int rc = 0;
    for (int k = 0; k < n && rc == 0; k++) {
        double weights[MIXTURE_MAX] = {0}, sum = 0;
        add_weights(weights, m, spans, n_windows, steps[k]);
        for (int i = 0; i < m->n_sources; i++)
            sum += weights[i];
        if (sum > 0)
            fill_phase(d, k, weights, steps[k], per_step);
        else
            rc = refuse_gap(steps[k], k + 1 < n ? steps[k + 1] : n_steps > 0 ? n_steps : INT64_MAX);
        d->n_phases = k + 1;
    }
    return rc;
}

int draws_new(struct draws **out, const struct mixture *m, const uint64_t *n_windows,
              int64_t n_steps, uint64_t per_step)
{
    struct draws *d = mem_alloc(sizeof *d);
    struct span *spans = mem_array(m->n, sizeof *spans);
    int64_t *steps = mem_array(2 * m->n + 1, sizeof *steps);
    int rc = d == NULL || spans == NULL || steps == NULL ? ERR_NOMEM : 0;
    for (size_t i = 0; i < m->n && rc == 0; i++)
        rc = resolve_span(&spans[i], &m->list[i], n_steps);
    int n = rc == 0 ? list_steps(steps, spans, m->n, n_steps) : 0;
    if (rc == 0 && (d->phases = mem_array((size_t)n, sizeof *d->phases)) == NULL)
        rc = ERR_NOMEM;
    if (rc == 0) {
        d->n_sources = m->n_sources;
        rc = fill_phases(d, m, spans, steps, n, n_windows, n_steps, per_step);
    }
    mem_free(spans);
    mem_free(steps);
    if (rc == 0)
        *out = d;
    else
        draws_free(d);
    return rc;
}

void draws_free(struct draws *d)
{
    if (d == NULL)
        return;
    mem_free(d->phases);
    mem_free(d);
}

bool draws_agree(const struct draws *a, const struct draws *b, uint64_t n)
{
    for (uint64_t window = 0; window < n;) {
        int i = phase_at(a, window), k = phase_at(b, window);
        const struct draw_phase *p = &a->phases[i], *q = &b->phases[k];
        uint64_t end_a = phase_end(a, i), end_b = phase_end(b, k);
        if (p->window != q->window || memcmp(p->weights, q->weights, sizeof p->weights) != 0 ||
            (end_a != end_b && (end_a < n || end_b < n)))
            return false;
        window = end_a < end_b ? end_a : end_b;
    }
    return true;
}

int draws_phases(const struct draws *d)
{
    return d->n_phases;
}
int64_t draws_phase_begin(const struct draws *d, int phase)
{
    return d->phases[phase].step;
}
int64_t draws_phase_end(const struct draws *d, int phase)
{
    return phase + 1 < d->n_phases ? d->phases[phase + 1].step : INT64_MAX;
}
double draws_share(const struct draws *d, int phase, int source)
{
    const struct draw_phase *p = &d->phases[phase];
    return (double)p->weights[source] / (double)p->total;
}
