#include "model/base/disk_speed.h"

#include "model/base/clock.h"
#include "model/base/disk_walk.h"
#include "model/base/err.h"
#include "model/base/progress.h"

enum { ARRAYS = 4, PARTS = 32, PART = (1 << 20) - 12345 /* elements of an array */ };

static int walk(struct disk_walk *w, unsigned changed)
{
    int rc = 0;
    disk_walk_begin(w, (1U << ARRAYS) - 1, changed);
    for (int part = 0; part < PARTS && rc == 0; part++) {
        disk_walk_enter(w, part);
        disk_walk_leave(w, part);
        rc = interrupt_pending() ? err_set(ERR_INTERRUPTED, "interrupted") : 0;
    }
    const int failed = disk_walk_end(w);
    return failed != 0 ? failed : rc;
}

int disk_speed_measure(double *bytes_per_s, const char *folder)
{
    const size_t sizes[ARRAYS] = {sizeof(float), sizeof(float), sizeof(float), sizeof(float)};
    const double all = ARRAYS * (double)PARTS * PART * sizeof(float);
    size_t ends[PARTS];
    struct disk_walk *w;
    for (int i = 0; i < PARTS; i++)
        ends[i] = (size_t)(i + 1) * PART;
    const struct disk_walk_config c = {.what = "disk trial",
                                       .folder = folder,
                                       .n_arrays = ARRAYS,
                                       .sizes = sizes,
                                       .n_parts = PARTS,
                                       .ends = ends};
    int rc = disk_walk_new(&w, &c);
    /* What was never written is not read from anywhere. */
    if (rc == 0)
        rc = walk(w, (1U << ARRAYS) - 1);
    const double begun = clock_s();
    if (rc == 0)
        rc = walk(w, (1U << (ARRAYS - 1)) - 1);
    *bytes_per_s = (2 * all - all / ARRAYS) / (clock_s() - begun);
    disk_walk_free(w);
    return rc;
}
