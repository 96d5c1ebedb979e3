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
#include "weights/hf/save_hf.h"
#include "weights/tensors/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* All files stay open: as many as a process may have by default are more than twice these. */
enum { VERSION = 1, SHOWN = 256, MAX_JSON = 64 << 20, MAX_FILES = 2 * CHECKPOINT_MAX_PARTS + 64 };

static const char MANIFEST[] = "manifest.json", STATE[] = "state.json",
                  INDEX[] = "model.safetensors.index.json";

/* ---- writing ---- */

static int write_json(const char *folder, const char *name, const json_t *value)
{
    char *path = file_join(folder, name);
    int rc = path == NULL ? ERR_NOMEM : json_write_file(path, value);
    mem_free(path);
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

int checkpoint_hash_file(struct checkpoint_file *out, const char *folder, const struct progress *p)
{
    struct file f;
    char *path = file_join(folder, out->name);
    int rc = path == NULL ? ERR_NOMEM : file_open(&f, path);
    mem_free(path);
    if (rc != 0)
        return rc;
    out->bytes = f.bytes;
    rc = hash_file(out->sha256, &f, p);
    file_close(&f);
    return rc;
}

int checkpoint_add_file(json_t *files, const struct checkpoint_file *f)
{
    return json_object_set_new(
               files, f->name,
               json_pack("{s:I,s:s}", "bytes", (json_int_t)f->bytes, "sha256", f->sha256)) == 0
               ? 0
               : err_set(ERR_NOMEM, "no memory for the manifest");
}

/* Unless other processes have said it. */
static int add_own_file(json_t *files, const char *folder, const char *name,
                        const struct progress *p)
{
    struct checkpoint_file f;
    if (json_object_get(files, name) != NULL)
        return 0;
    if (strlen(name) >= sizeof f.name)
        return err_set(ERR_RANGE, "the name %s is too long for a checkpoint's file", name);
    snprintf(f.name, sizeof f.name, "%s", name);
    int rc = checkpoint_hash_file(&f, folder, p);
    return rc == 0 ? checkpoint_add_file(files, &f) : rc;
}

static int write_manifest(const char *folder, json_t *files, const struct progress *p)
{
    DIR *dir = opendir(folder);
    int rc = dir == NULL ? err_errno("cannot open the new checkpoint") : 0;
    for (const char *name; rc == 0 && (name = folder_entry_next(dir)) != NULL;)
        rc = add_own_file(files, folder, name, p);
    folder_entry_close(dir);
    json_t *o = rc == 0 ? json_pack("{s:i,s:O}", "version", VERSION, "files", files) : NULL;
    if (rc == 0)
        rc = o == NULL ? err_set(ERR_NOMEM, "no memory for the manifest")
                       : write_json(folder, MANIFEST, o);
    json_decref(o);
    return rc;
}

/* ---- a checkpoint ---- */

static int write_blocks(const char *folder, const struct checkpoint_content *c,
                        const struct progress *p)
{
    char name[BLOCK_FILE_NAME];
    block_file_name(name, 0, 0);
    return block_file_write(folder, name, &c->blocks, p);
}

static int write_settings(const char *folder, const char *text)
{
    char *path = file_join(folder, "prattle.yaml");
    int rc = path == NULL ? ERR_NOMEM : file_write_whole(path, text, strlen(text), false);
    mem_free(path);
    return rc;
}

/* Into a folder that nobody sees yet, and what other processes have written there into files. */
static int write_contents(const char *folder, const struct checkpoint_content *c, json_t *files,
                          const struct progress *p)
{
    const struct save_config as = {.convert = false};
    bool written = false;
    int rc;
    if (c->weights == NULL) {
        rc = adapter_write(c->adapter, folder, c->base);
        if (rc == 0 && c->settings != NULL)
            rc = write_settings(folder, c->settings);
    } else {
        if ((rc = hf_about_write(folder, c->weights, &as)) == 0 && c->write_parts != NULL)
            rc = c->write_parts(c->user, folder, files, &written);
        if (rc == 0 && !written)
            rc = hf_weights_write(folder, c->weights, &as, p);
    }
    return rc == 0 && !written ? write_blocks(folder, c, p) : rc;
}

int checkpoint_write(const struct run_folder *f, const struct checkpoint_content *c,
                     const struct progress *p)
{
    struct folder_writer w;
    char shown[SHOWN], *path = run_folder_checkpoint(f->path, c->step);
    json_t *files = json_object();
    int rc = path == NULL    ? ERR_NOMEM
             : files == NULL ? err_set(ERR_NOMEM, "no memory for the manifest")
                             : folder_create(&w, path, false);
    if (rc == 0) {
        w.any_files = true;
        if ((rc = write_contents(w.temp, c, files, p)) == 0 && (rc = write_state(w.temp, c)) == 0 &&
            (rc = write_manifest(w.temp, files, p)) == 0)
            rc = folder_commit(&w);
        folder_abandon(&w);
    }
    json_decref(files);
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

/* Without these it is no checkpoint, whatever the manifest says; what has the optimizer is looked
 * for where it is opened. */
static int check_names(const json_t *files)
{
    const bool adapter = json_object_get(files, "adapter_config.json") != NULL,
               divided = json_object_get(files, INDEX) != NULL;
    const char *const needed[] = {adapter ? "adapter_config.json" : "config.json",
                                  adapter   ? "adapter_model.safetensors"
                                  : divided ? INDEX
                                            : "model.safetensors",
                                  STATE};
    if (json_object_size(files) > MAX_FILES)
        return err_set(ERR_FORMAT, "%s names %zu files, at most %d are a checkpoint's", MANIFEST,
                       json_object_size(files), MAX_FILES);
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (json_object_get(files, needed[i]) == NULL)
            return err_set(ERR_FORMAT, "%s does not name %s", MANIFEST, needed[i]);
    return 0;
}

/* Whoever reads the weights finds their files by the index: all of them were verified. */
static int check_index(const struct file_set *open)
{
    const struct file *file = file_set_find(open, INDEX);
    json_t *o = NULL, *in;
    const char *tensor;
    char shown[SHOWN];
    int rc = file == NULL ? 0 : json_read_open_file(&o, file, MAX_JSON);
    json_t *map = json_object_get(o, "weight_map");
    json_object_foreach(map, tensor, in)
    {
        const char *name = json_string_value(in);
        if (rc == 0 && (name == NULL || file_set_find(open, name) == NULL))
            rc = err_set(ERR_FORMAT, "%s names %s, %s does not", INDEX,
                         name == NULL ? "no file" : file_show(shown, sizeof shown, name), MANIFEST);
    }
    json_decref(o);
    return rc;
}

static int check_files(struct file_set *open, const char *folder, const struct progress *p)
{
    json_t *manifest = NULL;
    int rc = read_manifest(&manifest, folder);
    json_t *files = json_object_get(manifest, "files"), *said;
    const char *name;
    if (rc == 0)
        rc = check_names(files);
    if (rc == 0)
        json_object_foreach(files, name, said)
        {
            if ((rc = check_file(open, folder, name, said, p)) != 0)
                break;
        }
    json_decref(manifest);
    return rc == 0 ? check_index(open) : rc;
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
        rc = block_files_open(&c->blocks, &c->files, c->path);
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

/* The first of n that is whole. */
static int open_newest(struct checkpoint *c, const char *path, const int64_t *steps, int n,
                       const struct progress *p)
{
    char shown[SHOWN];
    file_show(shown, sizeof shown, path);
    for (int i = 0; i < n; i++) {
        const int rc = open_checkpoint(c, run_folder_checkpoint(path, steps[i]), p);
        if (rc == 0 || rc == ERR_INTERRUPTED || rc == ERR_NOMEM)
            return rc;
        progress_note(p, "%s; passed over", err_text());
    }
    if (n == 0)
        return file_exists(path) ? err_set(ERR_MISSING, "there is no checkpoint in %s", shown)
                                 : err_set(ERR_MISSING, "there is no folder %s", shown);
    return n == 1 ? err_set(ERR_FORMAT, "the only checkpoint in %s is not whole", shown)
                  : err_set(ERR_FORMAT, "none of the %d checkpoints in %s is whole", n, shown);
}

/* Whether a folder has others than these n by now, which take their place. */
static bool look_again(const char *path, int64_t **steps, int *n)
{
    struct err_kept kept;
    int64_t *now;
    int n_now;
    err_keep(&kept);
    const bool others =
        run_folder_steps(path, &now, &n_now) == 0 &&
        (n_now != *n || (n_now > 0 && memcmp(now, *steps, (size_t)n_now * sizeof *now) != 0));
    err_restore(&kept);
    if (!others) {
        mem_free(now);
        return false;
    }
    mem_free(*steps);
    *steps = now;
    *n = n_now;
    return true;
}

/* A process at work, or one that has just been killed, may remove what is being read here, for a
 * newer one. */
static int open_in_folder(struct checkpoint *c, const char *path, const struct progress *p)
{
    int64_t *steps;
    int n, rc = run_folder_steps(path, &steps, &n);
    if (rc != 0)
        return rc;
    do
        rc = open_newest(c, path, steps, n, p);
    while (rc == ERR_FORMAT && look_again(path, &steps, &n));
    mem_free(steps);
    return rc;
}

int checkpoint_open(struct checkpoint *c, const char *path, const struct progress *p)
{
    bool is_checkpoint;
    *c = (struct checkpoint){0};
    const int rc = has_manifest(path, &is_checkpoint);
    if (rc != 0)
        return rc;
    return is_checkpoint ? open_checkpoint(c, own_path(path), p) : open_in_folder(c, path, p);
}

void checkpoint_close(struct checkpoint *c)
{
    if (c == NULL)
        return;
    block_files_close(&c->blocks);
    file_set_close(&c->files);
    json_decref(c->state);
    mem_free(c->path);
    *c = (struct checkpoint){0};
}

int checkpoint_read(const struct checkpoint *c, const struct optimizer_block *b,
                    const struct spans *own)
{
    return block_files_read(&c->blocks, b, own, c->path);
}

/* ---- another state ---- */

/* Of `path`, which was to get a link elsewhere. */
static int refuse_link(const char *path)
{
    const int why = errno;
    char shown[SHOWN];
    file_show(shown, sizeof shown, path);
    if (file_is_folder(path))
        return err_set(ERR_UNSUPPORTED, "%s is a folder, which is not carried over", shown);
    errno = why;
    return why == EPERM || why == ENOSYS || why == EOPNOTSUPP
               ? err_set(ERR_UNSUPPORTED, "%s gets no hard link from its file system", shown)
               : file_fails("link", path);
}

/* All but what a state is in. */
static int link_others(const char *from, const char *to)
{
    DIR *dir = opendir(from);
    int rc = dir == NULL ? file_fails("open", from) : 0;
    for (const char *name; rc == 0 && (name = folder_entry_next(dir)) != NULL;) {
        if (strcmp(name, STATE) == 0 || strcmp(name, MANIFEST) == 0)
            continue;
        char *there = file_join(from, name), *here = file_join(to, name);
        if (there == NULL || here == NULL)
            rc = ERR_NOMEM;
        else if (linkat(AT_FDCWD, there, AT_FDCWD, here, 0) != 0)
            rc = refuse_link(there);
        mem_free(there);
        mem_free(here);
    }
    folder_entry_close(dir);
    return rc;
}

/* The other files' hashes stay, and so does what they find. */
static int restate_contents(const char *path, const char *temp, const struct checkpoint_content *c,
                            const struct progress *p)
{
    json_t *manifest = NULL;
    int rc = read_manifest(&manifest, path);
    json_t *files = json_object_get(manifest, "files");
    if (rc == 0 && !json_is_object(files))
        rc = err_set(ERR_FORMAT, "%s names no files", MANIFEST);
    if (rc == 0 && (rc = link_others(path, temp)) == 0 && (rc = write_state(temp, c)) == 0) {
        json_object_del(files, STATE);
        rc = write_manifest(temp, files, p);
    }
    json_decref(manifest);
    return rc;
}

int checkpoint_restate(const struct run_folder *f, int64_t step, json_t *state,
                       const struct progress *p)
{
    const struct checkpoint_content c = {.step = step, .state = state};
    struct folder_writer w;
    char shown[SHOWN], *path = run_folder_checkpoint(f->path, step);
    char *made = path == NULL ? NULL : mem_sprintf("%s.tmp-state", path);
    int rc = made == NULL ? ERR_NOMEM : folder_create(&w, made, false);
    if (rc == 0) {
        w.any_files = true;
        if ((rc = restate_contents(path, w.temp, &c, p)) == 0 && (rc = folder_commit(&w)) == 0)
            rc = run_folder_replace(f, step, made);
        folder_abandon(&w);
    }
    if (rc != 0 && path != NULL && rc != ERR_INTERRUPTED)
        rc = err_wrap("cannot write the state of %s", file_show(shown, sizeof shown, path));
    mem_free(made);
    mem_free(path);
    return rc;
}
