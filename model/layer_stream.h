#ifndef PRATTLE_MODEL_LAYER_STREAM_H
#define PRATTLE_MODEL_LAYER_STREAM_H
/*
 * The layers of a model that is larger than memory. Its block of parameters (params.h) is a range
 * of addresses of which only some has memory; the rest is in a file with the bytes of the block,
 * and comes in pieces, a layer or a slice of the output head, in the order of a pass:
 *
 *     memory   wpe | layer 0 |         | layer 2 |         | ln_f | (embeddings, if they fit)
 *     disk                   | layer 1 |         | layer 3 |
 *                                 |                   |
 *     slots                  [ in use ] [ being read ] [ being read ]
 *
 * While a pass computes with one piece, the next ones are read: after the last piece come those of
 * the next pass. The fields of a layer (struct layer) point into its slot. Embeddings of tokens are
 * read from the file one panel at a time.
 *
 * A failed read does not end a pass: its numbers are worthless, layer_stream_failed says so after
 * it, and the next pass tries again.
 */
#include "model/base/disk_queue.h"
#include "model/layer_stream_plan.h"

/* Where the file has the block: from block_at on, read in multiples of `unit`, which is one of
 * DISK_UNIT; check as of struct disk_piece, NULL: none. */
struct layer_stream_file {
    struct disk_file disk;
    uint64_t block_at;
    size_t unit;
    int (*check)(void *user, uint64_t at, const char *data, size_t bytes);
    void *user;
    void (*release)(void *user); /* when the stream ends; NULL: nothing */
};

struct layer_stream;
/*
 * Read what the plan keeps into p's block, and begin to read ahead. Takes over *file, also where it
 * fails, and p->stream, which is freed with p (params_release), is the stream. ERR_NOMEM, ERR_IO,
 * ERR_FORMAT, ERR_INTERRUPTED.
 */
int layer_stream_open(struct params *p, const struct layer_stream_plan *plan,
                      struct layer_stream_file *file);
void layer_stream_free(struct layer_stream *s); /* accepts NULL */
/* p without its stream, all fields in its block, for another file or the same later; *file gets its
 * file. Not during a pass. */
void layer_stream_detach(struct params *p, struct layer_stream_file *file);
void layer_stream_close(struct layer_stream_file *file); /* of one that no stream has */
const struct layer_stream_plan *layer_stream_planned(const struct layer_stream *s);
/* As measured when it was opened; 0: too little to measure. */
double layer_stream_rate(const struct layer_stream *s);

/* ---- in a pass; by every thread of a job unless said otherwise; s NULL: nothing to do ---- */

/* A pass begins: an error of the one before is forgotten. */
void layer_stream_begin(struct layer_stream *s, int thread);
/* The layer's fields are valid until the next of these calls. All threads have done with the
 * layer before. */
void layer_stream_enter(struct layer_stream *s, int layer, int thread);
/* The output head in slices of columns: how many, and one of them, first columns and matrix, valid
 * as a layer. 0 where it is in memory. */
int layer_stream_slices(const struct layer_stream *s);
struct linear layer_stream_slice(struct layer_stream *s, int slice, int *first, int thread);
/* Whether the embedding is in the file; then out [C] = that of a token, by one thread alone. */
bool layer_stream_embeds(const struct layer_stream *s);
void layer_stream_column(struct layer_stream *s, int token, float *out);

/* After a pass: whether a read failed, and its error and message. 0: none. */
bool layer_stream_failed(const struct layer_stream *s);
int layer_stream_error(const struct layer_stream *s);
/* dst [n] = bytes of the block from `first`, a multiple of `unit`, on; has room for whole units.
 * Not during a pass. */
int layer_stream_read(struct layer_stream *s, char *dst, size_t first, size_t n);

#endif
