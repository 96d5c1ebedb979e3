#ifndef PRATTLE_TRAIN_DATA_TEXT_STREAM_H
#define PRATTLE_TRAIN_DATA_TEXT_STREAM_H
/*
 * The bytes of the texts behind a path, one text after another: a file as it is, or what
 * libarchive unpacks from it (gzip, bzip2, xz, zstd; zip and tar, compressed or not) while
 * it is read. Nothing is written: names inside an archive serve in sentences, and to tell
 * JSON lines from text. Hidden files, folders and links in it are left out, as in a folder.
 *
 * A bomb is bounded: by little memory (an xz dictionary of 1 GB at most), and by
 * UNPACKED_TIMES the size of the file and UNPACKED_FREE, beyond which it is refused.
 */
#include "model/base/file.h"
#include "train/data/source.h"

struct archive;

#define UNPACKED_TIMES ((uint64_t)200)
#define UNPACKED_FREE ((uint64_t)64 << 20)

struct text_stream {
    const struct data_source *source; /* borrowed */
    struct file file;
    struct archive *archive; /* NULL: the file as it is; owned */
    char *block;             /* [TEXT_BLOCK] handed to libarchive; owned */
    uint64_t read;           /* bytes of the file so far, */
    uint64_t unpacked;       /* and what they became */
    int failed;              /* to read the file: what text_stream_read returns */
    int texts;               /* begun */
    enum data_kind kind;     /* of the text in progress: DATA_TEXT or DATA_JSON_LINES */
    char name[256];          /* of it, for sentences: "a.tar.xz: b/c.txt" */
};
/* On failure it is closed. */
int text_stream_open(struct text_stream *s, const struct data_source *source);
void text_stream_close(struct text_stream *s);
/* Go to the next text; *got false when there are no more. ERR_FORMAT: damaged, encrypted,
 * cut short, or no text, naming it. */
int text_stream_next(struct text_stream *s, bool *got);
/* Up to n of its bytes; fewer only at its end. ERR_FORMAT, and ERR_RANGE of a bomb. */
int text_stream_read(struct text_stream *s, char *dst, size_t n, size_t *got);

#endif
