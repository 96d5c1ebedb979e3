#ifndef PRATTLE_WEIGHTS_PANEL_LAYOUT_H
#define PRATTLE_WEIGHTS_PANEL_LAYOUT_H
/* The bytes of an entry of the panel cache (panel_file.h), for its reader and its writer. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define PANEL_MAGIC "prattle panels\n"

/* Counted up when the format changes, or what fills a block: another rounding, another tensor. */
enum { PANEL_FILE_VERSION = 1 };
enum { PANEL_CHUNK = 256 << 10, PANEL_HEAD = 4096 };
enum { PANEL_KEY_BYTES = 64, PANEL_NAME_BYTES = 256, PANEL_SOURCE_BYTES = 2048 };

struct panel_head {
    char magic[16];
    uint64_t sum; /* XXH64 of the header, with 0 here, and the checksums behind it */
    uint32_t version;
    uint32_t dtype; /* enum dtype */
    uint64_t block_bytes, chunk_bytes;
    char key[PANEL_KEY_BYTES + 8]; /* these texts end in NUL */
    char name[PANEL_NAME_BYTES];
    char source[PANEL_SOURCE_BYTES];
    char unused[PANEL_HEAD - 48 - PANEL_KEY_BYTES - 8 - PANEL_NAME_BYTES - PANEL_SOURCE_BYTES];
};
static_assert(sizeof(struct panel_head) == PANEL_HEAD, "no gaps");

static inline size_t panel_chunks(uint64_t block_bytes)
{
    return (size_t)((block_bytes + PANEL_CHUNK - 1) / PANEL_CHUNK);
}

static inline size_t panel_chunk_bytes(uint64_t block_bytes, size_t chunk)
{
    const uint64_t left = block_bytes - (uint64_t)chunk * PANEL_CHUNK;
    return left < PANEL_CHUNK ? (size_t)left : PANEL_CHUNK;
}

/* Bytes of header and checksums, as they stand at the front of the file and of one buffer. */
static inline size_t panel_front_bytes(uint64_t block_bytes)
{
    return PANEL_HEAD + panel_chunks(block_bytes) * sizeof(uint64_t);
}

static inline uint64_t panel_block_at(uint64_t block_bytes)
{
    return (panel_front_bytes(block_bytes) + PANEL_HEAD - 1) / PANEL_HEAD * PANEL_HEAD;
}

#endif
