#ifndef PRATTLE_DATA_SOURCE_H
#define PRATTLE_DATA_SOURCE_H
/*
 * The files that a list of paths stands for, and what each of them is.
 */
#include <stddef.h>

enum data_kind { DATA_TEXT, DATA_JSON_LINES, DATA_MEGATRON, DATA_NANOGPT, DATA_LLMC };

struct data_source {
    char *path; /* owned */
    enum data_kind kind;
};
struct data_sources {
    struct data_source *list; /* [n]; owned */
    size_t n, cap;
};

/*
 * paths as data_config.data has them. What a file is, its beginning says, and its name:
 * .bin are tokens (Megatron's where there is a .idx), .jsonl, .ndjson and .json have an
 * object a line, all else is text. Of a folder, empty files are left out. ERR_MISSING,
 * ERR_FORMAT (empty, compressed, not text), ERR_RANGE (no path); out is then empty.
 */
int data_sources_find(struct data_sources *out, const char *paths);
void data_sources_release(struct data_sources *s);

#endif
