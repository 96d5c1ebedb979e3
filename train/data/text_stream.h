#ifndef PRATTLE_TRAIN_DATA_TEXT_STREAM_H
#define PRATTLE_TRAIN_DATA_TEXT_STREAM_H
/*
 * The bytes of the texts behind a path, one text after another: of a file as it is, or as zlib
 * (gzip, gunzip.h) and libarchive (bzip2, bunzip.h; xz, zstd, zip, tar) unpack it while it is read.
 * What is packed inside is unpacked too, as in a tar of .xz files, and every checksum there is was
 * compared when the last text has been read. Names inside an archive are used in messages, and to
 * tell JSON lines and tokens from text. Nothing is written to disk but a Parquet file in it, which
 * is read from its end: that one is unpacked into a file without a name (working_file.h) when it is
 * read.
 * Hidden files, folders, links and indexes of TFRecord files in an archive are left out, as they
 * are in a folder.
 *
 * A decompression bomb needs little memory (an xz dictionary of at most 1 GB) and is refused once
 * it has unpacked to more than UNPACKED_TIMES the size of its file plus UNPACKED_FREE.
 */
#include "model/base/file.h"
#include "train/data/bunzip.h"
#include "train/data/gunzip.h"
#include "train/data/packing.h"
#include "train/data/source.h"

struct archive;
struct pairs;
struct parquet;

#define UNPACKED_TIMES ((uint64_t)200)
#define UNPACKED_FREE ((uint64_t)64 << 20)

enum { TEXT_LAYERS = 8, TEXT_HEAD = 512, TEXT_NAME = 256 };

/* A file or a member that is being unpacked. */
struct text_layer {
    struct text_stream *stream;
    enum data_packing packing;
    struct archive *archive; /* owned; NULL: gunzip or bunzip */
    struct gunzip gunzip;
    struct bunzip bunzip;
    bool begun;            /* these: its text has been found */
    char *block;           /* [TEXT_BLOCK], from which any of them reads; owned */
    size_t n_head;         /* of a member: bytes of the block that were read to look at it */
    uint64_t taken;        /* of a member: its bytes so far */
    bool at_end;           /* it asked for bytes, and there were no more */
    char name[TEXT_NAME];  /* for messages: "a.tar: b.xz" */
    char inner[TEXT_NAME]; /* what a compressed file is without its last ending */
};

struct text_stream {
    const struct data_source *source; /* borrowed */
    struct file file;
    struct text_layer layers[TEXT_LAYERS]; /* [depth], each from a member of the one before */
    int depth;                             /* 0: the file as it is */
    char head[TEXT_HEAD];                  /* of a packed text, [n_head], read to look at it */
    size_t n_head, given;                  /* given: by text_stream_read */
    uint64_t read;                         /* bytes of the file so far */
    uint64_t unpacked[TEXT_LAYERS];        /* bytes that were made of them, by depth */
    bool rows;                 /* the text is the rows of a Parquet file, as JSON lines */
    const char *column;        /* of it; borrowed */
    const struct pairs *pairs; /* of it, or NULL; borrowed */
    struct parquet *parquet;   /* NULL: it is not open yet; owned */
    struct buf lines;          /* of it, those not given yet from `given` on */
    uint64_t bytes;            /* of the text in progress as its archive says, 0: it does not */
    int failed;                /* error of reading the file, for text_stream_read; 0: none */
    int texts;                 /* begun so far */
    enum data_kind kind;  /* of the text in progress: DATA_TEXT or DATA_JSON_LINES, of tokens where
                             its name says so: DATA_TFRECORD, DATA_PICKLE, DATA_NPY, or DATA_MEGATRON
                             for all .bin and .idx */
    char name[TEXT_NAME]; /* of the text in progress, for messages: "a.tar.xz: b/c.txt" */
};
/* s stays where it is until it is closed. On failure it is closed. column, pairs: of a
 * Parquet file, as parquet_open; borrowed. */
int text_stream_open(struct text_stream *s, const struct data_source *source, const char *column,
                     const struct pairs *pairs);
void text_stream_close(struct text_stream *s);
/* Go to the next text; *got is false if there are no more. ERR_FORMAT names a text that is damaged,
 * encrypted, truncated or not a text. */
int text_stream_next(struct text_stream *s, bool *got);
/* Whether the text is one of several that an archive has. */
bool text_stream_in_archive(const struct text_stream *s);
/* Read up to n bytes of the text, fewer only at its end. ERR_FORMAT; ERR_RANGE: a bomb; of
 * a packed Parquet file also ERR_MISSING as parquet_open, and ERR_IO: the disk is full. */
int text_stream_read(struct text_stream *s, char *dst, size_t n, size_t *got);

#endif
