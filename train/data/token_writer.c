#include "train/data/token_writer.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <string.h>
#include <unistd.h>

enum { MOST_UINT16 = 65536, TYPE_INT32 = 4, TYPE_UINT16 = 8 };

int token_writer_open(struct token_writer *w, const char *prefix, int n_ids)
{
    *w = (struct token_writer){.bin.fd = -1, .width = n_ids <= MOST_UINT16 ? 2 : 4};
    char *bin = mem_sprintf("%s.bin", prefix);
    w->prefix = mem_strdup(prefix);
    int64_t begin = 0;
    int rc = bin == NULL || w->prefix == NULL ? ERR_NOMEM : file_create(&w->bin, bin, true);
    if (rc == 0)
        rc = buf_add(&w->bounds, &begin, sizeof begin);
    mem_free(bin);
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
    return buf_add(&w->sizes, &size, sizeof size);
}

int token_writer_add(struct token_writer *w, const token_id *ids, size_t n)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (w->open == INT32_MAX)
            rc = end_sequence(w);
        const uint16_t id = (uint16_t)ids[i];
        if (rc == 0)
            rc = w->width == 2 ? file_write(&w->bin, &id, sizeof id)
                               : file_write(&w->bin, &ids[i], sizeof ids[i]);
        w->open++;
        w->n_tokens++;
    }
    return rc;
}

int token_writer_end(struct token_writer *w)
{
    if (w->open == 0)
        return 0;
    int rc = end_sequence(w);
    int64_t bound = (int64_t)w->sequences;
    return rc != 0 ? rc : buf_add(&w->bounds, &bound, sizeof bound);
}

/* Where each sequence begins, from the sizes. */
static int write_offsets(struct file_writer *idx, const struct token_writer *w)
{
    int64_t at = 0;
    int rc = 0;
    for (uint64_t i = 0; i < w->sequences && rc == 0; i++) {
        int32_t size;
        rc = file_write(idx, &at, sizeof at);
        memcpy(&size, w->sizes.data + i * sizeof size, sizeof size);
        at += (int64_t)size * w->width;
    }
    return rc;
}

static int write_index(struct file_writer *idx, const struct token_writer *w)
{
    unsigned char head[34] = "MMIDIDX"; /* as megatron.c reads it */
    uint64_t counts[3] = {1, w->sequences, w->bounds.n / sizeof(int64_t)};
    memcpy(head + 9, &counts[0], 8);
    head[17] = w->width == 2 ? TYPE_UINT16 : TYPE_INT32;
    memcpy(head + 18, &counts[1], 16);
    int rc = file_write(idx, head, sizeof head);
    if (rc == 0)
        rc = file_write(idx, w->sizes.data, w->sizes.n);
    if (rc == 0)
        rc = write_offsets(idx, w);
    return rc != 0 ? rc : file_write(idx, w->bounds.data, w->bounds.n);
}

/* The index last. A set of which one file took its place and the other did not is none. */
static int commit_files(struct token_writer *w, struct file_writer *idx, const char *bin_path,
                        const char *idx_path)
{
    int rc = file_commit(&w->bin);
    if (rc == 0)
        rc = file_commit(idx);
    if (rc != 0) {
        unlink(bin_path);
        unlink(idx_path);
    }
    return rc;
}

int token_writer_commit(struct token_writer *w)
{
    struct file_writer idx = {.fd = -1};
    char *bin_path = mem_sprintf("%s.bin", w->prefix), *idx_path = mem_sprintf("%s.idx", w->prefix);
    int rc = bin_path == NULL || idx_path == NULL ? ERR_NOMEM : token_writer_end(w);
    if (rc == 0 && (rc = file_create(&idx, idx_path, true)) == 0 &&
        (rc = write_index(&idx, w)) == 0)
        rc = commit_files(w, &idx, bin_path, idx_path);
    file_abandon(&idx);
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
    mem_free(w->prefix);
    buf_release(&w->sizes);
    buf_release(&w->bounds);
    *w = (struct token_writer){.bin.fd = -1};
}
