/*
 * The index has three lists: sizes, offsets, document bounds. Sizes are written as they come, and
 * the other two at the end, from the sizes read back. A document is one sequence, unless it is cut
 * or has more ids than a size can count.
 */
#include "train/data/token_writer.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST_UINT16 = 65536,
    TYPE_INT32 = 4,
    TYPE_UINT16 = 8,
    HEAD_BYTES = 34,
    SIZES = 4096,
    IDS_AT_ONCE = 2048
};

int token_writer_open(struct token_writer *w, const char *prefix, int n_ids)
{
    static const unsigned char head[HEAD_BYTES];
    *w = (struct token_writer){.bin.fd = -1, .idx.fd = -1, .width = n_ids <= MOST_UINT16 ? 2 : 4};
    char *bin = mem_sprintf("%s.bin", prefix), *idx = mem_sprintf("%s.idx", prefix);
    w->prefix = mem_strdup(prefix);
    int rc = bin == NULL || idx == NULL || w->prefix == NULL ? ERR_NOMEM
                                                             : file_create(&w->bin, bin, true);
    if (rc == 0 && (rc = file_create(&w->idx, idx, true)) == 0)
        rc = file_write(&w->idx, head, sizeof head);
    mem_free(bin);
    mem_free(idx);
    if (rc != 0)
        token_writer_abandon(w);
    return rc;
}

/* A sequence has at most INT32_MAX ids; a longer document has several. */
static int end_sequence(struct token_writer *w)
{
    int32_t size = (int32_t)w->open;
    w->open = 0;
    w->sequences++;
    return file_write(&w->idx, &size, sizeof size);
}

int token_writer_cut(struct token_writer *w)
{
    const uint64_t number = w->sequences;
    if (w->open == 0)
        return 0;
    w->goes_on = true;
    int rc = buf_add(&w->inner, &number, sizeof number);
    return rc == 0 ? end_sequence(w) : rc;
}

int token_ids_write(struct file_writer *f, int width, const token_id *ids, size_t n)
{
    uint16_t block[IDS_AT_ONCE];
    int rc = 0;
    if (width != 2)
        return file_write(f, ids, n * sizeof *ids);
    for (size_t done = 0; done < n && rc == 0;) {
        size_t part = n - done < IDS_AT_ONCE ? n - done : IDS_AT_ONCE;
        for (size_t i = 0; i < part; i++)
            block[i] = (uint16_t)ids[done + i];
        rc = file_write(f, block, part * sizeof *block);
        done += part;
    }
    return rc;
}

int token_writer_add(struct token_writer *w, const token_id *ids, size_t n)
{
    int rc = 0;
    while (n > 0 && rc == 0) {
        if (w->open == INT32_MAX)
            rc = token_writer_cut(w);
        size_t room = INT32_MAX - (size_t)w->open, part = n < room ? n : room;
        if (rc == 0)
            rc = token_ids_write(&w->bin, w->width, ids, part);
        w->open += part;
        w->n_tokens += part;
        ids += part;
        n -= part;
    }
    return rc;
}

int token_writer_end(struct token_writer *w)
{
    const bool goes_on = w->goes_on;
    w->goes_on = false;
    return w->open == 0 && !goes_on ? 0 : end_sequence(w);
}

/* Where each sequence begins, from the sizes. */
static int write_offsets(struct token_writer *w)
{
    int32_t sizes[SIZES];
    int64_t at = 0;
    int rc = 0;
    for (uint64_t i = 0; i < w->sequences && rc == 0; i += SIZES) {
        uint64_t left = w->sequences - i;
        size_t n = left < SIZES ? (size_t)left : SIZES;
        rc = file_reread(&w->idx, sizes, HEAD_BYTES + i * sizeof *sizes, n * sizeof *sizes);
        for (size_t k = 0; k < n && rc == 0; k++) {
            rc = file_write(&w->idx, &at, sizeof at);
            at += (int64_t)sizes[k] * w->width;
        }
    }
    return rc;
}

/* The first sequence of each document, and the number of all. */
static int write_bounds(struct token_writer *w)
{
    size_t inner = 0, n_inner = w->inner.n / sizeof(uint64_t);
    int64_t bound = 0;
    int rc = file_write(&w->idx, &bound, sizeof bound);
    for (uint64_t i = 0; i < w->sequences && rc == 0; i++) {
        uint64_t next = UINT64_MAX;
        if (inner < n_inner)
            memcpy(&next, w->inner.data + inner * sizeof next, sizeof next);
        if (next == i) {
            inner++;
            continue;
        }
        bound = (int64_t)i + 1;
        rc = file_write(&w->idx, &bound, sizeof bound);
    }
    return rc;
}

static int finish_index(struct token_writer *w)
{
    unsigned char head[HEAD_BYTES] = "MMIDIDX"; /* as megatron.c reads it */
    uint64_t counts[3] = {1, w->sequences, w->sequences - w->inner.n / sizeof(uint64_t) + 1};
    memcpy(head + 9, &counts[0], 8);
    head[17] = w->width == 2 ? TYPE_UINT16 : TYPE_INT32;
    memcpy(head + 18, &counts[1], 16);
    int rc = write_offsets(w);
    if (rc == 0)
        rc = write_bounds(w);
    return rc != 0 ? rc : file_patch(&w->idx, 0, head, sizeof head);
}

/* What a kill leaves has no .bin, which alone would be read as nanoGPT's, and beside an index of
 * another set as that set's. A set of which one file took its place and the other did not is none.
 */
static int commit_files(struct token_writer *w, const char *bin_path, const char *idx_path)
{
    int rc = unlink(bin_path) != 0 && errno != ENOENT ? file_error("replace", bin_path)
                                                      : file_commit(&w->idx);
    if (rc == 0)
        rc = file_commit(&w->bin);
    if (rc != 0) {
        unlink(bin_path);
        unlink(idx_path);
    }
    return rc;
}

int token_writer_commit(struct token_writer *w)
{
    char *bin_path = mem_sprintf("%s.bin", w->prefix), *idx_path = mem_sprintf("%s.idx", w->prefix);
    int rc = bin_path == NULL || idx_path == NULL ? ERR_NOMEM : token_writer_end(w);
    if (rc == 0 && (rc = finish_index(w)) == 0)
        rc = commit_files(w, bin_path, idx_path);
    mem_free(bin_path);
    mem_free(idx_path);
    token_writer_abandon(w);
    return rc;
}

void token_writer_abandon(struct token_writer *w)
{
    if (w == NULL)
        return;
    file_abandon(&w->bin);
    file_abandon(&w->idx);
    mem_free(w->prefix);
    buf_release(&w->inner);
    *w = (struct token_writer){.bin.fd = -1, .idx.fd = -1};
}
