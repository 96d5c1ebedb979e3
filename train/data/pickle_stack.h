#ifndef PRATTLE_TRAIN_DATA_PICKLE_STACK_H
#define PRATTLE_TRAIN_DATA_PICKLE_STACK_H
/*
 * What is open while a pickle of ids is read: a stack of small values, the items of its tuples, and
 * a memo. Private to pickle_ids.c, pickle_stack.c and pickle_array.c.
 */
#include "train/data/id_spool.h"

enum open_kind {
    OPEN_MARK,
    OPEN_NONE, /* None, True, False, a number with a fraction */
    OPEN_INT,
    OPEN_TEXT,      /* or bytes: n of them in the file at `at` */
    OPEN_LATIN,     /* bytes as Latin-1 in UTF-8, n of them at `at` */
    OPEN_GLOBAL,    /* at: which */
    OPEN_TUPLE,     /* n items in the pool from `at` on */
    OPEN_IDS_TUPLE, /* of whole numbers alone; at: a list of the spool */
    OPEN_LIST,      /* at: a list of the spool */
    OPEN_DTYPE,     /* at: the bytes of an element, below 0 where they are signed */
    OPEN_FORGOTTEN  /* in the memo: a tuple */
};
struct open_value {
    uint64_t n : 56, kind : 8;
    int64_t at;
};

struct pickle_stack {
    const struct file *file;
    struct id_spool *spool;
    uint64_t at;                   /* the next byte */
    struct buf values, pool, memo; /* struct open_value */
};
void pickle_stack_release(struct pickle_stack *m);

/* Set "FILE: the pickle is broken at byte N: WHAT". Returns ERR_FORMAT. */
int stack_broken(const struct pickle_stack *m, const char *what);
/* Say that what was read is no list of lists of ids. Returns ERR_FORMAT. */
int stack_refuse(const struct pickle_stack *m);
size_t stack_n(const struct pickle_stack *m);
/* The i-th from the bottom. */
struct open_value *stack_at(const struct pickle_stack *m, size_t i);
/* ERR_RANGE: too many. */
int stack_push(struct pickle_stack *m, enum open_kind kind, uint64_t n, int64_t at);
/* Pop n values. ERR_FORMAT: there are fewer. */
int stack_pop(struct pickle_stack *m, size_t n);
/* *first: what lies above the topmost mark. ERR_FORMAT: there is none. */
int stack_marked(const struct pickle_stack *m, size_t *first);

/* The values from `first` on become the value at `place`: a tuple. */
int stack_tuple(struct pickle_stack *m, size_t first, size_t place);
/* The values from `first` on are appended to the list at `list`, and popped. */
int stack_extend(struct pickle_stack *m, size_t list, size_t first);
/* The i-th item of a tuple. */
const struct open_value *tuple_item(const struct pickle_stack *m, const struct open_value *tuple,
                                    size_t i);
/* Pop the tuple on top, and what it alone has. */
void stack_drop_tuple(struct pickle_stack *m);

/* PUT of the top; GET. */
int stack_remember(struct pickle_stack *m, uint64_t slot);
int stack_recall(struct pickle_stack *m, uint64_t slot);

#endif
