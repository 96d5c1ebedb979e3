#ifndef PRATTLE_TRAIN_DATA_SOURCE_H
#define PRATTLE_TRAIN_DATA_SOURCE_H
/*
 * The files that a list of paths stands for, and what each of them is.
 */
#include "model/base/progress.h"

#include <stdbool.h>
#include <stddef.h>

enum data_kind { DATA_TEXT, DATA_JSON_LINES, DATA_MEGATRON, DATA_NANOGPT, DATA_LLMC };

struct data_source {
    char *path;          /* owned */
    enum data_kind kind; /* packed: of its texts that have no name of their own */
    bool packed;         /* a compressed file or an archive of texts */
    bool utf16;          /* a text that begins with its byte order mark */
};
struct data_sources {
    struct data_source *list; /* [n]; owned */
    size_t n, cap;
    size_t n_binary; /* files of folders left out, and why the first: a sentence; owned */
    char *binary;
};

/*
 * paths as data_config.data has them; one that is not there and has a *, ? or [ is a pattern
 * (glob(7)), and what matches it, by name, is read as what is in a folder. What a file is, its
 * beginning says, and its name: .bin are tokens (Megatron's where there is a .idx), .jsonl, .ndjson
 * and .json have an object a line, all else is text, UTF-8 or with a byte order mark UTF-16, also
 * compressed or in an archive. Of a folder, empty files are left out. ERR_MISSING, ERR_FORMAT
 * (empty, not text), ERR_RANGE (no path); out is then empty.
 */
int data_sources_find(struct data_sources *out, const char *paths);
void data_sources_release(struct data_sources *s);
/* A path as a list of one, in fresh memory. */
char *data_list_path(const char *path);

/* Of a name: whether it says an object a line. */
bool data_is_json_lines(const char *name);
/* path without the ending of compressed files, into out[size]. */
void data_unpacked_name(char *out, size_t size, const char *path);
/* The sentence on files that were left out, one however many there are. */
void data_sources_note(const struct data_sources *s, const struct progress *p);

/* ERR_FORMAT when what was unpacked, called `name` in the sentence, does not begin as text. */
int data_check_text(const char *name, const char *head, size_t n);

#endif
