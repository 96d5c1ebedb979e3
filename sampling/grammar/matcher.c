#include "sampling/grammar/matcher.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <stdlib.h>
#include <string.h>

/*
 * A node's parent has a lower number than the node, since it is there before: so keeping some nodes
 * is one pass from the lowest up.
 */
enum { STATE_BYTES = 1 << 20 };
enum { LEAST_STATES = 256, MOST_STATES = 4096 };
enum { NONE = -1, UNKNOWN = -1 };

struct node {
    int32_t place, parent; /* element of the grammar; node below, or NONE */
    int32_t depth;         /* nodes below */
};
struct state {
    int32_t first, n; /* its nodes, in tops, ascending: all stand before a byte */
    bool ends;
};

struct matcher {
    const struct grammar *g;
    struct node *nodes;   /* [most] */
    int32_t *node_slots;  /* [2 most] by place and parent, number + 1; 0: free */
    uint32_t *seen;       /* [most] the last step that came by */
    int32_t *work;        /* [most] nodes to look at; of matcher_keep, new numbers */
    struct state *states; /* [most_states] */
    int32_t *state_slots; /* [2 most_states] by their nodes, number + 1 */
    int32_t *tops;        /* [most] */
    int32_t *next;        /* [most_states][n_classes], UNKNOWN */
    int most, n_nodes, n_states, n_tops, n_work, most_states;
    uint64_t looks; /* at nodes, since the beginning */
    uint32_t step;
    bool full;
    void *block;
    size_t block_bytes;
};

static void carve(struct matcher *m, struct arena *a)
{
    const size_t states = (size_t)m->most_states;
    m->nodes = arena_take(a, (size_t)m->most * sizeof *m->nodes);
    m->node_slots = arena_take(a, 2 * (size_t)m->most * sizeof *m->node_slots);
    m->seen = arena_take(a, (size_t)m->most * sizeof *m->seen);
    m->work = arena_take(a, (size_t)m->most * sizeof *m->work);
    m->states = arena_take(a, states * sizeof *m->states);
    m->state_slots = arena_take(a, 2 * states * sizeof *m->state_slots);
    m->tops = arena_take(a, (size_t)m->most * sizeof *m->tops);
    m->next = arena_take(a, states * (size_t)m->g->n_classes * sizeof *m->next);
}

int matcher_new(struct matcher **out, const struct grammar *g, int most)
{
    struct arena size = {0};
    struct matcher *m = *out = mem_alloc(sizeof *m);
    if (m == NULL)
        return ERR_NOMEM;
    m->g = g;
    m->most = most;
    m->most_states = STATE_BYTES / (int)sizeof *m->next / g->n_classes;
    m->most_states = m->most_states < LEAST_STATES  ? LEAST_STATES
                     : m->most_states > MOST_STATES ? MOST_STATES
                                                    : m->most_states;
    m->most_states = m->most_states < most ? m->most_states : most;
    carve(m, &size);
    m->block_bytes = size.used;
    m->block = mem_map("the states of a grammar", m->block_bytes);
    if (m->block == NULL) {
        matcher_free(m);
        *out = NULL;
        return ERR_NOMEM;
    }
    mem_map_small(m->block, m->block_bytes);
    carve(m, &(struct arena){.base = m->block});
    return 0;
}

void matcher_free(struct matcher *m)
{
    if (m == NULL)
        return;
    mem_unmap(m->block, m->block_bytes);
    mem_free(m);
}

uint64_t matcher_looks(const struct matcher *m)
{
    return m->looks;
}

static uint32_t hash_of(uint32_t seed, uint32_t x)
{
    const uint64_t y = (seed ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(y >> 32);
}

/* The node of this place and parent; NONE, and m->full: there is no room. */
static int32_t intern_node(struct matcher *m, int32_t place, int32_t parent)
{
    const uint32_t slots = 2 * (uint32_t)m->most;
    uint32_t slot = hash_of(hash_of(1, (uint32_t)place), (uint32_t)parent) % slots;
    for (; m->node_slots[slot] != 0; slot = (slot + 1) % slots) {
        const int32_t i = m->node_slots[slot] - 1;
        if (m->nodes[i].place == place && m->nodes[i].parent == parent)
            return i;
    }
    if (m->n_nodes == m->most) {
        m->full = true;
        return NONE;
    }
    m->nodes[m->n_nodes] =
        (struct node){place, parent, parent == NONE ? 0 : m->nodes[parent].depth + 1};
    m->seen[m->n_nodes] = 0;
    m->node_slots[slot] = ++m->n_nodes;
    return m->n_nodes - 1;
}

/* Look at a place with this parent, unless this step has. */
static void visit(struct matcher *m, int32_t place, int32_t parent)
{
    const int32_t node = intern_node(m, place, parent);
    if (node == NONE || m->seen[node] == m->step)
        return;
    m->seen[node] = m->step;
    m->work[m->n_work++] = node;
}

static bool at_end(const struct matcher *m, int32_t place)
{
    const unsigned kind = m->g->elements[place].kind;
    return kind == ELEMENT_END || kind == ELEMENT_OR;
}

static void visit_alternatives(struct matcher *m, int rule, int32_t parent)
{
    const struct element *e = m->g->elements;
    int32_t at = m->g->rules[rule];
    visit(m, at, parent);
    for (; e[at].kind != ELEMENT_END; at++)
        if (e[at].kind == ELEMENT_OR)
            visit(m, at + 1, parent);
}

/* A rule, behind which the text goes on at `place`; the end of the rule around it leaves nothing to
 * come back to, so that repetitions do not pile up. */
static void visit_rule(struct matcher *m, int rule, int32_t place, int32_t parent)
{
    const int32_t below = at_end(m, place) ? parent : intern_node(m, place, parent);
    if (!m->full && (below == NONE || m->nodes[below].depth < MATCHER_DEPTH))
        visit_alternatives(m, rule, below);
}

static int by_number(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* The state of the n nodes behind tops; NONE of them and no end: MATCHER_DEAD. */
static int intern_state(struct matcher *m, int n, bool ends)
{
    const uint32_t slots = 2 * (uint32_t)m->most_states;
    int32_t *tops = m->tops + m->n_tops;
    uint32_t slot = hash_of(ends, (uint32_t)n);
    qsort(tops, (size_t)n, sizeof *tops, by_number);
    for (int i = 0; i < n; i++)
        slot = hash_of(slot, (uint32_t)tops[i]);
    for (slot %= slots; m->state_slots[slot] != 0; slot = (slot + 1) % slots) {
        const struct state *s = &m->states[m->state_slots[slot] - 1];
        if (s->ends == ends && s->n == n &&
            memcmp(m->tops + s->first, tops, (size_t)n * sizeof *tops) == 0)
            return (int)(s - m->states);
    }
    if (m->n_states == m->most_states)
        return MATCHER_FULL;
    m->states[m->n_states] = (struct state){m->n_tops, n, ends};
    int32_t *next = m->next + (size_t)m->n_states * (size_t)m->g->n_classes;
    for (int c = 0; c < m->g->n_classes; c++)
        next[c] = UNKNOWN;
    m->n_tops += n;
    m->state_slots[slot] = ++m->n_states;
    return m->n_states - 1;
}

/* The state that the nodes to look at lead to, without reading a byte. */
static int close_state(struct matcher *m)
{
    int n = 0;
    bool ends = false;
    while (m->n_work > 0 && !m->full) {
        const int32_t i = m->work[--m->n_work];
        const struct node node = m->nodes[i];
        m->looks++;
        const struct element e = m->g->elements[node.place];
        if (e.kind == ELEMENT_RULE)
            visit_rule(m, (int)e.index, node.place + 1, node.parent);
        else if (e.kind == ELEMENT_BYTE && m->n_tops + n < m->most)
            m->tops[m->n_tops + n++] = i;
        else if (e.kind == ELEMENT_BYTE)
            m->full = true;
        else if (node.parent == NONE)
            ends = true;
        else
            visit(m, m->nodes[node.parent].place, m->nodes[node.parent].parent);
    }
    m->n_work = 0;
    return m->full ? MATCHER_FULL : intern_state(m, n, ends);
}

/* Forget all states, but not the nodes; the first is MATCHER_DEAD. */
static void clear_states(struct matcher *m)
{
    memset(m->state_slots, 0, 2 * (size_t)m->most_states * sizeof *m->state_slots);
    m->n_states = m->n_tops = 0;
    m->full = false;
    intern_state(m, 0, false);
}

static void begin_step(struct matcher *m)
{
    if (++m->step == 0) { /* after four billion */
        memset(m->seen, 0, (size_t)m->most * sizeof *m->seen);
        m->step = 1;
    }
    m->n_work = 0;
    m->full = false;
}

int matcher_start(struct matcher *m)
{
    memset(m->node_slots, 0, 2 * (size_t)m->most * sizeof *m->node_slots);
    m->n_nodes = 0;
    clear_states(m);
    begin_step(m);
    visit_alternatives(m, 0, NONE);
    return close_state(m);
}

int matcher_step(struct matcher *m, int state, unsigned char byte)
{
    const struct grammar *g = m->g;
    int32_t *next = &m->next[(size_t)state * (size_t)g->n_classes + g->class_of[byte]];
    if (*next != UNKNOWN)
        return *next;
    const struct state from = m->states[state];
    begin_step(m);
    m->looks += (uint64_t)from.n;
    for (int i = 0; i < from.n && !m->full; i++) {
        const struct node node = m->nodes[m->tops[from.first + i]];
        const struct element e = g->elements[node.place];
        if (byte_set_has(&g->sets[e.index], byte))
            visit(m, node.place + 1, node.parent);
    }
    const int to = close_state(m);
    if (to != MATCHER_FULL)
        *next = to;
    return to;
}

bool matcher_ends(const struct matcher *m, int state)
{
    return m->states[state].ends;
}

bool matcher_goes_on(const struct matcher *m, int state)
{
    return m->states[state].n > 0;
}

int matcher_keep(struct matcher *m, int state)
{
    const struct state from = m->states[state];
    const int n_nodes = m->n_nodes;
    begin_step(m);
    for (int i = 0; i < from.n; i++)
        for (int32_t at = m->tops[from.first + i]; at != NONE && m->seen[at] != m->step;
             at = m->nodes[at].parent)
            m->seen[at] = m->step;
    memset(m->node_slots, 0, 2 * (size_t)m->most * sizeof *m->node_slots);
    m->n_nodes = 0;
    for (int32_t i = 0; i < n_nodes; i++) {
        const struct node node = m->nodes[i];
        if (m->seen[i] == m->step) /* a new number is not above the old one */
            m->work[i] =
                intern_node(m, node.place, node.parent == NONE ? NONE : m->work[node.parent]);
    }
    memmove(m->tops, m->tops + from.first, (size_t)from.n * sizeof *m->tops);
    clear_states(m);
    for (int i = 0; i < from.n; i++)
        m->tops[i] = m->work[m->tops[i]];
    return intern_state(m, from.n, from.ends);
}
