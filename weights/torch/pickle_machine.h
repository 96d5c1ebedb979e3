#ifndef PRATTLE_WEIGHTS_TORCH_PICKLE_MACHINE_H
#define PRATTLE_WEIGHTS_TORCH_PICKLE_MACHINE_H
/*
 * The machine that a pickle's opcodes run on: a stack of plain values with marks, and a memo.
 * Private to pickle.c, pickle_objects.c and pickle_stream.c. Functions that can fail set a message.
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

/* Values are in one array and refer to each other by index; a container's items are a chain of
 * cells. So a value that is used a thousand times is stored once. */
struct pickle_value {
    enum pickle_kind kind;
    int32_t first, last; /* cells of a container, -1 for none */
    union {
        int64_t number; /* BOOL, INT; DICT: whether it is an object, whose attributes these are */
        double real;    /* FLOAT */
        struct {
            const char *at;
            size_t n;
        } text;
        const struct pickle_global *global;
        struct {
            const struct pickle_global *type;
            int32_t key;              /* a TEXT */
            uint64_t elements;        /* of the whole storage */
            uint64_t first, n_viewed; /* the elements of a view; else all */
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
    struct pickle_growing memo;    /* int32_t, -1: nothing */
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

/* Set "the pickle is broken at byte N: WHAT". Returns ERR_FORMAT. */
int pickle_broken(const struct pickle_machine *m, const char *what);
/* Reserve room for one more item of `size` bytes. ERR_RANGE beyond PICKLE_VALUES_MAX. */
int pickle_grow(struct pickle_growing *g, size_t size);

int pickle_push(struct pickle_machine *m, struct pickle_value v);
/* Push a value that exists already. */
int pickle_push_index(struct pickle_machine *m, int32_t i);
/* The value `depth` below the top of the stack, or NULL. */
struct pickle_value *pickle_peek(struct pickle_machine *m, size_t depth);
/* The items of a tuple. Returns how many, or -1 if it is no tuple or has more than PICKLE_ARGS_MAX.
 */
int pickle_unpack(const struct pickle_machine *m, const struct pickle_value *tuple,
                  const struct pickle_value *items[PICKLE_ARGS_MAX]);

/* TUPLE1 and the like: make a tuple of the n top values; TUPLE: of those above the mark. */
int pickle_tuple(struct pickle_machine *m, size_t n);
int pickle_marked_tuple(struct pickle_machine *m);
/* SETITEMS, APPENDS: add the values above the mark to the container below it. */
int pickle_extend(struct pickle_machine *m, enum pickle_kind kind);
/* SETITEM, APPEND: add the n top values to the container below them. */
int pickle_add_top(struct pickle_machine *m, enum pickle_kind kind, size_t n);
/* PUT: store the top of the stack in a slot of the memo; GET: push what is there. */
int pickle_remember(struct pickle_machine *m, uint64_t slot);
int pickle_recall(struct pickle_machine *m, uint64_t slot);

#endif
