/*
 * The parts are what is contiguous in the block: all before the layers, each layer, the last norm,
 * each embedding. What was filled is written up to the last whole chunk:
 *
 *     block     | wpe | layer 0 | layer 1 | ...
 *     chunks    |   |   |   |   |   |   |
 *     written   ----------------> after layer 0; the rest of it is written with layer 1
 */
#include "weights/panel_make.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/xxh64.h"
#include "weights/not_finite.h"
#include "weights/panel_file.h"
#include "weights/panel_folder.h"
#include "weights/panel_write.h"

#include <string.h>
#include <unistd.h>

/* ---- the check ---- */

static void release_check(void *user)
{
    struct panel_check *c = user;
    mem_free(c->front);
    mem_free(c->is_right);
    mem_free(c->path);
    mem_free(c);
}

static int check_chunks(void *user, uint64_t at, const char *data, size_t bytes)
{
    const struct panel_check *c = user;
    const uint64_t *sums = (const uint64_t *)(const void *)(c->front + PANEL_HEAD);
    const size_t first = (size_t)((at - panel_block_at(c->bytes)) / PANEL_CHUNK);
    for (size_t done = 0, i = first; done < bytes; i++) {
        const size_t n = panel_chunk_bytes(c->bytes, i);
        const bool known = atomic_load_explicit(&c->is_right[i], memory_order_relaxed);
        if (!known && xxh64(data + done, n) != sums[i]) {
            if (c->path != NULL)
                panel_file_drop(c->path);
            return err_set(ERR_FORMAT, "the cached weights are damaged; loading the model again "
                                       "makes them anew");
        }
        atomic_store_explicit(&c->is_right[i], 1, memory_order_relaxed);
        done += n;
    }
    return 0;
}

int panel_check_file(struct layer_stream_file *out, const struct disk_file *disk,
                     const struct panel_check *check)
{
    struct panel_check *own = mem_alloc(sizeof *own);
    *out = (struct layer_stream_file){.disk = *disk,
                                      .block_at = panel_block_at(check->bytes),
                                      .unit = PANEL_CHUNK,
                                      .check = check_chunks,
                                      .user = own,
                                      .release = release_check};
    if (own != NULL) {
        *own = *check;
        own->is_right = mem_array(panel_chunks(check->bytes), sizeof *own->is_right);
        if (own->is_right != NULL)
            return 0;
    }
    mem_free(own);
    disk_file_close(&out->disk);
    mem_free(check->front);
    mem_free(check->path);
    return ERR_NOMEM;
}

/* ---- making ---- */

struct making {
    struct params *p;
    const struct layer_stream_plan *plan;
    const struct source *source;
    const struct progress *progress;
    struct panel_writer writer;
    struct disk_file disk;
    struct disk_queue *queue;
    struct not_finite bad;
    size_t written;       /* bytes of the block */
    uint64_t done, total; /* elements */
};

/* Tensor i in the order of the block: the embeddings, which the table has at its ends, come last.
 */
static int block_order(const struct params *p, int i)
{
    const int n_last = p->config.tie_word_embeddings ? 1 : 2, n = p->n_tensors;
    return i + 1 < n - n_last + 1 ? i + 1 : i == n - n_last ? 0 : n - 1;
}

static size_t tensor_offset(const struct params *p, int i)
{
    const struct param_tensor *t = &p->tensors[i];
    const char *at = t->linear != NULL ? (const char *)t->linear->data : (const char *)t->data;
    return (size_t)(at - (const char *)p->block);
}

static void step_part(void *user, const char *what, uint64_t done, uint64_t total)
{
    const struct making *m = user;
    (void)what;
    (void)total;
    if (m->progress != NULL && m->progress->step != NULL)
        m->progress->step(m->progress->user, "preparing", m->done + done, m->total);
}

/* Tensors from .. to - 1 in the block's order. */
static int fill_part(struct making *m, int from, int to)
{
    const size_t n = (size_t)(to - from);
    const struct progress part = {.step = step_part, .user = m};
    struct param_tensor *tensors = mem_array(n, sizeof *tensors);
    struct tensor_reader *readers = mem_array(n, sizeof *readers);
    uint64_t *bad = mem_array(n, sizeof *bad);
    int rc = tensors == NULL || readers == NULL || bad == NULL ? ERR_NOMEM : 0;
    for (int i = from; i < to && rc == 0; i++) {
        const int at = block_order(m->p, i);
        tensors[i - from] = m->p->tensors[at];
        readers[i - from] = m->source->readers[at];
    }
    if (rc == 0 && (rc = params_fill(tensors, readers, (int)n, bad, &part)) == 0)
        for (int i = from; i < to; i++) {
            const struct param_tensor *t = &m->p->tensors[block_order(m->p, i)];
            not_finite_add(&m->bad, t, &bad[i - from], 1);
            m->done += (uint64_t)t->rows * (uint64_t)t->cols;
        }
    mem_free(tensors);
    mem_free(readers);
    mem_free(bad);
    return rc;
}

/* Write what is filled, up to byte `end` of the block. */
static int write_part(struct making *m, size_t end)
{
    const size_t bytes = m->p->block_bytes;
    uint64_t *sums = panel_writer_sums(&m->writer);
    char *block = m->p->block;
    if (end < bytes)
        end = end / PANEL_CHUNK * PANEL_CHUNK;
    if (end <= m->written)
        return 0;
    for (size_t at = m->written; at < end; at += PANEL_CHUNK)
        sums[at / PANEL_CHUNK] = xxh64(block + at, panel_chunk_bytes(bytes, at / PANEL_CHUNK));
    struct disk_piece piece = {.file = &m->disk,
                               .at = panel_block_at(bytes) + m->written,
                               .bytes = end - m->written,
                               .data = block + m->written,
                               .writes = true};
    int rc = disk_queue_run(m->queue, &piece);
    layer_stream_forget(m->p, m->plan, m->written, end);
    m->written = end;
    return rc;
}

static int make_parts(struct making *m)
{
    struct params *p = m->p;
    int rc = 0;
    for (int i = 0; i < p->n_tensors; i++)
        m->total += (uint64_t)p->tensors[i].rows * (uint64_t)p->tensors[i].cols;
    for (int from = 0, to; from < p->n_tensors && rc == 0; from = to) {
        const struct param_tensor *first = &p->tensors[block_order(p, from)];
        for (to = from + 1; to < p->n_tensors; to++) {
            const struct param_tensor *t = &p->tensors[block_order(p, to)];
            if (t->layer != first->layer || t->kind == PARAM_EMBEDDING)
                break;
        }
        rc = fill_part(m, from, to);
        if (rc == 0)
            rc = write_part(m, to == p->n_tensors ? p->block_bytes
                                                  : tensor_offset(p, block_order(p, to)));
    }
    return rc;
}

/* The entry's file where the cache takes it; else a working file. *named: which. */
static int open_file(struct making *m, bool *named, const char *folder, const char *key,
                     const struct panel_cache *c)
{
    const uint64_t bytes = panel_file_bytes(m->p->block_bytes);
    int fd = -1;
    if (key[0] != '\0' && panel_folder_prepare(folder, bytes, c->limit_bytes) == 0)
        fd = panel_writer_create(m->writer.temp);
    err_clear();
    *named = fd >= 0;
    if (fd >= 0)
        return disk_file_take(&m->disk, fd, m->writer.path, bytes);
    int rc = file_make_folder(folder);
    return rc == 0 ? disk_file_make(&m->disk, folder, bytes) : rc;
}

/* All of it is written: the entry gets its name, or none for good. */
static void name_entry(struct making *m, bool named, const char *key)
{
    char now[SHA256_HEX];
    if (!named)
        return;
    panel_cache_key(now, m->p, m->source);
    /* Written in whole units, it may be longer than an entry is. */
    if (m->bad.n == 0 && strcmp(now, key) == 0 &&
        ftruncate(m->disk.fd, (off_t)panel_file_bytes(m->p->block_bytes)) == 0)
        panel_writer_commit(&m->writer, m->disk.fd);
    else
        unlink(m->writer.temp);
}

static int make_file(struct making *m, const char *folder, const char *key,
                     const struct panel_cache *c)
{
    const struct panel_entry entry = {.dtype = m->p->dtype,
                                      .name = m->source->name,
                                      .source = m->source->n_files > 0 ? m->source->files[0]->path
                                                                       : NULL};
    bool named = false;
    int rc = panel_writer_prepare(&m->writer, folder, key, m->p->block_bytes, &entry);
    if (rc == 0)
        rc = disk_queue_open(&m->queue);
    if (rc == 0)
        rc = open_file(m, &named, folder, key, c);
    if (rc == 0 && (rc = make_parts(m)) == 0)
        name_entry(m, named, key);
    else if (named)
        unlink(m->writer.temp);
    disk_queue_close(m->queue);
    return rc;
}

int panel_make(struct layer_stream_file *out, struct params *p,
               const struct layer_stream_plan *plan, const struct source *s, const char *key,
               const struct panel_cache *c, const struct progress *progress)
{
    struct making m = {.p = p, .plan = plan, .source = s, .progress = progress};
    char *folder = panel_folder_path();
    if (folder == NULL)
        return err_set(ERR_MISSING, "no folder for the weights: neither XDG_CACHE_HOME nor HOME is "
                                    "set");
    int rc = make_file(&m, folder, key, c);
    if (rc == 0) {
        const struct panel_check check = {.front = m.writer.front, .bytes = p->block_bytes};
        m.writer.front = NULL;
        not_finite_note(&m.bad, p->dtype, s, progress);
        rc = panel_check_file(out, &m.disk, &check);
    } else {
        disk_file_close(&m.disk);
        rc = err_wrap("cannot prepare the weights of %s on disk", file_quote(s->name));
    }
    panel_writer_release(&m.writer);
    mem_free(folder);
    return rc;
}
