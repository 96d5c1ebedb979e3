#ifndef PRATTLE_TESTS_NEED_H
#define PRATTLE_TESTS_NEED_H
#include <stdbool.h>
#include <stdlib.h>

/* What a fuzz target needs to be so. */
static inline void need(bool right)
{
    if (!right)
        abort();
}

#endif
