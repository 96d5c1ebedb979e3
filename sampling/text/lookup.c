#include "sampling/text/lookup.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <string.h>

const int lookup_sizes[LOOKUP_SIZES] = {8, 5, 3, LOOKUP_SHORTEST};

/*
 * For each size a hash table with linear probing, at most half full. A cell holds the end of an
 * n-gram, which is the position of the id that followed it: an n-gram enters the table once that
 * id is known, so the one that ends the text does not find itself.
 */

int lookup_init(struct lookup *l, size_t max_ids)
{
    *l = (struct lookup){.n_cells = 4};
    while (l->n_cells < 2 * max_ids)
        l->n_cells *= 2;
    l->cells = mem_array(LOOKUP_SIZES * l->n_cells, sizeof *l->cells);
    return l->cells == NULL ? ERR_NOMEM : 0;
}

void lookup_release(struct lookup *l)
{
    if (l == NULL)
        return;
    mem_free(l->cells);
    *l = (struct lookup){0};
}

void lookup_reset(struct lookup *l)
{
    memset(l->cells, 0, LOOKUP_SIZES * l->n_cells * sizeof *l->cells);
    l->n = 0;
}

/* The cell of the n-gram text[end - size .. end - 1]: the one that has it, or else an empty one. */
static int *find_cell(const struct lookup *l, int table, const token_id *text, size_t end)
{
    const size_t size = (size_t)lookup_sizes[table], mask = l->n_cells - 1;
    const token_id *gram = text + end - size;
    int *cells = l->cells + (size_t)table * l->n_cells;
    uint64_t hash = 0;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (uint64_t)gram[i]) * UINT64_C(0x9E3779B97F4A7C15);
    size_t at = (size_t)(hash >> 32) & mask;
    while (cells[at] != 0 &&
           memcmp(text + (size_t)cells[at] - size, gram, size * sizeof *gram) != 0)
        at = (at + 1) & mask;
    return &cells[at];
}

void lookup_add(struct lookup *l, const token_id *text, size_t n)
{
    for (; l->n < n; l->n++)
        for (int t = 0; t < LOOKUP_SIZES; t++)
            if (l->n >= (size_t)lookup_sizes[t])
                *find_cell(l, t, text, l->n) = (int)l->n;
}

struct lookup_match lookup_find(const struct lookup *l, const token_id *text)
{
    struct lookup_match found = {0};
    for (int t = 0; t < LOOKUP_SIZES && found.next == 0; t++)
        if (l->n >= (size_t)lookup_sizes[t])
            found.next = (size_t)*find_cell(l, t, text, l->n);
    while (found.length < LOOKUP_REACH && (size_t)found.length < found.next &&
           text[found.next - 1 - (size_t)found.length] == text[l->n - 1 - (size_t)found.length])
        found.length++;
    return found;
}
