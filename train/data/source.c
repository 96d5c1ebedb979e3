/*
 * What a path stands for is decided by what is there, in this order: a pattern that names no file,
 * a folder with all in it, else a file. What a file is, its first bytes say, then its name:
 *
 *   .bin and .idx of one name                 Megatron's ids
 *   magic of Parquet                          rows, as JSON lines
 *   magic of gzip, bzip2, xz, zstd, zip, tar  packed: records or lists of ids, if that is what the
 *                                             first file in it has, else texts
 *   llm.c's magic                             llm.c's ids
 *   .tfrecord, .tfrecords, .tfrec             TFRecord's ids; in a folder not the index beside it
 *   .pkl, .pickle                             pickled lists of ids
 *   magic of .npy                             NumPy's ids
 *   .bin                                      nanoGPT's ids
 *   .jsonl, .ndjson, .json                    JSON lines
 *   else                                      text, unless a byte is NUL or the magic is another's
 *
 * A file that is named must be one of these. Inside a folder, or matching a pattern, empty files
 * and archives, files that are not text, and folders of models and runs are left out; of all but
 * the empty ones one note tells.
 */
#include "train/data/source.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/folder_entry.h"
#include "model/base/mem.h"
#include "model/base/words.h"
#include "train/data/advice.h"
#include "train/data/megatron.h"
#include "train/data/not_text.h"
#include "train/data/npy.h"
#include "train/data/packed_head.h"
#include "train/data/packing.h"
#include "train/data/parquet.h"
#include "train/data/pickle_ids.h"
#include "train/data/tfrecord.h"
#include "train/data/utf16.h"
#include "weights/run_folder.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME_BYTES = 200, LOOK_BYTES = 4096, DEPTH_MAX = 32 };

static int add_source(struct data_sources *s, const struct data_source *one)
{
    if (s->n == s->cap) {
        size_t cap = s->cap == 0 ? 8 : 2 * s->cap;
        struct data_source *more = mem_grow(s->list, s->cap * sizeof *more, cap * sizeof *more);
        if (more == NULL)
            return ERR_NOMEM;
        s->list = more;
        s->cap = cap;
    }
    char *copy = mem_strdup(one->path);
    if (copy == NULL)
        return ERR_NOMEM;
    s->list[s->n] = *one;
    s->list[s->n++].path = copy;
    return 0;
}

/* Where the first NUL of a text begins, n: nowhere. In UTF-16 it has two bytes. */
static size_t find_nul(const char *head, size_t n)
{
    const size_t width = utf16_has_mark(head, n) ? 2 : 1;
    for (size_t i = 0; i + width <= n; i += width)
        if (memcmp(head + i, "\0", width) == 0)
            return i;
    return n;
}

/* Of a text with a NUL, what it may be: Latin letters in UTF-16 have one in every other byte. */
static const char *suggest_format(const char *head, size_t n)
{
    size_t nuls[2] = {0, 0};
    for (size_t i = 0; i < n; i++)
        nuls[i % 2] += head[i] == '\0';
    const bool short_or_marked = n < 8 || utf16_has_mark(head, n);
    if (!short_or_marked && nuls[0] == 0 && nuls[1] > n / 4)
        return "if it is UTF-16: `iconv -f UTF-16LE -t UTF-8 FILE > NEW`";
    if (!short_or_marked && nuls[1] == 0 && nuls[0] > n / 4)
        return "if it is UTF-16: `iconv -f UTF-16BE -t UTF-8 FILE > NEW`";
    return "token files end in .bin";
}

bool data_is_json_lines(const char *name)
{
    return text_ends_in(name, ".jsonl") || text_ends_in(name, ".ndjson") ||
           text_ends_in(name, ".json");
}

int data_check_text(const char *name, const char *path, bool packed, const char *head, size_t n)
{
    char advice[512];
    n = n < LOOK_BYTES ? n : LOOK_BYTES;
    const struct not_text *is = not_text_find(head, n);
    const size_t nul = find_nul(head, n);
    if (is != NULL)
        return not_text_refuse(is, name, path, packed);
    if (data_is_packed(head, n, NULL))
        return err_set(ERR_FORMAT, "%s is packed in too many layers: unpack it first", name);
    if (nul < n)
        return err_set(ERR_FORMAT, "%s is not text: byte %zu is NUL; %s", name, nul,
                       data_advice(advice, sizeof advice, suggest_format(head, n), path, packed));
    return 0;
}

bool data_is_binary(const char *head, size_t n)
{
    n = n < LOOK_BYTES ? n : LOOK_BYTES;
    return not_text_find(head, n) == NULL && find_nul(head, n) < n;
}

static int refuse_pickle(const struct data_source *s)
{
    char shown[NAME_BYTES];
    return err_set(ERR_FORMAT, "%s is not a pickled list of lists of token ids",
                   file_show(shown, sizeof shown, s->path));
}

/* Texts, unless the first file in it has tokens. */
static int classify_packed(struct data_source *s, bool *empty)
{
    switch (packed_head_look(s->path)) {
    case PACKED_LISTS:
        s->kind = DATA_PICKLE;
        return 0;
    case PACKED_RECORDS:
        s->kind = DATA_TFRECORD;
        return 0;
    case PACKED_NOTHING:
        *empty = true;
        return 0;
    case PACKED_OTHER_PICKLES:
        s->kind = DATA_PICKLE;
        return refuse_pickle(s);
    default:
        return 0;
    }
}

/* What a file is, by its n first bytes and its name. *empty: an archive of nothing. */
static int classify_source(struct data_source *s, bool *empty, const char *head, size_t n)
{
    char shown[NAME_BYTES], inner[PATH_MAX];
    const bool foreign = not_text_find(head, n) != NULL;
    int32_t magic = 0;
    if (n >= sizeof magic)
        memcpy(&magic, head, sizeof magic);
    const bool zip = n >= 4 && memcmp(head, "PK\3\4", 4) == 0;
    const struct not_text *is = zip ? not_text_find_zip(s->path) : NULL;
    if (is != NULL)
        return not_text_refuse(is, file_show(shown, sizeof shown, s->path), s->path, false);
    if ((s->parquet = parquet_is_file(head, n))) {
        s->kind = DATA_JSON_LINES;
        return 0;
    }
    s->packed = data_is_packed(head, n, s->path);
    data_unpacked_name(inner, sizeof inner, s->path);
    s->kind = data_is_json_lines(s->packed ? inner : s->path) ? DATA_JSON_LINES : DATA_TEXT;
    if (s->packed)
        return classify_packed(s, empty);
    if (magic == LLMC_GPT2 || magic == LLMC_LLAMA3)
        s->kind = DATA_LLMC;
    else if (tfrecord_is_name(s->path) && !foreign)
        s->kind = DATA_TFRECORD;
    else if (pickle_ids_is_name(s->path) && pickle_ids_may_be(head, n))
        s->kind = DATA_PICKLE;
    else if (npy_is_file(head, n) && !npy_is_texts(head, n))
        s->kind = DATA_NPY;
    else if (npy_is_file(head, n))
        return err_set(ERR_FORMAT, "%s is an array of texts, not of token ids",
                       file_show(shown, sizeof shown, s->path));
    else if (pickle_ids_is_name(s->path) && !foreign)
        return refuse_pickle(s);
    else if (text_ends_in(s->path, ".bin") && !foreign)
        s->kind = DATA_NANOGPT;
    else
        s->utf16 = utf16_has_mark(head, n);
    return s->kind == DATA_TEXT || s->kind == DATA_JSON_LINES
               ? data_check_text(file_show(shown, sizeof shown, s->path), s->path, false, head, n)
               : 0;
}

/* Whether a Megatron set is meant: *skip when it is by an index in a folder, whose .bin
 * comes too. */
static int find_megatron(bool *is, bool *skip, const char *path, bool inside)
{
    char *bin = megatron_path(path, ".bin"), *idx = megatron_path(path, ".idx");
    int rc = bin == NULL || idx == NULL ? ERR_NOMEM : 0;
    if (rc == 0) {
        *is = text_ends_in(path, ".idx")   ? file_exists(bin)
              : text_ends_in(path, ".bin") ? file_exists(idx)
                                           : !file_exists(path) && file_exists(idx);
        *skip = *is && inside && text_ends_in(path, ".idx");
    }
    mem_free(bin);
    mem_free(idx);
    return rc;
}

/* Whether a file that is refused, by its first n bytes and its name, is left out in a folder. */
static bool may_stand_beside(const struct data_source *s, const char *head, size_t n)
{
    const struct not_text *is = not_text_find(head, n);
    if (is != NULL)
        return is->beside;
    return data_is_binary(head, n) || s->kind == DATA_PICKLE || pickle_ids_is_name(s->path) ||
           npy_is_file(head, n) || not_text_is_svg(head, n);
}

static bool is_regular(const char *path)
{
    struct stat st;
    return stat(path, &st) != 0 || S_ISREG(st.st_mode);
}

/* Look into a file; `inside` a folder one that is empty or binary is skipped. */
static int classify_file(struct data_sources *all, struct data_source *s, bool *skip, bool inside)
{
    struct file f;
    char head[LOOK_BYTES], shown[NAME_BYTES];
    int rc = file_open(&f, s->path);
    *skip = rc != 0 && inside && !is_regular(s->path); /* a pipe or a socket */
    if (*skip)
        return left_out_add(&all->left_out, s->path);
    if (rc != 0)
        return rc;
    size_t n = f.bytes < sizeof head ? (size_t)f.bytes : sizeof head;
    bool empty = n == 0;
    if (n > 0 && (rc = file_read_at(&f, head, 0, n)) == 0)
        rc = classify_source(s, &empty, head, n);
    file_close(&f);
    *skip = empty && inside;
    if (rc == 0 && empty && !inside)
        rc = err_set(ERR_FORMAT, "%s is empty", file_show(shown, sizeof shown, s->path));
    if (rc == 0 && inside && s->kind == DATA_TEXT && !s->packed && not_text_is_svg(head, n))
        rc = not_text_refuse_svg(file_show(shown, sizeof shown, s->path));
    if (rc == ERR_FORMAT && inside && may_stand_beside(s, head, n)) {
        *skip = true;
        rc = left_out_add(&all->left_out, s->path);
    }
    return rc;
}

/* One file, `inside` a folder or named itself. */
static int add_file(struct data_sources *s, char *path, bool inside)
{
    struct data_source one = {.path = path, .kind = DATA_MEGATRON, .inside = inside};
    bool megatron = false, skip = false;
    int rc = find_megatron(&megatron, &skip, path, inside);
    if (rc == 0 && !megatron && tfrecord_is_index(path))
        return inside ? 0
                      : file_refuse(ERR_FORMAT, path,
                                    "is an index of records: name the file that has them");
    if (rc == 0 && !megatron)
        rc = classify_file(s, &one, &skip, inside);
    return rc != 0 || skip ? rc : add_source(s, &one);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a folder but hidden ones, sorted by bytes, into *names [*n], owned. */
static int list_folder(char ***names, size_t *n, const char *path)
{
    char shown[NAME_BYTES];
    DIR *dir = opendir(path);
    size_t cap = 0;
    int rc = 0;
    if (dir == NULL)
        return err_errno("cannot read the folder %s", file_show(shown, sizeof shown, path));
    for (const char *name; rc == 0 && (name = folder_entry_next(dir)) != NULL;) {
        if (name[0] == '.')
            continue;
        if (*n == cap) {
            size_t more = cap == 0 ? 64 : 2 * cap;
            char **grown = mem_grow(*names, cap * sizeof *grown, more * sizeof *grown);
            if (grown == NULL) {
                rc = ERR_NOMEM;
                break;
            }
            *names = grown;
            cap = more;
        }
        rc = ((*names)[*n] = mem_strdup(name)) == NULL ? ERR_NOMEM : 0;
        *n += rc == 0;
    }
    folder_entry_close(dir);
    if (*n > 0)
        qsort(*names, *n, sizeof **names, compare_names);
    return rc;
}

/* Whether there is a model or an adapter. */
static bool has_model(char *const *names, size_t n)
{
    bool config = false, weights = false;
    for (size_t i = 0; i < n; i++) {
        config |=
            strcmp(names[i], "config.json") == 0 || strcmp(names[i], "adapter_config.json") == 0;
        weights |= text_ends_in(names[i], ".safetensors") ||
                   strncmp(names[i], "pytorch_model", strlen("pytorch_model")) == 0;
    }
    return config && weights;
}

static bool is_link_to_nothing(const char *path)
{
    struct stat st;
    return stat(path, &st) != 0 && errno == ENOENT;
}

/* A folder, `inside` another or matching a pattern one with a model or a run is left out. */
static int add_folder(struct data_sources *s, const char *path, int depth, bool inside)
{
    char **names = NULL, shown[NAME_BYTES];
    size_t n = 0;
    file_show(shown, sizeof shown, path);
    int rc = depth == DEPTH_MAX
                 ? err_set(ERR_RANGE, "%s: folders are nested more than %d deep", shown, DEPTH_MAX)
                 : list_folder(&names, &n, path);
    const char *is = rc != 0               ? NULL
                     : run_folder_is(path) ? "is the folder of a run, not of texts"
                     : has_model(names, n) ? "is a model, not a folder of texts"
                                           : NULL;
    if (rc == 0 && is != NULL)
        rc = err_set(ERR_FORMAT, "%s %s", shown, is);
    if (rc == ERR_FORMAT && inside)
        rc = left_out_add(&s->left_out, path);
    const size_t to_read = is == NULL ? n : 0;
    for (size_t i = 0; i < to_read && rc == 0; i++) {
        struct stat st;
        char *inner = file_join(path, names[i]);
        if (inner == NULL)
            rc = ERR_NOMEM;
        else if (is_link_to_nothing(inner))
            rc = 0;
        else if (!file_is_folder(inner))
            rc = add_file(s, inner, true);
        else if (lstat(inner, &st) == 0 && !S_ISLNK(st.st_mode)) /* a link may lead in a circle */
            rc = add_folder(s, inner, depth + 1, true);
        mem_free(inner);
    }
    for (size_t i = 0; i < n; i++)
        mem_free(names[i]);
    mem_free(names);
    return rc;
}

bool data_is_pattern(const char *path)
{
    return strpbrk(path, "*?[") != NULL && !file_exists(path);
}

/* A Megatron set that is called so is none. */
static int detect_pattern(bool *is, const char *path)
{
    bool megatron = false, skip;
    *is = data_is_pattern(path);
    int rc = *is ? find_megatron(&megatron, &skip, path, false) : 0;
    *is = *is && !megatron;
    return rc;
}

/* Whether a match is Megatron's index whose .bin is none: it stands for the set by itself. */
static int is_lone_index(bool *is, char *path, const glob_t *found)
{
    char *bin = megatron_path(path, ".bin");
    *is = text_ends_in(path, ".idx") && bin != NULL && file_exists(bin) &&
          bsearch(&bin, found->gl_pathv, found->gl_pathc, sizeof bin, compare_names) == NULL;
    int rc = bin == NULL ? ERR_NOMEM : 0;
    mem_free(bin);
    return rc;
}

static int add_match(struct data_sources *s, char *path, const glob_t *found)
{
    bool lone = false;
    if (is_link_to_nothing(path))
        return 0;
    if (file_is_folder(path))
        return add_folder(s, path, 0, true);
    int rc = is_lone_index(&lone, path, found);
    return rc == 0 ? add_file(s, path, !lone) : rc;
}

/* What matches a pattern, by name, as if it were all of a folder. */
static int add_matches(struct data_sources *s, const char *pattern)
{
    glob_t found = {0};
    char shown[NAME_BYTES];
    int failed = glob(pattern, GLOB_NOSORT | GLOB_NOESCAPE, NULL, &found);
    int rc = failed == GLOB_NOSPACE ? err_set(ERR_NOMEM, "no memory for the files that match")
             : failed != 0          ? err_set(ERR_MISSING, "no file matches %s",
                                              file_show(shown, sizeof shown, pattern))
                                    : 0;
    if (rc == 0)
        qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, compare_names);
    for (size_t i = 0; i < found.gl_pathc && rc == 0; i++)
        rc = add_match(s, found.gl_pathv[i], &found);
    globfree(&found);
    return rc;
}

char *data_find_prepared(const char *what)
{
    static const char *const parts[] = {"", "-train"}, *const endings[] = {".idx", ".bin",
                                                                           ".tfrecord", ".jsonl"};
    for (size_t i = 0; i < 8; i++) {
        const char *part = parts[i / 4], *ending = endings[i % 4];
        char *path = mem_sprintf("%s%s%s", what, part, ending);
        char *file = path == NULL ? NULL : file_expand(path);
        const bool there = file != NULL && file_exists(file);
        mem_free(file);
        if (there && i % 4 == 0) /* Megatron's files go by what they begin with */
            path[strlen(path) - strlen(ending)] = '\0';
        if (there)
            return path;
        mem_free(path);
    }
    return NULL;
}

/* Of a split each part has a name of its own. */
static int name_prepared(const char *word)
{
    char shown[NAME_BYTES], other[NAME_BYTES], *prepared = data_find_prepared(word);
    int rc = ERR_MISSING;
    if (prepared != NULL)
        rc =
            err_set(ERR_MISSING, "there is no file %s; did you mean %s?",
                    file_show(shown, sizeof shown, word), file_show(other, sizeof other, prepared));
    mem_free(prepared);
    return rc;
}

/* Nothing was found in what a word names. left: of the words before it, left out. */
static int refuse_empty(const struct data_sources *s, const char *what, const char *path,
                        size_t left)
{
    char shown[NAME_BYTES];
    file_show(shown, sizeof shown, path);
    if (s->left_out.n == left)
        return err_set(ERR_MISSING, "%s %s has no files to read", what, shown);
    if (left > 0)
        return err_set(ERR_MISSING, "%s %s has no text: all in it was left out", what, shown);
    return err_set(ERR_MISSING, "%s %s has no text: %s", what, shown, buf_text(&s->left_out.first));
}

/* A space behind a comma, as people write lists, is no part of a name. */
static const char *skip_spaces(const char *word)
{
    while (*word == ' ' && !file_exists(word))
        word++;
    return word;
}

static int add_path(struct data_sources *s, const char *word)
{
    char *path = file_expand(word = skip_spaces(word));
    const size_t before = s->n, left = s->left_out.n;
    bool pattern = false;
    int rc = path == NULL ? ERR_NOMEM : detect_pattern(&pattern, path);
    const char *what = pattern ? "the pattern" : "the folder";
    if (rc == 0)
        rc = pattern                ? add_matches(s, path)
             : file_is_folder(path) ? add_folder(s, path, 0, false)
                                    : add_file(s, path, false);
    if (rc == ERR_MISSING && !pattern && !file_exists(path))
        rc = name_prepared(word);
    if (rc == 0 && s->n == before)
        rc = refuse_empty(s, what, path, left);
    mem_free(path);
    return rc;
}

/* Where the list as a whole is a file's name. */
static int explain_comma(int rc, const char *paths)
{
    char shown[NAME_BYTES], *why = mem_strdup(err_text()), *path = file_expand(paths),
                            *escaped = data_list_path(paths);
    if (why == NULL || path == NULL || escaped == NULL)
        rc = ERR_NOMEM;
    else if (file_exists(path))
        err_set(rc, "%s; a comma in a name is written \\,: '%s'", why,
                file_show(shown, sizeof shown, escaped));
    else
        err_set(rc, "%s", why);
    mem_free(why);
    mem_free(path);
    mem_free(escaped);
    return rc;
}

int data_sources_find(struct data_sources *out, const char *paths)
{
    *out = (struct data_sources){0};
    struct words words;
    int rc = words_parse(&words, paths);
    if (rc != 0)
        return err_wrap("data");
    if (words.n == 0)
        rc = err_set(ERR_RANGE, "there is no data: data=PATH names a text, a folder or a token "
                                "file; data=generated makes random tokens");
    for (size_t i = 0; i < words.n && rc == 0; i++)
        rc = add_path(out, words.list[i].bytes);
    if (rc == ERR_MISSING && words.n > 1)
        rc = explain_comma(rc, paths);
    words_release(&words);
    if (rc != 0)
        data_sources_release(out);
    return rc;
}

char *data_source_file(const struct data_source *s)
{
    return s->kind == DATA_MEGATRON ? megatron_path(s->path, ".bin") : mem_strdup(s->path);
}

int data_list_add(struct buf *list, const char *path)
{
    int rc = buf_str(list, list->n > 0 ? "," : "");
    for (; *path != '\0' && rc == 0; path++) {
        if (*path == ',' || *path == '\\')
            rc = buf_char(list, '\\');
        if (rc == 0)
            rc = buf_char(list, *path);
    }
    return rc;
}

char *data_list_path(const char *path)
{
    struct buf out = {0};
    if (data_list_add(&out, path) != 0)
        buf_release(&out);
    return out.data;
}

void data_sources_release(struct data_sources *s)
{
    for (size_t i = 0; i < s->n; i++)
        mem_free(s->list[i].path);
    mem_free(s->list);
    left_out_release(&s->left_out);
    *s = (struct data_sources){0};
}
