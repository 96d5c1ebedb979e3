#ifndef PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_H
#define PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_H
#include "model/base/buf.h"

/*
 * Append to out the grammar, in GBNF, of JSON texts that a JSON Schema (2020-12) describes; root is
 * its rule `root`. Each of its texts is valid under the schema; not each valid text is one of it:
 *
 * - JSON is on one line, with at most one space after each { [ , and :, and no other.
 * - Members come in the order of `properties`. Further ones follow, with names that are none of
 *   those; where properties are listed without additionalProperties, there are none.
 * - Numbers have at most 16 digits, 16 of a fraction and 2 of an exponent; integers have neither of
 *   these. One side without a bound has 16 digits too, where the other one has no more.
 * - Values of enum and const are spelled in one way.
 * - oneOf is read as anyOf: that no second one of its schemas holds is not kept. Nor are the names
 *   of further members different from each other, so minProperties may count one twice.
 * - Where no type is given, the other keywords imply it; with none, any value is valid.
 *
 * Kept: type, enum, const, properties, required, additionalProperties, items, prefixItems,
 * minItems, maxItems, minLength, maxLength, pattern (json_schema_pattern.h), format (date, time,
 * date-time, uuid), minimum, maximum, exclusiveMinimum and exclusiveMaximum of integers,
 * minProperties and maxProperties of members that are not listed, anyOf, oneOf, $ref within the
 * schema, and allOf and what stands beside $ref, anyOf or oneOf, as far as one schema can say all
 * of it. Annotations, other formats and x-... are ignored. All else is refused.
 *
 * The schema may be in what APIs send it in (json_schema_envelope.h): # is then the schema.
 *
 * ERR_FORMAT: schema [n] is no JSON, or a pattern no regular expression; ERR_UNSUPPORTED: a
 * keyword, or what it asks for, is not supported, or no value is valid; ERR_RANGE: a keyword has a
 * wrong value, or something is too large. The message has the keyword and its place, as a JSON
 * pointer. A failure leaves out unchanged.
 */
int json_schema_grammar(struct buf *out, const char *schema, size_t n);

#endif
