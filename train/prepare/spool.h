#ifndef PRATTLE_TRAIN_PREPARE_SPOOL_H
#define PRATTLE_TRAIN_PREPARE_SPOOL_H
/*
 * A file that grows at its end and is read anywhere: what a preparation has done so far, for this
 * process and for one that goes on after it.
 */
#include "model/base/buf.h"

#include <stdint.h>

struct spool {
    int fd;
    char *path;         /* owned; NULL: closed */
    uint64_t at;        /* bytes so far */
    struct buf pending; /* the last of them, not written yet */
};
/* Open the file at path, created if it is missing, with its first `bytes` bytes. ERR_IO;
 * ERR_FORMAT: it has fewer. */
int spool_open(struct spool *s, const char *path, uint64_t bytes);
void spool_close(struct spool *s); /* what was not synced may be lost */
int spool_write(struct spool *s, const void *bytes, size_t n);
/* Forget what stands behind the first `bytes` bytes. */
int spool_cut(struct spool *s, uint64_t bytes);
/* Write what is pending; and make it durable. */
int spool_flush(struct spool *s);
int spool_sync(struct spool *s);
/* Read n bytes at offset; nothing of these is pending. */
int spool_read(const struct spool *s, void *dst, uint64_t offset, size_t n);

#endif
