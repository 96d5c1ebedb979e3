#ifndef PRATTLE_MODEL_BASE_DISK_WALK_H
#define PRATTLE_MODEL_BASE_DISK_WALK_H
/*
 * Arrays that are larger than memory, worked on from their beginning to their end: each has its
 * range of addresses, of which only the part at work has memory, and a working file.
 *
 *     part      0        1         2          3          4     5
 *             [gone] [written] [at work] [read ahead]        [kept]
 *
 *     disk_walk_begin                      reads the first parts
 *     disk_walk_enter(i), ..._leave(i)     for each part in order: it is in memory in between
 *     disk_walk_end                        all is written
 *
 * Parts need not begin at pages: a page that two parts share stays in memory (disk_array.h). After
 * an error nothing more is written, and the arrays are worthless (disk_walk_error).
 */
#include "model/base/disk_array.h"

enum { DISK_WALK_ARRAYS = 4, DISK_WALK_PARTS = 5 /* in memory at once, at most */ };

struct disk_walk;
struct disk_walk_config {
    const char *what;    /* names its arrays (mem_map) */
    const char *folder;  /* has their files */
    int n_arrays;        /* of its own */
    const size_t *sizes; /* [n_arrays], of their elements, in bytes */
    int n_parts;
    const size_t *ends; /* [n_parts], in elements: where each ends */
    const bool *kept;   /* [n_parts] those that stay in memory; NULL: none */
};

/* Its arrays are zero. ERR_NOMEM, ERR_IO (a full disk). */
int disk_walk_new(struct disk_walk **out, const struct disk_walk_config *c);
void disk_walk_free(struct disk_walk *w); /* accepts NULL */
/* One more array, of elements of `size` bytes: borrowed, flushed before each walk that it is used
 * in, and each part of the walk lies in one of its sections. Returns its number. */
int disk_walk_join(struct disk_walk *w, struct disk_array *a, size_t size);
void *disk_walk_array(const struct disk_walk *w, int i);

/* Of a walk. Array number i is bit i of those in use, and of those of them of which what is done
 * to parts stays. To others nothing is to be done. */
void disk_walk_begin(struct disk_walk *w, unsigned used, unsigned changed);
void disk_walk_enter(struct disk_walk *w, int part);
void disk_walk_leave(struct disk_walk *w, int part);
/* Returns disk_walk_error. */
int disk_walk_end(struct disk_walk *w);
/* The first error that there ever was, with its message; 0: none. */
int disk_walk_error(const struct disk_walk *w);

/* Between two walks: `bytes` of array i from byte `first` on, to or from a buffer. */
int disk_walk_read(struct disk_walk *w, int i, void *to, size_t first, size_t bytes);
int disk_walk_write(struct disk_walk *w, int i, const void *from, size_t first, size_t bytes);

#endif
