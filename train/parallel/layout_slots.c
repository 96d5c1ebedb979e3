#include "train/parallel/layout_slots.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <stdbool.h>
#include <string.h>

struct layout_slots_entry {
    struct layout_slots_entry *next;
    struct layout of;
    int n_micro, of_block;
    int *slots;
};

static bool is_same(const struct layout_slots_entry *e, const struct layout *l, int n_micro,
                    int of_block)
{
    return e->n_micro == n_micro && e->of_block == of_block && e->of.stages == l->stages &&
           e->of.chunks == l->chunks &&
           memcmp(e->of.layers, l->layers, (size_t)l->stages * sizeof *l->layers) == 0;
}

static size_t chain_of(const struct layout *l, int n_micro, int of_block)
{
    uint32_t hash = (uint32_t)n_micro * 31 + (uint32_t)of_block;
    hash = hash * 31 + (uint32_t)l->chunks;
    for (int i = 0; i < l->stages; i++)
        hash = hash * 31 + (uint32_t)l->layers[i];
    return hash % LAYOUT_SLOTS_CHAINS;
}

int layout_slots_find(struct layout_slots *s, const int **slots, const struct layout *l,
                      const struct config *c, int n_micro, int of_block)
{
    struct layout_slots_entry **chain = &s->chains[chain_of(l, n_micro, of_block)], *e = *chain;
    struct pipeline_plan plan;
    while (e != NULL && !is_same(e, l, n_micro, of_block))
        e = e->next;
    if (e != NULL) {
        *slots = e->slots;
        return 0;
    }
    int rc = layout_plan(&plan, l, c, n_micro, of_block, 0);
    if (rc != 0)
        return rc;
    if ((e = mem_alloc(sizeof *e)) == NULL) {
        pipeline_plan_release(&plan);
        return ERR_NOMEM;
    }
    *e = (struct layout_slots_entry){*chain, *l, n_micro, of_block, plan.slots};
    *chain = e;
    plan.slots = NULL;
    pipeline_plan_release(&plan);
    *slots = e->slots;
    return 0;
}

void layout_slots_release(struct layout_slots *s)
{
    for (int i = 0; i < LAYOUT_SLOTS_CHAINS; i++)
        for (struct layout_slots_entry *e = s->chains[i], *next; e != NULL; e = next) {
            next = e->next;
            mem_free(e->slots);
            mem_free(e);
        }
    *s = (struct layout_slots){0};
}
