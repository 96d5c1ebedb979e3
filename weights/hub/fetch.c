#include "weights/hub/fetch.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "weights/hf/hf_config.h"
#include "weights/hub/gguf_files.h"
#include "weights/hub/lock.h"
#include "weights/hub/model_files.h"
#include "weights/hub/transfer.h"
#include "weights/sentencepiece/sentencepiece.h"
#include "weights/hub/url.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A file of the commit, as the Hub has it. */
struct wanted {
    char *name; /* owned */
    char etag[HUB_ETAG_BYTES];
    int64_t bytes; /* -1: not known */
    bool there;    /* in the snapshot */
};

struct fetch {
    const struct hub_name *name;
    struct hub_session *session;
    struct hub_repository repository;
    char commit[HUB_COMMIT_BYTES]; /* "": not known yet */
    struct wanted *list;           /* [n], to be downloaded together */
    int n;
    uint64_t done, total; /* bytes of those */
    char *file;           /* [HUB_FILE_BYTES], a GGUF file that is the model; borrowed */
};

/* Of a file of the commit, or of the revision until that is known. New memory. */
static char *file_url(const struct fetch *f, const char *file)
{
    struct buf url = {0};
    const char *revision = f->commit[0] != '\0' ? f->commit : f->name->revision;
    int rc = buf_printf(&url, "%s/%s/resolve/", f->session->endpoint, f->name->id);
    if (rc == 0)
        rc = url_quote(&url, revision);
    if (rc == 0)
        rc = buf_char(&url, '/');
    if (rc == 0)
        rc = url_quote(&url, file);
    char *text = rc == 0 ? mem_strdup(buf_text(&url)) : NULL;
    buf_release(&url);
    return text;
}

/* ---- what the Hub says ---- */

static int refuse_repository(const struct fetch *f, const struct answer_head *a)
{
    char host[80];
    const char *id = f->name->id;
    url_host(host, f->session->endpoint);
    if (strcmp(a->error, "RevisionNotFound") == 0)
        return err_set(ERR_MISSING, "%s has no branch, tag or commit %s on %s", id,
                       f->commit[0] != '\0' ? f->commit : f->name->revision, host);
    if (a->status == 403 || strcmp(a->error, "GatedRepo") == 0)
        return err_set(
            ERR_MISSING,
            "%s answers that %s may not be read (HTTP %d); accept its terms at %s/%s, and "
            "set HF_TOKEN to a token of yours",
            host, id, a->status, f->session->endpoint, id);
    return err_set(
        ERR_MISSING,
        "%s has no model %s, or it is private (HTTP %d); check the name, or set HF_TOKEN to a "
        "token that may read it",
        host, id, a->status);
}

/* 404 of a file alone: what is remembered is that the commit lacks it. */
static int note_lacking(struct fetch *f, const struct answer_head *a, const char *file)
{
    if (strcmp(a->error, "RepoNotFound") == 0 || strcmp(a->error, "RevisionNotFound") == 0)
        return refuse_repository(f, a);
    if (a->commit[0] == '\0' || (f->commit[0] != '\0' && strcmp(f->commit, a->commit) != 0))
        return 0;
    return hub_repository_set_lacking(&f->repository, a->commit, file);
}

/* The first answer says which commit the revision is. */
static int take_commit(struct fetch *f, const struct answer_head *a)
{
    char host[80];
    if (a->commit[0] == '\0' || answer_head_etag(a)[0] == '\0')
        return err_set(ERR_FORMAT,
                       "%s does not answer as the Hub does: X-Repo-Commit or ETag is missing",
                       url_host(host, f->session->endpoint));
    if (f->commit[0] != '\0')
        return strcmp(f->commit, a->commit) == 0
                   ? 0
                   : err_set(ERR_MISMATCH, "%s answers with commit %s, asked for %s",
                             url_host(host, f->session->endpoint), a->commit, f->commit);
    snprintf(f->commit, sizeof f->commit, "%s", a->commit);
    return hub_repository_set_commit(&f->repository, f->name->revision, f->commit);
}

static int read_reply(struct wanted *w, struct fetch *f, const struct answer_head *a)
{
    const int s = a->status;
    if (s == 401 || s == 403)
        return refuse_repository(f, a);
    if (s == 404 || s == 410)
        return note_lacking(f, a, w->name);
    if (s != 200 && (s < 300 || s > 399)) {
        char host[80];
        return err_set(ERR_IO, "%s answers HTTP %d", url_host(host, f->session->endpoint), s);
    }
    const int rc = take_commit(f, a);
    if (rc != 0)
        return rc;
    snprintf(w->etag, sizeof w->etag, "%s", answer_head_etag(a));
    w->bytes = a->linked_bytes >= 0 ? a->linked_bytes : s == 200 ? a->bytes : -1;
    return 0;
}

/* Look for a file: in the snapshot, else on the Hub. *found, and what is known of it. */
static int ask_file(struct wanted *w, bool *found, struct fetch *f, const char *file)
{
    struct hub_reply reply;
    struct http_request q = {.head_only = true};
    *w = (struct wanted){.bytes = -1, .name = mem_strdup(file)};
    *found = false;
    if (w->name == NULL)
        return ERR_NOMEM;
    if (f->commit[0] != '\0') {
        w->there = *found = hub_repository_has(&f->repository, f->commit, file);
        if (*found || hub_repository_lacks(&f->repository, f->commit, file))
            return 0;
    }
    char *url = file_url(f, file);
    if (url == NULL)
        return ERR_NOMEM;
    int rc = hub_session_ask(f->session, &reply, url, &q);
    if (rc == 0)
        rc = read_reply(w, f, &reply.head);
    *found = rc == 0 && w->etag[0] != '\0';
    hub_reply_release(&reply);
    mem_free(url);
    return rc;
}

/* ---- downloading ---- */

static bool blob_is_there(const char *path, int64_t bytes)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && (bytes < 0 || st.st_size == bytes);
}

static int download_blob(struct fetch *f, const struct wanted *w, const char *blob)
{
    char *url = file_url(f, w->name);
    const struct hub_transfer t = {.url = url,
                                   .path = blob,
                                   .digest = w->etag,
                                   .bytes = w->bytes,
                                   .done = f->done,
                                   .total = f->total};
    int rc = url == NULL ? ERR_NOMEM : hub_transfer_run(&t, f->session);
    if (rc != 0 && rc != ERR_NOMEM && rc != ERR_INTERRUPTED)
        rc = err_wrap("%s of %s", w->name, f->name->id);
    mem_free(url);
    return rc;
}

/* With the lock of the blob; who waited for that may find it downloaded. */
static int download_file(struct fetch *f, const struct wanted *w)
{
    struct hub_lock lock = {-1};
    char *blob = hub_repository_blob(&f->repository, w->etag),
         *locked = mem_sprintf("%s/%s.lock", f->repository.locks, w->etag),
         *blobs = file_join(f->repository.folder, "blobs");
    int rc = blob == NULL || locked == NULL || blobs == NULL ? ERR_NOMEM : file_make_folder(blobs);
    if (rc == 0)
        rc = file_make_folder(f->repository.locks);
    if (rc == 0)
        rc = hub_lock_open(&lock, locked, f->session->progress);
    if (rc == 0 && !blob_is_there(blob, w->bytes))
        rc = download_blob(f, w, blob);
    if (rc == 0)
        rc = hub_repository_link(&f->repository, f->commit, w->name, w->etag);
    hub_lock_close(&lock);
    mem_free(blob);
    mem_free(locked);
    mem_free(blobs);
    if (rc == 0 && w->bytes > 0)
        f->done += (uint64_t)w->bytes;
    return rc;
}

static int fetch_file(bool *found, struct fetch *f, const char *file)
{
    struct wanted w;
    f->done = f->total = 0;
    int rc = ask_file(&w, found, f, file);
    if (rc == 0 && *found && !w.there)
        rc = download_file(f, &w);
    mem_free(w.name);
    return rc;
}

static int add_wanted(struct fetch *f, bool *found, const char *file)
{
    struct wanted *grown =
        mem_grow(f->list, (size_t)f->n * sizeof *grown, (size_t)(f->n + 1) * sizeof *grown);
    if (grown == NULL)
        return ERR_NOMEM;
    f->list = grown;
    int rc = ask_file(&f->list[f->n], found, f, file);
    if (rc == 0 && *found && !f->list[f->n].there)
        f->n++;
    else
        mem_free(f->list[f->n].name);
    return rc;
}

/* What the list has, after a look at the disk. */
static int download_list(struct fetch *f)
{
    uint64_t missing = 0;
    char shown[160];
    int rc = 0;
    f->done = f->total = 0;
    for (int i = 0; i < f->n && rc == 0; i++) {
        char *blob = hub_repository_blob(&f->repository, f->list[i].etag);
        const int64_t bytes = f->list[i].bytes;
        const struct hub_transfer t = {.path = blob};
        const int64_t there = blob == NULL ? 0 : hub_transfer_there(&t);
        f->total += bytes > 0 ? (uint64_t)bytes : 0;
        missing += bytes > there ? (uint64_t)(bytes - there) : 0;
        rc = blob == NULL ? ERR_NOMEM : 0;
        mem_free(blob);
    }
    if (rc == 0 && missing > 0)
        rc = hub_need_space(f->repository.folder, missing);
    if (rc == 0 && missing > 0)
        progress_note(f->session->progress, "downloading %s%s%s, %.1f MB, to %s", f->name->id,
                      f->name->given ? "@" : "", f->name->given ? f->name->revision : "",
                      (double)missing / 1e6, file_show(shown, sizeof shown, f->repository.folder));
    for (int i = 0; i < f->n && rc == 0; i++)
        rc = download_file(f, &f->list[i]);
    return rc;
}

/* ---- a model's files ---- */

/* What can be read of it before anything large is fetched. */
static int check_config(const struct fetch *f)
{
    struct config c;
    char *folder = hub_repository_snapshot(&f->repository, f->commit);
    char *path = folder == NULL ? NULL : file_join(folder, "config.json");
    int rc = path == NULL ? ERR_NOMEM : hf_config_read(&c, path);
    if (rc != 0 && rc != ERR_NOMEM)
        rc = err_wrap("%s is not downloaded", f->name->id);
    mem_free(path);
    mem_free(folder);
    return rc;
}

/* tokenizer.json, else what it is made of, else SentencePiece's. */
static int fetch_tokenizer(struct fetch *f)
{
    static const char *const parts[] = {"vocab.json", "merges.txt", "added_tokens.json"};
    bool found;
    int rc = fetch_file(&found, f, "tokenizer_config.json");
    if (rc == 0)
        rc = fetch_file(&found, f, "tokenizer.json");
    bool any = found;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && rc == 0 && (i > 0 || !found); i++) {
        rc = fetch_file(&found, f, parts[i]);
        if (!found && i < 2)
            break;
        any = true;
        found = false;
    }
    for (int i = 0; sentencepiece_names[i] != NULL && !any && rc == 0; i++)
        rc = fetch_file(&any, f, sentencepiece_names[i]);
    return rc;
}

/* Of an index that was fetched. */
static int add_shards(struct fetch *f, const char *index)
{
    struct hub_file_list shards;
    int rc = hub_index_files(&shards, &f->repository, f->commit, index);
    for (int i = 0; i < shards.n && rc == 0; i++) {
        bool found;
        rc = add_wanted(f, &found, shards.names[i]);
        if (rc == 0 && !found)
            rc = err_set(ERR_MISSING, "%s has no %s, which its index names", f->name->id,
                         file_quote(shards.names[i]));
    }
    hub_file_list_release(&shards);
    return rc;
}

/* *any: there are GGUF files, of which one was chosen and downloaded. */
static int fetch_gguf(struct fetch *f, bool *any)
{
    struct hub_file_list l;
    const char *name = NULL;
    bool found = false;
    int rc = hub_gguf_list(&l, f->name, f->commit, f->session);
    if (rc != 0)
        return rc;
    *any = l.n > 0;
    if (l.n > 0 && (rc = hub_gguf_choose(&name, &l, f->name)) == 0)
        rc = add_wanted(f, &found, name);
    if (rc == 0 && name != NULL && (rc = download_list(f)) == 0)
        snprintf(f->file, HUB_FILE_BYTES, "%s", name);
    hub_file_list_release(&l);
    return rc;
}

/* The file that the name has, or the one of its quantization. */
static int fetch_named(struct fetch *f)
{
    bool found = false, any = false;
    int rc = f->name->file[0] != '\0' ? add_wanted(f, &found, f->name->file) : 0;
    if (rc == 0 && found) {
        snprintf(f->file, HUB_FILE_BYTES, "%s", f->name->file);
        return download_list(f);
    }
    if (rc == 0)
        rc = fetch_gguf(f, &any);
    return rc == 0 && !any ? err_set(ERR_MISSING, "%s has no %s", f->name->id,
                                     f->name->file[0] != '\0' ? f->name->file : "GGUF files")
                           : rc;
}

static int fetch_weights(struct fetch *f)
{
    const char *name;
    bool found = false;
    int rc = 0;
    if (hub_model_state(&f->repository, f->commit) != HUB_ABSENT)
        return 0; /* maybe of another kind than would be fetched, as Python left them */
    for (int i = 0; !found && rc == 0 && (name = hub_weights_name(i)) != NULL; i++) {
        if (!text_ends_in(name, ".json"))
            rc = add_wanted(f, &found, name);
        else if ((rc = fetch_file(&found, f, name)) == 0 && found)
            rc = add_shards(f, name);
    }
    if (rc != 0 || found)
        return rc == 0 ? download_list(f) : rc;
    rc = fetch_gguf(f, &found);
    return rc != 0 || found ? rc
                            : err_set(ERR_MISSING,
                                      "%s has no weights that prattle reads: no safetensors, no "
                                      "pytorch_model.bin, nor an index of either, and no GGUF",
                                      f->name->id);
}

static int fetch_adapter(struct fetch *f)
{
    bool found;
    int rc = fetch_file(&found, f, "adapter_config.json");
    if (rc == 0 && !found) {
        rc = fetch_gguf(f, &found);
        return rc != 0 || found
                   ? rc
                   : err_set(ERR_MISSING,
                             "%s has no config.json: it is not a model that prattle loads",
                             f->name->id);
    }
    if (rc == 0)
        rc = add_wanted(f, &found, "adapter_model.safetensors");
    if (rc == 0 && !found)
        rc = add_wanted(f, &found, "adapter_model.bin");
    if (rc == 0 && !found)
        rc = err_set(ERR_MISSING, "%s has no adapter_model.safetensors", f->name->id);
    return rc == 0 ? download_list(f) : rc;
}

static int fetch_model(struct fetch *f)
{
    bool found;
    if (f->name->file[0] != '\0' || f->name->quant[0] != '\0')
        return fetch_named(f);
    int rc = fetch_file(&found, f, "config.json");
    if (rc != 0 || !found)
        return rc != 0 ? rc : fetch_adapter(f);
    if ((rc = check_config(f)) == 0)
        rc = fetch_file(&found, f, "generation_config.json");
    if (rc == 0)
        rc = fetch_tokenizer(f);
    return rc == 0 ? fetch_weights(f) : rc;
}

int hub_fetch(char commit[HUB_COMMIT_BYTES], char file[HUB_FILE_BYTES], const struct hub_name *n,
              bool anew, struct hub_session *s)
{
    struct fetch f = {.name = n, .session = s, .file = file};
    commit[0] = file[0] = '\0';
    int rc = hub_repository_init(&f.repository, n->id);
    if (rc != 0)
        return rc;
    if (!anew)
        hub_repository_commit(&f.repository, f.commit, n->revision);
    rc = fetch_model(&f);
    snprintf(commit, HUB_COMMIT_BYTES, "%s", f.commit);
    for (int i = 0; i < f.n; i++)
        mem_free(f.list[i].name);
    mem_free(f.list);
    hub_repository_release(&f.repository);
    return rc;
}
