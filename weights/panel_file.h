#ifndef PRATTLE_WEIGHTS_PANEL_FILE_H
#define PRATTLE_WEIGHTS_PANEL_FILE_H
/*
 * An entry of the panel cache, a file of the machine's own byte order:
 *
 *     header     4096 bytes: versions, sizes, the key, the model's name and path
 *     checksums  XXH64 of each chunk of 256 KiB; the header has one of itself and these
 *     block      the weights, from a multiple of 4096 bytes on
 *
 * An entry is written as KEY.tmp, under a lock, synced and renamed to KEY: what has its name is
 * whole. A writer that was killed leaves a KEY.tmp without a lock, which the next one deletes.
 * Every chunk is checked while it is read, each time, since a read that goes through the
 * processor's cache anyway makes the checksum nearly free. Entries are read, not mapped: a file's
 * pages are 4 KiB, with which a pass reads its weights 10 to 15 % slower than in huge pages; and a
 * mapped file that somebody cuts or overwrites would crash the program, or change what a model
 * says.
 */
#include "model/base/dtype.h"
#include "model/base/file.h"
#include "model/base/progress.h"
#include "weights/panel_layout.h"

#include <stddef.h>
#include <stdint.h>

/* What the header says, for a list. */
struct panel_header {
    uint64_t block_bytes;
    enum dtype dtype;
    char name[PANEL_NAME_BYTES], source[PANEL_SOURCE_BYTES];
};

/* Bytes of an entry's file. */
uint64_t panel_file_bytes(uint64_t block_bytes);

/*
 * Fill the block [bytes] by the whole thread team, and mark the entry as used now. ERR_MISSING;
 * ERR_FORMAT: the entry is damaged, or of another version or key; ERR_IO, ERR_NOMEM,
 * ERR_INTERRUPTED. After an error the block may be half filled.
 */
int panel_file_read(const char *path, const char *key, void *block, size_t bytes,
                    const struct progress *p);
/* Header and checksums of an open entry for a block of so many bytes, checked; in fresh memory,
 * also after some errors. Fails as panel_file_read. */
int panel_file_front(char **out, const struct file *f, const char *key, size_t bytes);
/* Delete an entry. */
void panel_file_drop(const char *path);
/* The header alone, unchecked but for its form. ERR_FORMAT, ERR_IO, ERR_MISSING. */
int panel_file_look(struct panel_header *out, const char *path);

#endif
