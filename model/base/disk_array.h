#ifndef PRATTLE_MODEL_BASE_DISK_ARRAY_H
#define PRATTLE_MODEL_BASE_DISK_ARRAY_H
/*
 * An array that is larger than memory, in sections that are worked on one after another: it has a
 * range of addresses, of which only some has memory, and a working file for the rest.
 *
 *     section     0       1       2       3       4
 *              [kept] [written] [entered] [fetched] [away]
 *
 *     disk_array_fetch(a, 3)          begins to read it ahead of its use
 *     disk_array_enter(a, 3)          it is in memory until it is left
 *     disk_array_leave(a, 3, true)    it is written, and then its memory goes
 *
 * A page in which one section ends and the next begins stays in memory, as do sections that are
 * kept; neither is in the file. After an error nothing more is read or written, and what is away is
 * lost (disk_array_error). All of this by one thread.
 */
#include "model/base/disk_queue.h"

/* Sections that were left and changed stay in memory until so many others of the array are. */
enum { DISK_ARRAY_LEAVING = 2 };

struct disk_array;
struct disk_array_config {
    const char *what;         /* names it (mem_map) */
    const char *folder;       /* has the working file */
    struct disk_queue *queue; /* borrowed; must outlive it */
    int n;                    /* sections */
    const size_t *ends;       /* [n], in bytes */
    const bool *kept;         /* [n] sections that stay in memory; NULL: none */
};

/* All of it is zero. ERR_NOMEM, ERR_IO (a full disk). */
int disk_array_new(struct disk_array **out, const struct disk_array_config *c);
void disk_array_free(struct disk_array *a); /* accepts NULL */
void *disk_array_data(const struct disk_array *a);
/* The bytes of a section that are in memory while it is entered alone: pages from *first to *last,
 * which are equal where there are none. */
void disk_array_pages(const struct disk_array *a, int section, size_t *first, size_t *last);
/* The section of a byte. */
int disk_array_section(const struct disk_array *a, size_t at);
const struct disk_file *disk_array_file(const struct disk_array *a);

/* One that is there, or on its way, already: nothing. */
void disk_array_fetch(struct disk_array *a, int section);
/* Returns disk_array_error. */
int disk_array_enter(struct disk_array *a, int section);
/* The same, of zeros, without reading. */
int disk_array_enter_zero(struct disk_array *a, int section);
/* changed false: it is in the file as it is. */
void disk_array_leave(struct disk_array *a, int section, bool changed);
/* What was left is written and gone, and what was fetched in vain. Returns disk_array_error. */
int disk_array_flush(struct disk_array *a);
/* The first error that there ever was, with its message; 0: none. */
int disk_array_error(const struct disk_array *a);
/* For an error of what else is done to the file (disk_walk.h). */
void disk_array_fail(struct disk_array *a, int rc);

/* to [bytes] = those from `first` on, wherever they are; nothing is entered. */
int disk_array_read(struct disk_array *a, void *to, size_t first, size_t bytes);
/* The other way. */
int disk_array_write(struct disk_array *a, const void *from, size_t first, size_t bytes);

#endif
