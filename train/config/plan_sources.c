#include "train/config/plan_sources.h"

#include "model/base/buf.h"
#include "model/base/file.h"

#include <inttypes.h>
#include <stdio.h>

enum { NAME_WIDTH = 28, NAME_BYTES = 96 };

/* Windows drawn from a source before a step. */
static uint64_t count_before(const struct batches *b, int source, uint64_t window)
{
    struct draw_cursor c = {0};
    draw_cursor_move(batches_draws(b), &c, window);
    return draw_cursor_count(batches_draws(b), &c, source);
}

/* ", read 1.35 times" */
static int add_times(struct buf *out, const struct batches *b, int source, uint64_t windows)
{
    const double times = (double)windows / (double)batches_of_source(b, source);
    return windows == 0 ? buf_str(out, ", never read\n")
                        : buf_printf(out, ", read %.*f times\n", times < 0.1 ? 4 : 2, times);
}

static int add_source(struct buf *out, const struct dataset *d, const struct batches *b, int source,
                      uint64_t n_windows)
{
    char name[NAME_BYTES];
    int rc = buf_printf(out, "  %-*s %12" PRIu64 " tokens, %9" PRIu64 " windows", NAME_WIDTH,
                        file_show(name, sizeof name, mixture_path(&d->mixture, source)),
                        d->sources[source].n_tokens, batches_of_source(b, source));
    if (rc != 0)
        return rc;
    return n_windows == 0 ? buf_char(out, '\n')
                          : add_times(out, b, source, count_before(b, source, n_windows));
}

/* How often in a phase that ends with the run, or before it. */
static int add_phase_times(struct buf *out, const struct batches *b, int phase, int source,
                           int64_t n_steps, uint64_t per_step)
{
    const struct draws *w = batches_draws(b);
    int64_t end = draws_phase_end(w, phase);
    end = n_steps > 0 && n_steps < end ? n_steps : end;
    if (end == INT64_MAX)
        return buf_char(out, '\n');
    uint64_t first = (uint64_t)draws_phase_begin(w, phase) * per_step;
    return add_times(out, b, source,
                     count_before(b, source, (uint64_t)end * per_step) -
                         count_before(b, source, first));
}

static int add_phase(struct buf *out, const struct dataset *d, const struct batches *b, int phase,
                     int64_t n_steps, uint64_t per_step)
{
    const struct draws *w = batches_draws(b);
    const int64_t begin = draws_phase_begin(w, phase) + 1, next = draws_phase_end(w, phase);
    const int64_t end = n_steps > 0 && n_steps < next ? n_steps : next;
    char name[NAME_BYTES];
    int rc = end == INT64_MAX ? buf_printf(out, "  steps from %" PRId64 " on\n", begin)
                              : buf_printf(out, "  steps %" PRId64 " to %" PRId64 "\n", begin, end);
    for (int i = 0; i < d->mixture.n_sources && rc == 0; i++) {
        if (draws_share(w, phase, i) == 0)
            continue;
        rc = buf_printf(out, "    %-*s %10.1f %%", NAME_WIDTH,
                        file_show(name, sizeof name, mixture_path(&d->mixture, i)),
                        100 * draws_share(w, phase, i));
        if (rc == 0)
            rc = add_phase_times(out, b, phase, i, n_steps, per_step);
    }
    return rc;
}

int run_config_plan_sources(const struct dataset *d, const struct batches *b, int64_t n_steps,
                            int per_step, struct buf *out)
{
    const struct draws *w = batches_draws(b);
    const uint64_t step = (uint64_t)per_step;
    if (w == NULL)
        return 0;
    int rc = buf_str(out, "sources of the data\n");
    for (int i = 0; i < d->mixture.n_sources && rc == 0; i++)
        rc = add_source(out, d, b, i, (uint64_t)n_steps * step);
    for (int k = 0; k < draws_phases(w) && rc == 0; k++)
        rc = add_phase(out, d, b, k, n_steps, step);
    return rc;
}
