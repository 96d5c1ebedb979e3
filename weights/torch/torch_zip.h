#ifndef PRATTLE_WEIGHTS_TORCH_TORCH_ZIP_H
#define PRATTLE_WEIGHTS_TORCH_TORCH_ZIP_H
/*
 * The zip around a torch checkpoint (APPNOTE.TXT of PKWARE, with zip64): entries that
 * are stored, not compressed, so that a tensor's bytes can be read where they lie.
 */
#include "model/base/buf.h"
#include "model/base/file.h"

struct zip_entry {
    const char *name; /* in the directory, NUL-terminated */
    uint64_t offset;  /* of its first byte, from the start of the file */
    uint64_t bytes;
};

struct zip {
    struct zip_entry *entries; /* [n], sorted by name; owned */
    int n;
    struct buf directory;
};

/* ERR_FORMAT: no zip, or a broken one, or a name that leaves the archive ("../").
 * ERR_UNSUPPORTED: compressed or encrypted entries, several volumes. All entries lie
 * within the file. */
int zip_open(struct zip *z, const struct file *f);
void zip_close(struct zip *z);
const struct zip_entry *zip_find(const struct zip *z, const char *name); /* NULL: none */

#endif
