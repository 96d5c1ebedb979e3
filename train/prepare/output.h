#ifndef PRATTLE_TRAIN_PREPARE_OUTPUT_H
#define PRATTLE_TRAIN_PREPARE_OUTPUT_H
/*
 * Documents to a file that training reads: Megatron's .bin and .idx, nanoGPT's .bin, llm.c's .bin,
 * TFRecord with its index, or JSON lines. A file takes its place when it is whole.
 */
#include "train/data/token_writer.h"

enum output_format {
    OUTPUT_MEGATRON,
    OUTPUT_NANOGPT,
    OUTPUT_LLMC,
    OUTPUT_TFRECORD,
    OUTPUT_JSON_LINES,
    OUTPUT_FORMATS
};
/* "Megatron", and so on. */
const char *output_format_name(enum output_format f);
/* What a file of this name is: JSON lines and TFRecord by their endings, else Megatron's. */
enum output_format output_format_of(const char *path);
/* ERR_FORMAT: it is no name, as "" or "folder/": its files would be hidden ones, ".bin". */
int output_check_name(const char *path);
/* ERR_UNSUPPORTED: by its ending another kind of file is meant, which would be Megatron's. */
int output_check_ending(const char *path);
/* Path with `part` (as "-train"; "" for none) before its ending and with the ending of the format,
 * in fresh memory. Megatron's is a prefix. NULL: ERR_NOMEM. */
char *output_path(const char *path, const char *part, enum output_format f);

/* Whether it stores where documents end; in others the end-of-text token alone says so. */
bool output_has_bounds(enum output_format f);

/* The i-th file of a path, in fresh memory; NULL past the last, or ERR_NOMEM was set. */
char *output_file(enum output_format f, const char *path, int i);

/* Whether a file of path may be written, of ids below n_ids. ERR_EXISTS without force; ERR_RANGE:
 * the format has no room for such ids. */
int output_check(enum output_format f, const char *path, int n_ids, bool force);
/* How many tokens a file may have, and the refusal of more: ERR_RANGE. */
uint64_t output_most_tokens(enum output_format f);
int output_check_tokens(enum output_format f, uint64_t n_tokens);
/* Delete what killed processes left of a file of path; outputs in progress have a lock. */
void output_sweep(enum output_format f, const char *path);

struct output {
    enum output_format format;
    struct token_writer megatron;
    struct file_writer file, index; /* of the other formats; index: of TFRecord */
    struct buf document;            /* of TFRecord and JSON lines: the one in progress */
    bool in_line;                   /* a part of it has been written, as JSON */
    int width;                      /* bytes of an id */
    token_id end;                   /* of llm.c's file: separates documents, is first in the file */
    bool due;                       /* it stands before the next id, if there is one */
    uint64_t n_tokens, n_documents; /* of JSON lines n_tokens counts bytes */
    token_id last, usual; /* the last id of the document; what documents end with, TOKEN_NONE: not
                             known yet */
    bool lacks_ends;      /* one ends with something else */
};
/*
 * path     of output_path
 * n_ids    ids are below it
 * end      the end-of-text token that documents end with; llm.c's begin with it, as it reads them.
 *          TOKEN_NONE: there is none, or it is not known
 * returns  0; ERR_IO, or as output_check
 */
int output_open(struct output *o, enum output_format f, const char *path, int n_ids, token_id end,
                bool force);
/* Append to the document in progress: ids, or for JSON lines text. ERR_RANGE: a file of the format
 * cannot have so many. */
int output_add_ids(struct output *o, const token_id *ids, size_t n);
int output_add_text(struct output *o, const char *text, size_t n);
/* End the document; an empty one is left out. */
int output_end(struct output *o);
/* Whether documents can no longer be told apart: the format has no bounds but the end-of-text
 * token, and some lack it. */
bool output_joins(const struct output *o);
/* The descriptors of its files, which it has until it is committed; their count. */
int output_fds(const struct output *o, int list[2]);
/* That with the ids, or the text. */
int output_fd(const struct output *o);
int output_commit(struct output *o);
void output_abandon(struct output *o); /* harmless after a commit */

#endif
