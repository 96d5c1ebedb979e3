/*
 * A rule derives the empty text, or any at all, if all items of one of its alternatives do: found
 * by counting in each alternative those that are not known to, so in time linear in the grammar. A
 * rule is left-recursive if it comes back to itself through first items, where an item counts as
 * first if all before it can be empty: found by a depth-first search.
 */
#include "sampling/grammar/grammar_check.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <string.h>

/* Which rules derive the empty text, or any text. */
struct derived {
    const struct grammar *g;
    bool *does;   /* [n_rules] */
    int *rule_of; /* [n_elements] */
    int *needs; /* [n_elements] at an alternative's first element: its items that do not, so far */
    int *head;  /* [n_elements] the first element of an element's alternative */
    int *first; /* [n_rules + 1] where a rule's uses begin in `uses` */
    int *uses;  /* [n_elements] elements that are ELEMENT_RULE, by rule */
    int *queue; /* [n_rules] */
    int n_queue;
    void *block;
};

static void carve(struct derived *e, struct arena *a)
{
    const size_t rules = (size_t)e->g->n_rules + 1, elements = (size_t)e->g->n_elements;
    e->does = arena_take(a, rules * sizeof *e->does);
    e->rule_of = arena_take(a, elements * sizeof *e->rule_of);
    e->needs = arena_take(a, elements * sizeof *e->needs);
    e->head = arena_take(a, elements * sizeof *e->head);
    e->first = arena_take(a, (rules + 1) * sizeof *e->first);
    e->uses = arena_take(a, elements * sizeof *e->uses);
    e->queue = arena_take(a, rules * sizeof *e->queue);
}

static void note_rule(struct derived *e, int rule)
{
    if (!e->does[rule])
        e->queue[e->n_queue++] = rule;
    e->does[rule] = true;
}

/* Count what each alternative needs, and list the uses of each rule. A byte is a text, but not the
 * empty one. */
static void read_elements(struct derived *e, bool bytes_do)
{
    const struct grammar *g = e->g;
    int rule = 0, head = 0;
    for (int i = 0; i < g->n_elements; i++) {
        const struct element x = g->elements[i];
        e->rule_of[i] = rule;
        e->head[i] = head;
        if (x.kind == ELEMENT_BYTE || x.kind == ELEMENT_RULE) {
            e->needs[head] += x.kind == ELEMENT_RULE || !bytes_do;
            if (x.kind == ELEMENT_RULE)
                e->first[x.index + 1]++;
            continue;
        }
        head = i + 1;
        rule += x.kind == ELEMENT_END;
    }
    for (int r = 0; r < g->n_rules; r++)
        e->first[r + 1] += e->first[r];
    for (int i = g->n_elements - 1; i >= 0; i--) /* from behind: first moves to where uses begin */
        if (g->elements[i].kind == ELEMENT_RULE)
            e->uses[--e->first[g->elements[i].index + 1]] = i;
    memmove(e->first, e->first + 1, (size_t)g->n_rules * sizeof *e->first);
}

static void find_rules(struct derived *e)
{
    const struct grammar *g = e->g;
    int n_uses = 0;
    for (int i = 0; i < g->n_elements; i++) {
        n_uses += g->elements[i].kind == ELEMENT_RULE;
        if (e->head[i] == i && e->needs[i] == 0)
            note_rule(e, e->rule_of[i]);
    }
    while (e->n_queue > 0) {
        const int rule = e->queue[--e->n_queue];
        const int end = rule + 1 < g->n_rules ? e->first[rule + 1] : n_uses;
        for (int u = e->first[rule]; u < end; u++) {
            const int head = e->head[e->uses[u]];
            if (--e->needs[head] == 0)
                note_rule(e, e->rule_of[head]);
        }
    }
}

/* The next element from i on, within its rule, that is a rule in the place of a first item; -1. */
static int next_first(const struct derived *e, int i)
{
    const struct element *elements = e->g->elements;
    for (bool first = true;; i++)
        switch ((enum element_kind)elements[i].kind) {
        case ELEMENT_END:
            return -1;
        case ELEMENT_OR:
            first = true;
            break;
        case ELEMENT_BYTE:
            first = false;
            break;
        case ELEMENT_RULE:
            if (first)
                return i;
            break;
        }
}

/* Behind element i, a first item: where the search of its rule goes on. */
static int after_first(const struct derived *e, int i)
{
    const struct element *elements = e->g->elements;
    if (e->does[elements[i].index])
        return i + 1;
    for (i++; elements[i].kind != ELEMENT_OR && elements[i].kind != ELEMENT_END;)
        i++;
    return i;
}

/* Depth-first over first items; stack [n_rules]: the element of each rule on the way at which it
 * stands. */
static int find_circle(const struct derived *e, const bool *loops, int *stack, char *state)
{
    enum { NEW, OPEN, DONE };
    const struct grammar *g = e->g;
    for (int root = 0; root < g->n_rules; root++) {
        int depth = 0;
        if (state[root] != NEW)
            continue;
        state[root] = OPEN;
        stack[0] = g->rules[root];
        while (depth >= 0) {
            const int rule = e->rule_of[stack[depth]], at = next_first(e, stack[depth]);
            if (at < 0) {
                state[rule] = DONE;
                depth--;
                continue;
            }
            const int to = (int)g->elements[at].index;
            stack[depth] = after_first(e, at);
            if (to == rule && loops[rule])
                continue;
            if (state[to] == OPEN)
                return to;
            if (state[to] == NEW) {
                state[to] = OPEN;
                stack[++depth] = g->rules[to];
            }
        }
    }
    return -1;
}

static int find_derived(struct derived *e, const struct grammar *g, bool bytes_do)
{
    struct arena size = {0};
    *e = (struct derived){.g = g};
    carve(e, &size);
    e->block = mem_alloc(size.used);
    if (e->block == NULL)
        return ERR_NOMEM;
    carve(e, &(struct arena){.base = e->block});
    read_elements(e, bytes_do);
    find_rules(e);
    return 0;
}

int grammar_left_recursion(const struct grammar *g, const bool *loops, int *rule)
{
    struct derived e;
    char *state = mem_array((size_t)g->n_rules, sizeof *state);
    int rc = state == NULL ? ERR_NOMEM : find_derived(&e, g, false);
    if (rc == 0) {
        *rule = find_circle(&e, loops, e.queue, state);
        mem_free(e.block);
    }
    mem_free(state);
    return rc;
}

int grammar_prune(struct grammar *g, int nothing, bool *any)
{
    struct derived e;
    int rc = find_derived(&e, g, true);
    if (rc != 0)
        return rc;
    *any = e.does[0];
    for (int i = 0; i < g->n_elements; i++)
        if (g->elements[i].kind == ELEMENT_RULE && !e.does[g->elements[i].index])
            g->elements[e.head[i]] =
                (struct element){.kind = ELEMENT_BYTE, .index = (unsigned)nothing & 0x3fffffff};
    mem_free(e.block);
    return 0;
}
