#ifndef PRATTLE_TRAIN_DATA_SOURCE_H
#define PRATTLE_TRAIN_DATA_SOURCE_H
/*
 * The files that a list of paths stands for, and what each of them is.
 */
#include "model/base/buf.h"
#include "train/data/left_out.h"

#include <stdbool.h>
#include <stddef.h>

/* What llm.c's files begin with: ids of GPT-2, of Llama 3. */
enum { LLMC_GPT2 = 20240520, LLMC_LLAMA3 = 20240801 };

enum data_kind {
    DATA_TEXT,
    DATA_JSON_LINES,
    DATA_MEGATRON,
    DATA_NANOGPT,
    DATA_LLMC,
    DATA_TFRECORD,
    DATA_PICKLE,
    DATA_NPY
};

struct data_source {
    char *path;          /* owned */
    enum data_kind kind; /* of a packed file: of its texts without a name of their own */
    bool packed;         /* a compressed file or an archive */
    bool parquet;        /* JSON lines that are made of a Parquet file's rows */
    bool utf16;          /* a text that begins with the byte order mark of UTF-16 */
    bool inside;         /* found in a folder, or by a pattern */
};
struct data_sources {
    struct data_source *list; /* [n]; owned */
    size_t n, cap;
    struct left_out left_out; /* of folders, because it is not text */
};

/*
 * Find the files for `paths`, written as in data_config.data. A path that does not exist and has a
 * *, ? or [ is a pattern (glob(7)); its matches, sorted by name, are treated like the files of a
 * folder. A file's kind follows from its first bytes and its name: .bin has tokens (Megatron's if
 * there is an .idx), .tfrecord has records of them, .pkl and .pickle
 * have lists of them, .npy has an array of them, .jsonl, .ndjson and .json have an object per
 * line, Parquet (by its first bytes) is read as such, all else is text in UTF-8, or UTF-16 with a
 * byte order mark. Texts, Parquet, records and lists may be compressed or in an archive. Empty
 * files in folders are left out. ERR_MISSING, ERR_FORMAT (empty, not text), ERR_RANGE (no path):
 * out is then empty.
 */
int data_sources_find(struct data_sources *out, const char *paths);
void data_sources_release(struct data_sources *s);
/* The path of the file with its texts or ids, in fresh memory: Megatron's .bin. */
char *data_source_file(const struct data_source *s);
/* Whether an expanded path names no file and has what a pattern has. */
bool data_is_pattern(const char *path);
/* What `data prepare IN WHAT` has made, as data= takes it, in fresh memory; NULL: nothing. */
char *data_find_prepared(const char *what);
/* The path as a list of one path, escaped, in fresh memory. */
char *data_list_path(const char *path);
/* Append a path to a list, escaped. ERR_NOMEM. */
int data_list_add(struct buf *list, const char *path);

/* Texts to encode; all others have tokens. */
static inline bool data_kind_is_text(enum data_kind kind)
{
    return kind == DATA_TEXT || kind == DATA_JSON_LINES;
}
/* Whether a file of this name has JSON lines. */
bool data_is_json_lines(const char *name);

/* ERR_FORMAT if the first n bytes of a text, called `name` in the message, are not text. path,
 * packed: of the file it is in, as in data_advice. */
int data_check_text(const char *name, const char *path, bool packed, const char *head, size_t n);
/* Whether they are of something that a folder may have beside its texts, as a picture. */
bool data_is_binary(const char *head, size_t n);

#endif
