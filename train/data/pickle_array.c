#include "train/data/pickle_array.h"

#include "model/base/err.h"
#include "model/base/little_endian.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 200, BLOCK_BYTES = 1 << 13, TEXT_BYTES = 64 };

enum array_global {
    GLOBAL_RECONSTRUCT, /* an empty array, whose state follows */
    GLOBAL_FROM_BUFFER,
    GLOBAL_SCALAR,
    GLOBAL_ARRAY,
    GLOBAL_DTYPE,
    GLOBAL_ENCODE, /* bytes, in protocols that have none */
    GLOBAL_BYTES
};
static const struct {
    const char *name;
    enum array_global is;
} globals[] = {
    {"numpy.core.multiarray _reconstruct", GLOBAL_RECONSTRUCT},
    {"numpy._core.multiarray _reconstruct", GLOBAL_RECONSTRUCT},
    {"numpy.core.numeric _frombuffer", GLOBAL_FROM_BUFFER},
    {"numpy._core.numeric _frombuffer", GLOBAL_FROM_BUFFER},
    {"numpy.core.multiarray scalar", GLOBAL_SCALAR},
    {"numpy._core.multiarray scalar", GLOBAL_SCALAR},
    {"numpy ndarray", GLOBAL_ARRAY},
    {"numpy dtype", GLOBAL_DTYPE},
    {"_codecs encode", GLOBAL_ENCODE},
    {"__builtin__ bytes", GLOBAL_BYTES},
};

int array_push_global(struct pickle_stack *m, const char *name, size_t n)
{
    char shown[NAME_BYTES], text[2 * TEXT_BYTES + 2], asked[NAME_BYTES];
    for (size_t i = 0; i < sizeof globals / sizeof *globals; i++)
        if (strlen(globals[i].name) == n && memcmp(globals[i].name, name, n) == 0)
            return stack_push(m, OPEN_GLOBAL, 0, globals[i].is);
    snprintf(text, sizeof text, "%.*s", (int)n, name);
    char *space = strchr(text, ' ');
    if (space != NULL)
        *space = '.';
    return err_set(ERR_UNSUPPORTED,
                   "%s: the pickle asks for %s, which lists of ids do not need: refused, and "
                   "nothing of it was executed",
                   file_show(shown, sizeof shown, m->file->path),
                   file_show(asked, sizeof asked, text));
}

/* A text of the file into out, with its NUL; a longer one is none of those that are known. */
static int read_text(const struct pickle_stack *m, char out[TEXT_BYTES], const struct open_value *v)
{
    if (v->kind != OPEN_TEXT || v->n >= TEXT_BYTES)
        return stack_broken(m, "a name is not a short text");
    int rc = file_read_at(m->file, out, (uint64_t)v->at, (size_t)v->n);
    out[v->n] = '\0';
    return rc;
}

int array_stack_global(struct pickle_stack *m)
{
    char module[TEXT_BYTES], name[TEXT_BYTES], both[2 * TEXT_BYTES];
    const size_t n = stack_n(m);
    if (n < 2)
        return stack_broken(m, "the stack is empty");
    int rc = read_text(m, module, stack_at(m, n - 2));
    if (rc == 0)
        rc = read_text(m, name, stack_at(m, n - 1));
    if (rc == 0)
        rc = stack_pop(m, 2);
    if (rc != 0)
        return rc;
    const int length = snprintf(both, sizeof both, "%s %s", module, name);
    return array_push_global(m, both, (size_t)length);
}

/* ---- elements ---- */

/* Bytes of the file, decoded where they are Latin-1 in UTF-8. */
struct byte_run {
    const struct file *file;
    uint64_t at, left;
    bool latin;
    unsigned char raw[BLOCK_BYTES];
    size_t n, used;
};

static int next_byte(struct byte_run *b, unsigned char *out)
{
    if (b->used == b->n) {
        b->n = b->left < BLOCK_BYTES ? (size_t)b->left : BLOCK_BYTES;
        b->used = 0;
        if (b->n == 0)
            return err_set(ERR_FORMAT, "an array has fewer bytes than its shape says");
        int rc = file_read_at(b->file, b->raw, b->at, b->n);
        if (rc != 0)
            return rc;
        b->at += b->n;
        b->left -= b->n;
    }
    *out = b->raw[b->used++];
    return 0;
}

static int read_byte(struct byte_run *b, unsigned char *out)
{
    unsigned char second = 0;
    int rc = next_byte(b, out);
    if (rc != 0 || !b->latin || *out < 0x80)
        return rc;
    rc = next_byte(b, &second);
    *out = (unsigned char)(*out << 6 | (second & 0x3f));
    return rc;
}

static int read_element(struct byte_run *b, int64_t *out, int width)
{
    unsigned char bytes[8];
    const int n = width < 0 ? -width : width;
    int rc = 0;
    for (int i = 0; i < n && rc == 0; i++)
        rc = read_byte(b, &bytes[i]);
    uint64_t v = le_at(bytes, rc == 0 ? n : 0);
    if (width < 0 && n < 8 && v >> (8 * n - 1))
        v |= UINT64_MAX << 8 * n;
    *out = (int64_t)v;
    return rc;
}

static struct byte_run run_of(const struct pickle_stack *m, const struct open_value *v)
{
    return (struct byte_run){
        .file = m->file, .at = (uint64_t)v->at, .left = v->n, .latin = v->kind == OPEN_LATIN};
}

static bool is_bytes(const struct open_value *v)
{
    return v->kind == OPEN_TEXT || v->kind == OPEN_LATIN;
}

/* The length of an array; its shape is a tuple, which is then forgotten. */
static int take_length(struct pickle_stack *m, token_id *n, const struct open_value *shape)
{
    char shown[NAME_BYTES];
    if (shape->kind != OPEN_IDS_TUPLE || id_list_at(m->spool, shape->at)->n != 1)
        return err_set(ERR_UNSUPPORTED, "%s: an array has 0 or several dimensions, expected 1",
                       file_show(shown, sizeof shown, m->file->path));
    int rc = id_spool_read(m->spool, shape->at, n, 1);
    return rc == 0 ? id_spool_drop(m->spool, shape->at) : rc;
}

/* The elements of an array into a list. */
static int fill_array(struct pickle_stack *m, int64_t list, token_id n,
                      const struct open_value *type, const struct open_value *bytes)
{
    char shown[NAME_BYTES];
    if (type->kind != OPEN_DTYPE || !is_bytes(bytes))
        return stack_broken(m, "an array is not made of a shape, a type and bytes");
    struct byte_run run = run_of(m, bytes);
    int rc = 0;
    id_list_at(m->spool, list)->kind = ID_LIST_EMPTY;
    for (int64_t id = 0; n > 0 && rc == 0; n--)
        if ((rc = read_element(&run, &id, (int)type->at)) == 0)
            rc = id_spool_add(m->spool, list, id);
        else if (rc == ERR_FORMAT)
            rc = err_wrap("%s", file_show(shown, sizeof shown, m->file->path));
    if (rc == 0 && run.left + (run.n - run.used) > 0)
        rc = stack_broken(m, "an array has more bytes than its shape says");
    return rc;
}

/* ---- REDUCE ---- */

static const struct open_value *argument(const struct pickle_stack *m, size_t i)
{
    return tuple_item(m, stack_at(m, stack_n(m) - 1), i);
}

/* (ndarray, (0,), b'b') */
static int reconstruct(struct pickle_stack *m, int64_t *list)
{
    const struct open_value *shape = argument(m, 1);
    int rc = shape->kind == OPEN_IDS_TUPLE ? id_spool_drop(m->spool, shape->at) : 0;
    return rc == 0 ? id_spool_begin(m->spool, list, ID_LIST_PROMISED) : rc;
}

/* (bytes, dtype, shape, 'C') */
static int from_buffer(struct pickle_stack *m, int64_t *list)
{
    token_id n = 0;
    int rc = take_length(m, &n, argument(m, 2));
    if (rc == 0)
        rc = id_spool_begin(m->spool, list, ID_LIST_EMPTY);
    return rc == 0 ? fill_array(m, *list, n, argument(m, 1), argument(m, 0)) : rc;
}

/* 'u2', 0, 1 */
static int read_type(const struct pickle_stack *m, int64_t *width)
{
    char text[TEXT_BYTES], shown[NAME_BYTES], quoted[NAME_BYTES];
    int rc = read_text(m, text, argument(m, 0));
    if (rc != 0)
        return rc;
    const char *type = text + (*text == '<' || *text == '|');
    const char *widths = "1248", *is = type[0] != '\0' ? strchr(widths, type[1]) : NULL;
    if ((type[0] != 'u' && type[0] != 'i') || type[1] == '\0' || is == NULL || type[2] != '\0')
        return err_set(ERR_UNSUPPORTED, "%s: an array of type %s, expected whole numbers",
                       file_show(shown, sizeof shown, m->file->path),
                       file_show(quoted, sizeof quoted, text));
    *width = type[0] == 'u' ? type[1] - '0' : -(type[1] - '0');
    return 0;
}

/* (dtype, bytes) */
static int read_scalar(const struct pickle_stack *m, int64_t *number)
{
    const struct open_value *type = argument(m, 0), *bytes = argument(m, 1);
    if (type->kind != OPEN_DTYPE || !is_bytes(bytes))
        return stack_broken(m, "a number is not made of a type and bytes");
    struct byte_run run = run_of(m, bytes);
    return read_element(&run, number, (int)type->at);
}

/* What it makes is v. */
static int apply_global(struct pickle_stack *m, struct open_value *v, enum array_global global,
                        uint64_t n)
{
    static const uint64_t expected[] = {
        [GLOBAL_RECONSTRUCT] = 3, [GLOBAL_FROM_BUFFER] = 4, [GLOBAL_SCALAR] = 2,
        [GLOBAL_DTYPE] = 3,       [GLOBAL_ENCODE] = 2,      [GLOBAL_BYTES] = 0};
    int64_t at = 0;
    int rc = 0;
    if (global == GLOBAL_ARRAY || n != expected[global])
        return stack_broken(m, "a function has other arguments than expected");
    if (global == GLOBAL_ENCODE && argument(m, 0)->kind != OPEN_TEXT)
        return stack_broken(m, "what is encoded is not text");
    if (global == GLOBAL_ENCODE) {
        *v = *argument(m, 0);
        v->kind = OPEN_LATIN;
        return 0;
    }
    *v = (struct open_value){.kind = global == GLOBAL_SCALAR  ? OPEN_INT
                                     : global == GLOBAL_DTYPE ? OPEN_DTYPE
                                     : global == GLOBAL_BYTES ? OPEN_TEXT
                                                              : OPEN_LIST};
    rc = global == GLOBAL_RECONSTRUCT   ? reconstruct(m, &at)
         : global == GLOBAL_FROM_BUFFER ? from_buffer(m, &at)
         : global == GLOBAL_SCALAR      ? read_scalar(m, &at)
         : global == GLOBAL_DTYPE       ? read_type(m, &at)
                                        : 0;
    v->at = at;
    return rc;
}

int array_reduce(struct pickle_stack *m)
{
    struct open_value v = {0};
    const size_t n = stack_n(m);
    if (n < 2 || stack_at(m, n - 2)->kind != OPEN_GLOBAL || stack_at(m, n - 1)->kind != OPEN_TUPLE)
        return stack_broken(m, "what it calls is not a function of the list");
    int rc = apply_global(m, &v, (enum array_global)stack_at(m, n - 2)->at, stack_at(m, n - 1)->n);
    if (rc != 0)
        return rc;
    stack_drop_tuple(m);
    rc = stack_pop(m, 1);
    return rc == 0 ? stack_push(m, v.kind, v.n, v.at) : rc;
}

/* ---- BUILD ---- */

/* (version, '<', ...) */
static int check_order(struct pickle_stack *m)
{
    char text[TEXT_BYTES], shown[NAME_BYTES];
    int rc = stack_at(m, stack_n(m) - 1)->n < 2 ? stack_broken(m, "a type has no byte order")
                                                : read_text(m, text, argument(m, 1));
    if (rc == 0 && strcmp(text, "<") != 0 && strcmp(text, "|") != 0 && strcmp(text, "=") != 0)
        rc = err_set(ERR_UNSUPPORTED, "%s: an array's numbers are not little-endian",
                     file_show(shown, sizeof shown, m->file->path));
    return rc;
}

/* (version, shape, type, order, bytes) */
static int build_array(struct pickle_stack *m, int64_t list)
{
    token_id length = 0;
    int rc = take_length(m, &length, argument(m, 1));
    return rc == 0 ? fill_array(m, list, length, argument(m, 2), argument(m, 4)) : rc;
}

int array_build(struct pickle_stack *m)
{
    const size_t n = stack_n(m);
    if (n < 2 || stack_at(m, n - 1)->kind != OPEN_TUPLE)
        return stack_broken(m, "a state is not a tuple");
    const struct open_value object = *stack_at(m, n - 2);
    int rc = object.kind == OPEN_DTYPE ? check_order(m)
             : object.kind == OPEN_LIST && stack_at(m, n - 1)->n == 5 &&
                     id_list_at(m->spool, object.at)->kind == ID_LIST_PROMISED
                 ? build_array(m, object.at)
                 : stack_broken(m, "a state is given to what has none");
    if (rc == 0)
        stack_drop_tuple(m);
    return rc;
}
