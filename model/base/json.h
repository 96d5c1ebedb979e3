#ifndef PRATTLE_MODEL_BASE_JSON_H
#define PRATTLE_MODEL_BASE_JSON_H
/*
 * JSON (RFC 8259) through jansson, with checked member access. Duplicate keys in one object, text
 * that is not UTF-8 and nesting deeper than 2048 are refused.
 */
#include "model/base/buf.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Parse n bytes of text; free *out with json_decref. ERR_FORMAT names the line. */
int json_read_text(json_t **out, const char *text, size_t n);
/* The same, but a number that no double, or no 64 bits where it is whole, can hold is a text of its
 * digits: for readers that leave out a value, and not the file. */
int json_read_any_numbers(json_t **out, const char *text, size_t n);
/* Whether a value is such a text. */
bool json_is_huge_number(const json_t *value);
/* The same for one line: the message has the column. Strings may contain NUL. */
int json_read_line(json_t **out, const char *line, size_t n);
/* The same, but a surrogate that is escaped without its other half, which RFC 8259 allows and UTF-8
 * has no bytes for, becomes U+FFFD; *replaced: there was one. */
int json_read_any_line(json_t **out, const char *line, size_t n, bool *replaced);
/* As json_read_line, but a NUL in a string or a name is refused: for callers that use C strings. */
int json_read_plain_line(json_t **out, const char *line, size_t n);
/* Parse a file of at most max bytes; error messages begin with "cannot load PATH". */
int json_read_file(json_t **out, const char *path, uint64_t max);
struct file;
int json_read_open_file(json_t **out, const struct file *file, uint64_t max);

/*
 * Read a member of an object into *out. A missing key or null leaves *out unchanged. ERR_RANGE: the
 * value has another type or is out of range; the message has the key, the value and what it must
 * be.
 */
/* An integer, written without point or exponent (not 1e3 or 1.0), least..most. */
int json_take_int(const json_t *object, const char *key, int64_t least, int64_t most, int64_t *out);
/* Any finite number, least..most. */
int json_take_number(const json_t *object, const char *key, double least, double most, double *out);
int json_take_bool(const json_t *object, const char *key, bool *out);
/* A string, borrowed from the object. */
int json_take_text(const json_t *object, const char *key, const char **out);

/* n bytes of text as a JSON string; invalid UTF-8 becomes U+FFFD. NULL: no memory. */
json_t *json_of_text(const char *text, size_t n);
/* A float as the double that is written with the float's shortest decimal; null where it is NaN or
 * infinite, which JSON lacks. */
json_t *json_of_float(float v);

/* Append value as JSON to out; flags are jansson's. A number is written with the fewest digits that
 * read back as the same double, but no more than JSON_REAL_PRECISION of flags. A failure leaves out
 * unchanged. Replaces json_dumps, whose memory is jansson's. */
int json_print(struct buf *out, const json_t *value, size_t flags);
/* Write value to a new file, atomically; ERR_EXISTS if path exists. */
int json_write_file(const char *path, const json_t *value);

/* value for a message, in out [n]: as JSON, cut to fit, safe on a terminal; "an object" and
 * "a list" stand for theirs. Returns out. */
const char *json_shown(char *out, size_t n, const json_t *value);

#endif
