#include "model/kernels/peak.h"

#include "model/base/clock.h"
#include "model/base/par.h"
#include "model/kernels/matrix_kernels.h"
#include "model/kernels/peak_kernels.h"

enum { TRIES = 12 };

struct measure {
    const struct peak_kernels *k;
    const char *lines; /* NULL: multiply-adds */
    bool prefetch;
    int n_lines;           /* of 64 bytes */
    double s[TRIES], work; /* seconds, ascending in the end; operations or bytes of a try */
};

/* Times TRIES runs of the whole team, from barrier to barrier. */
static void measure_share(void *arg, int thread, int n_threads)
{
    struct measure *m = arg;
    for (int i = 0; i < TRIES; i++) {
        par_barrier();
        double start = clock_s(), work = 0;
        if (m->lines == NULL) {
            work = m->k->fma_loop(m->k->lanes == 1 ? 100000 : 1000000) * n_threads;
        } else {
            int first, last;
            par_split(m->n_lines, thread, n_threads, &first, &last);
            volatile uint64_t sum =
                m->k->sum_lines(m->lines + 64 * (size_t)first, (size_t)(last - first), m->prefetch);
            (void)sum;
            work = 64.0 * m->n_lines;
        }
        par_barrier();
        if (thread != 0)
            continue;
        const double s = clock_s() - start;
        int at = i;
        for (; at > 0 && m->s[at - 1] > s; at--)
            m->s[at] = m->s[at - 1];
        m->s[at] = s;
        m->work = work;
    }
}

double peak_fma_flops(void)
{
    struct measure m = {.k = peak_kernels()};
    par_run(measure_share, &m);
    return m.work / m.s[0];
}

double peak_stream_bytes(const void *block, size_t bytes)
{
    struct measure m = {.k = peak_kernels(),
                        .lines = block,
                        .prefetch = !matrix_kernels()->hardware_prefetch,
                        .n_lines = (int)(bytes / 64)};
    par_run(measure_share, &m);
    return m.work * 2 / (m.s[(TRIES - 1) / 2] + m.s[TRIES / 2]);
}
