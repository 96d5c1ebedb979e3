#include "sampling/grammar/grammar.h"

#include "model/base/mem.h"

#include <stdbool.h>

/* Bytes that no set tells apart are of one class. */
void grammar_find_classes(struct grammar *g)
{
    g->n_classes = 1;
    for (int s = 0; s < g->n_sets && g->n_classes < 256; s++) {
        int within[256]; /* the class of those of a class that are in the set */
        bool seen[256] = {false}, outside[256] = {false};
        for (int b = 0; b < 256; b++)
            outside[g->class_of[b]] |= !byte_set_has(&g->sets[s], (unsigned char)b);
        for (int b = 0; b < 256; b++) {
            const int was = g->class_of[b];
            if (!byte_set_has(&g->sets[s], (unsigned char)b) || !outside[was])
                continue;
            if (!seen[was])
                within[was] = g->n_classes++;
            seen[was] = true;
            g->class_of[b] = (unsigned char)within[was];
        }
    }
}

void grammar_free(struct grammar *g)
{
    if (g == NULL)
        return;
    mem_free(g->elements);
    mem_free(g->rules);
    mem_free(g->sets);
    mem_free(g);
}
