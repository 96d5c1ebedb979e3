#ifndef PRATTLE_TRAIN_PREPARE_SLOT_H
#define PRATTLE_TRAIN_PREPARE_SLOT_H
/*
 * Some text and what it becomes: the work of one thread at a time.
 */
#include "model/tokenizer/tokenizer.h"
#include "train/prepare/store.h"

enum { SLOT_SENTENCE = 400 };

/* How parts are encoded. */
struct slot_encoder {
    const struct tokenizer *tokenizer; /* NULL: they stay text */
    bool special;                      /* special tokens are read as such */
    bool hash, near;                   /* marks of duplicates */
    bool count;                        /* characters */
};

/* A part of a document: one chunk of the reader. */
struct part {
    size_t text_end, plain_end, ids_end; /* in the slot's buffers */
    size_t source;
    uint64_t characters;
    struct store_mark mark;
    bool begins, ends; /* its document */
    bool wiki;         /* a page's title and wiki text: `plain` has what it becomes */
};

/* Some parts that one thread encodes, so that short documents do not cost a turn each. */
struct slot {
    struct buf text, plain;
    struct ids ids;
    struct part *parts; /* [cap]; owned */
    size_t n, cap;
    int rc;                       /* of encoding */
    size_t failed;                /* the part that failed */
    char sentence[SLOT_SENTENCE]; /* of the failure: errors are kept by thread */
};

/* Append a part whose text was added. ERR_NOMEM. */
int slot_add(struct slot *s, const struct part *p);
void slot_release(struct slot *s);
/* Encode all parts, into s->rc. words: of the thread. */
void slot_encode(struct slot *s, const struct slot_encoder *e, struct word_cache *words);
/* The text of part k as it was encoded; *n may be 0. */
const char *slot_text(const struct slot *s, size_t k, size_t *n);

#endif
