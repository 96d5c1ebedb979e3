#include "train/step/weights_disk.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/schema.h"

#include <stdio.h>

enum { ERROR_TEXT = 1024 };

/* One tensor, as a source reads it. */
struct weights_reader {
    const struct weights_disk *d;
    int tensor;
};

/* The first tensor of a section; of the one behind the last: how many there are. */
static int section_tensor(const struct weights_disk *d, int section)
{
    const struct config *c = &d->config;
    if (section == 0)
        return 0;
    return section > c->n_layer + 1
               ? d->n_tensors
               : schema_first_of_layers(c) + (section - 1) * schema_tensors_per_layer(c);
}

size_t weights_disk_first(const struct weights_disk *d, int section)
{
    return d->offset[section_tensor(d, section)] * dtype_bytes(d->dtype);
}

/* As many of L, evenly. */
static bool keeps_layer(int layer, int n_kept, int L)
{
    const int64_t n = n_kept;
    return (layer + 1) * n / L > layer * n / L;
}

static int open_sections(struct disk_array **out, const struct weights_disk *d, const char *what,
                         const char *folder, int n_kept)
{
    const int L = d->config.n_layer, n = L + 2;
    size_t *ends = mem_array((size_t)n, sizeof *ends);
    bool *kept = mem_array((size_t)n, sizeof *kept);
    int rc = ends == NULL || kept == NULL ? ERR_NOMEM : 0;
    for (int i = 0; i < n && rc == 0; i++) {
        ends[i] = weights_disk_first(d, i + 1);
        kept[i] = i == 0 || i == n - 1 || keeps_layer(i - 1, n_kept, L);
    }
    const struct disk_array_config c = {
        .what = what, .folder = folder, .queue = d->queue, .n = n, .ends = ends, .kept = kept};
    if (rc == 0)
        rc = disk_array_new(out, &c);
    mem_free(ends);
    mem_free(kept);
    return rc;
}

int weights_disk_open(struct weights_disk *d, const struct weights_place *place)
{
    d->readers = mem_array((size_t)d->n_tensors, sizeof *d->readers);
    int rc = d->readers == NULL ? ERR_NOMEM : disk_queue_open(&d->queue);
    for (int i = 0; i < d->n_tensors && rc == 0; i++)
        d->readers[i] = (struct weights_reader){d, i};
    if (rc == 0)
        rc = open_sections(&d->block, d, "training weights", place->folder, place->n_kept);
    return rc == 0 ? open_sections(&d->gradients, d, "gradients", place->folder,
                                   place->n_gradients_kept)
                   : rc;
}

void weights_disk_close(struct weights_disk *d)
{
    if (d == NULL)
        return;
    disk_array_free(d->block);
    disk_array_free(d->gradients);
    disk_queue_close(d->queue);
    mem_free(d->readers);
    mem_free(d);
}

int weights_disk_each(const struct weights_disk *d, bool changes,
                      int (*f)(void *user, int first, int last), void *user)
{
    const int n = d->config.n_layer + 2;
    int rc = disk_array_flush(d->block);
    for (int i = 0; i < n && rc == 0; i++) {
        rc = disk_array_enter(d->block, i);
        if (i + 1 < n)
            disk_array_fetch(d->block, i + 1);
        if (rc == 0)
            rc = f(user, section_tensor(d, i), section_tensor(d, i + 1));
        disk_array_leave(d->block, i, changes);
    }
    if (rc == 0)
        return disk_array_flush(d->block);
    /* What was fetched in vain goes, and f's own sentence stays. */
    char text[ERROR_TEXT];
    snprintf(text, sizeof text, "%s", err_text());
    disk_array_flush(d->block);
    return err_set(rc, "%s", text);
}

static int read_tensor(void *user, void *dst, uint64_t first, size_t n)
{
    const struct weights_reader *r = user;
    const size_t each = dtype_bytes(r->d->dtype);
    return disk_array_read(r->d->block, dst, (r->d->offset[r->tensor] + (size_t)first) * each,
                           n * each);
}

void weights_disk_read(const struct weights_disk *d, struct source *s)
{
    for (int i = 0; d != NULL && i < d->n_tensors; i++) {
        s->readers[i].read = read_tensor;
        s->readers[i].user = &d->readers[i];
    }
}
