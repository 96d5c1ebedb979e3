#ifndef PRATTLE_WEIGHTS_TORCH_PICKLE_MACHINE_H
#define PRATTLE_WEIGHTS_TORCH_PICKLE_MACHINE_H
/*
 * What a pickle's opcodes work on: a stack of plain values with marks, and a memo. Private
 * to the readers of pickles (pickle.c, pickle_objects.c, pickle_stream.c). All functions that
 * can fail set a sentence.
 */
#include "weights/torch/pickle_tensor.h"

enum { PICKLE_VALUES_MAX = 1 << 20, PICKLE_ARGS_MAX = 8 };

enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INT,
    PICKLE_FLOAT,
    PICKLE_TEXT,
    PICKLE_TUPLE,
    PICKLE_LIST,
    PICKLE_DICT,
    PICKLE_GLOBAL,
    PICKLE_STORAGE,
    PICKLE_TENSOR,
    PICKLE_MARK /* of MARK, on the stack alone */
};

struct pickle_global;

/* Values live in one array and name each other by index; a container's items are a
 * chain of cells. So a value in the memo a thousand times over is still one value. */
struct pickle_value {
    enum pickle_kind kind;
    int32_t first, last; /* cells of a container, -1 for none */
    union {
        int64_t number; /* BOOL, INT */
        struct {
            const char *at;
            size_t n;
        } text;
        const struct pickle_global *global;
        struct {
            const struct pickle_global *type;
            int32_t key;              /* a TEXT */
            uint64_t elements;        /* of the whole storage */
            uint64_t first, n_viewed; /* those of it that a view shows; else all */
        } storage;
        int32_t tensor;
    };
};

struct pickle_cell {
    int32_t value, next;
};

/* An array that doubles. */
struct pickle_growing {
    void *data;
    size_t n, cap;
};

struct pickle_machine {
    const char *at, *start, *end;
    struct pickle_growing values;  /* struct pickle_value */
    struct pickle_growing cells;   /* struct pickle_cell */
    struct pickle_growing stack;   /* int32_t */
    struct pickle_growing memo;    /* int32_t, -1 where nothing was put */
    struct pickle_growing tensors; /* struct pickle_tensor, without names */
};
void pickle_machine_release(struct pickle_machine *m);

static inline struct pickle_value *pickle_value(const struct pickle_machine *m, int32_t i)
{
    return (struct pickle_value *)m->values.data + i;
}
static inline struct pickle_cell *pickle_cell(const struct pickle_machine *m, int32_t i)
{
    return (struct pickle_cell *)m->cells.data + i;
}

/* ERR_FORMAT: what is broken, and where. */
int pickle_broken(const struct pickle_machine *m, const char *what);
/* Room for one more item of `size`. ERR_RANGE beyond PICKLE_VALUES_MAX. */
int pickle_grow(struct pickle_growing *g, size_t size);

int pickle_push(struct pickle_machine *m, struct pickle_value v);
/* A value that is there already. */
int pickle_push_index(struct pickle_machine *m, int32_t i);
/* The value `depth` below the top of the stack, or NULL. */
struct pickle_value *pickle_peek(struct pickle_machine *m, size_t depth);
/* The items of a tuple, at most PICKLE_ARGS_MAX; returns how many, or -1 where it is no tuple
 * or has more. */
int pickle_unpack(const struct pickle_machine *m, const struct pickle_value *tuple,
                  const struct pickle_value *items[PICKLE_ARGS_MAX]);

/* TUPLE1 and the like: of the n values on top; TUPLE: of those above the mark. */
int pickle_tuple(struct pickle_machine *m, size_t n);
int pickle_marked_tuple(struct pickle_machine *m);
/* SETITEMS, APPENDS: to the container under the mark. */
int pickle_extend(struct pickle_machine *m, enum pickle_kind kind);
/* SETITEM, APPEND: the n values on top go into the container below them. */
int pickle_add_top(struct pickle_machine *m, enum pickle_kind kind, size_t n);
/* PUT: the top of the stack into a place of the memo; GET: push what lies there. */
int pickle_remember(struct pickle_machine *m, uint64_t slot);
int pickle_recall(struct pickle_machine *m, uint64_t slot);

#endif
