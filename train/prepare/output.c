#include "train/prepare/output.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/folder_entry.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "train/data/source.h"
#include "train/data/token_file.h"
#include "train/data/tfrecord.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum {
    MOST_UINT16 = 65536,
    LLMC_HEADER = 256,
    RECORD_IDS = 1 << 22, /* of TFRecord; a longer document is several records */
    TEXT_BYTES = 1 << 18  /* of a line of JSON that are written at once */
};

static const struct {
    const char *name, *ending;
} formats[] = {[OUTPUT_MEGATRON] = {"Megatron", ""},
               [OUTPUT_NANOGPT] = {"nanoGPT", ".bin"},
               [OUTPUT_LLMC] = {"llm.c", ".bin"},
               [OUTPUT_TFRECORD] = {"TFRecord", ".tfrecord"},
               [OUTPUT_JSON_LINES] = {"JSON lines", ".jsonl"}};

const char *output_format_name(enum output_format f)
{
    return formats[f].name;
}

enum output_format output_format_of(const char *path)
{
    return data_is_json_lines(path) ? OUTPUT_JSON_LINES
           : tfrecord_is_name(path) ? OUTPUT_TFRECORD
                                    : OUTPUT_MEGATRON;
}

int output_check_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    if (name[strspn(name, ".")] == '\0')
        return err_set(ERR_FORMAT, "%s names no file to write: a folder needs a name behind it",
                       *path == '\0' ? "\"\"" : file_quote(path));
    return 0;
}

int output_check_ending(const char *path)
{
    static const char *const others[] = {".gz",  ".bz2", ".xz",  ".zst",    ".zip",
                                         ".tar", ".tgz", ".npy", ".pickle", ".parquet",
                                         ".pkl", ".csv", ".tsv"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (text_ends_in(path, others[i]))
            return err_set(ERR_UNSUPPORTED,
                           "%s: no %s is written; a name ends in .jsonl or .tfrecord, or format= "
                           "says the format",
                           file_quote(path), others[i]);
    return 0;
}

bool output_has_bounds(enum output_format f)
{
    return f != OUTPUT_NANOGPT && f != OUTPUT_LLMC;
}

/* The ending of a path that says a format. */
static const char *find_ending(const char *path, enum output_format f)
{
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    const size_t n = strlen(path);
    if (dot == NULL || dot == path || (slash != NULL && dot < slash + 2))
        return path + n;
    const bool known = f == OUTPUT_JSON_LINES ? data_is_json_lines(path)
                       : f == OUTPUT_TFRECORD
                           ? tfrecord_is_name(path)
                           : strcmp(dot, ".bin") == 0 || strcmp(dot, ".idx") == 0;
    return known ? dot : path + n;
}

char *output_path(const char *path, const char *part, enum output_format f)
{
    const char *ending = find_ending(path, f);
    const char *own = *ending == '\0' || f == OUTPUT_MEGATRON ? formats[f].ending : ending;
    return mem_sprintf("%.*s%s%s", (int)(ending - path), path, part, own);
}

static int open_llmc(struct output *o, int n_ids, token_id end)
{
    static const int32_t head[LLMC_HEADER];
    o->width = n_ids <= MOST_UINT16 ? 2 : 4;
    o->end = end;
    o->due = end != TOKEN_NONE;
    return file_write(&o->file, head, sizeof head);
}

char *output_file(enum output_format f, const char *path, int i)
{
    static const char *const endings[OUTPUT_FORMATS][2] = {
        [OUTPUT_MEGATRON] = {".bin", ".idx"}, [OUTPUT_TFRECORD] = {"", ".index"}};
    const char *const *own = endings[f];
    if (i > 1 || (i == 1 && own[1] == NULL))
        return NULL;
    return mem_sprintf("%s%s", path, own[i] == NULL ? "" : own[i]);
}

/* Of a .bin that has no index: readers would take Megatron's .idx beside it for one. In fresh
 * memory; NULL: the format has no .bin, or ERR_NOMEM was set. */
static char *foreign_index(enum output_format f, const char *path)
{
    const size_t n = strlen(path) - (text_ends_in(path, ".bin") ? 4 : 0);
    return f == OUTPUT_NANOGPT || f == OUTPUT_LLMC ? mem_sprintf("%.*s.idx", (int)n, path) : NULL;
}

int output_check(enum output_format f, const char *path, int n_ids, bool force)
{
    int rc = 0;
    char *file;
    err_clear();
    if (f == OUTPUT_NANOGPT && n_ids > MOST_UINT16)
        return err_set(ERR_RANGE,
                       "nanoGPT's files have ids below %d, the vocabulary has %d; format=megatron "
                       "has room for these",
                       MOST_UINT16, n_ids);
    for (int i = 0; rc == 0 && (file = output_file(f, path, i)) != NULL; i++) {
        if (!force && file_exists(file))
            rc = file_refuse(ERR_EXISTS, file, "exists already; --force overwrites it");
        mem_free(file);
    }
    if (rc == 0 && (file = foreign_index(f, path)) != NULL) {
        if (!force && file_exists(file))
            rc = file_refuse(ERR_EXISTS, file, "exists already; --force deletes it");
        mem_free(file);
    }
    return rc == 0 ? err_last() : rc;
}

uint64_t output_most_tokens(enum output_format f)
{
    return f == OUTPUT_LLMC ? INT32_MAX : UINT64_MAX; /* its header has an int32_t */
}

int output_check_tokens(enum output_format f, uint64_t n_tokens)
{
    if (n_tokens <= output_most_tokens(f))
        return 0;
    return err_set(ERR_RANGE,
                   "%" PRIu64 " tokens are more than the %" PRIu64 " that a file of %s can have; "
                   "split= makes several files, format=megatron has no limit",
                   n_tokens, output_most_tokens(f), output_format_name(f));
}

/* While it has this lock, a temporary file is someone's; a kill ends that. */
static bool lock_file(int fd)
{
    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void sweep_entry(int folder, const char *name)
{
    const int fd = openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (lock_file(fd))
        unlinkat(folder, name, 0);
    if (fd >= 0)
        close(fd);
}

/* Temporary files of file_create. */
static void sweep_file(const char *path)
{
    static const char pattern[] = ".??????.tmp";
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    char *folder =
        slash == NULL ? mem_strdup(".") : mem_sprintf("%.*s/", (int)(slash - path), path);
    const size_t n = strlen(name);
    DIR *dir = folder == NULL ? NULL : opendir(folder);
    for (const char *one; dir != NULL && (one = folder_entry_next(dir)) != NULL;)
        if (strncmp(one, name, n) == 0 && fnmatch(pattern, one + n, 0) == 0)
            sweep_entry(dirfd(dir), one);
    folder_entry_close(dir);
    mem_free(folder);
}

void output_sweep(enum output_format f, const char *path)
{
    char *file;
    for (int i = 0; (file = output_file(f, path, i)) != NULL; i++) {
        sweep_file(file);
        mem_free(file);
    }
}

int output_open(struct output *o, enum output_format f, const char *path, int n_ids, token_id end,
                bool force)
{
    *o = (struct output){.format = f, .width = 2, .file.fd = -1, .index.fd = -1};
    o->megatron.bin.fd = o->megatron.idx.fd = -1;
    o->usual = end;
    o->last = TOKEN_NONE;
    int rc = output_check(f, path, n_ids, force);
    if (rc == 0)
        rc = f == OUTPUT_MEGATRON ? token_writer_open(&o->megatron, path, n_ids)
                                  : file_create(&o->file, path, force);
    if (rc == 0 && f == OUTPUT_LLMC)
        rc = open_llmc(o, n_ids, end);
    if (rc == 0 && f == OUTPUT_TFRECORD) {
        char *index = tfrecord_index_path(path);
        rc = index == NULL ? ERR_NOMEM : file_create(&o->index, index, force);
        mem_free(index);
    }
    const int fds[] = {o->file.fd, o->index.fd, o->megatron.bin.fd, o->megatron.idx.fd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        lock_file(fds[i]);
    if (rc != 0)
        output_abandon(o);
    return rc;
}

static int end_record(struct output *o)
{
    int rc = tfrecord_write(&o->file, &o->index, (const token_id *)o->document.data,
                            o->document.n / sizeof(token_id));
    o->document.n = 0;
    return rc;
}

/* What ends one document is written as what begins the next. */
static int add_llmc(struct output *o, const token_id *ids, size_t n)
{
    const bool due = o->due;
    int rc = 0;
    o->due = o->end != TOKEN_NONE && ids[n - 1] == o->end;
    n -= o->due;
    o->n_tokens += due + n;
    if ((rc = output_check_tokens(o->format, o->n_tokens)) == 0 && due)
        rc = token_ids_write(&o->file, o->width, &o->end, 1);
    return rc == 0 ? token_ids_write(&o->file, o->width, ids, n) : rc;
}

int output_add_ids(struct output *o, const token_id *ids, size_t n)
{
    if (n == 0)
        return 0;
    o->last = ids[n - 1];
    if (o->format == OUTPUT_LLMC)
        return add_llmc(o, ids, n);
    o->n_tokens += n;
    int rc = output_check_tokens(o->format, o->n_tokens);
    if (rc != 0)
        return rc;
    if (o->format == OUTPUT_MEGATRON)
        return token_writer_add(&o->megatron, ids, n);
    if (o->format != OUTPUT_TFRECORD)
        return token_ids_write(&o->file, o->width, ids, n);
    while (n > 0 && rc == 0) {
        size_t room = RECORD_IDS - o->document.n / sizeof *ids, part = n < room ? n : room;
        rc = buf_add(&o->document, ids, part * sizeof *ids);
        ids += part;
        n -= part;
        if (rc == 0 && part == room)
            rc = end_record(o);
    }
    return rc;
}

/* The bytes of a text up to a character that is not all there. */
static size_t whole_characters(const char *text, size_t n)
{
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        const unsigned char c = (unsigned char)text[n - back];
        if (c >= 0xc0)
            return (c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2) > back ? n - back : n;
        if (c < 0x80)
            break;
    }
    return n;
}

/* What there is of a document, as a part of a string of JSON. */
static int write_text(struct output *o, bool last)
{
    static const char opening[] = "{\"text\":\"", closing[] = "\"}\n";
    struct buf shown = {0};
    const size_t n = last ? o->document.n : whole_characters(o->document.data, o->document.n);
    json_t *text = json_of_text(buf_text(&o->document), n);
    int rc = text == NULL ? err_set(ERR_NOMEM, "no memory for a line of JSON")
                          : json_print(&shown, text, JSON_COMPACT | JSON_ENCODE_ANY);
    if (rc == 0 && !o->in_line)
        rc = file_write(&o->file, opening, sizeof opening - 1);
    if (rc == 0)
        rc = file_write(&o->file, shown.data + 1, shown.n - 2);
    if (rc == 0 && last)
        rc = file_write(&o->file, closing, sizeof closing - 1);
    o->in_line = !last;
    o->document.n -= n;
    if (o->document.n > 0)
        memmove(o->document.data, o->document.data + n, o->document.n);
    json_decref(text);
    buf_release(&shown);
    return rc;
}

int output_add_text(struct output *o, const char *text, size_t n)
{
    o->n_tokens += n;
    int rc = buf_add(&o->document, text, n);
    return rc == 0 && o->document.n >= TEXT_BYTES ? write_text(o, false) : rc;
}

/* It ends with the end-of-text token, or with what the first document ends with. */
static void look_at_end(struct output *o)
{
    if (o->usual == TOKEN_NONE)
        o->usual = o->last;
    o->lacks_ends |= o->last != TOKEN_NONE && o->last != o->usual;
    o->last = TOKEN_NONE;
}

bool output_joins(const struct output *o)
{
    return o->lacks_ends && o->n_documents > 1 && !output_has_bounds(o->format);
}

int output_end(struct output *o)
{
    int rc = 0;
    o->n_documents += o->last != TOKEN_NONE || o->document.n > 0 || o->in_line;
    look_at_end(o);
    if (o->format == OUTPUT_MEGATRON)
        return token_writer_end(&o->megatron);
    if (o->document.n > 0 || o->in_line)
        rc = o->format == OUTPUT_TFRECORD ? end_record(o) : write_text(o, true);
    return rc;
}

static int finish_llmc(struct output *o)
{
    int32_t head[3] = {o->width == 2 ? LLMC_GPT2 : LLMC_LLAMA3, o->width == 2 ? 1 : 7,
                       (int32_t)o->n_tokens};
    return file_patch(&o->file, 0, head, sizeof head);
}

static int delete_file(const char *path)
{
    return unlink(path) == 0 || errno == ENOENT ? 0 : file_error("delete", path);
}

/* The index of what was there under this name. A .bin goes before its index, without which it would
 * be read as nanoGPT's. */
static int delete_old_index(const struct output *o)
{
    const bool own = o->format == OUTPUT_TFRECORD;
    char *index = own ? tfrecord_index_path(o->file.path) : foreign_index(o->format, o->file.path);
    int rc = index == NULL ? ERR_NOMEM : 0;
    if (rc == 0 && !own && file_exists(index))
        rc = delete_file(o->file.path);
    if (rc == 0 && (!own || o->file.force))
        rc = delete_file(index);
    mem_free(index);
    return rc;
}

int output_fd(const struct output *o)
{
    return o->format == OUTPUT_MEGATRON ? o->megatron.bin.fd : o->file.fd;
}

int output_fds(const struct output *o, int list[2])
{
    const bool megatron = o->format == OUTPUT_MEGATRON;
    list[0] = output_fd(o);
    list[1] = megatron ? o->megatron.idx.fd : o->index.fd;
    return 1 + (list[1] >= 0);
}

int output_commit(struct output *o)
{
    int rc = o->format == OUTPUT_LLMC ? finish_llmc(o) : 0;
    if (rc == 0 &&
        (o->format == OUTPUT_NANOGPT || o->format == OUTPUT_LLMC || o->format == OUTPUT_TFRECORD))
        rc = delete_old_index(o);
    if (rc == 0)
        rc = o->format == OUTPUT_MEGATRON ? token_writer_commit(&o->megatron)
                                          : file_commit(&o->file);
    return rc == 0 && o->format == OUTPUT_TFRECORD ? file_commit(&o->index) : rc;
}

void output_abandon(struct output *o)
{
    if (o == NULL)
        return;
    token_writer_abandon(&o->megatron);
    file_abandon(&o->file);
    file_abandon(&o->index);
    buf_release(&o->document);
}
