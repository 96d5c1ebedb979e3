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

enum { SPOOL_VIEW_BYTES = 1 << 18 };
/* A stretch of a spool in memory, of one that does not change meanwhile. Where the next bytes are
 * asked for closely behind the last ones, more are read at once. Zeroed to begin with. */
struct spool_view {
    char *block;   /* [SPOOL_VIEW_BYTES]; owned */
    uint64_t from; /* [from, from + n) of the spool are in it */
    size_t n;
    uint64_t next; /* behind what was asked for last */
};
void spool_view_release(struct spool_view *v);
/* *out: n bytes at offset, at most SPOOL_VIEW_BYTES, until the next call. Nothing is pending. */
int spool_look(struct spool_view *v, const char **out, const struct spool *s, uint64_t offset,
               size_t n);

#endif
