#ifndef PRATTLE_TRAIN_PARALLEL_UNIT_SLICES_H
#define PRATTLE_TRAIN_PARALLEL_UNIT_SLICES_H
/*
 * A block of weights or gradients in spans, each of which the ranks of a group have slices of; and
 * in units, such as layers, which are moved one after another. Ranks are places in the group.
 */
#include <stddef.h>

struct sliced_unit {
    size_t first, n; /* elements of the block, of one span */
};

struct unit_slices {
    int size;
    int n_spans;
    const size_t *bounds; /* [n_spans][size + 1], where the slices of each begin, in elements */
    int n_units;
    const struct sliced_unit *units; /* [n_units], in the order in which they are moved; together
                                        all elements of the spans */
};

/* With copies of both arrays. ERR_NOMEM; what there is then is to be released too. */
int unit_slices_copy(struct unit_slices *to, const struct unit_slices *from);
void unit_slices_release(struct unit_slices *s);
/* Where the slices of a span begin [size + 1]. */
const size_t *unit_slices_span(const struct unit_slices *s, int span);
/* Part k, of `part` elements, of what a rank's slice has of a unit: its first element, and n of
 * them, 0 behind the end. */
size_t unit_slices_part(const struct unit_slices *s, int unit, int rank, size_t part, size_t k,
                        size_t *n);

#endif
