#ifndef PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_INTEGER_H
#define PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_INTEGER_H
/* Whole numbers of a range as a grammar. */
#include "model/base/buf.h"

#include <stdint.h>

/* Append alternatives whose texts are the decimals of least..most; least <= most. None begins with
 * a superfluous 0, and 0 has no sign. */
int integer_range_grammar(struct buf *out, int64_t least, int64_t most);

#endif
