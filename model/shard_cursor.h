#ifndef PRATTLE_MODEL_SHARD_CURSOR_H
#define PRATTLE_MODEL_SHARD_CURSOR_H
/*
 * Where the elements of a shard lie in the whole model: both are blocks with all tensors one after
 * another in the order of schema.h, row-major. A tensor is divided where its rows or columns are
 * heads (A), feed-forward columns (F) or the vocabulary (V); of 3A columns, a shard has its own of
 * each A. All others a shard has as they are.
 */
#include "model/schema.h"
#include "model/shard.h"

struct shard_run {
    size_t whole, own, n; /* n elements from `whole` on are those from `own` on of the shard */
    bool divided;         /* no other shard has them */
};

/* A dimension of a tensor: of each of so many groups of `whole`, elements first to first + n - 1.
 */
struct shard_axis {
    size_t groups, whole, first, n;
    bool divided;
};

/* Goes through a shard in the order of the whole, which is its own order too. */
struct shard_cursor {
    struct config config; /* of the whole */
    struct shard shard;
    int tensor;
    struct shard_axis rows, cols; /* of the tensor, as runs in rows */
    size_t whole_n, own_n;        /* its elements */
    size_t whole, own;            /* where it begins */
    size_t row, group;            /* the run at work */
    size_t done;                  /* elements of it that have been given */
};

void shard_cursor_init(struct shard_cursor *x, const struct config *whole, const struct shard *s);
/* The next run of at most `most` elements before element `last` of the whole; what lies before
 * `first` is left out. False: there is none. */
bool shard_cursor_next(struct shard_cursor *x, struct shard_run *out, size_t first, size_t last,
                       size_t most);

#endif
