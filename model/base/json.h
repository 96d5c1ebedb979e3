#ifndef PRATTLE_MODEL_BASE_JSON_H
#define PRATTLE_MODEL_BASE_JSON_H
/*
 * JSON (RFC 8259) through jansson, with checked look-ups: a value of the wrong type or
 * out of range gives one sentence with its key, what it is and what it must be. A key
 * that is not there, or null, leaves *out as it was. Names twice in one object, text
 * that is not UTF-8 and nesting beyond 2048 are refused.
 */
#include "model/base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The value in n bytes of text, to be freed with json_decref; ERR_FORMAT says the line. */
int json_read_text(json_t **out, const char *text, size_t n);
/* Of one line, whose sentences say the column; its texts may hold NUL. */
int json_read_line(json_t **out, const char *line, size_t n);
/* Of a file of at most max bytes; sentences begin with "cannot load PATH". */
int json_read_file(json_t **out, const char *path, uint64_t max);

/* A whole number, written as one (1e3 and 1.0 are not), least..most. */
int json_take_int(const json_t *object, const char *key, int64_t least, int64_t most, int64_t *out);
/* Any finite number, least..most. */
int json_take_number(const json_t *object, const char *key, double least, double most, double *out);
int json_take_bool(const json_t *object, const char *key, bool *out);
/* Text, borrowed from the object. */
int json_take_text(const json_t *object, const char *key, const char **out);

/* A text of any bytes; what is not UTF-8 becomes U+FFFD. NULL: no memory. */
json_t *json_of_text(const char *text, size_t n);

/* The value as JSON behind what out has; flags are jansson's. A failure leaves out as it was. Never
 * json_dumps: its text is jansson's to free. */
int json_print(struct buf *out, const json_t *value, size_t flags);
/* The value into a file that is not there yet, whole or not at all. */
int json_write_file(const char *path, const json_t *value);

/* A value for a sentence: as JSON, cut to n bytes, safe for a terminal. Returns out. */
const char *json_shown(char *out, size_t n, const json_t *value);

#endif
