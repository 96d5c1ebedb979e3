#include "train/run/block_files.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "weights/hf/safetensors.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PART = 1 << 20, MAX_PARTS = 99999 };

static const char WHOLE[] = "training.safetensors", FIRST[] = "training-00001-of-";

void block_file_name(char out[BLOCK_FILE_NAME], int k, int n)
{
    if (n == 0)
        snprintf(out, BLOCK_FILE_NAME, "%s", WHOLE);
    else
        snprintf(out, BLOCK_FILE_NAME, "training-%05d-of-%05d.safetensors", k + 1, n);
}

/* ---- writing ---- */

/* What is written of a block, one tensor each. */
static struct spans content_spans(const struct block_content *c, int block)
{
    return c->own == NULL ? (struct spans){.n = 1, .at = {{0, c->blocks[block].n}}} : c->own[block];
}

static int describe_span(struct buf *head, uint64_t *total, const struct block_content *c,
                         int block, struct span s)
{
    const struct optimizer_block *b = &c->blocks[block];
    const uint64_t end = *total + s.n * dtype_bytes(b->dtype);
    int rc = buf_printf(head, "%s\"%s", head->n > 1 ? "," : "", b->name);
    if (rc == 0 && c->own != NULL)
        rc = buf_printf(head, ":%zu", s.first);
    if (rc == 0)
        rc = buf_printf(head,
                        "\":{\"dtype\":\"%s\",\"shape\":[%zu],\"data_offsets\":[%" PRIu64
                        ",%" PRIu64 "]}",
                        dtype_name(b->dtype), s.n, *total, end);
    *total = end;
    return rc;
}

static int describe_blocks(struct buf *head, uint64_t *total, const struct block_content *c)
{
    *total = 0;
    int rc = buf_char(head, '{');
    for (int i = 0; i < c->n_blocks; i++) {
        const struct spans own = content_spans(c, i);
        for (int k = 0; k < own.n && rc == 0; k++)
            rc = describe_span(head, total, c, i, own.at[k]);
    }
    return rc != 0 ? rc : buf_char(head, '}');
}

/* How far the blocks are written. */
struct writing {
    const struct block_content *content;
    const struct progress *progress;
    uint64_t done, total;
    char *copy; /* [PART] */
};

static int write_span(struct writing *w, struct file_writer *f, int block, struct span s)
{
    const struct block_content *c = w->content;
    const struct optimizer_block *b = &c->blocks[block];
    const size_t each = dtype_bytes(b->dtype), first = s.first * each, n = s.n * each;
    const bool copies = b->data == NULL || c->read != NULL;
    int rc = 0;
    if (copies && w->copy == NULL && (w->copy = mem_alloc(PART)) == NULL)
        rc = ERR_NOMEM;
    for (size_t at = 0; at < n && rc == 0; at += PART) {
        const size_t part = n - at < PART ? n - at : PART;
        if (copies)
            rc = c->read != NULL ? c->read(c->user, block, w->copy, first + at, part)
                                 : optimizer_block_read(b, w->copy, first + at, part);
        if (rc == 0)
            rc = file_write(f, copies ? w->copy : (const char *)b->data + first + at, part);
        w->done += part;
        if (rc == 0)
            rc = progress_step(w->progress, "writing the optimizer", w->done, w->total);
    }
    return rc;
}

static int write_all(void *user, struct file_writer *f)
{
    struct writing *w = user;
    int rc = 0;
    for (int i = 0; i < w->content->n_blocks; i++) {
        const struct spans own = content_spans(w->content, i);
        for (int k = 0; k < own.n && rc == 0; k++)
            rc = write_span(w, f, i, own.at[k]);
    }
    return rc;
}

int block_file_write(const char *folder, const char *name, const struct block_content *c,
                     const struct progress *p)
{
    struct buf head = {0};
    struct writing w = {.content = c, .progress = p};
    int rc = describe_blocks(&head, &w.total, c);
    if (rc == 0)
        rc = safetensors_write(folder, name, &head, write_all, &w);
    mem_free(w.copy);
    buf_release(&head);
    return rc;
}

/* ---- opening ---- */

/* How many parts a set of files has by the name of its first; 0: none. */
static int count_parts(const struct file_set *open)
{
    char name[BLOCK_FILE_NAME];
    for (int i = 0; i < open->n; i++) {
        const char *slash = strrchr(open->files[i].path, '/');
        const char *last = slash == NULL ? open->files[i].path : slash + 1;
        if (strncmp(last, FIRST, sizeof FIRST - 1) != 0)
            continue;
        const long n = strtol(last + sizeof FIRST - 1, NULL, 10);
        if (n < 1 || n > MAX_PARTS)
            continue;
        block_file_name(name, 0, (int)n);
        if (strcmp(last, name) == 0)
            return (int)n;
    }
    return 0;
}

static int open_part(struct block_files *f, const struct file_set *open, const char *folder,
                     const char *name)
{
    struct file file;
    if (file_set_find(open, name) == NULL)
        return err_set(ERR_FORMAT, "%s is missing", name);
    int rc = file_set_open(&file, open, folder, name);
    if (rc == 0)
        rc = safetensors_open_file(&f->files[f->n], file);
    f->n += rc == 0;
    return rc;
}

int block_files_open(struct block_files *f, const struct file_set *open, const char *folder)
{
    char name[BLOCK_FILE_NAME];
    const int n = file_set_find(open, WHOLE) != NULL ? 0 : count_parts(open);
    const int n_files = n == 0 ? 1 : n;
    *f = (struct block_files){0};
    if (n_files > open->n) /* before memory is taken for them */
        return err_set(ERR_FORMAT, "some of the %d parts of %s are missing", n, WHOLE);
    if ((f->files = mem_array((size_t)n_files, sizeof *f->files)) == NULL)
        return ERR_NOMEM;
    int rc = 0;
    for (int i = 0; i < n_files && rc == 0; i++) {
        block_file_name(name, i, n);
        rc = open_part(f, open, folder, name);
    }
    if (rc != 0)
        block_files_close(f);
    return rc;
}

void block_files_close(struct block_files *f)
{
    for (int i = 0; i < f->n; i++)
        tensor_file_close(&f->files[i]);
    mem_free(f->files);
    *f = (struct block_files){0};
}

/* ---- reading ---- */

/* A tensor with elements of a block. */
struct piece {
    const struct file *file;
    const struct tensor_entry *entry;
    uint64_t first, n;
};

/* Whether a tensor has elements of the block, and from which on. */
static bool is_piece(uint64_t *first, const struct optimizer_block *b, const char *name)
{
    const size_t length = strlen(b->name);
    char *end;
    *first = 0;
    if (strncmp(name, b->name, length) != 0)
        return false;
    if (name[length] == '\0')
        return true;
    if (name[length] != ':' || !isdigit((unsigned char)name[length + 1]))
        return false;
    *first = strtoull(name + length + 1, &end, 10);
    return *end == '\0';
}

static int compare_pieces(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->n < y->n ? -1 : x->n > y->n;
}

/* *pieces [*n], in order, to be freed. */
static int list_pieces(struct piece **pieces, int *n, const struct block_files *f,
                       const struct optimizer_block *b)
{
    size_t most = 0;
    uint64_t first;
    *n = 0;
    for (int i = 0; i < f->n; i++)
        most += (size_t)f->files[i].n;
    struct piece *out = *pieces = mem_array(most + 1, sizeof *out);
    if (out == NULL)
        return ERR_NOMEM;
    for (int i = 0; i < f->n; i++)
        for (int k = 0; k < f->files[i].n; k++) {
            const struct tensor_entry *e = &f->files[i].entries[k];
            if (!is_piece(&first, b, e->name))
                continue;
            const int each = e->element_bytes == 0 ? 1 : e->element_bytes;
            out[(*n)++] = (struct piece){&f->files[i].file, e, first, e->bytes / (uint64_t)each};
        }
    qsort(out, (size_t)*n, sizeof *out, compare_pieces);
    return 0;
}

/* The type of the first that has another than the block, or the block's. */
static const char *pieces_dtype(const struct piece *pieces, int n, const struct optimizer_block *b)
{
    const char *own = dtype_name(b->dtype);
    for (int i = 0; i < n; i++)
        if (strcmp(pieces[i].entry->dtype_name, own) != 0)
            return pieces[i].entry->dtype_name;
    return own;
}

/* That they are all of the block, each element once. */
static int check_pieces(const struct piece *pieces, int n, const struct optimizer_block *b,
                        const char *from)
{
    const char *dtype = pieces_dtype(pieces, n, b);
    uint64_t bytes = 0, at = 0;
    bool joined = true;
    char shown[256];
    file_show(shown, sizeof shown, from);
    if (n == 0)
        return err_set(ERR_MISMATCH, "checkpoint %s has no %s: its optimizer is another one", shown,
                       b->name);
    for (int i = 0; i < n; i++) {
        bytes += pieces[i].entry->bytes; /* of files that are there: no overflow */
        joined &= pieces[i].first == at;
        at = pieces[i].first + pieces[i].n;
    }
    joined &= at == b->n;
    if (strcmp(dtype, dtype_name(b->dtype)) != 0 || bytes != b->n * dtype_bytes(b->dtype))
        return err_set(ERR_MISMATCH,
                       "checkpoint %s has %" PRIu64 " bytes of %s in %s, this run needs %" PRIu64
                       " in %s",
                       shown, bytes, dtype, b->name, (uint64_t)(b->n * dtype_bytes(b->dtype)),
                       dtype_name(b->dtype));
    return joined ? 0
                  : err_set(ERR_MISMATCH,
                            "checkpoint %s has some elements of %s twice and lacks others", shown,
                            b->name);
}

/* Part by part, to the disk. */
static int move_piece(const struct piece *e, const struct optimizer_block *b, char *copy)
{
    const size_t n = (size_t)e->entry->bytes, first = (size_t)e->first * dtype_bytes(b->dtype);
    int rc = 0;
    for (size_t at = 0; at < n && rc == 0; at += PART) {
        const size_t part = n - at < PART ? n - at : PART;
        if ((rc = file_read_at(e->file, copy, e->entry->offset + at, part)) == 0)
            rc = optimizer_block_write(b, copy, first + at, part);
    }
    return rc;
}

/* What of a span is in a piece, to its place. */
static int read_span(const struct piece *e, const struct optimizer_block *b, struct span s)
{
    const size_t each = dtype_bytes(b->dtype), begin = (size_t)e->first,
                 first = s.first > begin ? s.first : begin,
                 last = s.first + s.n < begin + e->n ? s.first + s.n : begin + (size_t)e->n;
    return first >= last
               ? 0
               : file_read_at(e->file, (char *)b->data + first * each,
                              e->entry->offset + (first - begin) * each, (last - first) * each);
}

static int read_pieces(const struct piece *pieces, int n, const struct optimizer_block *b,
                       const struct spans *own)
{
    char *copy = b->data == NULL ? mem_alloc(PART) : NULL;
    int rc = b->data == NULL && copy == NULL ? ERR_NOMEM : 0;
    for (int i = 0; i < n && rc == 0; i++)
        if (b->data == NULL)
            rc = move_piece(&pieces[i], b, copy);
        else
            for (int k = 0; k < own->n && rc == 0; k++)
                rc = read_span(&pieces[i], b, own->at[k]);
    mem_free(copy);
    return rc;
}

int block_files_read(const struct block_files *f, const struct optimizer_block *b,
                     const struct spans *own, const char *from)
{
    const struct spans all = {.n = 1, .at = {{0, b->n}}};
    struct piece *pieces;
    int n, rc = list_pieces(&pieces, &n, f, b);
    if (rc == 0 && (rc = check_pieces(pieces, n, b, from)) == 0)
        rc = read_pieces(pieces, n, b, own == NULL ? &all : own);
    mem_free(pieces);
    return rc;
}
