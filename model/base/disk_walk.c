#include "model/base/disk_walk.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { AHEAD = 2, WRITING = 2 };

struct walked {
    char *data; /* [bytes], mapped */
    size_t size, bytes;
    struct disk_file file;
    struct disk_array *of; /* has data and file; NULL: they are its own */
    struct disk_piece reads[AHEAD + 1], writes[WRITING]; /* of part k: k mod as many */
};

struct disk_walk {
    struct walked arrays[DISK_WALK_ARRAYS];
    int n_arrays, n_parts;
    size_t *ends; /* [n_parts], owned */
    struct disk_queue *queue;
    unsigned used, changed; /* bit i: array i */
    int error;
    char text[256];
};

/* The bytes up to the end of a part, part -1: 0, to whole pages. */
static size_t end_above(const struct disk_walk *w, const struct walked *a, int part)
{
    return part < 0 ? 0 : (size_t)disk_round(w->ends[part] * a->size);
}

static size_t end_below(const struct disk_walk *w, const struct walked *a, int part)
{
    if (part < 0)
        return 0;
    return part == w->n_parts - 1 ? end_above(w, a, part)
                                  : w->ends[part] * a->size / DISK_UNIT * DISK_UNIT;
}

static int make_array(const struct disk_walk *w, struct walked *a, const char *what,
                      const char *folder)
{
    a->bytes = (size_t)disk_round(w->ends[w->n_parts - 1] * a->size);
    if ((a->data = mem_map(what, a->bytes)) == NULL)
        return ERR_NOMEM;
    mem_map_small(a->data, a->bytes);
    for (int i = 0; i < w->n_parts; i++) {
        const size_t first = i == 0 ? 0 : w->ends[i - 1] * a->size;
        mem_map_apart(a->data + first, w->ends[i] * a->size - first, (size_t)w->n_parts);
    }
    return disk_file_make(&a->file, folder, a->bytes);
}

int disk_walk_new(struct disk_walk **out, const char *what, const char *folder, const size_t *sizes,
                  int n_arrays, const size_t *ends, int n_parts)
{
    struct disk_walk *w = mem_alloc(sizeof *w);
    *out = NULL;
    if (w == NULL)
        return ERR_NOMEM;
    w->n_arrays = n_arrays;
    w->n_parts = n_parts;
    w->ends = mem_array((size_t)n_parts, sizeof *w->ends);
    int rc = w->ends == NULL ? ERR_NOMEM : disk_queue_open(&w->queue);
    if (rc == 0)
        memcpy(w->ends, ends, (size_t)n_parts * sizeof *ends);
    for (int i = 0; i < n_arrays && rc == 0; i++) {
        w->arrays[i].size = sizes[i];
        rc = make_array(w, &w->arrays[i], what, folder);
    }
    if (rc == 0)
        *out = w;
    else
        disk_walk_free(w);
    return rc;
}

void disk_walk_free(struct disk_walk *w)
{
    if (w == NULL)
        return;
    disk_queue_close(w->queue);
    for (int i = 0; i < w->n_arrays; i++)
        if (w->arrays[i].of == NULL) {
            mem_unmap(w->arrays[i].data, w->arrays[i].bytes);
            disk_file_close(&w->arrays[i].file);
        }
    mem_free(w->ends);
    mem_free(w);
}

int disk_walk_join(struct disk_walk *w, struct disk_array *a, size_t size)
{
    w->arrays[w->n_arrays] =
        (struct walked){.data = disk_array_data(a),
                        .size = size,
                        .bytes = (size_t)disk_round(w->ends[w->n_parts - 1] * size),
                        .of = a};
    return w->n_arrays++;
}

void *disk_walk_array(const struct disk_walk *w, int i)
{
    return w->arrays[i].data;
}

static void note_error(struct disk_walk *w, int rc)
{
    if (rc == 0 || w->error != 0)
        return;
    snprintf(w->text, sizeof w->text, "%s", err_text());
    w->error = rc;
}

/* Pages of a part. */
struct pages {
    size_t first, last;
};

/* Of an array with sections only those that leave memory with the part's section. */
static struct pages clip_pages(const struct disk_walk *w, const struct walked *a, int part,
                               struct pages p)
{
    struct pages own;
    if (a->of == NULL)
        return p;
    disk_array_pages(a->of, disk_array_section(a->of, w->ends[part] * a->size - 1), &own.first,
                     &own.last);
    p.first = p.first > own.first ? p.first : own.first;
    p.last = p.last < own.last ? p.last : own.last;
    p.last = p.last > p.first ? p.last : p.first;
    return p;
}

static bool uses_array(const struct disk_walk *w, int i)
{
    return w->error == 0 && (w->used >> i & 1) != 0;
}

static void start_piece(struct disk_walk *w, struct disk_piece *p, struct walked *a,
                        struct pages pages, bool writes)
{
    *p = (struct disk_piece){.file = a->of != NULL ? disk_array_file(a->of) : &a->file,
                             .at = pages.first,
                             .bytes = pages.last - pages.first,
                             .data = a->data + pages.first,
                             .writes = writes};
    if (pages.first < pages.last)
        disk_queue_start(w->queue, p);
}

/* The pages of a part, but for one that it shares with the part before. */
static void read_part(struct disk_walk *w, int part)
{
    for (int i = 0; i < w->n_arrays && part < w->n_parts; i++) {
        struct walked *a = &w->arrays[i];
        const struct pages all = {end_above(w, a, part - 1), end_above(w, a, part)};
        if (uses_array(w, i))
            start_piece(w, &a->reads[part % (AHEAD + 1)], a, clip_pages(w, a, part, all), false);
    }
}

/* What is written of a part goes from memory. */
static void forget_part(struct disk_walk *w, int part)
{
    for (int i = 0; i < w->n_arrays && part >= 0; i++) {
        struct walked *a = &w->arrays[i];
        const struct pages all = {end_below(w, a, part - 1), end_below(w, a, part)},
                           p = clip_pages(w, a, part, all);
        note_error(w, disk_queue_wait(w->queue, &a->writes[part % WRITING]));
        if (p.first < p.last && (w->used >> i & 1) != 0)
            mem_clear_map(a->data + p.first, p.last - p.first);
    }
}

void disk_walk_begin(struct disk_walk *w, bool writes)
{
    const unsigned all = (1U << w->n_arrays) - 1;
    disk_walk_begin_with(w, all, writes ? all : 0);
}

void disk_walk_begin_with(struct disk_walk *w, unsigned used, unsigned changed)
{
    w->used = used;
    w->changed = used & changed;
    for (int i = 0; i < w->n_arrays; i++)
        if (w->arrays[i].of != NULL && (used >> i & 1) != 0)
            note_error(w, disk_array_flush(w->arrays[i].of));
    for (int part = 0; part < AHEAD; part++)
        read_part(w, part);
}

void disk_walk_enter(struct disk_walk *w, int part)
{
    read_part(w, part + AHEAD);
    for (int i = 0; i < w->n_arrays; i++)
        note_error(w, disk_queue_wait(w->queue, &w->arrays[i].reads[part % (AHEAD + 1)]));
}

void disk_walk_leave(struct disk_walk *w, int part)
{
    forget_part(w, part - WRITING);
    for (int i = 0; i < w->n_arrays; i++) {
        struct walked *a = &w->arrays[i];
        const struct pages all = {end_below(w, a, part - 1), end_below(w, a, part)};
        if (uses_array(w, i) && (w->changed >> i & 1) != 0)
            start_piece(w, &a->writes[part % WRITING], a, clip_pages(w, a, part, all), true);
    }
}

int disk_walk_end(struct disk_walk *w)
{
    for (int i = 0; i < w->n_arrays; i++)
        for (int k = 0; k <= AHEAD; k++)
            note_error(w, disk_queue_wait(w->queue, &w->arrays[i].reads[k]));
    for (int part = w->n_parts - WRITING; part < w->n_parts; part++)
        forget_part(w, part);
    for (int i = 0; i < w->n_arrays && w->error != 0; i++)
        if (w->arrays[i].of != NULL) {
            err_set(w->error, "%s", w->text);
            disk_array_fail(w->arrays[i].of, w->error);
        }
    return disk_walk_error(w);
}

int disk_walk_error(const struct disk_walk *w)
{
    return w->error == 0 ? 0 : err_set(w->error, "%s", w->text);
}

/* Through the page cache: a buffer of the caller's lies anywhere. */
int disk_walk_read(struct disk_walk *w, int i, void *to, size_t first, size_t bytes)
{
    struct disk_file plain = w->arrays[i].file;
    plain.use_direct = false;
    return w->error != 0 ? disk_walk_error(w) : disk_file_read(&plain, to, first, bytes);
}

int disk_walk_write(struct disk_walk *w, int i, const void *from, size_t first, size_t bytes)
{
    struct disk_file plain = w->arrays[i].file;
    plain.use_direct = false;
    return w->error != 0 ? disk_walk_error(w) : disk_file_write(&plain, from, first, bytes);
}
