#ifndef PRATTLE_TRAIN_DATA_BUNZIP_H
#define PRATTLE_TRAIN_DATA_BUNZIP_H
/*
 * What bzip2 packed, unpacked while it is read: one stream behind the other, zeros behind the last.
 * Blocks are unpacked ahead, by as many threads as the team has, from the second on; what comes of
 * them does not depend on that. Each block is checked by its checksum, and each stream by its own.
 */
#include "train/data/bzip2_parts.h"

struct bunzip {
    struct bzip2_parts parts; /* from the one in progress on */
    const char *why;          /* what is wrong; NULL: `next` has failed */
    bool cut;                 /* this: the file ends too soon */
    uint32_t checksum;        /* of the stream so far */
    bool begun, done;         /* there was a block; there are no more */
    struct buf packed;        /* of a block that this thread unpacks */
    struct buf text;          /* of the block in progress, its bytes from `given` on */
    size_t given;
    struct bunzip_team *team; /* NULL until a second block is asked for; owned */
};
/* next: as bzip2_parts; of a file that bzip2_parts_are. */
void bunzip_open(struct bunzip *b, long (*next)(void *user, const void **bytes), void *user);
void bunzip_close(struct bunzip *b); /* harmless for a zeroed one */
/* Up to n bytes, fewer only at the end. ERR_FORMAT: b->why; ERR_NOMEM. */
int bunzip_read(struct bunzip *b, char *dst, size_t n, size_t *got);

#endif
