#ifndef PRATTLE_WEIGHTS_PANEL_WRITE_H
#define PRATTLE_WEIGHTS_PANEL_WRITE_H
/* Writing an entry of the panel cache. */
#include "model/base/dtype.h"

#include <stdbool.h>
#include <stddef.h>

struct panel_entry {
    enum dtype dtype;
    const char *name, *source; /* of the model; its first file with weights */
};

/*
 * Write the block as an entry of the folder, in a process of its own with a copy of memory; returns
 * at once, unless `waits`. A failure leaves no file, nor does a second writer of the key write.
 */
void panel_write(const char *folder, const char *key, const void *block, size_t bytes,
                 const struct panel_entry *entry, bool waits);

#endif
