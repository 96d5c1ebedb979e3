#include "weights/torch/pickle.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "weights/torch/pickle_objects.h"

#include <string.h>

/* GLOBAL: two lines of text. */
static int read_global(struct pickle_machine *m)
{
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

static int stack_global(struct pickle_machine *m)
{
    const struct pickle_value *name = pickle_peek(m, 0), *module = pickle_peek(m, 1);
    if (name == NULL || module == NULL)
        return ERR_FORMAT;
    if (name->kind != PICKLE_TEXT || module->kind != PICKLE_TEXT)
        return pickle_broken(m, "a global's name is no text");
    m->stack.n -= 2;
    return pickle_push_global(m, module->text.at, module->text.n, name->text.at, name->text.n);
}

/* n bytes, little-endian. */
static int read_number(struct pickle_machine *m, uint64_t *out, int n)
{
    if (m->end - m->at < n)
        return pickle_broken(m, "it ends inside a number");
    *out = 0;
    for (int i = 0; i < n; i++)
        *out |= (uint64_t)(unsigned char)*m->at++ << 8 * i;
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

static int step(struct pickle_machine *m, unsigned char op)
{
    uint64_t n = 0;
    int rc;
    switch (op) {
    case 0x80: /* PROTO */
        return read_number(m, &n, 1);
    case 0x95: /* FRAME */
        return read_number(m, &n, 8);
    case '(':
        return pickle_push(m, (struct pickle_value){.kind = PICKLE_MARK});
    case 'N':
        return pickle_push(m, (struct pickle_value){.kind = PICKLE_NONE});
    case 0x88:
    case 0x89: /* NEWTRUE, NEWFALSE */
        return pickle_push(m, (struct pickle_value){.kind = PICKLE_BOOL, .number = op == 0x88});
    case '}':
        return pickle_push(m, (struct pickle_value){.kind = PICKLE_DICT});
    case ']':
        return pickle_push(m, (struct pickle_value){.kind = PICKLE_LIST});
    case ')':
        return pickle_tuple(m, 0);
    case 0x85:
    case 0x86:
    case 0x87: /* TUPLE1..3 */
        return pickle_tuple(m, (size_t)op - 0x84);
    case 't':
        return pickle_marked_tuple(m);
    case 'K': /* BININT1 */
    case 'M': /* BININT2 */
        rc = read_number(m, &n, op == 'K' ? 1 : 2);
        return rc == 0
                   ? pickle_push(m, (struct pickle_value){.kind = PICKLE_INT, .number = (int64_t)n})
                   : rc;
    case 'J': /* BININT */
        return push_long(m, 4);
    case 0x8a: /* LONG1 */
        rc = read_number(m, &n, 1);
        return rc == 0 ? push_long(m, n) : rc;
    case 'G': /* BINFLOAT */
        rc = read_number(m, &n, 8);
        return rc == 0 ? pickle_push(m, (struct pickle_value){.kind = PICKLE_FLOAT}) : rc;
    case 'X':  /* BINUNICODE */
    case 0x8c: /* SHORT_BINUNICODE */
        rc = read_number(m, &n, op == 'X' ? 4 : 1);
        return rc == 0 ? push_text(m, n) : rc;
    case 'c':
        return read_global(m);
    case 0x93:
        return stack_global(m);
    case 'Q':
        return pickle_storage(m);
    case 'R':
        return pickle_reduce(m);
    case 'b':
        return pickle_build(m);
    case 'u':
        return pickle_extend(m, PICKLE_DICT);
    case 'e':
        return pickle_extend(m, PICKLE_LIST);
    case 's':
        return pickle_add_top(m, PICKLE_DICT, 2);
    case 'a':
        return pickle_add_top(m, PICKLE_LIST, 1);
    case 'q': /* BINPUT */
    case 'r': /* LONG_BINPUT */
        rc = read_number(m, &n, op == 'q' ? 1 : 4);
        return rc == 0 ? pickle_remember(m, n) : rc;
    case 0x94: /* MEMOIZE */
        return pickle_remember(m, m->memo.n);
    case 'h': /* BINGET */
    case 'j': /* LONG_BINGET */
        rc = read_number(m, &n, op == 'h' ? 1 : 4);
        return rc == 0 ? pickle_recall(m, n) : rc;
    default:
        return err_set(ERR_UNSUPPORTED,
                       "the pickle has opcode %s (0x%02x) at byte %td, which weights do not "
                       "need: refused, and nothing of it was executed",
                       opcode_name(op), op, m->at - m->start - 1);
    }
}

int pickle_run(struct pickle_machine *m)
{
    int rc = 0;
    while (rc == 0 && m->at < m->end && *m->at != '.')
        rc = step(m, (unsigned char)*m->at++);
    if (rc == 0 && m->at == m->end)
        rc = pickle_broken(m, "it ends before its STOP");
    return rc;
}

int pickle_collect(struct pickle_machine *m, struct pickle_tensor **out, int *n)
{
    const struct pickle_value *dict = pickle_peek(m, 0);
    if (dict == NULL)
        return ERR_FORMAT;
    if (m->stack.n != 1 || dict->kind != PICKLE_DICT)
        return pickle_broken(m, "what it holds is not a dict");
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

int pickle_read(struct pickle_tensor **out, int *n, const char *bytes, size_t n_bytes)
{
    struct pickle_machine m = {.at = bytes, .start = bytes, .end = bytes + n_bytes};
    int rc = pickle_run(&m);
    if (rc == 0)
        rc = pickle_collect(&m, out, n);
    pickle_machine_release(&m);
    return rc;
}
