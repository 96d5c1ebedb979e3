#ifndef PRATTLE_TESTS_PACKED_H
#define PRATTLE_TESTS_PACKED_H
/* Compressed files and archives of tests, and what of them is read as text. */
#include "tests/lib/scratch.h"

#include "model/base/buf.h"

struct archive;

/* A member; type 0: a file. */
struct packed_member {
    const char *name, *text;
    int type; /* AE_IFDIR, AE_IFLNK (to text) */
};

enum { PACK_FILTERS = 4 };
extern const int pack_filters[PACK_FILTERS]; /* libarchive's */
extern const char *const pack_endings[PACK_FILTERS];

/* Write a member of n bytes to an archive in progress. */
void pack_member(struct archive *a, const struct packed_member *m, size_t n);
/* An archive of n members, or, of ARCHIVE_FORMAT_RAW, a compressed file of one. */
void pack_file(const struct scratch *s, const char *name, int format, int filter,
               const struct packed_member *list, size_t n);
/* All documents of a file, "|" behind each. */
int pack_read(struct buf *out, const struct scratch *s, const char *name);
/* Text of many pieces, which compresses to about a third. */
void pack_text(struct buf *text, int lines);

#endif
