#include "weights/open.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "weights/adapter_base.h"
#include "weights/bundled/bundled.h"
#include "weights/find.h"
#include "weights/foreign/meta_vocab.h"
#include "weights/foreign/source_foreign.h"
#include "weights/gpt2_tokenizer.h"
#include "weights/gguf/source_gguf.h"
#include "weights/hf/adapter_file.h"
#include "weights/hf/hf_files.h"
#include "weights/hf/source_adapter.h"
#include "weights/hf/source_hf.h"
#include "weights/hub/repository.h"
#include "weights/llmc/llmc.h"
#include "weights/llmc/llmc_folder.h"
#include "weights/llmc/source_llmc.h"
#include "weights/random_source.h"
#include "weights/run_folder.h"
#include "weights/sentencepiece/sentencepiece.h"
#include "weights/tensors/folder_place.h"
#include "weights/tensors/sniff.h"
#include "weights/tensors/weights_sample.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char RANDOM[] = "random:";
enum { RANDOM_LENGTH = sizeof RANDOM - 1, TOKENIZER_MAX_BYTES = 32 << 20 };

static bool is_random_name(const char *path)
{
    return strncmp(path, RANDOM, RANDOM_LENGTH) == 0;
}

/* Take the tokenizer of another model or folder. */
static int borrow_tokenizer(struct tokenizer **out, const char *path)
{
    struct source other;
    /* An adapter's base may borrow from that adapter, and random:NAME may borrow in turn. */
    char *folder, *title;
    int rc = weights_find(&folder, &title, path, NULL);
    mem_free(title);
    if (rc == 0 &&
        ((is_random_name(path) && strstr(path, "tokenizer=") != NULL) || adapter_is_folder(folder)))
        rc = err_set(ERR_UNSUPPORTED, "a tokenizer is not borrowed from an adapter, nor from "
                                      "what borrows itself");
    if (rc != 0)
        rc = file_wrap(path);
    else
        rc = source_open(&other, folder, 0, false, NULL);
    mem_free(folder);
    if (rc != 0)
        return rc;
    *out = other.tokenizer;
    other.tokenizer = NULL;
    source_close(&other);
    if (*out != NULL)
        return 0;
    err_set(ERR_MISSING, "no tokenizer is there");
    return file_wrap(path);
}

static int open_random(struct source *s, const char *name, uint64_t seed)
{
    struct random_name r;
    struct tokenizer *tokenizer = NULL;
    int rc = random_name_read(&r, name, seed);
    if (rc != 0)
        return rc;
    if (r.tokenizer != NULL)
        rc = borrow_tokenizer(&tokenizer, r.tokenizer);
    if (rc == 0)
        rc = source_open_random(s, &r, tokenizer);
    random_name_release(&r);
    return rc;
}

/* Open the base that an adapter's folder names, with the adapter merged in. */
static int open_adapter(struct source *s, const char *path, bool need_weights,
                        const struct progress *p)
{
    char *base = NULL;
    struct adapter *a = NULL;
    struct adapter_folder f;
    int rc = adapter_open(&f, path, NULL);
    if (rc == 0 && (rc = adapter_base(&base, &f, p)) == 0)
        rc = source_open(s, base, 0, need_weights, p);
    if (rc == 0) {
        s->base = base;
        base = NULL;
        if ((rc = adapter_settings(s, &f)) != 0)
            source_close(s);
    }
    mem_free(base);
    if (rc == 0 && s->table.n_tensors > 0 &&
        ((rc = adapter_read_open(&a, &f, &s->config)) != 0 ||
         (rc = weights_sample_check(a, s, s->name, p)) != 0 ||
         (rc = source_adapt_owned(s, a)) != 0)) {
        source_close(s);
        adapter_free(a);
    }
    adapter_close(&f);
    return rc;
}

/* How the file begins. Files that are no weights at all are refused (sniff.h). */
static int read_magic(char magic[4], const struct file *f)
{
    int rc = sniff_refuse(f);
    memset(magic, 0, 4);
    if (rc == 0)
        rc = file_read_at(f, magic, 0, f->bytes < 4 ? (size_t)f->bytes : 4);
    return rc == 0 ? 0 : file_wrap(f->path);
}

/* A tokenizer alone. */
static int open_pieces(struct source *s, struct file *file, bool need_weights,
                       const struct progress *p)
{
    struct buf bytes = {0};
    int rc = need_weights ? err_set(ERR_FORMAT, "it is a SentencePiece model, which is a tokenizer "
                                                "without weights")
                          : file_read_whole(&bytes, file, TOKENIZER_MAX_BYTES);
    config_init(&s->config);
    if (rc == 0)
        rc = sentencepiece_open(&s->tokenizer, bytes.data, bytes.n, NULL, p);
    if (rc == 0 && (s->name = mem_strdup(hf_last_part(file->path))) == NULL)
        rc = ERR_NOMEM;
    if (rc != 0) {
        file_wrap(file->path);
        source_close(s);
    }
    buf_release(&bytes);
    file_close(file);
    return rc;
}

/* A vocabulary of characters alone: nanoGPT's meta.pkl, by its name or beside its token files. */
static int open_meta(struct source *s, const char *path)
{
    char *meta;
    config_init(&s->config);
    s->config.n_vocab = INT_MAX;
    char *inside = file_is_folder(path) ? file_join(path, "meta.pkl") : mem_strdup(path);
    int rc = inside == NULL ? ERR_NOMEM : meta_vocab_beside(&s->tokenizer, &meta, inside);
    if (rc == 0 && s->tokenizer == NULL)
        rc = file_refuse(ERR_FORMAT, inside, "has no characters of nanoGPT's: its itos");
    if (rc == 0) {
        s->name = meta;
        s->config.n_vocab = tokenizer_size(s->tokenizer);
    }
    mem_free(inside);
    return rc;
}

static bool is_meta(const char *path)
{
    static const char *const others[] = {"vocab.json", "tokenizer.json"};
    if (strcmp(hf_last_part(path), "meta.pkl") == 0)
        return true;
    if (!file_exists_in(path, "meta.pkl") || hf_files_are_in(path))
        return false;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (file_exists_in(path, others[i]))
            return false;
    return true;
}

/* The file is opened once, so that the file that was sniffed is the one that is read. */
static int open_file(struct source *s, const char *path, bool need_weights,
                     const struct progress *p)
{
    struct file file;
    char magic[4];
    int rc = file_open(&file, path);
    if (rc != 0)
        return rc;
    if ((rc = read_magic(magic, &file)) != 0) {
        file_close(&file);
        return rc;
    }
    if (memcmp(magic, "GGUF", sizeof magic) == 0 || text_ends_in(path, ".gguf"))
        return source_open_gguf(s, file, need_weights, p);
    if (sentencepiece_is_file(path, magic, sizeof magic))
        return open_pieces(s, &file, need_weights, p);
    if (llmc_is_file(magic))
        return source_open_llmc(s, file, p);
    if (foreign_is_name(path)) {
        rc = source_open_foreign(s, &file, path, p);
        if (rc == 0 || file.path == NULL)
            return rc;
        err_clear();
    }
    return source_open_hf(s, path, file, need_weights, p);
}

/* Note that a name with a meaning of its own is also that of a file here; of the same name once. */
static void note_ambiguity(const char *name, const char *meaning, const struct progress *p)
{
    static char noted[160];
    char shown[160];
    if (p == NULL || p->note == NULL || !file_exists(name))
        return;
    file_show(shown, sizeof shown, name);
    if (strcmp(noted, shown) == 0)
        return;
    snprintf(noted, sizeof noted, "%s", shown);
    progress_note(p, "%s is %s; `./%s` is the %s of that name here", shown, meaning, shown,
                  file_is_folder(name) ? "folder" : "file");
}

/* The path to open; *title as of weights_find. */
static int find_path(char **out, char **title, const char *path, const struct progress *p)
{
    *title = NULL;
    if (!bundled_is_name(path))
        return weights_find(out, title, path, p);
    note_ambiguity(path, "the model that ships", p);
    return bundled_path(out);
}

/* The checkpoint of another trainer in a folder without a model of Hugging Face; *out NULL: there
 * is none. */
static int find_foreign(char **out, const char *folder)
{
    int rc = foreign_find(out, folder);
    return rc == 0 && *out == NULL && !hf_files_are_in(folder) ? llmc_find(out, folder) : rc;
}

static int open_path(struct source *s, const char *path, bool need_weights,
                     const struct progress *p)
{
    if (adapter_is_folder(path))
        return open_adapter(s, path, need_weights, p);
    if (!file_is_folder(path))
        return !need_weights && is_meta(path) ? open_meta(s, path)
                                              : open_file(s, path, need_weights, p);
    char *inside;
    int rc = find_foreign(&inside, path);
    if (rc == 0 && inside == NULL && !need_weights && is_meta(path))
        return open_meta(s, path);
    if (rc == 0 && inside == NULL)
        return source_open_hf(s, path, (struct file){.fd = -1}, need_weights, p);
    if (rc == 0)
        rc = open_file(s, inside, need_weights, p);
    mem_free(inside);
    return rc;
}

/* A folder of the cache has a commit for its name: show the model's. */
static void name_cached(struct source *s, const char *path)
{
    char *id = adapter_is_folder(path) ? NULL : hub_snapshot_id(path);
    if (id != NULL) {
        mem_free(s->name);
        s->name = id;
    }
}

/* A checkpoint is called by its run: step-000400 says little elsewhere. */
static void name_checkpoint(struct source *s, const char *path)
{
    const int64_t step = s->name == NULL ? -1 : run_folder_step_of(s->name);
    char real[PATH_MAX], *name = NULL;
    if (step < 0 || realpath(path, real) == NULL)
        return;
    char *slash = strrchr(real, '/');
    if (slash != NULL && slash > real) {
        *slash = '\0';
        name = mem_sprintf("%s, checkpoint of step %" PRId64, hf_last_part(real), step);
    }
    if (name != NULL) {
        mem_free(s->name);
        s->name = name;
    }
}

int source_open(struct source *s, const char *path, uint64_t seed, bool need_weights,
                const struct progress *p)
{
    char *found, *title;
    *s = (struct source){0};
    if (is_random_name(path)) {
        note_ambiguity(path, "a random model", p);
        return open_random(s, path + RANDOM_LENGTH, seed);
    }
    int rc = find_path(&found, &title, path, p);
    if (rc == 0 && (rc = open_path(s, found, need_weights, p)) == ERR_MISSING)
        folder_place_explain(rc, found);
    if (rc == 0 && (rc = gpt2_tokenizer_borrow(s, p)) != 0)
        source_close(s);
    if (rc == 0)
        name_cached(s, found);
    if (rc == 0)
        name_checkpoint(s, found);
    if (rc == 0 && title != NULL) {
        progress_note(p, "%s", title);
        mem_free(s->name);
        s->name = title;
        title = NULL;
    }
    mem_free(title);
    mem_free(found);
    return rc;
}
