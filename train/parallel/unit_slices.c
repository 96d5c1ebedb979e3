#include "train/parallel/unit_slices.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <string.h>

static void *copy_of(const void *from, size_t n, size_t each)
{
    void *to = mem_array(n, each);
    if (to != NULL)
        memcpy(to, from, n * each);
    return to;
}

int unit_slices_copy(struct unit_slices *to, const struct unit_slices *from)
{
    const size_t n_bounds = (size_t)from->n_spans * ((size_t)from->size + 1);
    *to = *from;
    to->bounds = copy_of(from->bounds, n_bounds, sizeof *from->bounds);
    to->units = copy_of(from->units, (size_t)from->n_units, sizeof *from->units);
    return to->bounds == NULL || to->units == NULL ? ERR_NOMEM : 0;
}

void unit_slices_release(struct unit_slices *s)
{
    mem_free((void *)s->bounds);
    mem_free((void *)s->units);
    *s = (struct unit_slices){0};
}

const size_t *unit_slices_span(const struct unit_slices *s, int span)
{
    return s->bounds + (size_t)span * ((size_t)s->size + 1);
}

/* The slices of the span that a unit is of. */
static const size_t *bounds_of(const struct unit_slices *s, const struct sliced_unit *u)
{
    int span = 0;
    while (span + 1 < s->n_spans && u->first >= unit_slices_span(s, span + 1)[0])
        span++;
    return unit_slices_span(s, span);
}

size_t unit_slices_part(const struct unit_slices *s, int unit, int rank, size_t part, size_t k,
                        size_t *n)
{
    const struct sliced_unit *u = &s->units[unit];
    const size_t *bounds = bounds_of(s, u);
    const size_t from = u->first > bounds[rank] ? u->first : bounds[rank];
    const size_t end = u->first + u->n < bounds[rank + 1] ? u->first + u->n : bounds[rank + 1];
    const size_t at = from + k * part;
    *n = at >= end ? 0 : end - at < part ? end - at : part;
    return at;
}
