#include "weights/torch/pickle.h"

#include "model/base/err.h"
#include "model/base/little_endian.h"
#include "model/base/mem.h"
#include "weights/torch/pickle_json.h"
#include "weights/torch/pickle_objects.h"

#include <string.h>

/* GLOBAL: two lines of text. */
static int read_global(struct pickle_machine *m, uint64_t unused)
{
    (void)unused;
    const char *module = m->at, *name, *end;
    end = memchr(module, '\n', (size_t)(m->end - module));
    if (end == NULL)
        return pickle_broken(m, "it ends inside a name");
    name = end + 1;
    size_t n_module = (size_t)(end - module);
    end = memchr(name, '\n', (size_t)(m->end - name));
    if (end == NULL)
        return pickle_broken(m, "it ends inside a name");
    m->at = end + 1;
    return pickle_push_global(m, module, n_module, name, (size_t)(end - name));
}

static int read_stack_global(struct pickle_machine *m, uint64_t unused)
{
    (void)unused;
    const struct pickle_value *name = pickle_peek(m, 0), *module = pickle_peek(m, 1);
    if (name == NULL || module == NULL)
        return ERR_FORMAT;
    if (name->kind != PICKLE_TEXT || module->kind != PICKLE_TEXT)
        return pickle_broken(m, "a global's name is not text");
    m->stack.n -= 2;
    return pickle_push_global(m, module->text.at, module->text.n, name->text.at, name->text.n);
}

static int read_number(struct pickle_machine *m, uint64_t *out, int n)
{
    if (m->end - m->at < n)
        return pickle_broken(m, "it ends inside a number");
    *out = le_at(m->at, n);
    m->at += n;
    return 0;
}

static int push_text(struct pickle_machine *m, uint64_t n)
{
    if (n > (uint64_t)(m->end - m->at))
        return pickle_broken(m, "it ends inside a text");
    struct pickle_value v = {.kind = PICKLE_TEXT, .text = {m->at, (size_t)n}};
    m->at += n;
    return pickle_push(m, v);
}

/* LONG1: a whole number of n bytes, the sign in the highest. */
static int push_long(struct pickle_machine *m, uint64_t n)
{
    uint64_t number = 0;
    if (n > 8)
        return pickle_broken(m, "a whole number of more than 8 bytes");
    int rc = read_number(m, &number, (int)n);
    if (rc != 0)
        return rc;
    if (n > 0 && n < 8 && number >> (8 * n - 1))
        number |= UINT64_MAX << 8 * n;
    return pickle_push(m, (struct pickle_value){.kind = PICKLE_INT, .number = (int64_t)number});
}

static int skip_argument(struct pickle_machine *m, uint64_t unused)
{
    (void)m;
    (void)unused;
    return 0;
}

/* What has no value but its kind: None, a mark, an empty list. */
static int push_kind(struct pickle_machine *m, uint64_t kind)
{
    return pickle_push(m, (struct pickle_value){.kind = (enum pickle_kind)kind});
}

static int push_bool(struct pickle_machine *m, uint64_t truth)
{
    return pickle_push(m, (struct pickle_value){.kind = PICKLE_BOOL, .number = (int64_t)truth});
}

static int push_int(struct pickle_machine *m, uint64_t n)
{
    return pickle_push(m, (struct pickle_value){.kind = PICKLE_INT, .number = (int64_t)n});
}

/* BINFLOAT: the highest byte comes first. */
static int push_float(struct pickle_machine *m, uint64_t bits)
{
    struct pickle_value v = {.kind = PICKLE_FLOAT};
    bits = __builtin_bswap64(bits);
    memcpy(&v.real, &bits, sizeof v.real);
    return pickle_push(m, v);
}

static int push_tuple(struct pickle_machine *m, uint64_t n)
{
    return pickle_tuple(m, (size_t)n);
}

static int push_marked_tuple(struct pickle_machine *m, uint64_t unused)
{
    (void)unused;
    return pickle_marked_tuple(m);
}

static int push_storage(struct pickle_machine *m, uint64_t unused)
{
    (void)unused;
    return pickle_storage(m);
}

static int reduce_global(struct pickle_machine *m, uint64_t unused)
{
    (void)unused;
    return pickle_reduce(m);
}

static int new_object(struct pickle_machine *m, uint64_t unused)
{
    (void)unused;
    return pickle_new_object(m);
}

static int build_object(struct pickle_machine *m, uint64_t unused)
{
    (void)unused;
    return pickle_build(m);
}

static int extend_container(struct pickle_machine *m, uint64_t kind)
{
    return pickle_extend(m, (enum pickle_kind)kind);
}

static int add_item(struct pickle_machine *m, uint64_t kind)
{
    return pickle_add_top(m, (enum pickle_kind)kind, kind == PICKLE_DICT ? 2 : 1);
}

static int remember_next(struct pickle_machine *m, uint64_t unused)
{
    (void)unused;
    return pickle_remember(m, m->memo.n);
}

/*
 * The opcodes as pickletools.py calls them. Those that weights need have a function; the others
 * are refused by name.
 */
static const struct opcode {
    const char *name;
    int (*run)(struct pickle_machine *m, uint64_t argument);
    uint64_t argument;  /* where none follows in the pickle */
    int argument_bytes; /* of the one that follows */
} opcodes[256] = {
    [0x80] = {"PROTO", skip_argument, 0, 1},
    [0x95] = {"FRAME", skip_argument, 0, 8},
    ['('] = {"MARK", push_kind, PICKLE_MARK, 0},
    ['N'] = {"NONE", push_kind, PICKLE_NONE, 0},
    [0x88] = {"NEWTRUE", push_bool, true, 0},
    [0x89] = {"NEWFALSE", push_bool, false, 0},
    ['}'] = {"EMPTY_DICT", push_kind, PICKLE_DICT, 0},
    [']'] = {"EMPTY_LIST", push_kind, PICKLE_LIST, 0},
    [')'] = {"EMPTY_TUPLE", push_tuple, 0, 0},
    [0x85] = {"TUPLE1", push_tuple, 1, 0},
    [0x86] = {"TUPLE2", push_tuple, 2, 0},
    [0x87] = {"TUPLE3", push_tuple, 3, 0},
    ['t'] = {"TUPLE", push_marked_tuple, 0, 0},
    ['K'] = {"BININT1", push_int, 0, 1},
    ['M'] = {"BININT2", push_int, 0, 2},
    ['J'] = {"BININT", push_long, 4, 0},
    [0x8a] = {"LONG1", push_long, 0, 1},
    ['G'] = {"BINFLOAT", push_float, 0, 8},
    ['X'] = {"BINUNICODE", push_text, 0, 4},
    [0x8c] = {"SHORT_BINUNICODE", push_text, 0, 1},
    ['c'] = {"GLOBAL", read_global, 0, 0},
    [0x93] = {"STACK_GLOBAL", read_stack_global, 0, 0},
    ['Q'] = {"BINPERSID", push_storage, 0, 0},
    ['R'] = {"REDUCE", reduce_global, 0, 0},
    [0x81] = {"NEWOBJ", new_object, 0, 0},
    ['b'] = {"BUILD", build_object, 0, 0},
    ['u'] = {"SETITEMS", extend_container, PICKLE_DICT, 0},
    ['e'] = {"APPENDS", extend_container, PICKLE_LIST, 0},
    ['s'] = {"SETITEM", add_item, PICKLE_DICT, 0},
    ['a'] = {"APPEND", add_item, PICKLE_LIST, 0},
    ['q'] = {"BINPUT", pickle_remember, 0, 1},
    ['r'] = {"LONG_BINPUT", pickle_remember, 0, 4},
    [0x94] = {"MEMOIZE", remember_next, 0, 0},
    ['h'] = {"BINGET", pickle_recall, 0, 1},
    ['j'] = {"LONG_BINGET", pickle_recall, 0, 4},
    /* Refused: */
    ['I'] = {.name = "INT"},
    ['L'] = {.name = "LONG"},
    [0x8b] = {.name = "LONG4"},
    ['S'] = {.name = "STRING"},
    ['T'] = {.name = "BINSTRING"},
    ['U'] = {.name = "SHORT_BINSTRING"},
    ['B'] = {.name = "BINBYTES"},
    ['C'] = {.name = "SHORT_BINBYTES"},
    [0x8e] = {.name = "BINBYTES8"},
    [0x96] = {.name = "BYTEARRAY8"},
    [0x97] = {.name = "NEXT_BUFFER"},
    [0x98] = {.name = "READONLY_BUFFER"},
    ['V'] = {.name = "UNICODE"},
    [0x8d] = {.name = "BINUNICODE8"},
    ['F'] = {.name = "FLOAT"},
    ['l'] = {.name = "LIST"},
    ['d'] = {.name = "DICT"},
    [0x8f] = {.name = "EMPTY_SET"},
    [0x90] = {.name = "ADDITEMS"},
    [0x91] = {.name = "FROZENSET"},
    ['0'] = {.name = "POP"},
    ['2'] = {.name = "DUP"},
    ['1'] = {.name = "POP_MARK"},
    ['g'] = {.name = "GET"},
    ['p'] = {.name = "PUT"},
    [0x82] = {.name = "EXT1"},
    [0x83] = {.name = "EXT2"},
    [0x84] = {.name = "EXT4"},
    ['i'] = {.name = "INST"},
    ['o'] = {.name = "OBJ"},
    [0x92] = {.name = "NEWOBJ_EX"},
    ['P'] = {.name = "PERSID"},
};

const char *pickle_opcode_name(unsigned char op)
{
    return opcodes[op].name == NULL ? "without a name" : opcodes[op].name;
}

static int run_opcode(struct pickle_machine *m, unsigned char op)
{
    const struct opcode *o = &opcodes[op];
    if (o->run == NULL)
        return err_set(ERR_UNSUPPORTED,
                       "the pickle has opcode %s (0x%02x) at byte %td, which weights do not "
                       "need: refused, and nothing of it was executed",
                       pickle_opcode_name(op), op, m->at - m->start - 1);
    uint64_t argument = o->argument;
    int rc = o->argument_bytes == 0 ? 0 : read_number(m, &argument, o->argument_bytes);
    return rc == 0 ? o->run(m, argument) : rc;
}

int pickle_run(struct pickle_machine *m)
{
    int rc = 0;
    while (rc == 0 && m->at < m->end && *m->at != '.')
        rc = run_opcode(m, (unsigned char)*m->at++);
    if (rc == 0 && m->at == m->end)
        rc = pickle_broken(m, "it ends before its STOP");
    return rc;
}

/* The one dict on the stack. */
static int find_dict(struct pickle_machine *m, const struct pickle_value **dict)
{
    *dict = pickle_peek(m, 0);
    if (*dict == NULL)
        return ERR_FORMAT;
    return m->stack.n == 1 && (*dict)->kind == PICKLE_DICT
               ? 0
               : pickle_broken(m, "what it holds is not a dict");
}

/* The weights among what a trainer saved: nanoGPT's and fairseq's, Languini's, Lightning's. */
static const struct pickle_value *find_weights(const struct pickle_machine *m,
                                               const struct pickle_value *dict)
{
    static const char *const keys[] = {"model", "model_state_dict", "state_dict"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct pickle_value *item = pickle_item(m, dict, keys[i]);
        if (item != NULL && item->kind == PICKLE_DICT)
            return item;
    }
    return dict;
}

int pickle_about(struct pickle_machine *m, json_t **out)
{
    static const char *const keys[] = {"model_args", "cfg", "args", "config"};
    const struct pickle_value *dict;
    *out = NULL;
    int rc = find_dict(m, &dict);
    if (rc != 0 || find_weights(m, dict) == dict)
        return rc;
    if ((*out = json_object()) == NULL)
        return err_set(ERR_NOMEM, "no memory for what the checkpoint says of its model");
    for (size_t i = 0; i < sizeof keys / sizeof *keys && rc == 0; i++) {
        const struct pickle_value *item = pickle_item(m, dict, keys[i]);
        json_t *said = NULL;
        if (item == NULL || item->kind != PICKLE_DICT)
            continue;
        rc = pickle_json(m, item, &said);
        if (rc == 0 && json_object_set_new(*out, keys[i], said) != 0)
            rc = err_set(ERR_NOMEM, "no memory for what the checkpoint says of its model");
    }
    return rc;
}

int pickle_collect(struct pickle_machine *m, struct pickle_tensor **out, int *n)
{
    const struct pickle_value *dict;
    int rc = find_dict(m, &dict);
    if (rc != 0)
        return rc;
    dict = find_weights(m, dict);
    struct pickle_tensor *list = mem_array(m->cells.n / 2 + 1, sizeof *list);
    if (list == NULL)
        return ERR_NOMEM;
    *n = 0;
    for (int32_t c = dict->first; c >= 0; c = pickle_cell(m, c)->next) {
        const struct pickle_value *key = pickle_value(m, pickle_cell(m, c)->value);
        c = pickle_cell(m, c)->next;
        const struct pickle_value *item = pickle_value(m, pickle_cell(m, c)->value);
        if (key->kind != PICKLE_TEXT || item->kind != PICKLE_TENSOR)
            continue;
        list[*n] = ((const struct pickle_tensor *)m->tensors.data)[item->tensor];
        list[*n].name = key->text.at;
        list[(*n)++].n_name = key->text.n;
    }
    *out = list;
    return 0;
}

int pickle_read(struct pickle_tensor **out, int *n, json_t **about, const char *bytes,
                size_t n_bytes)
{
    struct pickle_machine m = {.at = bytes, .start = bytes, .end = bytes + n_bytes};
    *about = NULL;
    int rc = pickle_run(&m);
    if (rc == 0)
        rc = pickle_about(&m, about);
    if (rc == 0)
        rc = pickle_collect(&m, out, n);
    pickle_machine_release(&m);
    return rc;
}

int pickle_read_plain(json_t **out, const char *bytes, size_t n_bytes)
{
    struct pickle_machine m = {.at = bytes, .start = bytes, .end = bytes + n_bytes};
    const struct pickle_value *dict;
    *out = NULL;
    int rc = pickle_run(&m);
    if (rc == 0 && (rc = find_dict(&m, &dict)) == 0)
        rc = pickle_json(&m, dict, out);
    pickle_machine_release(&m);
    return rc;
}
