#ifndef PRATTLE_TRAIN_PREPARE_WIKI_UNITS_H
#define PRATTLE_TRAIN_PREPARE_WIKI_UNITS_H
/*
 * The units of Wikipedia's template convert, most used first; the rounding and the default targets
 * are those of its Module:Convert.
 */
#include <stddef.h>

struct wiki_unit {
    const char *codes;         /* as the template takes them, "|" between them */
    const char *name, *plural; /* "kilometre", "kilometres"; "metre" becomes "meter" with sp=us */
    const char *symbol;        /* "km" */
    char kind;                 /* of what: l length, a area, v volume, m mass, ... */
    double scale, offset;      /* SI = (value - offset) * scale */
    const char *into;          /* codes of the default targets, blanks between them */
};
/* By one of its codes, n bytes; *factor is of a prefix, as "e6" in e6acre. NULL: unknown. */
const struct wiki_unit *wiki_unit_find(const char *code, size_t n, double *factor);

#endif
