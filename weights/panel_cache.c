#include "weights/panel_cache.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/kernels/linear.h"
#include "weights/panel_file.h"
#include "weights/panel_folder.h"
#include "weights/panel_write.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
    SAMPLE_BYTES = 64 << 10,
    SETTLED_MS = 50,         /* the longest tick of a file system's clock is 10 */
    SETTLED_COARSE_MS = 2000 /* where times are whole seconds, or two */
};

/* ---- the key ---- */

static int64_t time_ns(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

/* Whether a change of the file from now on has another time of change. */
static bool is_settled(const struct stat *st)
{
    struct timespec now;
    const int64_t modified = time_ns(&st->st_mtim), changed = time_ns(&st->st_ctim);
    const int64_t newest = modified > changed ? modified : changed;
    const bool coarse = newest % 1000000000 == 0;
    clock_gettime(CLOCK_REALTIME, &now);
    return time_ns(&now) - newest > (coarse ? SETTLED_COARSE_MS : SETTLED_MS) * (int64_t)1000000;
}

static bool hash_sample(struct sha256 *h, const struct file *f, uint64_t from, char *sample)
{
    const uint64_t left = f->bytes - from;
    const size_t n = left < SAMPLE_BYTES ? (size_t)left : SAMPLE_BYTES;
    if (file_read_at(f, sample, from, n) != 0)
        return false;
    sha256_add(h, sample, n);
    return true;
}

static bool hash_file(struct sha256 *h, const struct file *f, char *sample)
{
    struct stat st;
    if (fstat(f->fd, &st) != 0 || (uint64_t)st.st_size != f->bytes || !is_settled(&st))
        return false;
    const int64_t parts[] = {(int64_t)st.st_dev, (int64_t)st.st_ino, (int64_t)st.st_size,
                             time_ns(&st.st_mtim), time_ns(&st.st_ctim)};
    sha256_add(h, parts, sizeof parts);
    return hash_sample(h, f, 0, sample) &&
           hash_sample(h, f, f->bytes < SAMPLE_BYTES ? 0 : f->bytes - SAMPLE_BYTES, sample);
}

/* What the block's layout depends on. */
static void hash_shape(struct sha256 *h, const struct params *p)
{
    const struct config *c = &p->config;
    const int32_t shape[] = {0x01020304,
                             PANEL_FILE_VERSION,
                             PARAMS_LAYOUT,
                             PANEL,
                             (int)p->dtype,
                             (int)c->type,
                             c->n_layer,
                             c->n_head,
                             config_head_size(c),
                             c->n_embd,
                             c->n_ctx,
                             c->n_vocab,
                             c->n_inner,
                             c->tie_word_embeddings};
    sha256_add(h, shape, sizeof shape);
}

void panel_cache_key(char key[SHA256_HEX], const struct params *p, const struct source *s)
{
    struct sha256 h;
    char *sample = mem_alloc(SAMPLE_BYTES);
    bool known = sample != NULL && s->n_files > 0 && sha256_init(&h) == 0;
    key[0] = '\0';
    if (known) {
        hash_shape(&h, p);
        for (int i = 0; i < s->n_files && known; i++)
            known = hash_file(&h, s->files[i], sample);
        sha256_end_hex(&h, key);
        sha256_release(&h);
    }
    if (!known)
        key[0] = '\0';
    mem_free(sample);
}

/* ---- entries ---- */

char *panel_cache_path(const char *key)
{
    char *folder = panel_folder_path();
    char *path = folder == NULL ? NULL : file_join(folder, key);
    mem_free(folder);
    return path;
}

int panel_cache_find(bool *found, char key[SHA256_HEX], struct params *p, const struct source *s,
                     const struct panel_cache *c, const struct progress *progress)
{
    *found = false;
    key[0] = '\0';
    if (p->block_bytes > c->limit_bytes || p->block_bytes < c->least_bytes)
        return 0;
    panel_cache_key(key, p, s);
    char *path = key[0] == '\0' ? NULL : panel_cache_path(key);
    if (path == NULL) {
        key[0] = '\0';
        return 0;
    }
    char shown[256];
    int rc = panel_file_read(path, key, p->block, p->block_bytes, progress);
    *found = rc == 0;
    if (rc == ERR_FORMAT) {
        progress_note(progress, "the cached weights of %s are damaged and are made again",
                      file_show(shown, sizeof shown, s->name));
        panel_file_drop(path);
    }
    mem_free(path);
    if (!*found)
        mem_clear_map(p->block, p->block_bytes);
    return rc == ERR_NOMEM || rc == ERR_INTERRUPTED ? rc : 0;
}

void panel_cache_keep(const char *key, const struct params *p, const struct source *s,
                      const struct panel_cache *c)
{
    char now[SHA256_HEX], *folder;
    if (key[0] == '\0')
        return;
    panel_cache_key(now, p, s);
    if (strcmp(now, key) != 0 || (folder = panel_folder_path()) == NULL)
        return;
    const struct panel_entry entry = {
        .dtype = p->dtype, .name = s->name, .source = s->files[0]->path};
    if (panel_folder_prepare(folder, panel_file_bytes(p->block_bytes), c->limit_bytes) == 0)
        panel_write(folder, key, p->block, p->block_bytes, &entry, c->waits);
    mem_free(folder);
}
