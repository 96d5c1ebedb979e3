#ifndef PRATTLE_MODEL_BASE_JSON_LINE_H
#define PRATTLE_MODEL_BASE_JSON_LINE_H
/*
 * The one text wanted of a line of JSON, without a tree of the line's values: several times as fast
 * as json_read_any_line where there are gigabytes of lines.
 */
#include "model/base/buf.h"

/*
 * Append the string that the line's object has as `name` to out. *got false: the line is something
 * else, or unusual (a name with an escape, deep nesting, many members, a number of many digits),
 * and out is unchanged: json_read_any_line says what it is. What is taken is what
 * json_read_any_line reads, and a line that it refuses is never taken. ERR_NOMEM.
 */
int json_line_text(struct buf *out, bool *got, const char *line, size_t n, const char *name);

#endif
