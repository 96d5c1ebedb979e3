#include "train/data/pickle_stack.h"

#include "model/base/err.h"

#include <inttypes.h>

enum { VALUES_MAX = 1 << 22, NAME_BYTES = 200 };
enum { VALUE_BYTES = sizeof(struct open_value) };
static const uint64_t N_MOST = ((uint64_t)1 << 56) - 1;

void pickle_stack_release(struct pickle_stack *m)
{
    buf_release(&m->values);
    buf_release(&m->pool);
    buf_release(&m->memo);
}

int stack_broken(const struct pickle_stack *m, const char *what)
{
    char shown[NAME_BYTES];
    return err_set(ERR_FORMAT, "%s: the pickle is broken at byte %" PRIu64 ": %s",
                   file_show(shown, sizeof shown, m->file->path), m->at, what);
}

int stack_refuse(const struct pickle_stack *m)
{
    char shown[NAME_BYTES];
    return err_set(ERR_FORMAT,
                   "%s: the list at byte %" PRIu64
                   " is not of token ids: expected a list of lists of whole numbers",
                   file_show(shown, sizeof shown, m->file->path), m->at);
}

static struct open_value *values_of(const struct buf *b)
{
    return (struct open_value *)(void *)b->data;
}

size_t stack_n(const struct pickle_stack *m)
{
    return m->values.n / VALUE_BYTES;
}

struct open_value *stack_at(const struct pickle_stack *m, size_t i)
{
    return values_of(&m->values) + i;
}

int stack_push(struct pickle_stack *m, enum open_kind kind, uint64_t n, int64_t at)
{
    const struct open_value v = {.n = n & N_MOST, .kind = kind, .at = at};
    char shown[NAME_BYTES];
    if (stack_n(m) == VALUES_MAX)
        return err_set(ERR_RANGE, "%s: the pickle has more than %d values open at byte %" PRIu64,
                       file_show(shown, sizeof shown, m->file->path), VALUES_MAX, m->at);
    return buf_add(&m->values, &v, sizeof v);
}

int stack_pop(struct pickle_stack *m, size_t n)
{
    if (n > stack_n(m))
        return stack_broken(m, "the stack is empty");
    m->values.n -= n * VALUE_BYTES;
    return 0;
}

int stack_marked(const struct pickle_stack *m, size_t *first)
{
    for (*first = stack_n(m); *first > 0; --*first)
        if (stack_at(m, *first - 1)->kind == OPEN_MARK)
            return 0;
    return stack_broken(m, "there is no mark on the stack");
}

/* ---- lists and tuples ---- */

static bool is_document(const struct open_value *v)
{
    return v->kind == OPEN_LIST || v->kind == OPEN_IDS_TUPLE;
}

/* Whether all of the n values are of whole numbers, or all are lists. */
static bool are_ids(const struct open_value *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].kind != OPEN_INT)
            return false;
    return n > 0;
}

static bool are_documents(const struct open_value *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_document(&v[i]) && (v[i].kind != OPEN_TUPLE || v[i].n > 0))
            return false;
    return n > 0;
}

static int take_documents(struct pickle_stack *m, struct id_list *into, size_t first, size_t n)
{
    int rc = 0;
    into->kind = ID_LIST_DOCUMENTS;
    for (size_t i = first; i < first + n && rc == 0; i++) {
        const struct open_value *v = stack_at(m, i);
        if (!is_document(v))
            continue;
        const struct id_list *l = id_list_at(m->spool, v->at);
        rc = l->kind == ID_LIST_IDS || l->kind == ID_LIST_EMPTY ? id_spool_take(m->spool, v->at)
                                                                : stack_refuse(m);
    }
    return rc;
}

/* Values of the stack into a list of the spool. */
static int fill_list(struct pickle_stack *m, int64_t list, size_t first, size_t n)
{
    const struct open_value *v = stack_at(m, first);
    struct id_list *l = id_list_at(m->spool, list);
    int rc = 0;
    if (are_ids(v, n) && (l->kind == ID_LIST_EMPTY || l->kind == ID_LIST_IDS)) {
        for (size_t i = 0; i < n && rc == 0; i++)
            rc = id_spool_add(m->spool, list, v[i].at);
        return rc;
    }
    if (are_documents(v, n) && (l->kind == ID_LIST_EMPTY || l->kind == ID_LIST_DOCUMENTS))
        return take_documents(m, l, first, n);
    return n == 0 ? 0 : stack_refuse(m);
}

int stack_extend(struct pickle_stack *m, size_t list, size_t first)
{
    const struct open_value *l = stack_at(m, list);
    if (l->kind != OPEN_LIST)
        return stack_broken(m, "items are added to what is not a list");
    int rc = fill_list(m, l->at, first, stack_n(m) - first);
    return rc == 0 ? stack_pop(m, stack_n(m) - first) : rc;
}

int stack_tuple(struct pickle_stack *m, size_t first, size_t place)
{
    const size_t n = stack_n(m) - first;
    const struct open_value *v = stack_at(m, first);
    struct open_value tuple = {
        .n = n & N_MOST, .kind = OPEN_TUPLE, .at = (int64_t)(m->pool.n / VALUE_BYTES)};
    int rc = 0;
    if (are_ids(v, n) || are_documents(v, n)) {
        tuple = (struct open_value){.kind = are_ids(v, n) ? OPEN_IDS_TUPLE : OPEN_LIST};
        int64_t list = 0;
        rc = id_spool_begin(m->spool, &list, ID_LIST_EMPTY);
        tuple.at = list;
        if (rc == 0)
            rc = fill_list(m, list, first, n);
    } else if (n > 0) {
        rc = buf_add(&m->pool, v, n * VALUE_BYTES);
    }
    if (rc == 0)
        rc = stack_pop(m, stack_n(m) - place);
    return rc == 0 ? stack_push(m, tuple.kind, tuple.n, tuple.at) : rc;
}

const struct open_value *tuple_item(const struct pickle_stack *m, const struct open_value *tuple,
                                    size_t i)
{
    return values_of(&m->pool) + tuple->at + i;
}

void stack_drop_tuple(struct pickle_stack *m)
{
    const struct open_value *top = stack_at(m, stack_n(m) - 1);
    if (top->kind == OPEN_TUPLE)
        m->pool.n = (size_t)top->at * VALUE_BYTES;
    m->values.n -= VALUE_BYTES;
}

/* ---- the memo ---- */

/* A tuple may be gone when it is asked for; what a pickle of ids repeats is none. */
int stack_remember(struct pickle_stack *m, uint64_t slot)
{
    if (stack_n(m) == 0)
        return stack_broken(m, "the stack is empty");
    if (slot > m->memo.n / VALUE_BYTES)
        return stack_broken(m, "the memo is not filled in order");
    struct open_value v = *stack_at(m, stack_n(m) - 1);
    if (v.kind == OPEN_IDS_TUPLE || (v.kind == OPEN_TUPLE && v.n > 0))
        v.kind = OPEN_FORGOTTEN;
    if (slot == m->memo.n / VALUE_BYTES)
        return buf_add(&m->memo, &v, sizeof v);
    values_of(&m->memo)[slot] = v;
    return 0;
}

/* A list is asked for when it is complete: it is a document once more. */
int stack_recall(struct pickle_stack *m, uint64_t slot)
{
    if (slot >= m->memo.n / VALUE_BYTES)
        return stack_broken(m, "the memo has nothing in that place");
    const struct open_value v = values_of(&m->memo)[slot];
    if (v.kind == OPEN_FORGOTTEN || v.kind == OPEN_MARK)
        return stack_broken(m, "a tuple is used twice");
    if (v.kind != OPEN_LIST)
        return stack_push(m, v.kind, v.n, v.at);
    const struct id_list *l = id_list_at(m->spool, v.at);
    if (l->kind != ID_LIST_IDS && l->kind != ID_LIST_EMPTY)
        return stack_broken(m, "a list of lists is used twice");
    int64_t copy = 0;
    int rc = id_spool_copy(m->spool, &copy, v.at);
    return rc == 0 ? stack_push(m, OPEN_LIST, 0, copy) : rc;
}
