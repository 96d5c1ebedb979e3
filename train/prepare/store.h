#ifndef PRATTLE_TRAIN_PREPARE_STORE_H
#define PRATTLE_TRAIN_PREPARE_STORE_H
/*
 * The documents of a preparation on disk, in the order of the texts, in a folder beside what is
 * prepared: their bytes (ids, or text), where each ends, and where duplicates are looked for a mark
 * of each. state.json says how much of it counts, and where the texts were: it is replaced from
 * time to time, so that interrupted work goes on from there.
 */
#include "train/prepare/spool.h"
#include "train/prepare/min_hash.h"
#include "train/prepare/text_hash.h"

#include <stdbool.h>

/* What there is. */
struct store_count {
    uint64_t documents, bytes; /* bytes: of the data */
    uint64_t short_ones;       /* documents left out so far because they were too short */
    uint64_t text_bytes;       /* of the documents and the short ones; where they were tokens:
                                  tokens */
    uint64_t texts;            /* known of the files that were begun; below 2^63 */
};

/* How far the texts were read. */
struct store_place {
    uint64_t source, chunks;      /* the file, and the chunks of it that were read; where they are
                                     tokens, the documents of all */
    struct store_count now, then; /* then: where the file in progress began */
    bool complete;                /* the texts are at their end */
};

/* What duplicates are known by. */
struct store_mark {
    struct text_hash hash;
    struct min_hash near;
};
/* The mark of nothing. */
static inline void store_mark_begin(struct store_mark *m)
{
    text_hash_begin(&m->hash);
    min_hash_begin(&m->near);
}

struct store {
    char *folder; /* owned */
    char *key;    /* owned */
    int lock;     /* of the folder, until it is closed; -1: none */
    struct spool data, ends, marks;
    size_t mark_bytes; /* of each document: a store_mark, its beginning, or 0 */
    uint64_t n;        /* documents */
    uint64_t last;     /* where the last of them ends */
    bool open;         /* one is in progress */
};
/*
 * Open the store in `folder`, made if need be. If it has documents for the same key these count,
 * and *place is where they end; others are deleted. place->now.texts and then.texts are for the
 * caller to compare. ERR_IO; ERR_EXISTS: another process works there, or it is a folder of
 * something else.
 */
int store_open(struct store *s, struct store_place *place, const char *folder, const char *key,
               size_t mark_bytes);
/* What counts stays, for the next time. */
void store_close(struct store *s);
/* Delete it all; nothing if it is closed. */
void store_remove(struct store *s);

/* Append to the document in progress, or begin one; end it; leave it out. */
int store_add(struct store *s, const void *bytes, size_t n);
/* Ids, of id_bytes each: 2 or 4. */
int store_add_ids(struct store *s, const token_id *ids, size_t n, int id_bytes);
int store_end(struct store *s, const struct store_mark *mark);
int store_drop(struct store *s);
/* All documents so far count from here on. None is in progress. */
int store_save(struct store *s, const struct store_place *place);
/* Save that only what there was when the file in progress began counts. */
int store_rewind(struct store *s, struct store_place *place);

/* Where document i lies, of those that count. ends: of s->ends. */
int store_find(const struct store *s, struct spool_view *ends, uint64_t i, uint64_t *first,
               uint64_t *bytes);
/* The marks of documents first .. first + n - 1, n * mark_bytes. */
int store_marks(const struct store *s, void *out, uint64_t first, size_t n);

#endif
