#ifndef PRATTLE_WEIGHTS_PANEL_WRITE_H
#define PRATTLE_WEIGHTS_PANEL_WRITE_H
/* Writing an entry of the panel cache. */
#include "model/base/dtype.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/*
 * The same in steps, for a block that is never whole in memory: the caller writes it from
 * panel_block_at on, and the chunks' sums.
 */
struct panel_writer {
    char *temp, *path; /* KEY.tmp and KEY; owned */
    char *front;       /* [panel_front_bytes]: header, and the checksums; owned */
    size_t bytes;      /* of the block */
};
/* ERR_NOMEM, which leaves what panel_writer_release frees. */
int panel_writer_prepare(struct panel_writer *w, const char *folder, const char *key, size_t bytes,
                         const struct panel_entry *entry);
void panel_writer_release(struct panel_writer *w);
uint64_t *panel_writer_sums(const struct panel_writer *w); /* [panel_chunks] */
/* The file of this name, locked and empty; -1: another process writes it, or it cannot be made. */
int panel_writer_create(const char *path);
/* Write the front, sync and rename; false: the file is deleted. The descriptor stays open. */
bool panel_writer_commit(const struct panel_writer *w, int fd);

#endif
