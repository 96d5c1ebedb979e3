#ifndef PRATTLE_TRAIN_DATA_ID_SPOOL_H
#define PRATTLE_TRAIN_DATA_ID_SPOOL_H
/*
 * Lists of ids on their way from a file into a temporary one, where the documents follow one
 * another. A list is filled at the end of the file; when another one is begun, it is complete, and
 * gets the separator. Memory: a block of ids, and 24 bytes for each list.
 */
#include "model/base/buf.h"
#include "model/base/file.h"
#include "model/base/ids.h"

enum id_list_kind {
    ID_LIST_EMPTY,
    ID_LIST_IDS,
    ID_LIST_DOCUMENTS, /* a list of lists, all of which are documents */
    ID_LIST_PROMISED   /* an array whose ids are not known yet */
};
struct id_list {
    uint64_t first; /* in the spool */
    uint64_t n : 60, kind : 3, complete : 1;
};

struct id_spool {
    struct file file;   /* without a name; path is that of what is read, for messages, borrowed */
    token_id *block;    /* the last ids, those from n_written on; owned */
    uint64_t n_written; /* in the file */
    uint64_t n;         /* of all */
    uint64_t end;       /* of the last document */
    uint64_t n_documents;
    struct buf lists;  /* struct id_list */
    struct buf bounds; /* u64 [n_documents + 1]: where each begins, and the end */
    int64_t tail;      /* the list that may go on, -1: none */
    token_id separator, last;
};
/* fd: the temporary file, borrowed; path: for messages; separator: TOKEN_NONE for none. */
int id_spool_init(struct id_spool *s, int fd, const char *path, token_id separator);
void id_spool_release(struct id_spool *s);

static inline struct id_list *id_list_at(const struct id_spool *s, int64_t i)
{
    return (struct id_list *)(void *)s->lists.data + i;
}
/* A new list; *out: its number. */
int id_spool_begin(struct id_spool *s, int64_t *out, enum id_list_kind kind);
/* Append an id to a list. ERR_RANGE: it is no id. ERR_UNSUPPORTED: the list is complete. */
int id_spool_add(struct id_spool *s, int64_t list, int64_t id);
/* The first n ids of a list, n <= 2. */
int id_spool_read(struct id_spool *s, int64_t list, token_id *out, size_t n);
/* Forget the newest list, whose ids are the last ones. ERR_FORMAT: it is not. */
int id_spool_drop(struct id_spool *s, int64_t list);
/* A list with the same ids at the end of the spool. */
int id_spool_copy(struct id_spool *s, int64_t *out, int64_t list);
/* A complete list becomes the next document; one without ids is none. */
int id_spool_take(struct id_spool *s, int64_t list);
/* Write what is left. ERR_FORMAT: there are ids of no document. */
int id_spool_end(struct id_spool *s);

#endif
