#ifndef PRATTLE_WEIGHTS_TORCH_TORCH_ZIP_H
#define PRATTLE_WEIGHTS_TORCH_TORCH_ZIP_H
/*
 * The zip of a torch checkpoint (APPNOTE.TXT of PKWARE, with zip64). Its entries are stored, not
 * compressed, so that a tensor's bytes can be read in place.
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

/* Read the directory; all entries are then known to lie within the file. ERR_FORMAT: no zip, a
 * broken one, or a name that leaves the archive ("../"). ERR_UNSUPPORTED: compressed or encrypted
 * entries, or several volumes. */
int zip_open(struct zip *z, const struct file *f);
void zip_close(struct zip *z);
const struct zip_entry *zip_find(const struct zip *z, const char *name); /* NULL: none */

#endif
