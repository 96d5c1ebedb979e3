#include "train/data/pickle_ids.h"

#include "model/base/err.h"
#include "model/base/little_endian.h"
#include "train/data/pickle_array.h"
#include "train/data/pickle_stack.h"
#include "weights/torch/pickle.h"

#include <inttypes.h>
#include <string.h>

enum { WINDOW_BYTES = 1 << 16, NAME_BYTES = 200, GLOBAL_BYTES_MOST = 128, OPS_PER_STEP = 1 << 16 };

/* The file a window at a time, under the machine. */
struct reader {
    struct pickle_stack stack;
    unsigned char window[WINDOW_BYTES];
    uint64_t start; /* of the window in the file */
    size_t n;
};

bool pickle_ids_is_name(const char *name)
{
    return text_ends_in(name, ".pkl") || text_ends_in(name, ".pickle");
}

/* A list, a tuple, or an array, whose module's name is the first text. */
bool pickle_ids_may_be(const char *head, size_t n)
{
    size_t at = 0;
    if (n > 2 && head[0] == '\x80')
        at = 2;
    if (n > at + 9 && head[at] == '\x95')
        at += 9;
    if (n <= at || (at == 0 && head[0] != ']' && head[0] != '('))
        return false;
    const size_t left = n - at < 12 ? n - at : 12;
    return strchr("](", head[at]) != NULL ? head[at] != '\0'
                                          : memmem(head + at, left, "numpy", 5) != NULL;
}

/* *out: the next n bytes, n <= GLOBAL_BYTES_MOST; the machine moves behind them. */
static int take_bytes(struct reader *r, const unsigned char **out, size_t n)
{
    const struct file *f = r->stack.file;
    uint64_t at = r->stack.at;
    if (n > f->bytes - at)
        return stack_broken(&r->stack, "it ends before its STOP");
    if (at < r->start || at + n > r->start + r->n) {
        r->start = at;
        r->n = f->bytes - at < WINDOW_BYTES ? (size_t)(f->bytes - at) : WINDOW_BYTES;
        int rc = file_read_at(f, r->window, at, r->n);
        if (rc != 0)
            return rc;
    }
    *out = r->window + (at - r->start);
    r->stack.at += n;
    return 0;
}

/* ---- opcodes: of each, what follows it, and its constant ---- */

static int push_none(struct reader *r, uint64_t unused)
{
    (void)unused;
    return stack_push(&r->stack, OPEN_NONE, 0, 0);
}

static int push_mark(struct reader *r, uint64_t unused)
{
    (void)unused;
    return stack_push(&r->stack, OPEN_MARK, 0, 0);
}

static int push_int(struct reader *r, uint64_t v)
{
    return stack_push(&r->stack, OPEN_INT, 0, (int64_t)v);
}

/* BININT: its sign is in the highest byte. */
static int push_signed(struct reader *r, uint64_t v)
{
    return push_int(r, (uint64_t)(int64_t)(int32_t)(uint32_t)v);
}

/* LONG1 of n bytes. */
static int push_long(struct reader *r, uint64_t n)
{
    const unsigned char *bytes = NULL;
    if (n > 8)
        return stack_broken(&r->stack, "a whole number of more than 8 bytes");
    int rc = take_bytes(r, &bytes, (size_t)n);
    uint64_t v = rc == 0 ? le_at(bytes, (int)n) : 0;
    if (n > 0 && n < 8 && v >> (8 * n - 1))
        v |= UINT64_MAX << 8 * n;
    return rc == 0 ? push_int(r, v) : rc;
}

/* A text or bytes, which stay in the file. */
static int push_text(struct reader *r, uint64_t n)
{
    struct pickle_stack *m = &r->stack;
    if (n > m->file->bytes - m->at)
        return stack_broken(m, "it ends inside a text");
    int rc = stack_push(m, OPEN_TEXT, n, (int64_t)m->at);
    m->at += n;
    return rc;
}

static int push_list(struct reader *r, uint64_t unused)
{
    int64_t list = 0;
    (void)unused;
    int rc = id_spool_begin(r->stack.spool, &list, ID_LIST_EMPTY);
    return rc == 0 ? stack_push(&r->stack, OPEN_LIST, 0, list) : rc;
}

/* EMPTY_TUPLE, TUPLE1 to TUPLE3. */
static int make_tuple(struct reader *r, uint64_t n)
{
    const size_t all = stack_n(&r->stack);
    if (n > all)
        return stack_broken(&r->stack, "the stack is empty");
    return stack_tuple(&r->stack, all - (size_t)n, all - (size_t)n);
}

static int make_marked_tuple(struct reader *r, uint64_t unused)
{
    size_t first = 0;
    (void)unused;
    int rc = stack_marked(&r->stack, &first);
    return rc == 0 ? stack_tuple(&r->stack, first, first - 1) : rc;
}

static int append_one(struct reader *r, uint64_t unused)
{
    const size_t n = stack_n(&r->stack);
    (void)unused;
    return n < 2 ? stack_broken(&r->stack, "the stack is empty")
                 : stack_extend(&r->stack, n - 2, n - 1);
}

static int append_marked(struct reader *r, uint64_t unused)
{
    size_t first = 0;
    (void)unused;
    int rc = stack_marked(&r->stack, &first);
    if (rc == 0 && first < 2)
        rc = stack_broken(&r->stack, "the stack is empty");
    if (rc == 0)
        rc = stack_extend(&r->stack, first - 2, first);
    return rc == 0 ? stack_pop(&r->stack, 1) : rc;
}

static int push_global(struct reader *r, uint64_t unused)
{
    char name[GLOBAL_BYTES_MOST];
    const unsigned char *byte = NULL;
    int lines = 0;
    (void)unused;
    for (size_t n = 0; n < sizeof name; n++) {
        int rc = take_bytes(r, &byte, 1);
        if (rc != 0)
            return rc;
        name[n] = (char)*byte;
        if (*byte == '\n' && ++lines == 2)
            return array_push_global(&r->stack, name, n);
        if (*byte == '\n')
            name[n] = ' ';
    }
    return stack_broken(&r->stack, "a name is too long");
}

static int push_stack_global(struct reader *r, uint64_t unused)
{
    (void)unused;
    return array_stack_global(&r->stack);
}

static int reduce_global(struct reader *r, uint64_t unused)
{
    (void)unused;
    return array_reduce(&r->stack);
}

static int build_state(struct reader *r, uint64_t unused)
{
    (void)unused;
    return array_build(&r->stack);
}

static int put_slot(struct reader *r, uint64_t slot)
{
    return stack_remember(&r->stack, slot);
}

static int put_next(struct reader *r, uint64_t unused)
{
    (void)unused;
    return stack_remember(&r->stack, r->stack.memo.n / sizeof(struct open_value));
}

static int get_slot(struct reader *r, uint64_t slot)
{
    return stack_recall(&r->stack, slot);
}

static int skip_argument(struct reader *r, uint64_t unused)
{
    (void)r;
    (void)unused;
    return 0;
}

static const struct opcode {
    int (*run)(struct reader *r, uint64_t argument);
    uint64_t constant;  /* the argument, where none follows */
    int argument_bytes; /* of the one that follows */
} opcodes[256] = {
    [0x80] = {skip_argument, 0, 1},     [0x95] = {skip_argument, 0, 8}, ['('] = {push_mark, 0, 0},
    ['N'] = {push_none, 0, 0},          [0x88] = {push_none, 0, 0},     [0x89] = {push_none, 0, 0},
    ['G'] = {push_none, 0, 8},          [']'] = {push_list, 0, 0},      [')'] = {make_tuple, 0, 0},
    [0x85] = {make_tuple, 1, 0},        [0x86] = {make_tuple, 2, 0},    [0x87] = {make_tuple, 3, 0},
    ['t'] = {make_marked_tuple, 0, 0},  ['K'] = {push_int, 0, 1},       ['M'] = {push_int, 0, 2},
    ['J'] = {push_signed, 0, 4},        [0x8a] = {push_long, 0, 1},     ['X'] = {push_text, 0, 4},
    [0x8c] = {push_text, 0, 1},         [0x8d] = {push_text, 0, 8},     ['U'] = {push_text, 0, 1},
    ['T'] = {push_text, 0, 4},          ['C'] = {push_text, 0, 1},      ['B'] = {push_text, 0, 4},
    [0x8e] = {push_text, 0, 8},         [0x96] = {push_text, 0, 8},     ['c'] = {push_global, 0, 0},
    [0x93] = {push_stack_global, 0, 0}, ['R'] = {reduce_global, 0, 0},  ['b'] = {build_state, 0, 0},
    ['e'] = {append_marked, 0, 0},      ['a'] = {append_one, 0, 0},     ['q'] = {put_slot, 0, 1},
    ['r'] = {put_slot, 0, 4},           [0x94] = {put_next, 0, 0},      ['h'] = {get_slot, 0, 1},
    ['j'] = {get_slot, 0, 4},
};

static int refuse_opcode(const struct reader *r, unsigned char op)
{
    static const char of_protocol_0[] = "lpgILFSVd"; /* those of lists, tuples and dictionaries */
    char shown[NAME_BYTES];
    file_show(shown, sizeof shown, r->stack.file->path);
    if (op != '\0' && strchr(of_protocol_0, op) != NULL)
        return err_set(ERR_UNSUPPORTED,
                       "%s is a pickle of protocol 0, which is not read: write it again by "
                       "pickle.dump(lists, file, protocol=2)",
                       shown);
    return err_set(ERR_UNSUPPORTED,
                   "%s: the pickle has opcode %s (0x%02x) at byte %" PRIu64
                   ", which lists of ids do not need: refused, and nothing of it was executed",
                   shown, pickle_opcode_name(op), op, r->stack.at - 1);
}

static int run_opcode(struct reader *r, unsigned char op)
{
    const struct opcode *o = &opcodes[op];
    const unsigned char *bytes = NULL;
    if (o->run == NULL)
        return refuse_opcode(r, op);
    if (o->argument_bytes == 0)
        return o->run(r, o->constant);
    int rc = take_bytes(r, &bytes, (size_t)o->argument_bytes);
    return rc == 0 ? o->run(r, le_at(bytes, o->argument_bytes)) : rc;
}

/* What a pickle leaves: lists that are documents by now, or one list. */
static int take_result(struct pickle_stack *m)
{
    if (stack_n(m) != 1)
        return stack_broken(m, "it leaves more or less than one value");
    const struct open_value v = *stack_at(m, 0);
    m->values.n = m->memo.n = m->pool.n = 0;
    if (v.kind == OPEN_TUPLE && v.n == 0)
        return 0;
    if (v.kind != OPEN_LIST && v.kind != OPEN_IDS_TUPLE)
        return stack_refuse(m);
    const struct id_list *l = id_list_at(m->spool, v.at);
    return l->kind == ID_LIST_DOCUMENTS  ? 0
           : l->kind == ID_LIST_PROMISED ? stack_broken(m, "an array has no state")
                                         : id_spool_take(m->spool, v.at);
}

static int read_pickles(struct reader *r, const struct progress *p)
{
    struct pickle_stack *m = &r->stack;
    const unsigned char *op = NULL;
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && m->at < m->file->bytes; i++) {
        if (i % OPS_PER_STEP == 0)
            rc = progress_step(p, "reading the pickle", m->at, m->file->bytes);
        if (rc == 0 && (rc = take_bytes(r, &op, 1)) == 0)
            rc = *op == '.' ? take_result(m) : run_opcode(r, *op);
    }
    if (rc == 0 && stack_n(m) > 0)
        rc = stack_broken(m, "it ends before its STOP");
    return rc == 0 ? id_spool_end(m->spool) : rc;
}

int pickle_ids_read(struct id_spool *s, const struct file *f, const struct progress *p)
{
    struct reader r;
    r.stack = (struct pickle_stack){.file = f, .spool = s};
    r.start = 0;
    r.n = 0;
    int rc = read_pickles(&r, p);
    pickle_stack_release(&r.stack);
    return rc;
}
