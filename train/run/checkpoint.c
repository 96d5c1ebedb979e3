/*
 *   write   step-N.tmp*: weights, blocks, state --> manifest of all these files --> rename
 *   open    newest step-N first: manifest --> size and SHA-256 of its files --> state, blocks
 *                 ^                 |                  |
 *                 +-- next older <--+------------------+ damaged: a note
 *
 * The files stay open from when they were verified: what is read is what was checked, whatever
 * becomes of the folder meanwhile.
 */
#include "train/run/checkpoint.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/folder_entry.h"
#include "model/base/mem.h"
#include "model/base/sha256.h"
#include "weights/hf/adapter_file.h"
#include "weights/hf/safetensors.h"
#include "weights/hf/save_hf.h"
#include "weights/tensors/folder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { VERSION = 1, SHOWN = 256, PART = 1 << 20, MAX_JSON = 64 << 20, MAX_FILES = 64 };

static const char MANIFEST[] = "manifest.json", STATE[] = "state.json",
                  BLOCKS[] = "training.safetensors";
/* Without these it is no checkpoint, whatever the manifest says; the first two of a model, or
 * those of an adapter. */
static const char *const needed[] = {"config.json", "model.safetensors", BLOCKS, STATE};
static const char *const of_adapter[] = {"adapter_config.json", "adapter_model.safetensors"};

/* ---- writing ---- */

static int write_json(const char *folder, const char *name, const json_t *value)
{
    char *path = file_join(folder, name);
    int rc = path == NULL ? ERR_NOMEM : json_write_file(path, value);
    mem_free(path);
    return rc;
}

static int describe_blocks(struct buf *head, uint64_t *total, const struct checkpoint_content *c)
{
    *total = 0;
    int rc = buf_char(head, '{');
    for (int i = 0; i < c->n_blocks && rc == 0; i++) {
        const struct optimizer_block *b = &c->blocks[i];
        uint64_t end = *total + b->n * dtype_bytes(b->dtype);
        rc = buf_printf(head,
                        "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%zu],\"data_offsets\":[%" PRIu64
                        ",%" PRIu64 "]}",
                        i > 0 ? "," : "", b->name, dtype_name(b->dtype), b->n, *total, end);
        *total = end;
    }
    return rc != 0 ? rc : buf_char(head, '}');
}

/* How far the blocks are written. */
struct writing {
    const struct checkpoint_content *content;
    const struct progress *progress;
    uint64_t done, total;
};

static int write_block(struct writing *w, struct file_writer *f, int i)
{
    const struct checkpoint_content *c = w->content;
    const struct optimizer_block *b = &c->blocks[i];
    const bool copies = b->data == NULL || c->read != NULL;
    size_t n = b->n * dtype_bytes(b->dtype);
    char *copy = copies ? mem_alloc(PART) : NULL;
    int rc = copies && copy == NULL ? ERR_NOMEM : 0;
    for (size_t at = 0; at < n && rc == 0; at += PART) {
        size_t part = n - at < PART ? n - at : PART;
        if (copies)
            rc = c->read != NULL ? c->read(c->user, i, copy, at, part)
                                 : optimizer_block_read(b, copy, at, part);
        if (rc == 0)
            rc = file_write(f, copy != NULL ? copy : (const char *)b->data + at, part);
        w->done += part;
        if (rc == 0)
            rc = progress_step(w->progress, "writing the optimizer", w->done, w->total);
    }
    mem_free(copy);
    return rc;
}

static int write_all_blocks(void *user, struct file_writer *f)
{
    struct writing *w = user;
    int rc = 0;
    for (int i = 0; i < w->content->n_blocks && rc == 0; i++)
        rc = write_block(w, f, i);
    return rc;
}

static int write_blocks(const char *folder, const struct checkpoint_content *c,
                        const struct progress *p)
{
    struct buf head = {0};
    struct writing w = {.content = c, .progress = p};
    int rc = describe_blocks(&head, &w.total, c);
    if (rc == 0)
        rc = safetensors_write(folder, BLOCKS, &head, write_all_blocks, &w);
    buf_release(&head);
    return rc;
}

static int write_state(const char *folder, const struct checkpoint_content *c)
{
    json_t *o = json_pack("{s:i,s:I,s:O}", "version", VERSION, "step", (json_int_t)c->step, "run",
                          c->state);
    int rc = o == NULL ? err_set(ERR_NOMEM, "no memory for the state of the run")
                       : write_json(folder, STATE, o);
    json_decref(o);
    return rc;
}

/* ---- the manifest ---- */

static int hash_file(char hex[SHA256_HEX], const struct file *f, const struct progress *p)
{
    struct sha256 h;
    struct sha256_progress sums = {.what = "checking", .progress = p, .total = f->bytes};
    int rc = sha256_init(&h);
    if (rc != 0)
        return rc;
    rc = sha256_add_file(&h, f, &sums);
    sha256_end_hex(&h, hex);
    sha256_release(&h);
    return rc;
}

static int add_file(json_t *files, const char *folder, const char *name, const struct progress *p)
{
    char hex[SHA256_HEX];
    struct file f;
    char *path = file_join(folder, name);
    int rc = path == NULL ? ERR_NOMEM : file_open(&f, path);
    mem_free(path);
    if (rc != 0)
        return rc;
    if ((rc = hash_file(hex, &f, p)) == 0 &&
        json_object_set_new(
            files, name, json_pack("{s:I,s:s}", "bytes", (json_int_t)f.bytes, "sha256", hex)) != 0)
        rc = err_set(ERR_NOMEM, "no memory for the manifest");
    file_close(&f);
    return rc;
}

static int write_manifest(const char *folder, const struct progress *p)
{
    json_t *files = json_object();
    DIR *dir = opendir(folder);
    int rc = files == NULL ? err_set(ERR_NOMEM, "no memory for the manifest")
             : dir == NULL ? err_errno("cannot open the new checkpoint")
                           : 0;
    for (const char *name; rc == 0 && (name = folder_entry_next(dir)) != NULL;)
        rc = add_file(files, folder, name, p);
    folder_entry_close(dir);
    json_t *o = rc == 0 ? json_pack("{s:i,s:O}", "version", VERSION, "files", files) : NULL;
    if (rc == 0)
        rc = o == NULL ? err_set(ERR_NOMEM, "no memory for the manifest")
                       : write_json(folder, MANIFEST, o);
    json_decref(o);
    json_decref(files);
    return rc;
}

int checkpoint_write(const struct run_folder *f, const struct checkpoint_content *c,
                     const struct progress *p)
{
    struct folder_writer w;
    const struct save_config as = {.convert = false};
    char shown[SHOWN], *path = run_folder_checkpoint(f->path, c->step);
    int rc = path == NULL ? ERR_NOMEM : folder_create(&w, path, false);
    if (rc == 0) {
        w.any_files = true;
        rc = c->weights != NULL ? source_save_hf(c->weights, w.temp, &as, p)
                                : adapter_write(c->adapter, w.temp, c->base);
        if (rc == 0 && (rc = write_blocks(w.temp, c, p)) == 0 &&
            (rc = write_state(w.temp, c)) == 0 && (rc = write_manifest(w.temp, p)) == 0)
            rc = folder_commit(&w);
        folder_abandon(&w);
    }
    if (rc != 0 && path != NULL && rc != ERR_INTERRUPTED)
        rc = err_wrap("cannot write the checkpoint %s", file_show(shown, sizeof shown, path));
    mem_free(path);
    return rc;
}

/* ---- reading ---- */

/* It stays open in *files, so that what was verified is what is read. */
static int check_file(struct file_set *files, const char *folder, const char *name,
                      const json_t *said, const struct progress *p)
{
    int64_t bytes = -1;
    const char *sha = "";
    char hex[SHA256_HEX], shown[SHOWN];
    file_show(shown, sizeof shown, name);
    if (strchr(name, '/') != NULL || !json_is_object(said) ||
        json_take_int(said, "bytes", 0, INT64_MAX, &bytes) != 0 ||
        json_take_text(said, "sha256", &sha) != 0 || bytes < 0)
        return err_set(ERR_FORMAT, "%s has no valid entry for %s", MANIFEST, shown);
    char *path = file_join(folder, name);
    struct file f;
    int rc = path == NULL ? ERR_NOMEM : file_open(&f, path);
    if (rc == ERR_MISSING)
        rc = err_set(ERR_FORMAT, "%s is missing", shown);
    if (rc == 0) {
        if (f.bytes != (uint64_t)bytes)
            rc = err_set(ERR_FORMAT, "%s has %" PRIu64 " bytes, %" PRId64 " were written", shown,
                         f.bytes, bytes);
        else if ((rc = hash_file(hex, &f, p)) == 0 && strcmp(hex, sha) != 0)
            rc = err_set(ERR_FORMAT, "%s is not what was written: its SHA-256 differs", shown);
        if (rc == 0)
            rc = file_set_add(files, f);
        else
            file_close(&f);
    }
    mem_free(path);
    return rc;
}

static int check_version(const json_t *o, const char *name)
{
    int64_t version = 0;
    int rc = json_take_int(o, "version", 0, INT32_MAX, &version);
    if (rc == 0 && version != VERSION)
        rc = err_set(ERR_MISMATCH, "%s is of version %" PRId64 ", this program reads %d", name,
                     version, VERSION);
    return rc;
}

static int read_manifest(json_t **out, const char *folder)
{
    char *path = file_join(folder, MANIFEST);
    int rc = path == NULL ? ERR_NOMEM : json_read_file(out, path, MAX_JSON);
    mem_free(path);
    if (rc == ERR_MISSING)
        rc = err_set(ERR_FORMAT, "%s is missing", MANIFEST);
    return rc == 0 ? check_version(*out, MANIFEST) : rc;
}

static int check_files(struct file_set *open, const char *folder, const struct progress *p)
{
    json_t *manifest = NULL;
    int rc = read_manifest(&manifest, folder);
    json_t *files = json_object_get(manifest, "files"), *said;
    const char *name;
    bool adapter = json_object_get(files, of_adapter[0]) != NULL;
    if (rc == 0 && json_object_size(files) > MAX_FILES)
        rc = err_set(ERR_FORMAT, "%s names %zu files, at most %d are a checkpoint's", MANIFEST,
                     json_object_size(files), MAX_FILES);
    for (size_t i = 0; i < sizeof needed / sizeof *needed && rc == 0; i++) {
        const char *one = adapter && i < 2 ? of_adapter[i] : needed[i];
        if (json_object_get(files, one) == NULL)
            rc = err_set(ERR_FORMAT, "%s does not name %s", MANIFEST, one);
    }
    if (rc == 0)
        json_object_foreach(files, name, said)
        {
            if ((rc = check_file(open, folder, name, said, p)) != 0)
                break;
        }
    json_decref(manifest);
    return rc;
}

static int open_blocks(struct checkpoint *c)
{
    struct file file;
    int rc = file_set_open(&file, &c->files, c->path, BLOCKS);
    if (rc != 0)
        return rc;
    if ((c->blocks = mem_alloc(sizeof *c->blocks)) == NULL) {
        file_close(&file);
        return ERR_NOMEM;
    }
    if ((rc = safetensors_open_file(c->blocks, file)) != 0) {
        mem_free(c->blocks);
        c->blocks = NULL;
    }
    return rc;
}

static int read_state(struct checkpoint *c)
{
    const struct file *file = file_set_find(&c->files, STATE);
    json_t *o = NULL;
    int64_t step = -1;
    int rc = json_read_open_file(&o, file, MAX_JSON);
    if (rc == 0 && (rc = check_version(o, STATE)) == 0 &&
        (rc = json_take_int(o, "step", 0, INT64_MAX, &step)) == 0 && step < 0)
        rc = err_set(ERR_FORMAT, "%s does not say the step", STATE);
    json_t *run = json_object_get(o, "run");
    if (rc == 0 && !json_is_object(run))
        rc = err_set(ERR_FORMAT, "%s says nothing of the run", STATE);
    if (rc == 0) {
        c->step = step;
        c->state = json_incref(run);
    }
    json_decref(o);
    return rc;
}

/* Takes path. */
static int open_checkpoint(struct checkpoint *c, char *path, const struct progress *p)
{
    char shown[SHOWN];
    *c = (struct checkpoint){.path = path};
    if (path == NULL)
        return ERR_NOMEM;
    int rc = check_files(&c->files, path, p);
    if (rc == 0 && (rc = read_state(c)) == 0)
        rc = open_blocks(c);
    if (rc != 0 && rc != ERR_INTERRUPTED)
        rc = err_wrap("checkpoint %s", file_show(shown, sizeof shown, path));
    if (rc != 0)
        checkpoint_close(c);
    return rc;
}

static int has_manifest(const char *path, bool *has)
{
    char *manifest = file_join(path, MANIFEST);
    if (manifest == NULL)
        return ERR_NOMEM;
    *has = file_exists(manifest);
    mem_free(manifest);
    return 0;
}

/* What it lies in is the run, and the path must say so: "run/step-000004/" does without its slash;
 * ".", or a link of another name, does not, and is followed. In fresh memory. */
static char *own_path(const char *path)
{
    char *own = mem_strdup(path);
    for (size_t n = own == NULL ? 0 : strlen(own); n > 1 && own[n - 1] == '/'; n--)
        own[n - 1] = '\0';
    const char *slash = own == NULL ? NULL : strrchr(own, '/');
    if (own == NULL || run_folder_step_of(slash == NULL ? own : slash + 1) >= 0)
        return own;
    mem_free(own);
    return folder_real_path(path);
}

int checkpoint_open(struct checkpoint *c, const char *path, const struct progress *p)
{
    int64_t *steps;
    int n;
    bool is_checkpoint;
    char shown[SHOWN];
    *c = (struct checkpoint){0};
    file_show(shown, sizeof shown, path);
    int rc = has_manifest(path, &is_checkpoint);
    if (rc != 0)
        return rc;
    if (is_checkpoint)
        return open_checkpoint(c, own_path(path), p);
    if ((rc = run_folder_steps(path, &steps, &n)) != 0)
        return rc;
    if (n == 0)
        rc = err_set(ERR_MISSING, "there is no checkpoint in %s", shown);
    for (int i = 0; i < n; i++) {
        rc = open_checkpoint(c, run_folder_checkpoint(path, steps[i]), p);
        if (rc == 0 || rc == ERR_INTERRUPTED || rc == ERR_NOMEM)
            break;
        progress_note(p, "%s; passed over", err_text());
        if (i == n - 1)
            rc = err_set(ERR_FORMAT, "none of the %d checkpoints in %s is whole", n, shown);
    }
    mem_free(steps);
    return rc;
}

void checkpoint_close(struct checkpoint *c)
{
    if (c == NULL)
        return;
    if (c->blocks != NULL)
        tensor_file_close(c->blocks);
    mem_free(c->blocks);
    file_set_close(&c->files);
    json_decref(c->state);
    mem_free(c->path);
    *c = (struct checkpoint){0};
}

static int read_spans(const struct file *f, const struct optimizer_block *b, uint64_t offset,
                      const struct spans *own)
{
    const size_t each = dtype_bytes(b->dtype);
    int rc = 0;
    for (int i = 0; i < own->n && rc == 0; i++) {
        const size_t first = own->at[i].first * each;
        rc = file_read_at(f, (char *)b->data + first, offset + first, own->at[i].n * each);
    }
    return rc;
}

/* Part by part, to the disk. */
static int move_block(const struct file *f, const struct optimizer_block *b, uint64_t offset)
{
    const size_t n = b->n * dtype_bytes(b->dtype);
    char *copy = mem_alloc(PART);
    int rc = copy == NULL ? ERR_NOMEM : 0;
    for (size_t at = 0; at < n && rc == 0; at += PART) {
        const size_t part = n - at < PART ? n - at : PART;
        if ((rc = file_read_at(f, copy, offset + at, part)) == 0)
            rc = optimizer_block_write(b, copy, at, part);
    }
    mem_free(copy);
    return rc;
}

int checkpoint_read(const struct checkpoint *c, const struct optimizer_block *b,
                    const struct spans *own)
{
    const struct spans all = {.n = 1, .at = {{0, b->n}}};
    char shown[SHOWN];
    const struct tensor_entry *e = tensor_file_find(c->blocks, b->name);
    uint64_t bytes = (uint64_t)b->n * dtype_bytes(b->dtype);
    if (e == NULL)
        return err_set(ERR_MISMATCH, "checkpoint %s has no %s: its optimizer is another one",
                       file_show(shown, sizeof shown, c->path), b->name);
    if (strcmp(e->dtype_name, dtype_name(b->dtype)) != 0 || e->bytes != bytes)
        return err_set(ERR_MISMATCH,
                       "checkpoint %s has %" PRIu64 " bytes of %s in %s, this run needs %" PRIu64
                       " in %s",
                       file_show(shown, sizeof shown, c->path), e->bytes, e->dtype_name, b->name,
                       bytes, dtype_name(b->dtype));
    if (b->data == NULL)
        return move_block(&c->blocks->file, b, e->offset);
    return read_spans(&c->blocks->file, b, e->offset, own == NULL ? &all : own);
}
