/*
 * The k-th block that the team has is the k-th part of the file from here; an end of a stream is
 * given to it as a block of no bytes, so that this is so.
 */
#include "train/data/bunzip.h"

#include "model/base/err.h"
#include "model/base/par.h"
#include "train/data/bunzip_team.h"

#include <string.h>

enum {
    END_BITS = 48 + 32,
    HEADER_BITS = 32, /* of a stream: "BZh9" */
    JOINED_MOST = 16, /* parts of a block: one mark inside of one is rare already */
    MOST_THREADS = 16
};

void bunzip_open(struct bunzip *b, long (*next)(void *user, const void **bytes), void *user)
{
    *b = (struct bunzip){.parts = {.next = next, .user = user}};
}

void bunzip_close(struct bunzip *b)
{
    bunzip_team_free(b->team);
    bzip2_parts_release(&b->parts);
    buf_release(&b->packed);
    buf_release(&b->text);
    *b = (struct bunzip){0};
}

static int set_why(struct bunzip *b, const char *why)
{
    b->why = why;
    return ERR_FORMAT;
}

static int set_cut(struct bunzip *b)
{
    b->cut = true;
    return set_why(b, "it is cut off");
}

/* ---- blocks ---- */

/* Who only looks at the beginning needs no threads. */
static int have_team(struct bunzip *b)
{
    const int n = par_threads() < MOST_THREADS ? par_threads() : MOST_THREADS;
    if (b->team == NULL && b->begun)
        b->team = bunzip_team_new(n == 1 ? 0 : n, n == 1 ? 1 : 2 * n);
    return b->team == NULL && b->begun ? ERR_NOMEM : 0;
}

static int give_blocks(struct bunzip *b)
{
    struct bzip2_part part;
    bool got = true;
    int rc = 0;
    while (rc == 0 && !bunzip_team_is_full(b->team)) {
        rc = bzip2_parts_find(&b->parts, (size_t)bunzip_team_count(b->team), &part, &got);
        if (rc != 0 || !got)
            break;
        struct buf *to = bunzip_team_next(b->team);
        to->n = 0;
        if (!part.end)
            rc = bzip2_parts_copy(&b->parts, &part, to);
        if (rc == 0)
            bunzip_team_give(b->team);
    }
    return rc;
}

/* By this thread, for as long as it takes. */
static int unpack_alone(struct bunzip *b, const struct bzip2_part *block, enum bunzip_result *r)
{
    int rc = bzip2_parts_copy(&b->parts, block, &b->packed);
    if (rc == 0)
        *r = bunzip_block(&b->text, &b->packed, SIZE_MAX);
    return rc;
}

/* A block with the bits of marks inside, or a damaged one: with the parts that follow. *n: of them
 * all, as is right. */
static int unpack_joined(struct bunzip *b, struct bzip2_part block, enum bunzip_result *r, int *n)
{
    struct bzip2_part part;
    bool got;
    int rc = 0;
    for (*n = 1; !block.cut && *n < JOINED_MOST; ++*n) {
        if (*r != BUNZIP_DAMAGED && *r != BUNZIP_CUT)
            return 0;
        if ((rc = bzip2_parts_find(&b->parts, (size_t)*n, &part, &got)) != 0)
            return rc;
        block.bits += part.bits;
        if (part.cut || block.bits / 8 > BZIP2_MOST_BYTES)
            return 0;
        if ((rc = unpack_alone(b, &block, r)) != 0)
            return rc;
    }
    return 0;
}

static int unpack_block(struct bunzip *b, const struct bzip2_part *block)
{
    enum bunzip_result r = BUNZIP_LONG;
    int n = 1, rc = 0;
    if (b->team != NULL)
        r = bunzip_team_take(b->team, &b->text);
    if (r == BUNZIP_LONG)
        rc = unpack_alone(b, block, &r);
    if (rc == 0)
        rc = unpack_joined(b, *block, &r, &n);
    if (rc != 0 || r == BUNZIP_NO_MEMORY)
        return rc != 0 ? rc : err_set(ERR_NOMEM, "no memory to unpack");
    /* Without a mark behind it a block is not whole, even where libarchive is content. */
    if (r != BUNZIP_WHOLE || block->cut)
        return r != BUNZIP_DAMAGED && block->cut && b->parts.ended
                   ? set_cut(b)
                   : set_why(b, "a block is damaged");
    b->checksum = (b->checksum << 1 | b->checksum >> 31) ^ bzip2_parts_checksum(&b->parts, block);
    b->given = 0;
    if (b->team != NULL)
        bunzip_team_drop(b->team, n - 1);
    bzip2_parts_drop(&b->parts, (size_t)n);
    return 0;
}

/* ---- streams ---- */

static bool is_header(uint64_t bits)
{
    return bits >> 8 == 0x425a68 && (bits & 0xff) >= '1' && (bits & 0xff) <= '9';
}

/* Behind the last stream: zeros, if anything, or the beginning of one more. */
static int end_file(struct bunzip *b, uint64_t at, uint64_t end)
{
    const bool begins = end - at >= 8 && bzip2_parts_bits(&b->parts, at, 8) == 'B';
    b->done = true;
    for (; at < end; at += 8)
        if (bzip2_parts_bits(&b->parts, at, 8) != 0)
            return begins ? set_cut(b)
                          : set_why(b, "behind its end there are bytes that bzip2 did not write");
    return 0;
}

static int end_stream(struct bunzip *b, const struct bzip2_part *part)
{
    const uint64_t end = part->at + part->bits, next = (part->at + END_BITS + 7) / 8 * 8;
    if (next > end)
        return part->cut ? set_cut(b) : set_why(b, "its end is damaged");
    if (bzip2_parts_checksum(&b->parts, part) != b->checksum)
        return set_why(b, "its checksum is wrong");
    if (part->cut)
        return end_file(b, next, end);
    if (end - next != HEADER_BITS || !is_header(bzip2_parts_bits(&b->parts, next, HEADER_BITS)))
        return set_why(b, "behind its end there are bytes that bzip2 did not write");
    b->checksum = 0;
    if (b->team != NULL)
        bunzip_team_drop(b->team, 1);
    bzip2_parts_drop(&b->parts, 1);
    return 0;
}

/* The next block, past ends of streams; none: done. */
static int next_block(struct bunzip *b)
{
    struct bzip2_part part = {.end = true};
    bool got;
    int rc = have_team(b);
    while (rc == 0 && part.end && !b->done) {
        if (b->team != NULL)
            rc = give_blocks(b);
        if (rc == 0)
            rc = bzip2_parts_find(&b->parts, 0, &part, &got);
        if (rc == 0)
            rc = part.end ? end_stream(b, &part) : unpack_block(b, &part);
    }
    b->begun = true;
    return rc;
}

int bunzip_read(struct bunzip *b, char *dst, size_t n, size_t *got)
{
    int rc = 0;
    for (*got = 0; *got < n && rc == 0;) {
        const size_t left = b->text.n - b->given, part = left < n - *got ? left : n - *got;
        if (part > 0)
            memcpy(dst + *got, b->text.data + b->given, part);
        b->given += part;
        *got += part;
        if (b->given < b->text.n)
            continue;
        b->text.n = b->given = 0;
        if (b->done)
            break;
        rc = next_block(b);
    }
    return rc;
}
