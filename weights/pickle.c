#include "weights/pickle.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { VALUES_MAX = 1 << 20, SHOWN = 96, ARGS_MAX = 8 };

enum kind {
    KIND_NONE,
    KIND_BOOL,
    KIND_INT,
    KIND_FLOAT,
    KIND_TEXT,
    KIND_TUPLE,
    KIND_LIST,
    KIND_DICT,
    KIND_GLOBAL,
    KIND_STORAGE,
    KIND_TENSOR,
    KIND_MARK
};

/* The closed list of globals. */
enum global_kind { GLOBAL_ORDERED_DICT, GLOBAL_TENSOR, GLOBAL_PARAMETER, GLOBAL_STORAGE };
static const struct global {
    const char *module, *name;
    enum global_kind kind;
    enum tensor_dtype dtype; /* of a storage */
    int element_bytes;
} globals[] = {
    {"collections", "OrderedDict", GLOBAL_ORDERED_DICT, TENSOR_OTHER, 0},
    {"torch._utils", "_rebuild_tensor_v2", GLOBAL_TENSOR, TENSOR_OTHER, 0},
    {"torch._utils", "_rebuild_parameter", GLOBAL_PARAMETER, TENSOR_OTHER, 0},
    {"torch", "FloatStorage", GLOBAL_STORAGE, TENSOR_F32, 4},
    {"torch", "HalfStorage", GLOBAL_STORAGE, TENSOR_F16, 2},
    {"torch", "BFloat16Storage", GLOBAL_STORAGE, TENSOR_BF16, 2},
    {"torch", "DoubleStorage", GLOBAL_STORAGE, TENSOR_OTHER, 8},
    {"torch", "LongStorage", GLOBAL_STORAGE, TENSOR_OTHER, 8},
    {"torch", "IntStorage", GLOBAL_STORAGE, TENSOR_OTHER, 4},
    {"torch", "ShortStorage", GLOBAL_STORAGE, TENSOR_OTHER, 2},
    {"torch", "CharStorage", GLOBAL_STORAGE, TENSOR_OTHER, 1},
    {"torch", "ByteStorage", GLOBAL_STORAGE, TENSOR_OTHER, 1},
    {"torch", "BoolStorage", GLOBAL_STORAGE, TENSOR_OTHER, 1},
};

/* Values live in one array and name each other by index; a container's items are a
 * chain of cells. So a value in the memo a thousand times over is still one value. */
struct value {
    enum kind kind;
    int32_t first, last; /* cells of a container, -1 for none */
    union {
        int64_t number; /* BOOL, INT */
        struct {
            const char *at;
            size_t n;
        } text;
        const struct global *global;
        struct {
            const struct global *type;
            int32_t key; /* a TEXT */
            uint64_t elements;
        } storage;
        int32_t tensor;
    };
};

struct cell {
    int32_t value, next;
};

/* An array that doubles. */
struct growing {
    void *data;
    size_t n, cap;
};

struct machine {
    const char *at, *start, *end;
    struct growing values;  /* struct value */
    struct growing cells;   /* struct cell */
    struct growing stack;   /* int32_t */
    struct growing memo;    /* int32_t, -1 where nothing was put */
    struct growing tensors; /* struct pickle_tensor, without names */
};

static int grow(struct growing *g, size_t size)
{
    if (g->n < g->cap)
        return 0;
    if (g->n >= VALUES_MAX)
        return err_set(ERR_RANGE, "the pickle has more than %d values", VALUES_MAX);
    size_t cap = g->cap < 64 ? 64 : 2 * g->cap;
    void *data = mem_grow(g->data, g->n * size, cap * size);
    if (data == NULL)
        return ERR_NOMEM;
    g->data = data;
    g->cap = cap;
    return 0;
}

static struct value *value_at(const struct machine *m, int32_t i)
{
    return (struct value *)m->values.data + i;
}

static struct cell *cell_at(const struct machine *m, int32_t i)
{
    return (struct cell *)m->cells.data + i;
}

static int broken(const struct machine *m, const char *what)
{
    return err_set(ERR_FORMAT, "the pickle is broken at byte %td: %s", m->at - m->start, what);
}

static int push_index(struct machine *m, int32_t i)
{
    int rc = grow(&m->stack, sizeof i);
    if (rc == 0)
        ((int32_t *)m->stack.data)[m->stack.n++] = i;
    return rc;
}

static int push(struct machine *m, struct value v)
{
    int rc = grow(&m->values, sizeof v);
    if (rc != 0)
        return rc;
    v.first = v.last = -1;
    *value_at(m, (int32_t)m->values.n) = v;
    return push_index(m, (int32_t)m->values.n++);
}

/* The value `depth` below the top of the stack, or NULL with a sentence. */
static struct value *peek(struct machine *m, size_t depth)
{
    if (depth >= m->stack.n) {
        broken(m, "the stack is empty");
        return NULL;
    }
    return value_at(m, ((int32_t *)m->stack.data)[m->stack.n - 1 - depth]);
}

static int add_item(struct machine *m, struct value *container, int32_t item)
{
    int rc = grow(&m->cells, sizeof(struct cell));
    if (rc != 0)
        return rc;
    int32_t i = (int32_t)m->cells.n++;
    *cell_at(m, i) = (struct cell){item, -1};
    if (container->last >= 0)
        cell_at(m, container->last)->next = i;
    else
        container->first = i;
    container->last = i;
    return 0;
}

/* The items of a tuple, at most ARGS_MAX; returns how many, or -1 where it is no tuple or
 * has more. */
static int unpack(const struct machine *m, const struct value *tuple,
                  const struct value *items[ARGS_MAX])
{
    int n = 0;
    if (tuple->kind != KIND_TUPLE)
        return -1;
    for (int32_t c = tuple->first; c >= 0; c = cell_at(m, c)->next) {
        if (n == ARGS_MAX)
            return -1;
        items[n++] = value_at(m, cell_at(m, c)->value);
    }
    return n;
}

/* Move what lies above the topmost mark into container; the mark goes too. */
static int take_to_mark(struct machine *m, int32_t container, bool pairs)
{
    int32_t *stack = m->stack.data;
    size_t mark = m->stack.n;
    while (mark > 0 && value_at(m, stack[mark - 1])->kind != KIND_MARK)
        mark--;
    if (mark == 0)
        return broken(m, "there is no mark on the stack");
    if (pairs && (m->stack.n - mark) % 2 != 0)
        return broken(m, "a key has no value");
    int rc = 0;
    for (size_t i = mark; i < m->stack.n && rc == 0; i++)
        rc = add_item(m, value_at(m, container), stack[i]);
    m->stack.n = mark - 1;
    return rc;
}

static int make_tuple(struct machine *m, size_t n)
{
    if (n > m->stack.n)
        return broken(m, "the stack is empty");
    size_t first = m->stack.n - n;
    int rc = push(m, (struct value){.kind = KIND_TUPLE});
    if (rc != 0)
        return rc;
    int32_t *stack = m->stack.data, tuple = stack[m->stack.n - 1];
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = add_item(m, value_at(m, tuple), stack[first + i]);
    stack[first] = tuple;
    m->stack.n = first + 1;
    return rc;
}

static int make_marked_tuple(struct machine *m)
{
    int rc = grow(&m->values, sizeof(struct value));
    if (rc != 0)
        return rc;
    int32_t tuple = (int32_t)m->values.n++;
    *value_at(m, tuple) = (struct value){.kind = KIND_TUPLE, .first = -1, .last = -1};
    rc = take_to_mark(m, tuple, false);
    return rc == 0 ? push_index(m, tuple) : rc;
}

/* SETITEMS, APPENDS: to the container under the mark. */
static int extend(struct machine *m, enum kind kind)
{
    size_t mark = m->stack.n;
    const int32_t *stack = m->stack.data;
    while (mark > 0 && value_at(m, stack[mark - 1])->kind != KIND_MARK)
        mark--;
    if (mark < 2 || value_at(m, stack[mark - 2])->kind != kind)
        return broken(m, "items are added to what cannot hold them");
    return take_to_mark(m, stack[mark - 2], kind == KIND_DICT);
}

/* SETITEM, APPEND: the n values on top go into the container below them. */
static int add_top(struct machine *m, enum kind kind, size_t n)
{
    struct value *container = peek(m, n);
    if (container == NULL)
        return ERR_FORMAT;
    if (container->kind != kind)
        return broken(m, "items are added to what cannot hold them");
    const int32_t *stack = m->stack.data;
    int rc = 0;
    for (size_t i = m->stack.n - n; i < m->stack.n && rc == 0; i++)
        rc = add_item(m, container, stack[i]);
    m->stack.n -= n;
    return rc;
}

static const char *show_text(char out[SHOWN], const char *text, size_t n)
{
    char raw[SHOWN] = {0};
    memcpy(raw, text, n < SHOWN - 1 ? n : SHOWN - 1);
    return file_show(out, SHOWN, raw);
}

static int push_global(struct machine *m, const char *module, size_t n_module, const char *name,
                       size_t n_name)
{
    char a[SHOWN], b[SHOWN];
    for (size_t i = 0; i < sizeof globals / sizeof *globals; i++) {
        const struct global *g = &globals[i];
        if (strlen(g->module) == n_module && memcmp(g->module, module, n_module) == 0 &&
            strlen(g->name) == n_name && memcmp(g->name, name, n_name) == 0)
            return push(m, (struct value){.kind = KIND_GLOBAL, .global = g});
    }
    return err_set(ERR_UNSUPPORTED,
                   "the pickle asks for %s.%s, which weights do not need: refused, and nothing "
                   "of it was executed",
                   show_text(a, module, n_module), show_text(b, name, n_name));
}

/* GLOBAL: two lines of text. */
static int read_global(struct machine *m)
{
    const char *module = m->at, *name, *end;
    end = memchr(module, '\n', (size_t)(m->end - module));
    if (end == NULL)
        return broken(m, "it ends inside a name");
    name = end + 1;
    size_t n_module = (size_t)(end - module);
    end = memchr(name, '\n', (size_t)(m->end - name));
    if (end == NULL)
        return broken(m, "it ends inside a name");
    m->at = end + 1;
    return push_global(m, module, n_module, name, (size_t)(end - name));
}

static int stack_global(struct machine *m)
{
    const struct value *name = peek(m, 0), *module = peek(m, 1);
    if (name == NULL || module == NULL)
        return ERR_FORMAT;
    if (name->kind != KIND_TEXT || module->kind != KIND_TEXT)
        return broken(m, "a global's name is no text");
    m->stack.n -= 2;
    return push_global(m, module->text.at, module->text.n, name->text.at, name->text.n);
}

/* BINPERSID: ('storage', type, key, device, number of elements). */
static int make_storage(struct machine *m)
{
    const struct value *id = peek(m, 0), *part[ARGS_MAX];
    if (id == NULL)
        return ERR_FORMAT;
    if (unpack(m, id, part) != 5 || part[0]->kind != KIND_TEXT || part[0]->text.n != 7 ||
        memcmp(part[0]->text.at, "storage", 7) != 0 || part[1]->kind != KIND_GLOBAL ||
        part[1]->global->kind != GLOBAL_STORAGE || part[2]->kind != KIND_TEXT ||
        part[4]->kind != KIND_INT || part[4]->number < 0)
        return broken(m, "a persistent id is not that of a storage");
    struct value v = {.kind = KIND_STORAGE,
                      .storage = {part[1]->global,
                                  (int32_t)(part[2] - (const struct value *)m->values.data),
                                  (uint64_t)part[4]->number}};
    m->stack.n--;
    return push(m, v);
}

/* Size and stride of _rebuild_tensor_v2 into t: row by row, or it is refused. */
static int read_shape(struct machine *m, struct pickle_tensor *t, const struct value *size,
                      const struct value *stride)
{
    const struct value *sizes[ARGS_MAX], *strides[ARGS_MAX];
    t->rank = unpack(m, size, sizes);
    if (t->rank < 0 || unpack(m, stride, strides) != t->rank)
        return broken(m, "a tensor's size and stride are not tuples of one length up to 8");
    t->n_elements = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        if (sizes[i]->kind != KIND_INT || sizes[i]->number < 0 || strides[i]->kind != KIND_INT)
            return broken(m, "a tensor's size or stride is not a whole number");
        t->shape[i] = (uint64_t)sizes[i]->number;
    }
    for (int i = t->rank - 1; i >= 0; i--) {
        /* A dimension of one, or of an empty tensor, may have any stride. */
        if (t->shape[i] > 1 && t->n_elements > 0 && (uint64_t)strides[i]->number != t->n_elements)
            return err_set(ERR_UNSUPPORTED,
                           "a tensor of storage %.*s does not lie row by row (stride %lld, "
                           "expected %llu): save it again after .contiguous()",
                           (int)(t->n_key < 20 ? t->n_key : 20), t->key,
                           (long long)strides[i]->number, (unsigned long long)t->n_elements);
        if (__builtin_mul_overflow(t->n_elements, t->shape[i], &t->n_elements))
            return broken(m, "a tensor's size passes 2^64");
    }
    return 0;
}

static int make_tensor(struct machine *m, const struct value *args)
{
    const struct value *part[ARGS_MAX];
    int n = unpack(m, args, part);
    if (n < 4 || part[0]->kind != KIND_STORAGE || part[1]->kind != KIND_INT || part[1]->number < 0)
        return broken(m, "a tensor is not made of storage, offset, size and stride");
    const struct value *key = value_at(m, part[0]->storage.key);
    const struct global *type = part[0]->storage.type;
    struct pickle_tensor t = {.key = key->text.at,
                              .n_key = key->text.n,
                              .dtype = type->dtype,
                              .dtype_name = type->name,
                              .element_bytes = type->element_bytes,
                              .storage_elements = part[0]->storage.elements,
                              .first = (uint64_t)part[1]->number};
    int rc = read_shape(m, &t, part[2], part[3]);
    if (rc != 0)
        return rc;
    if (t.first > t.storage_elements || t.n_elements > t.storage_elements - t.first)
        return broken(m, "a tensor passes the end of its storage");
    if ((rc = grow(&m->tensors, sizeof t)) != 0)
        return rc;
    ((struct pickle_tensor *)m->tensors.data)[m->tensors.n] = t;
    return push(m, (struct value){.kind = KIND_TENSOR, .tensor = (int32_t)m->tensors.n++});
}

/* REDUCE: a global of the list, with its arguments. */
static int reduce(struct machine *m)
{
    const struct value *args = peek(m, 0), *callee = peek(m, 1), *part[ARGS_MAX];
    if (args == NULL || callee == NULL)
        return ERR_FORMAT;
    if (callee->kind != KIND_GLOBAL || callee->global->kind == GLOBAL_STORAGE)
        return broken(m, "what it calls is not a function of the list");
    m->stack.n -= 2;
    int n = unpack(m, args, part);
    switch (callee->global->kind) {
    case GLOBAL_ORDERED_DICT:
        if (n != 0)
            return broken(m, "an OrderedDict has arguments");
        return push(m, (struct value){.kind = KIND_DICT});
    case GLOBAL_PARAMETER: /* data, requires_grad, hooks */
        if (n < 1 || part[0]->kind != KIND_TENSOR)
            return broken(m, "a parameter is made of no tensor");
        return push_index(m, (int32_t)(part[0] - (const struct value *)m->values.data));
    default:
        return make_tensor(m, args);
    }
}

/* BUILD: state_dict() gives its dict an attribute _metadata, which weights do not need. */
static int build(struct machine *m)
{
    const struct value *object = peek(m, 1);
    if (object == NULL)
        return ERR_FORMAT;
    if (object->kind != KIND_DICT)
        return broken(m, "attributes are given to what has none");
    m->stack.n--;
    return 0;
}

static int remember(struct machine *m, uint64_t slot)
{
    if (m->stack.n == 0)
        return broken(m, "the stack is empty");
    if (slot >= VALUES_MAX)
        return err_set(ERR_RANGE, "the pickle's memo has %llu places, at most %d",
                       (unsigned long long)slot, VALUES_MAX);
    while (m->memo.n <= slot) {
        int rc = grow(&m->memo, sizeof(int32_t));
        if (rc != 0)
            return rc;
        ((int32_t *)m->memo.data)[m->memo.n++] = -1;
    }
    ((int32_t *)m->memo.data)[slot] = ((const int32_t *)m->stack.data)[m->stack.n - 1];
    return 0;
}

static int recall(struct machine *m, uint64_t slot)
{
    if (slot >= m->memo.n || ((const int32_t *)m->memo.data)[slot] < 0)
        return broken(m, "the memo has nothing in that place");
    return push_index(m, ((const int32_t *)m->memo.data)[slot]);
}

/* n bytes, little-endian. */
static int read_number(struct machine *m, uint64_t *out, int n)
{
    if (m->end - m->at < n)
        return broken(m, "it ends inside a number");
    *out = 0;
    for (int i = 0; i < n; i++)
        *out |= (uint64_t)(unsigned char)*m->at++ << 8 * i;
    return 0;
}

static int push_text(struct machine *m, uint64_t n)
{
    if (n > (uint64_t)(m->end - m->at))
        return broken(m, "it ends inside a text");
    struct value v = {.kind = KIND_TEXT, .text = {m->at, (size_t)n}};
    m->at += n;
    return push(m, v);
}

/* LONG1: a whole number of n bytes, the sign in the highest. */
static int push_long(struct machine *m, uint64_t n)
{
    uint64_t number = 0;
    if (n > 8)
        return broken(m, "a whole number of more than 8 bytes");
    int rc = read_number(m, &number, (int)n);
    if (rc != 0)
        return rc;
    if (n > 0 && n < 8 && number >> (8 * n - 1))
        number |= UINT64_MAX << 8 * n;
    return push(m, (struct value){.kind = KIND_INT, .number = (int64_t)number});
}

/* What pickletools.py calls the opcodes that are missing from the switch of step(). */
static const char *opcode_name(unsigned char op)
{
    static const char *const names[256] = {
        ['I'] = "INT",         ['L'] = "LONG",           [0x8b] = "LONG4",
        ['S'] = "STRING",      ['T'] = "BINSTRING",      ['U'] = "SHORT_BINSTRING",
        ['B'] = "BINBYTES",    ['C'] = "SHORT_BINBYTES", [0x8e] = "BINBYTES8",
        [0x96] = "BYTEARRAY8", [0x97] = "NEXT_BUFFER",   [0x98] = "READONLY_BUFFER",
        ['V'] = "UNICODE",     [0x8d] = "BINUNICODE8",   ['F'] = "FLOAT",
        ['l'] = "LIST",        ['d'] = "DICT",           [0x8f] = "EMPTY_SET",
        [0x90] = "ADDITEMS",   [0x91] = "FROZENSET",     ['0'] = "POP",
        ['2'] = "DUP",         ['1'] = "POP_MARK",       ['g'] = "GET",
        ['p'] = "PUT",         [0x82] = "EXT1",          [0x83] = "EXT2",
        [0x84] = "EXT4",       ['i'] = "INST",           ['o'] = "OBJ",
        [0x81] = "NEWOBJ",     [0x92] = "NEWOBJ_EX",     ['P'] = "PERSID",
    };
    return names[op] == NULL ? "without a name" : names[op];
}

static int step(struct machine *m, unsigned char op)
{
    uint64_t n = 0;
    int rc;
    switch (op) {
    case 0x80: /* PROTO */
        return read_number(m, &n, 1);
    case 0x95: /* FRAME */
        return read_number(m, &n, 8);
    case '(':
        return push(m, (struct value){.kind = KIND_MARK});
    case 'N':
        return push(m, (struct value){.kind = KIND_NONE});
    case 0x88:
    case 0x89: /* NEWTRUE, NEWFALSE */
        return push(m, (struct value){.kind = KIND_BOOL, .number = op == 0x88});
    case '}':
        return push(m, (struct value){.kind = KIND_DICT});
    case ']':
        return push(m, (struct value){.kind = KIND_LIST});
    case ')':
        return make_tuple(m, 0);
    case 0x85:
    case 0x86:
    case 0x87: /* TUPLE1..3 */
        return make_tuple(m, (size_t)op - 0x84);
    case 't':
        return make_marked_tuple(m);
    case 'K': /* BININT1 */
    case 'M': /* BININT2 */
        rc = read_number(m, &n, op == 'K' ? 1 : 2);
        return rc == 0 ? push(m, (struct value){.kind = KIND_INT, .number = (int64_t)n}) : rc;
    case 'J': /* BININT */
        return push_long(m, 4);
    case 0x8a: /* LONG1 */
        rc = read_number(m, &n, 1);
        return rc == 0 ? push_long(m, n) : rc;
    case 'G': /* BINFLOAT */
        rc = read_number(m, &n, 8);
        return rc == 0 ? push(m, (struct value){.kind = KIND_FLOAT}) : rc;
    case 'X':  /* BINUNICODE */
    case 0x8c: /* SHORT_BINUNICODE */
        rc = read_number(m, &n, op == 'X' ? 4 : 1);
        return rc == 0 ? push_text(m, n) : rc;
    case 'c':
        return read_global(m);
    case 0x93:
        return stack_global(m);
    case 'Q':
        return make_storage(m);
    case 'R':
        return reduce(m);
    case 'b':
        return build(m);
    case 'u':
        return extend(m, KIND_DICT);
    case 'e':
        return extend(m, KIND_LIST);
    case 's':
        return add_top(m, KIND_DICT, 2);
    case 'a':
        return add_top(m, KIND_LIST, 1);
    case 'q': /* BINPUT */
    case 'r': /* LONG_BINPUT */
        rc = read_number(m, &n, op == 'q' ? 1 : 4);
        return rc == 0 ? remember(m, n) : rc;
    case 0x94: /* MEMOIZE */
        return remember(m, m->memo.n);
    case 'h': /* BINGET */
    case 'j': /* LONG_BINGET */
        rc = read_number(m, &n, op == 'h' ? 1 : 4);
        return rc == 0 ? recall(m, n) : rc;
    default:
        return err_set(ERR_UNSUPPORTED,
                       "the pickle has opcode %s (0x%02x) at byte %td, which weights do not "
                       "need: refused, and nothing of it was executed",
                       opcode_name(op), op, m->at - m->start - 1);
    }
}

/* The tensors among the items of the dict on the stack, with their names. */
static int collect(struct machine *m, struct pickle_tensor **out, int *n)
{
    const struct value *dict = peek(m, 0);
    if (dict == NULL)
        return ERR_FORMAT;
    if (m->stack.n != 1 || dict->kind != KIND_DICT)
        return broken(m, "what it holds is not a dict");
    struct pickle_tensor *list = mem_array(m->cells.n / 2 + 1, sizeof *list);
    if (list == NULL)
        return ERR_NOMEM;
    *n = 0;
    for (int32_t c = dict->first; c >= 0; c = cell_at(m, c)->next) {
        const struct value *key = value_at(m, cell_at(m, c)->value);
        c = cell_at(m, c)->next;
        const struct value *item = value_at(m, cell_at(m, c)->value);
        if (key->kind != KIND_TEXT || item->kind != KIND_TENSOR)
            continue;
        list[*n] = ((const struct pickle_tensor *)m->tensors.data)[item->tensor];
        list[*n].name = key->text.at;
        list[(*n)++].n_name = key->text.n;
    }
    *out = list;
    return 0;
}

int pickle_read(struct pickle_tensor **out, int *n, const char *bytes, size_t n_bytes)
{
    struct machine m = {.at = bytes, .start = bytes, .end = bytes + n_bytes};
    int rc = 0;
    while (rc == 0 && m.at < m.end && *m.at != '.')
        rc = step(&m, (unsigned char)*m.at++);
    if (rc == 0 && m.at == m.end)
        rc = broken(&m, "it ends before its STOP");
    if (rc == 0)
        rc = collect(&m, out, n);
    mem_free(m.values.data);
    mem_free(m.cells.data);
    mem_free(m.stack.data);
    mem_free(m.memo.data);
    mem_free(m.tensors.data);
    return rc;
}
