#include "model/base/disk_walk.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { AHEAD = 2, WRITING = 2 };

struct walked {
    struct disk_array *array;
    size_t size;  /* of an element */
    size_t bytes; /* up to the end of the last part, in whole pages */
    struct disk_piece reads[AHEAD + 1], writes[WRITING]; /* of part k: k mod as many */
};

struct disk_walk {
    struct walked arrays[DISK_WALK_ARRAYS];
    int n_arrays, n_parts;
    int n_own;    /* the first of the arrays, owned */
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

static void add_array(struct disk_walk *w, struct disk_array *a, size_t size)
{
    w->arrays[w->n_arrays++] = (struct walked){
        .array = a, .size = size, .bytes = (size_t)disk_round(w->ends[w->n_parts - 1] * size)};
}

static int make_array(struct disk_walk *w, const struct disk_walk_config *c, size_t size)
{
    struct disk_array *a;
    size_t *ends = mem_array((size_t)c->n_parts, sizeof *ends);
    if (ends == NULL)
        return ERR_NOMEM;
    for (int i = 0; i < c->n_parts; i++)
        ends[i] = c->ends[i] * size;
    const struct disk_array_config array = {.what = c->what,
                                            .folder = c->folder,
                                            .queue = w->queue,
                                            .n = c->n_parts,
                                            .ends = ends,
                                            .kept = c->kept};
    int rc = disk_array_new(&a, &array);
    mem_free(ends);
    if (rc == 0)
        add_array(w, a, size);
    return rc;
}

int disk_walk_new(struct disk_walk **out, const struct disk_walk_config *c)
{
    struct disk_walk *w = mem_alloc(sizeof *w);
    *out = NULL;
    if (w == NULL)
        return ERR_NOMEM;
    w->n_parts = c->n_parts;
    w->ends = mem_array((size_t)c->n_parts, sizeof *w->ends);
    int rc = w->ends == NULL ? ERR_NOMEM : disk_queue_open(&w->queue);
    if (rc == 0)
        memcpy(w->ends, c->ends, (size_t)c->n_parts * sizeof *c->ends);
    for (int i = 0; i < c->n_arrays && rc == 0; i++)
        rc = make_array(w, c, c->sizes[i]);
    w->n_own = w->n_arrays;
    if (rc == 0)
        *out = w;
    else
        disk_walk_free(w);
    return rc;
}

static void note_error(struct disk_walk *w, int rc)
{
    if (rc == 0 || w->error != 0)
        return;
    snprintf(w->text, sizeof w->text, "%s", err_text());
    w->error = rc;
}

/* Nothing of array i is on its way to memory any longer. */
static void wait_for_reads(struct disk_walk *w, int i)
{
    for (int k = 0; k <= AHEAD; k++)
        note_error(w, disk_queue_wait(w->queue, &w->arrays[i].reads[k]));
}

static void wait_for_write(struct disk_walk *w, int i, int part)
{
    note_error(w, disk_queue_wait(w->queue, &w->arrays[i].writes[part % WRITING]));
}

void disk_walk_free(struct disk_walk *w)
{
    if (w == NULL)
        return;
    for (int i = 0; i < w->n_arrays; i++) {
        wait_for_reads(w, i);
        for (int part = 0; part < WRITING; part++)
            wait_for_write(w, i, part);
        if (i < w->n_own)
            disk_array_free(w->arrays[i].array);
    }
    disk_queue_close(w->queue);
    mem_free(w->ends);
    mem_free(w);
}

int disk_walk_join(struct disk_walk *w, struct disk_array *a, size_t size)
{
    add_array(w, a, size);
    return w->n_arrays - 1;
}

void *disk_walk_array(const struct disk_walk *w, int i)
{
    return disk_array_data(w->arrays[i].array);
}

/* Pages of a part. */
struct pages {
    size_t first, last;
};

/* Only those that leave memory with the part's section. */
static struct pages clip_pages(const struct disk_walk *w, const struct walked *a, int part,
                               struct pages p)
{
    struct pages own;
    const int section = disk_array_section(a->array, w->ends[part] * a->size - 1);
    disk_array_pages(a->array, section, &own.first, &own.last);
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
    *p = (struct disk_piece){.file = disk_array_file(a->array),
                             .at = pages.first,
                             .bytes = pages.last - pages.first,
                             .data = (char *)disk_array_data(a->array) + pages.first,
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
        wait_for_write(w, i, part);
        if (p.first < p.last && (w->used >> i & 1) != 0)
            mem_clear_map((char *)disk_array_data(a->array) + p.first, p.last - p.first);
    }
}

void disk_walk_begin(struct disk_walk *w, unsigned used, unsigned changed)
{
    w->used = used;
    w->changed = used & changed;
    for (int i = 0; i < w->n_arrays; i++)
        if ((used >> i & 1) != 0)
            note_error(w, disk_array_flush(w->arrays[i].array));
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
        wait_for_reads(w, i);
    for (int part = w->n_parts - WRITING; part < w->n_parts; part++)
        forget_part(w, part);
    for (int i = 0; i < w->n_arrays && w->error != 0; i++) {
        err_set(w->error, "%s", w->text);
        disk_array_fail(w->arrays[i].array, w->error);
    }
    return disk_walk_error(w);
}

int disk_walk_error(const struct disk_walk *w)
{
    return w->error == 0 ? 0 : err_set(w->error, "%s", w->text);
}

int disk_walk_read(struct disk_walk *w, int i, void *to, size_t first, size_t bytes)
{
    return disk_array_read(w->arrays[i].array, to, first, bytes);
}

int disk_walk_write(struct disk_walk *w, int i, const void *from, size_t first, size_t bytes)
{
    return disk_array_write(w->arrays[i].array, from, first, bytes);
}
