#include "model/base/disk_array.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <stdio.h>
#include <string.h>

enum section_state { AWAY, READING, HERE, LEAVING };

struct array_section {
    size_t first, last; /* bytes */
    bool kept;
    enum section_state state;
    struct disk_piece io;
};

struct disk_array {
    char *data;
    size_t bytes;
    struct disk_file file;
    struct disk_queue *queue;
    struct array_section *sections; /* [n] */
    int n;
    int leaving[DISK_ARRAY_LEAVING], n_leaving; /* the oldest first */
    int error;
    char text[256];
};

static bool keeps_all(const struct disk_array_config *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->kept == NULL || !c->kept[i])
            return false;
    return true;
}

/* Of each run of sections that come and go. */
static void map_pages(struct disk_array *a)
{
    for (int i = 0, end; i < a->n; i = end + 1) {
        for (end = i; end < a->n && !a->sections[end].kept; end++)
            ;
        if (i == end)
            continue;
        const size_t first = a->sections[i].first;
        mem_map_small(a->data + first, a->sections[end - 1].last - first);
        for (; i < end; i++)
            mem_map_apart(a->data + a->sections[i].first,
                          a->sections[i].last - a->sections[i].first, (size_t)a->n);
    }
}

static int map_array(struct disk_array *a, const struct disk_array_config *c)
{
    a->bytes = (size_t)disk_round(c->ends[c->n - 1]);
    if ((a->data = mem_map(c->what, a->bytes)) == NULL)
        return ERR_NOMEM;
    if (keeps_all(c))
        return 0;
    map_pages(a);
    int rc = disk_file_make(&a->file, c->folder, a->bytes);
    return rc == 0 ? 0 : err_wrap("cannot keep the %s on disk", c->what);
}

int disk_array_new(struct disk_array **out, const struct disk_array_config *c)
{
    struct disk_array *a = mem_alloc(sizeof *a);
    *out = NULL;
    if (a == NULL)
        return ERR_NOMEM;
    a->queue = c->queue;
    a->n = c->n;
    a->sections = mem_array((size_t)c->n, sizeof *a->sections);
    int rc = a->sections == NULL ? ERR_NOMEM : 0;
    for (int i = 0; i < c->n && rc == 0; i++)
        a->sections[i] = (struct array_section){.first = i == 0 ? 0 : c->ends[i - 1],
                                                .last = c->ends[i],
                                                .kept = c->kept != NULL && c->kept[i]};
    if (rc == 0)
        rc = map_array(a, c);
    if (rc == 0)
        *out = a;
    else
        disk_array_free(a);
    return rc;
}

void disk_array_free(struct disk_array *a)
{
    if (a == NULL)
        return;
    for (int i = 0; i < a->n && a->sections != NULL; i++)
        disk_queue_wait(a->queue, &a->sections[i].io);
    mem_unmap(a->data, a->bytes);
    disk_file_close(&a->file);
    mem_free(a->sections);
    mem_free(a);
}

void *disk_array_data(const struct disk_array *a)
{
    return a->data;
}

const struct disk_file *disk_array_file(const struct disk_array *a)
{
    return &a->file;
}

void disk_array_pages(const struct disk_array *a, int section, size_t *first, size_t *last)
{
    const struct array_section *s = &a->sections[section];
    *first = (size_t)disk_round(s->first);
    *last = section + 1 == a->n ? a->bytes : s->last / DISK_UNIT * DISK_UNIT;
    if (s->kept || *last < *first)
        *last = *first;
}

int disk_array_section(const struct disk_array *a, size_t at)
{
    int from = 0, to = a->n - 1;
    while (from < to) {
        const int middle = from + (to - from) / 2;
        if (a->sections[middle].last <= at)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* ---- errors ---- */

void disk_array_fail(struct disk_array *a, int rc)
{
    if (rc == 0 || a->error != 0)
        return;
    snprintf(a->text, sizeof a->text, "%s", err_text());
    a->error = rc;
}

int disk_array_error(const struct disk_array *a)
{
    return a->error == 0 ? 0 : err_set(a->error, "%s", a->text);
}

/* ---- sections come and go ---- */

static void start_transfer(struct disk_array *a, int section, bool writes)
{
    size_t first, last;
    disk_array_pages(a, section, &first, &last);
    a->sections[section].io = (struct disk_piece){.file = &a->file,
                                                  .at = first,
                                                  .bytes = last - first,
                                                  .data = a->data + first,
                                                  .writes = writes};
    if (first < last && a->error == 0)
        disk_queue_start(a->queue, &a->sections[section].io);
}

static void wait_for(struct disk_array *a, int section)
{
    disk_array_fail(a, disk_queue_wait(a->queue, &a->sections[section].io));
}

/* What is written, or was not changed, goes from memory. */
static void forget_section(struct disk_array *a, int section)
{
    size_t first, last;
    disk_array_pages(a, section, &first, &last);
    if (first < last)
        mem_clear_map(a->data + first, last - first);
    a->sections[section].state = AWAY;
}

static void drop_leaving(struct disk_array *a, int at)
{
    a->n_leaving--;
    memmove(a->leaving + at, a->leaving + at + 1, (size_t)(a->n_leaving - at) * sizeof *a->leaving);
}

static void forget_oldest(struct disk_array *a)
{
    const int section = a->leaving[0];
    wait_for(a, section);
    forget_section(a, section);
    drop_leaving(a, 0);
}

void disk_array_fetch(struct disk_array *a, int section)
{
    struct array_section *s = &a->sections[section];
    if (s->kept || s->state != AWAY)
        return;
    start_transfer(a, section, false);
    s->state = READING;
}

int disk_array_enter(struct disk_array *a, int section)
{
    struct array_section *s = &a->sections[section];
    disk_array_fetch(a, section);
    for (int i = 0; i < a->n_leaving && s->state == LEAVING; i++)
        if (a->leaving[i] == section) {
            drop_leaving(a, i);
            break;
        }
    if (!s->kept && s->state != HERE)
        wait_for(a, section);
    s->state = HERE;
    return disk_array_error(a);
}

int disk_array_enter_zero(struct disk_array *a, int section)
{
    struct array_section *s = &a->sections[section];
    if (s->kept || s->state != AWAY) {
        disk_array_enter(a, section);
        memset(a->data + s->first, 0, s->last - s->first);
        return disk_array_error(a);
    }
    size_t first, last;
    disk_array_pages(a, section, &first, &last);
    /* Its pages have no memory, and are zero. */
    if (first < last) {
        memset(a->data + s->first, 0, first - s->first);
        memset(a->data + last, 0, last < s->last ? s->last - last : 0);
    } else {
        memset(a->data + s->first, 0, s->last - s->first);
    }
    s->state = HERE;
    return disk_array_error(a);
}

void disk_array_leave(struct disk_array *a, int section, bool changed)
{
    struct array_section *s = &a->sections[section];
    if (s->kept || s->state != HERE)
        return;
    if (!changed) {
        forget_section(a, section);
        return;
    }
    if (a->n_leaving == DISK_ARRAY_LEAVING)
        forget_oldest(a);
    start_transfer(a, section, true);
    s->state = LEAVING;
    a->leaving[a->n_leaving++] = section;
}

int disk_array_flush(struct disk_array *a)
{
    while (a->n_leaving > 0)
        forget_oldest(a);
    for (int i = 0; i < a->n; i++)
        if (a->sections[i].state == READING) {
            wait_for(a, i);
            forget_section(a, i);
        }
    return disk_array_error(a);
}

/* ---- bytes ---- */

/* Some bytes of the array, and a buffer that they are copied to or from. */
struct copied {
    size_t first, last;
    char *to;         /* NULL: they are written */
    const char *from; /* NULL: they are read */
};

static void copy_here(struct disk_array *a, const struct copied *c)
{
    if (c->to != NULL)
        memcpy(c->to, a->data + c->first, c->last - c->first);
    else
        memcpy(a->data + c->first, c->from, c->last - c->first);
}

/* Its bytes from `first` to `last`, none if they are not in that order. */
static struct copied part_of(const struct copied *c, size_t first, size_t last)
{
    struct copied p = *c;
    p.first = first < c->first ? c->first : first > c->last ? c->last : first;
    p.last = last < p.first ? p.first : last > c->last ? c->last : last;
    if (p.to != NULL)
        p.to += p.first - c->first;
    else
        p.from += p.first - c->first;
    return p;
}

/* Those of one section, away: the pages come and go through the page cache, since the buffer lies
 * anywhere. */
static int copy_away(struct disk_array *a, int section, const struct copied *c)
{
    size_t first, last;
    struct disk_file plain = a->file;
    plain.use_direct = false;
    disk_array_pages(a, section, &first, &last);
    const struct copied before = part_of(c, c->first, first), pages = part_of(c, first, last),
                        behind = part_of(c, pages.last, c->last);
    const size_t n = pages.last - pages.first;
    copy_here(a, &before);
    copy_here(a, &behind);
    if (n == 0)
        return 0;
    return c->to != NULL ? disk_file_read(&plain, pages.to, pages.first, n)
                         : disk_file_write(&plain, pages.from, pages.first, n);
}

static int copy_bytes(struct disk_array *a, const struct copied *all)
{
    if (all->last > a->sections[a->n - 1].last)
        return err_set(ERR_RANGE, "bytes %zu to %zu are not in an array of %zu", all->first,
                       all->last, a->sections[a->n - 1].last);
    int rc = disk_array_flush(a);
    for (size_t at = all->first; at < all->last && rc == 0;) {
        const int i = disk_array_section(a, at);
        const struct array_section *s = &a->sections[i];
        const struct copied c = part_of(all, at, s->last);
        if (s->kept || s->state == HERE)
            copy_here(a, &c);
        else
            rc = copy_away(a, i, &c);
        at = c.last;
    }
    return rc;
}

int disk_array_read(struct disk_array *a, void *to, size_t first, size_t bytes)
{
    return copy_bytes(a, &(struct copied){.first = first, .last = first + bytes, .to = to});
}

int disk_array_write(struct disk_array *a, const void *from, size_t first, size_t bytes)
{
    return copy_bytes(a, &(struct copied){.first = first, .last = first + bytes, .from = from});
}
