#include "train/data/published.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/sha256.h"
#include "weights/hub/digest.h"
#include "weights/hub/lock.h"
#include "weights/hub/transfer.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TINYSTORIES                                                                                \
    "/datasets/roneneldan/TinyStories/resolve/f54c09fd23315a6f9c86f9dc80f725de7d8f9c64/"

/* clang-format off */
static const struct published table[] = {
{.name = "wikitext", .help = "test set of WikiText-2 and WikiText-103",
 .file = "wikitext/wiki.test.raw",
 .url = "/datasets/ggml-org/ci/resolve/main/wikitext-2-raw-v1.zip", .member = "wikitext-2-raw/wiki.test.raw",
 .sha256 = "173c87a53759e0201f33e0ccf978e510c2042d7f2cb78229d9a50d79b9e7dd08", .bytes = 1290590,
 .next = "eval wikitext"},
{.name = "lambada", .help = "test set of LAMBADA, as OpenAI processed it",
 .file = "lambada/lambada_test.jsonl",
 .url = "/datasets/EleutherAI/lambada_openai/resolve/900124bf3b8235c6daf21033af9948b3f07346c4/data/lambada_test.jsonl",
 .sha256 = "4aa8d02cd17c719165fc8a7887fddd641f43fcafa4b1c806ca8abc31fabdb226", .bytes = 1819752,
 .next = "eval lambada"},
{.name = "tinyshakespeare", .help = "40000 lines of Shakespeare, of char-rnn",
 .file = "tinyshakespeare.txt",
 .url = "https://raw.githubusercontent.com/karpathy/char-rnn/6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e/data/tinyshakespeare/input.txt",
 .sha256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed", .bytes = 1115394,
 .next = "train finetune data="},
{.name = "tinystories", .help = "training set of TinyStories, 1.9 GB",
 .file = "tinystories/TinyStories-train.txt", .url = TINYSTORIES "TinyStories-train.txt",
 .sha256 = "c5cf5e22ff13614e830afbe61a99fbcbe8bcb7dd72252b989fa1117a368d401f", .bytes = 1924281556,
 .next = "train finetune data="},
{.name = "tinystories-valid", .help = "validation set of TinyStories, 19 MB",
 .file = "tinystories/TinyStories-valid.txt", .url = TINYSTORIES "TinyStories-valid.txt",
 .sha256 = "94e431816c4cce81ff71e4408ff8d3bda9a42e8d2663986697c3954288cb38b4", .bytes = 19447282,
 .next = "train finetune data="},
};
/* clang-format on */

const struct published *published_at(int i)
{
    return i >= 0 && i < (int)(sizeof table / sizeof *table) ? &table[i] : NULL;
}

const struct published *published_find(const char *name)
{
    const struct published *t;
    for (int i = 0; (t = published_at(i)) != NULL && strcmp(t->name, name) != 0; i++)
        ;
    return t;
}

/* ---- from the zip ---- */

static int refuse_zip(struct archive *a, const char *zip)
{
    char shown[160], said[120];
    const char *why = a == NULL ? NULL : archive_error_string(a);
    return err_set(ERR_MISMATCH, "cannot unpack %s: %s", file_show(shown, sizeof shown, zip),
                   file_show(said, sizeof said, why == NULL ? "it is damaged" : why));
}

/* The member's bytes; no more than the text has. */
static int copy_member(struct file_writer *w, struct sha256 *h, struct archive *a,
                       const struct published *t, const char *zip)
{
    char part[1 << 15];
    for (la_ssize_t n; (n = archive_read_data(a, part, sizeof part)) != 0;) {
        if (n < 0)
            return refuse_zip(a, zip);
        if (w->at + (uint64_t)n > (uint64_t)t->bytes)
            return err_set(ERR_MISMATCH, "%s in %s has more bytes than the text, %lld", t->member,
                           file_quote(zip), (long long)t->bytes);
        sha256_add(h, part, (size_t)n);
        const int rc = file_write(w, part, (size_t)n);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int find_member(struct archive *a, const struct published *t, const char *zip)
{
    struct archive_entry *entry;
    int rc;
    while ((rc = archive_read_next_header(a, &entry)) == ARCHIVE_OK) {
        const char *name = archive_entry_pathname(entry);
        if (name != NULL && strcmp(name, t->member) == 0)
            return 0;
    }
    return rc == ARCHIVE_EOF ? err_set(ERR_MISMATCH, "%s has no %s", file_quote(zip), t->member)
                             : refuse_zip(a, zip);
}

/* Write the text, which gets its name only if it has the right hash. */
static int write_member(const char *path, struct archive *a, const struct published *t,
                        const char *zip)
{
    struct file_writer w;
    struct sha256 h = {0};
    char hex[SHA256_HEX];
    int rc = file_create(&w, path, false);
    if (rc == 0)
        rc = sha256_init(&h);
    if (rc == 0)
        rc = copy_member(&w, &h, a, t, zip);
    if (rc == 0) {
        sha256_end_hex(&h, hex);
        if (strcmp(hex, t->sha256) != 0)
            rc = err_set(ERR_MISMATCH, "%s of %s has the SHA-256 %.12s..., expected %.12s...",
                         t->member, file_quote(zip), hex, t->sha256);
    }
    if (rc == 0)
        rc = file_commit(&w);
    sha256_release(&h);
    file_abandon(&w);
    return rc;
}

static int unpack_text(const char *path, const struct published *t, const char *zip)
{
    struct archive *a = archive_read_new();
    int rc = a == NULL ? err_set(ERR_NOMEM, "no memory to unpack") : 0;
    if (rc == 0 && (archive_read_support_format_zip(a) != ARCHIVE_OK ||
                    archive_read_open_filename(a, zip, 1 << 16) != ARCHIVE_OK))
        rc = refuse_zip(a, zip);
    if (rc == 0)
        rc = find_member(a, t, zip);
    if (rc == 0)
        rc = write_member(path, a, t, zip);
    archive_read_free(a);
    if (rc == 0 || rc == ERR_MISMATCH)
        unlink(zip);
    return rc;
}

/* ---- downloading ---- */

static char *text_url(const struct published *t, const char *endpoint)
{
    return t->url[0] == '/' ? mem_sprintf("%s%s", endpoint, t->url) : mem_strdup(t->url);
}

static int download_text(const char *path, const struct published *t, struct hub_session *s)
{
    char *url = text_url(t, s->endpoint),
         *to = t->member != NULL ? mem_sprintf("%s.zip", path) : mem_strdup(path);
    const struct hub_transfer one = {.url = url,
                                     .path = to,
                                     .digest = t->member == NULL ? t->sha256 : "",
                                     .bytes = t->member == NULL ? t->bytes : -1};
    int rc = url == NULL || to == NULL ? ERR_NOMEM : hub_transfer_run(&one, s);
    if (rc == 0 && t->member != NULL)
        rc = unpack_text(path, t, to);
    mem_free(url);
    mem_free(to);
    return rc;
}

/* What is there already: the text, or another. */
static int check_there(bool *there, const char *path, const struct published *t,
                       const struct progress *p)
{
    struct file f;
    bool known;
    *there = false;
    if (!file_exists(path))
        return 0;
    int rc = file_open(&f, path);
    if (rc != 0)
        return rc;
    rc = hub_digest_check(&f, t->sha256, &known, p);
    file_close(&f);
    if (rc == ERR_MISMATCH)
        rc = err_set(ERR_EXISTS, "%s is there, and is another text; move it away first",
                     file_quote(path));
    *there = rc == 0;
    return rc;
}

/* The folder that the text goes into, in fresh memory: "/" of "/x". */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL   ? mem_strdup(".")
           : slash == path ? mem_strdup("/")
                           : mem_sprintf("%.*s", (int)(slash - path), path);
}

static int make_place(const char *path)
{
    char *folder = folder_of(path);
    const int rc = folder == NULL ? ERR_NOMEM : file_make_folder(folder);
    mem_free(folder);
    return rc;
}

/* Whether the place is what fails, where another way to fetch the text would not help; if its disk
 * is full, that is the error. */
static bool is_bad_place(const struct published *t, const char *path)
{
    struct stat st;
    int64_t left = t->bytes;
    char *folder = folder_of(path), *part = mem_sprintf("%s.incomplete", path);
    if (part != NULL && stat(part, &st) == 0)
        left -= st.st_size;
    const bool bad =
        folder != NULL && part != NULL &&
        (access(folder, W_OK) != 0 || hub_need_space(folder, left > 0 ? (uint64_t)left : 1) != 0);
    mem_free(folder);
    mem_free(part);
    return bad;
}

/* What to fetch elsewhere, and where to put it. */
static int refuse_download(int rc, const struct published *t, const char *path)
{
    char why[512], shown[160];
    const bool bad = is_bad_place(t, path);
    snprintf(why, sizeof why, "%s", err_text());
    if (bad)
        return err_set(rc, "%s cannot be downloaded: %s", t->name, why);
    char *url = text_url(t, "https://huggingface.co");
    rc = err_set(rc == ERR_UNSUPPORTED ? ERR_MISSING : rc,
                 "%s cannot be downloaded: %s; without a network, fetch %s%s%s%s and save it as %s",
                 t->name, why, t->member != NULL ? t->member : "", t->member != NULL ? " of " : "",
                 url == NULL ? "" : url, t->member != NULL ? "," : "",
                 file_show(shown, sizeof shown, path));
    mem_free(url);
    return rc;
}

/* With a lock, as two downloads would write into one part; who waited may find the text there. */
static int get_text(const char *path, const struct published *t, struct hub_session *s)
{
    struct hub_lock lock = {-1};
    bool there = false;
    char *locked = mem_sprintf("%s.lock", path);
    int rc = locked == NULL ? ERR_NOMEM : make_place(path);
    if (rc == 0)
        rc = hub_lock_open(&lock, locked, s->progress);
    if (rc == 0)
        rc = check_there(&there, path, t, s->progress);
    if (rc == 0 && !there)
        rc = download_text(path, t, s);
    if (rc == 0)
        unlink(locked);
    hub_lock_close(&lock);
    mem_free(locked);
    return rc;
}

int published_get(char **path, const struct published *t, const char *folder,
                  const struct progress *p)
{
    struct hub_session s;
    bool there;
    *path = folder != NULL && *folder != '\0' ? file_join(folder, t->file)
                                              : file_home(HOME_DATA, t->file);
    if (*path == NULL)
        return err_last();
    int rc = check_there(&there, *path, t, p);
    if (rc != 0 || there)
        return rc;
    if ((rc = hub_session_open(&s, p)) == 0) {
        rc = get_text(*path, t, &s);
        hub_session_close(&s);
    }
    if (rc == ERR_INTERRUPTED)
        progress_note(p, "what has arrived of %s stays, and the next download resumes there",
                      t->name);
    return rc == ERR_IO || rc == ERR_MISSING || rc == ERR_UNSUPPORTED
               ? refuse_download(rc, t, *path)
               : rc;
}
