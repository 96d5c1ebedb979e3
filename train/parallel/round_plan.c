#include "train/parallel/round_plan.h"

/* One more block: parts that are whole join. listed: and are kept among the joins. */
static void push_block(struct round_plan *p, int n_blocks, int block, struct node_place place,
                       bool listed)
{
    int from = block;
    for (; p->depth > 0 &&
           gradient_blocks_are_parts(n_blocks, p->begins[p->depth - 1], from, block + 1);
         p->depth--) {
        if (listed)
            p->joins[p->n_joins++] = (struct scatter_join){p->stack[p->depth - 1], place};
        from = p->begins[p->depth - 1];
    }
    p->begins[p->depth] = from;
    p->stack[p->depth++] = place;
}

int round_plan_slots(int n_blocks, int size)
{
    struct round_plan p = {0};
    int most = 0;
    for (int block = 0; block < n_blocks; block++) {
        push_block(&p, n_blocks, block, (struct node_place){0}, false);
        const bool ends = (block + 1) % size == 0 || block + 1 == n_blocks;
        most = ends && p.depth > most ? p.depth : most;
    }
    return most;
}

void round_plan_next(struct round_plan *p, int n_blocks, int size, int round)
{
    const int first = round * size;
    if (round == 0)
        p->depth = 0;
    for (int i = 0; i < p->depth; i++) /* where the round before has left them */
        p->stack[i] = (struct node_place){false, i};
    p->round = round;
    p->n = n_blocks - first < size ? n_blocks - first : size;
    p->n_joins = 0;
    for (int i = 0; i < p->n; i++)
        push_block(p, n_blocks, first + i, (struct node_place){true, i}, true);
}
