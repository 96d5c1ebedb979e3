#include "weights/torch/pickle_machine.h"

#include "model/base/err.h"
#include "model/base/mem.h"

int pickle_grow(struct pickle_growing *g, size_t size)
{
    if (g->n < g->cap)
        return 0;
    if (g->n >= PICKLE_VALUES_MAX)
        return err_set(ERR_RANGE, "the pickle has more than %d values", PICKLE_VALUES_MAX);
    size_t cap = g->cap < 64 ? 64 : 2 * g->cap;
    void *data = mem_grow(g->data, g->n * size, cap * size);
    if (data == NULL)
        return ERR_NOMEM;
    g->data = data;
    g->cap = cap;
    return 0;
}

int pickle_broken(const struct pickle_machine *m, const char *what)
{
    return err_set(ERR_FORMAT, "the pickle is broken at byte %td: %s", m->at - m->start, what);
}

int pickle_push_index(struct pickle_machine *m, int32_t i)
{
    int rc = pickle_grow(&m->stack, sizeof i);
    if (rc == 0)
        ((int32_t *)m->stack.data)[m->stack.n++] = i;
    return rc;
}

int pickle_push(struct pickle_machine *m, struct pickle_value v)
{
    int rc = pickle_grow(&m->values, sizeof v);
    if (rc != 0)
        return rc;
    v.first = v.last = -1;
    *pickle_value(m, (int32_t)m->values.n) = v;
    return pickle_push_index(m, (int32_t)m->values.n++);
}

struct pickle_value *pickle_peek(struct pickle_machine *m, size_t depth)
{
    if (depth >= m->stack.n) {
        pickle_broken(m, "the stack is empty");
        return NULL;
    }
    return pickle_value(m, ((int32_t *)m->stack.data)[m->stack.n - 1 - depth]);
}

static int add_item(struct pickle_machine *m, struct pickle_value *container, int32_t item)
{
    int rc = pickle_grow(&m->cells, sizeof(struct pickle_cell));
    if (rc != 0)
        return rc;
    int32_t i = (int32_t)m->cells.n++;
    *pickle_cell(m, i) = (struct pickle_cell){item, -1};
    if (container->last >= 0)
        pickle_cell(m, container->last)->next = i;
    else
        container->first = i;
    container->last = i;
    return 0;
}

int pickle_unpack(const struct pickle_machine *m, const struct pickle_value *tuple,
                  const struct pickle_value *items[PICKLE_ARGS_MAX])
{
    int n = 0;
    if (tuple->kind != PICKLE_TUPLE)
        return -1;
    for (int32_t c = tuple->first; c >= 0; c = pickle_cell(m, c)->next) {
        if (n == PICKLE_ARGS_MAX)
            return -1;
        items[n++] = pickle_value(m, pickle_cell(m, c)->value);
    }
    return n;
}

/* Move what lies above the topmost mark into container; the mark goes too. */
static int move_items(struct pickle_machine *m, int32_t container, bool pairs)
{
    int32_t *stack = m->stack.data;
    size_t mark = m->stack.n;
    while (mark > 0 && pickle_value(m, stack[mark - 1])->kind != PICKLE_MARK)
        mark--;
    if (mark == 0)
        return pickle_broken(m, "there is no mark on the stack");
    if (pairs && (m->stack.n - mark) % 2 != 0)
        return pickle_broken(m, "a key has no value");
    int rc = 0;
    for (size_t i = mark; i < m->stack.n && rc == 0; i++)
        rc = add_item(m, pickle_value(m, container), stack[i]);
    m->stack.n = mark - 1;
    return rc;
}

int pickle_tuple(struct pickle_machine *m, size_t n)
{
    if (n > m->stack.n)
        return pickle_broken(m, "the stack is empty");
    size_t first = m->stack.n - n;
    int rc = pickle_push(m, (struct pickle_value){.kind = PICKLE_TUPLE});
    if (rc != 0)
        return rc;
    int32_t *stack = m->stack.data, tuple = stack[m->stack.n - 1];
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = add_item(m, pickle_value(m, tuple), stack[first + i]);
    stack[first] = tuple;
    m->stack.n = first + 1;
    return rc;
}

int pickle_marked_tuple(struct pickle_machine *m)
{
    int rc = pickle_grow(&m->values, sizeof(struct pickle_value));
    if (rc != 0)
        return rc;
    int32_t tuple = (int32_t)m->values.n++;
    *pickle_value(m, tuple) = (struct pickle_value){.kind = PICKLE_TUPLE, .first = -1, .last = -1};
    rc = move_items(m, tuple, false);
    return rc == 0 ? pickle_push_index(m, tuple) : rc;
}

int pickle_extend(struct pickle_machine *m, enum pickle_kind kind)
{
    size_t mark = m->stack.n;
    const int32_t *stack = m->stack.data;
    while (mark > 0 && pickle_value(m, stack[mark - 1])->kind != PICKLE_MARK)
        mark--;
    if (mark < 2 || pickle_value(m, stack[mark - 2])->kind != kind)
        return pickle_broken(m, "items are added to what cannot hold them");
    return move_items(m, stack[mark - 2], kind == PICKLE_DICT);
}

int pickle_add_top(struct pickle_machine *m, enum pickle_kind kind, size_t n)
{
    struct pickle_value *container = pickle_peek(m, n);
    if (container == NULL)
        return ERR_FORMAT;
    if (container->kind != kind)
        return pickle_broken(m, "items are added to what cannot hold them");
    const int32_t *stack = m->stack.data;
    int rc = 0;
    for (size_t i = m->stack.n - n; i < m->stack.n && rc == 0; i++)
        rc = add_item(m, container, stack[i]);
    m->stack.n -= n;
    return rc;
}

int pickle_remember(struct pickle_machine *m, uint64_t slot)
{
    if (m->stack.n == 0)
        return pickle_broken(m, "the stack is empty");
    if (slot >= PICKLE_VALUES_MAX)
        return err_set(ERR_RANGE, "the pickle's memo has %llu places, at most %d",
                       (unsigned long long)slot, PICKLE_VALUES_MAX);
    while (m->memo.n <= slot) {
        int rc = pickle_grow(&m->memo, sizeof(int32_t));
        if (rc != 0)
            return rc;
        ((int32_t *)m->memo.data)[m->memo.n++] = -1;
    }
    ((int32_t *)m->memo.data)[slot] = ((const int32_t *)m->stack.data)[m->stack.n - 1];
    return 0;
}

int pickle_recall(struct pickle_machine *m, uint64_t slot)
{
    if (slot >= m->memo.n || ((const int32_t *)m->memo.data)[slot] < 0)
        return pickle_broken(m, "the memo has nothing in that place");
    return pickle_push_index(m, ((const int32_t *)m->memo.data)[slot]);
}

void pickle_machine_release(struct pickle_machine *m)
{
    mem_free(m->values.data);
    mem_free(m->cells.data);
    mem_free(m->stack.data);
    mem_free(m->memo.data);
    mem_free(m->tensors.data);
}
