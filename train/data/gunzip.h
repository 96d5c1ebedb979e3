#ifndef PRATTLE_TRAIN_DATA_GUNZIP_H
#define PRATTLE_TRAIN_DATA_GUNZIP_H
/*
 * What gzip packed (RFC 1952), unpacked while it is read: one member behind the other, zeros behind
 * the last. Each is checked by its CRC and its length, which libarchive passes over.
 */
#include <stdbool.h>
#include <stddef.h>

struct gunzip {
    /* The next packed bytes: how many, 0 at their end, -1: they cannot be read. */
    long (*next)(void *user, const void **bytes);
    void *user;
    const char *why;      /* what is wrong; NULL: next has failed */
    struct z_stream_s *z; /* owned */
    bool inside;          /* a member */
};
/* ERR_NOMEM. */
int gunzip_open(struct gunzip *g, long (*next)(void *user, const void **bytes), void *user);
void gunzip_close(struct gunzip *g);
/* Up to n bytes, fewer only at the end. ERR_FORMAT: g->why. */
int gunzip_read(struct gunzip *g, char *dst, size_t n, size_t *got);

#endif
