#ifndef PRATTLE_TRAIN_DATA_BZIP2_PARTS_H
#define PRATTLE_TRAIN_DATA_BZIP2_PARTS_H
/*
 * The parts of a bzip2 file. It is a string of bits, one stream behind the other; a block, and a
 * stream's end, begin with a mark of 48 bits wherever that falls. Blocks depend on nothing that
 * stands before them. A block may have the bits of a mark inside: then it is found as several
 * parts, of which only all together can be unpacked.
 */
#include "model/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* All the bits that a block can have are fewer. */
enum { BZIP2_MOST_BYTES = 5 << 19 };

struct bzip2_part {
    uint64_t at, bits; /* of the file; it begins with its mark */
    bool end;          /* of a stream; else a block */
    bool cut;          /* no mark follows: the file is at its end, or is none of bzip2 */
};

struct bzip2_parts {
    /* The next bytes of the file: how many, 0 at their end, -1: they cannot be read. */
    long (*next)(void *user, const void **bytes);
    void *user;
    struct buf window; /* bytes of the file, from `from` on */
    uint64_t from;     /* of the file */
    size_t looked;     /* bytes of the window that were searched for marks */
    uint64_t last;     /* the last 64 bits of these */
    struct buf marks;  /* struct bzip2_mark, of the parts that are not dropped */
    bool ended;        /* the file is */
};

/* Whether n bytes begin a file that has a block. */
bool bzip2_parts_are(const char *head, size_t n);

/* The k-th part from here; *got false: there are no more. ERR_FORMAT: next has failed; ERR_NOMEM.
 */
int bzip2_parts_find(struct bzip2_parts *p, size_t k, struct bzip2_part *part, bool *got);
/* The first n of those found are not needed any more. */
void bzip2_parts_drop(struct bzip2_parts *p, size_t n);
void bzip2_parts_release(struct bzip2_parts *p);

/* n bits, at most 56, at that bit of the file, in a part that was found. */
uint64_t bzip2_parts_bits(const struct bzip2_parts *p, uint64_t at, int n);
/* The block of these bits as a stream of its own; one that is cut has no end. ERR_NOMEM. */
int bzip2_parts_copy(const struct bzip2_parts *p, const struct bzip2_part *block, struct buf *out);
/* The checksum that a part has: of a block, or of a stream. */
uint32_t bzip2_parts_checksum(const struct bzip2_parts *p, const struct bzip2_part *part);

#endif
