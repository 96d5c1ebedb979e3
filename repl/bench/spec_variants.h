#ifndef PRATTLE_REPL_BENCH_SPEC_VARIANTS_H
#define PRATTLE_REPL_BENCH_SPEC_VARIANTS_H
/* The `parameters` of a benchmark (spec.h), combined. */
#include "model/base/json.h"

enum { SPEC_VARIANTS = 1000 };

/* A list of objects, one for each combination in their order, the last parameter's values going
 * round first; one empty object where o is NULL. ERR_RANGE: more than SPEC_VARIANTS. */
int spec_variants(json_t **out, const json_t *o);

#endif
