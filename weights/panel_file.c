#include "weights/panel_file.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/base/xxh64.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define POLL_S 0.001 /* between two polls of the job and of Ctrl-C */

enum { CHUNKS_AT_ONCE = 8 /* 2 MiB: a huge page is touched by one thread */ };

uint64_t panel_file_bytes(uint64_t block_bytes)
{
    return panel_block_at(block_bytes) + block_bytes;
}

static int refuse_entry(void)
{
    return err_set(ERR_FORMAT, "no whole entry of the panel cache");
}

/* Of a block of that size under that key, all of it there. */
static int check_head(const struct panel_head *head, const struct file *f, const char *key,
                      size_t bytes)
{
    return memcmp(head->magic, PANEL_MAGIC, sizeof head->magic) == 0 &&
                   head->version == PANEL_FILE_VERSION && head->block_bytes == bytes &&
                   head->chunk_bytes == PANEL_CHUNK && f->bytes == panel_file_bytes(bytes) &&
                   memcmp(head->key, key, PANEL_KEY_BYTES + 1) == 0
               ? 0
               : refuse_entry();
}

int panel_file_front(char **out, const struct file *f, const char *key, size_t bytes)
{
    const size_t n = panel_front_bytes(bytes);
    *out = mem_alloc(n);
    if (*out == NULL)
        return ERR_NOMEM;
    struct panel_head *head = (struct panel_head *)*out;
    int rc = file_read_at(f, *out, 0, f->bytes < n ? PANEL_HEAD : n);
    if (rc != 0 || (rc = check_head(head, f, key, bytes)) != 0)
        return rc;
    const uint64_t sum = head->sum;
    head->sum = 0;
    return xxh64(*out, n) == sum ? 0 : refuse_entry();
}

struct block_read {
    const struct file *file;
    char *block;
    size_t bytes, n_chunks;
    const uint64_t *sums; /* [n_chunks] */
    atomic_size_t next;   /* the next chunk to take */
    _Atomic uint64_t done;
    atomic_int failed; /* nonzero: stop */
};

static int read_chunk(struct block_read *r, size_t chunk)
{
    const size_t n = panel_chunk_bytes(r->bytes, chunk);
    char *to = r->block + chunk * PANEL_CHUNK;
    int rc = file_read_at(r->file, to, panel_block_at(r->bytes) + chunk * PANEL_CHUNK, n);
    atomic_fetch_add(&r->done, n);
    return rc == 0 && xxh64(to, n) != r->sums[chunk] ? refuse_entry() : rc;
}

static void read_share(void *arg, int thread, int n_threads)
{
    struct block_read *r = arg;
    (void)thread;
    (void)n_threads;
    profile_set(PART_FILES);
    while (atomic_load_explicit(&r->failed, memory_order_relaxed) == 0) {
        size_t at = atomic_fetch_add(&r->next, CHUNKS_AT_ONCE);
        if (at >= r->n_chunks)
            return;
        for (size_t i = 0; i < CHUNKS_AT_ONCE && at + i < r->n_chunks; i++)
            if (read_chunk(r, at + i) != 0) {
                atomic_store(&r->failed, 1);
                return;
            }
    }
}

static int read_block(struct block_read *r, const struct progress *p)
{
    int rc = progress_step(p, "loading", 0, r->bytes);
    if (rc != 0)
        return rc;
    par_start(read_share, r);
    while (!par_done()) {
        clock_sleep_s(POLL_S);
        if (rc == 0 && (rc = progress_step(p, "loading", r->done, r->bytes)) != 0)
            atomic_store(&r->failed, 1);
    }
    par_wait();
    if (rc == 0 && r->failed)
        rc = refuse_entry();
    return rc;
}

int panel_file_read(const char *path, const char *key, void *block, size_t bytes,
                    const struct progress *p)
{
    struct file f;
    char *front = NULL;
    int rc = file_open(&f, path);
    if (rc != 0)
        return rc;
    if ((rc = panel_file_front(&front, &f, key, bytes)) == 0) {
        struct block_read r = {.file = &f,
                               .block = block,
                               .bytes = bytes,
                               .n_chunks = panel_chunks(bytes),
                               .sums = (const uint64_t *)(front + PANEL_HEAD)};
        rc = read_block(&r, p);
    }
    if (rc == 0)
        futimens(f.fd, NULL);
    mem_free(front);
    file_close(&f);
    return rc;
}

void panel_file_drop(const char *path)
{
    unlink(path);
}

/* Nobody has verified the header. */
static enum dtype dtype_said(uint32_t dtype)
{
    return dtype == DTYPE_F16 || dtype == DTYPE_Q8 ? (enum dtype)dtype : DTYPE_F32;
}

int panel_file_look(struct panel_header *out, const char *path)
{
    struct file f;
    struct panel_head head;
    int rc = file_open(&f, path);
    if (rc != 0)
        return rc;
    if ((rc = file_read_at(&f, &head, 0, sizeof head)) == 0 &&
        memcmp(head.magic, PANEL_MAGIC, sizeof head.magic) != 0)
        rc = refuse_entry();
    file_close(&f);
    if (rc != 0)
        return rc;
    *out = (struct panel_header){.block_bytes = head.block_bytes, .dtype = dtype_said(head.dtype)};
    memcpy(out->name, head.name, sizeof out->name - 1);
    memcpy(out->source, head.source, sizeof out->source - 1);
    return 0;
}
