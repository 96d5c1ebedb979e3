#include "sampling/schema/json_schema_value.h"

#include "model/base/err.h"
#include "model/base/json.h"
#include "sampling/schema/gbnf.h"
#include "sampling/schema/json_schema_integer.h"
#include "sampling/schema/json_schema_keywords.h"
#include "sampling/schema/json_schema_pattern.h"

#include <math.h>
#include <string.h>

size_t json_schema_count(const json_t *schema, const char *keyword, size_t otherwise)
{
    const json_t *value = json_object_get(schema, keyword);
    return value == NULL ? otherwise : (size_t)json_integer_value(value);
}

/* ---- enum and const ---- */

int json_name_grammar(struct buf *out, const char *name)
{
    struct buf text = {0};
    json_t *value = json_of_text(name, strlen(name));
    int rc = value == NULL ? ERR_NOMEM : json_print(&text, value, JSON_COMPACT);
    if (rc == 0 && (rc = buf_char(&text, ':')) == 0 &&
        (rc = gbnf_add_literal(out, text.data, text.n)) == 0)
        rc = buf_str(out, " space ");
    json_decref(value);
    buf_release(&text);
    return rc;
}

/* Bytes up to where a space may stand, that place's character included. */
static size_t bytes_to_space(const char *text)
{
    bool quoted = false;
    size_t n = 0;
    for (; text[n] != '\0'; n++) {
        if (!quoted && strchr("{[,:", text[n]) != NULL)
            return n + 1;
        quoted ^= text[n] == '"';
        n += quoted && text[n] == '\\';
    }
    return n;
}

static int add_value(struct buf *out, const json_t *value)
{
    struct buf text = {0};
    int rc = json_print(&text, value, JSON_COMPACT);
    for (size_t at = 0; rc == 0 && at < text.n;) {
        const size_t n = bytes_to_space(text.data + at);
        const bool more = at + n < text.n;
        if ((rc = gbnf_add_literal(out, text.data + at, n)) == 0)
            rc = buf_str(out, more ? " space " : "");
        at += n;
    }
    buf_release(&text);
    return rc;
}

/* The keyword other than type that would have to be asked whether this value is valid. */
static const char *find_other_keyword(const json_t *schema, const json_t *value)
{
    const char *name;
    const json_t *unused;
    json_object_foreach((json_t *)schema, name, unused)
    {
        const struct json_schema_keyword *k = json_schema_keyword_find(name);
        if ((k->types & json_schema_types_of_value(value)) != 0 && strcmp(name, "format") != 0)
            return name;
    }
    return NULL;
}

static bool allows_value(const json_t *schema, const json_t *value)
{
    const json_t *type = json_object_get(schema, "type"), *only = json_object_get(schema, "const");
    return (type == NULL ||
            (json_schema_types_of_list(type) & json_schema_types_of_value(value)) != 0) &&
           (only == NULL || json_equal(value, only));
}

bool json_schema_enum_is_empty(const json_t *schema)
{
    const json_t *values = json_object_get(schema, "enum"), *one;
    const json_t *only = json_object_get(schema, "const");
    size_t i;
    json_array_foreach(values, i, one)
    {
        if (allows_value(schema, one))
            return false;
    }
    return values != NULL || (only != NULL && !allows_value(schema, only));
}

static int add_enum_value(struct json_schema_rules *r, const json_t *schema, const json_t *value,
                          size_t *n)
{
    if (!allows_value(schema, value))
        return 0;
    const char *name = find_other_keyword(schema, value);
    if (name != NULL)
        return json_schema_refuse(r->tree, schema, name, ERR_UNSUPPORTED,
                                  "is not supported beside enum or const");
    int rc = buf_str(&r->line, (*n)++ > 0 ? " | " : "");
    return rc != 0 ? rc : add_value(&r->line, value);
}

int json_schema_enum_grammar(struct json_schema_rules *r, const json_t *schema)
{
    const json_t *values = json_object_get(schema, "enum"), *one;
    size_t i, n = 0;
    int rc = 0;
    if (values == NULL)
        rc = add_enum_value(r, schema, json_object_get(schema, "const"), &n);
    json_array_foreach(values, i, one)
    {
        if (rc == 0)
            rc = add_enum_value(r, schema, one, &n);
    }
    if (rc != 0 || n > 0)
        return rc;
    return json_schema_refuse(r->tree, schema, values != NULL ? "enum" : "const", ERR_UNSUPPORTED,
                              "leaves no value");
}

/* ---- strings ---- */

static const struct {
    const char *name;
    struct text_length length;
} formats[] = {{"date", {10, 10}}, {"time", {9, 21}}, {"date-time", {20, 32}}, {"uuid", {36, 36}}};

enum { FORMATS = sizeof formats / sizeof *formats };

/* FORMATS: it is none of these. */
static int find_format(const char *name)
{
    int i = 0;
    while (i < FORMATS && (name == NULL || strcmp(formats[i].name, name) != 0))
        i++;
    return i;
}

bool json_schema_format_is_known(const char *format)
{
    return find_format(format) < FORMATS;
}

static int add_format(struct json_schema_rules *r, const json_t *schema, int format,
                      struct text_length length)
{
    const struct text_length mine = formats[format].length;
    if (json_object_get(schema, "pattern") != NULL)
        return json_schema_refuse(r->tree, schema, "pattern", ERR_UNSUPPORTED,
                                  "is not supported beside format %s", formats[format].name);
    if (mine.least < length.least || mine.most > length.most)
        return json_schema_refuse(
            r->tree, schema, mine.least < length.least ? "minLength" : "maxLength", ERR_UNSUPPORTED,
            "does not hold for all texts of format %s", formats[format].name);
    return json_schema_rules_refer_plain(r, &r->line, formats[format].name);
}

static int add_pattern(struct json_schema_rules *r, const json_t *schema, const char *pattern,
                       struct text_length length)
{
    static const char quote[] = "\"\\\"\"";
    size_t parts;
    struct buf inside = {0}, unused = {0};
    int rc = pattern_grammar(&inside, &parts, pattern, length);
    if (rc != 0) {
        buf_release(&inside);
        return json_schema_wrap(r->tree, schema, "pattern");
    }
    r->copies += parts;
    if (strstr(buf_text(&inside), "char") != NULL)
        rc = json_schema_rules_refer_plain(r, &unused, "char");
    if (rc == 0)
        rc = buf_printf(&r->line, "%s %s%s%s", quote, buf_text(&inside), inside.n > 0 ? " " : "",
                        quote);
    buf_release(&inside);
    buf_release(&unused);
    return rc;
}

int json_schema_string_grammar(struct json_schema_rules *r, const json_t *schema)
{
    const struct text_length length = {json_schema_count(schema, "minLength", 0),
                                       json_schema_count(schema, "maxLength", GBNF_OPEN)};
    const char *pattern = json_string_value(json_object_get(schema, "pattern"));
    const int format = find_format(json_string_value(json_object_get(schema, "format")));
    if (length.least > length.most)
        return json_schema_refuse(r->tree, schema, "minLength", ERR_RANGE,
                                  "is %zu, above maxLength, which is %zu", length.least,
                                  length.most);
    if (format < FORMATS)
        return add_format(r, schema, format, length);
    if (pattern != NULL)
        return add_pattern(r, schema, pattern, length);
    if (length.least == 0 && length.most == GBNF_OPEN)
        return json_schema_rules_refer_plain(r, &r->line, "string");
    if (length.most == 0)
        return buf_str(&r->line, "\"\\\"\\\"\"");
    int rc = buf_str(&r->line, "\"\\\"\" ");
    if (rc == 0 && (rc = json_schema_rules_refer_plain(r, &r->line, "char")) == 0 &&
        (rc = json_schema_rules_add_times(r, &r->line, length.least, length.most, 1, schema,
                                          length.most == GBNF_OPEN ? "minLength" : "maxLength")) ==
            0)
        rc = buf_str(&r->line, " \"\\\"\"");
    return rc;
}

/* ---- numbers ---- */

/* What a bound leaves of integers; one beyond 64 bits is cut to them, or leaves none. */
struct integer_bounds {
    int64_t least, most;
    bool has_least, has_most;
    bool none;
};

static void raise_least(struct integer_bounds *b, const json_t *bound, bool exclusive)
{
    const double x = json_number_value(bound);
    int64_t least;
    if (bound == NULL)
        return;
    if (json_is_integer(bound)) {
        b->none |= exclusive && json_integer_value(bound) == INT64_MAX;
        least = json_integer_value(bound) + (exclusive && !b->none);
    } else {
        const double up = exclusive ? floor(x) + 1 : ceil(x);
        b->none |= up >= 0x1p63;
        if (up < -0x1p63 || b->none)
            return;
        /* Where doubles are no longer all integers, floor(x) + 1 may be x. */
        least = exclusive && floor(x) >= -0x1p63 ? (int64_t)floor(x) + 1 : (int64_t)up;
    }
    if (!b->has_least || least > b->least)
        b->least = least;
    b->has_least = true;
}

static void lower_most(struct integer_bounds *b, const json_t *bound, bool exclusive)
{
    const double x = json_number_value(bound);
    int64_t most;
    if (bound == NULL)
        return;
    if (json_is_integer(bound)) {
        b->none |= exclusive && json_integer_value(bound) == INT64_MIN;
        most = json_integer_value(bound) - (exclusive && !b->none);
    } else {
        const double down = exclusive ? ceil(x) - 1 : floor(x);
        b->none |= down < -0x1p63 || (exclusive && ceil(x) <= -0x1p63);
        if (down >= 0x1p63 || b->none)
            return;
        most = exclusive && ceil(x) < 0x1p63 ? (int64_t)ceil(x) - 1 : (int64_t)down;
    }
    if (!b->has_most || most < b->most)
        b->most = most;
    b->has_most = true;
}

int json_schema_integer_grammar(struct json_schema_rules *r, const json_t *schema)
{
    static const int64_t sixteen_digits = 9999999999999999;
    struct integer_bounds b = {0};
    raise_least(&b, json_object_get(schema, "minimum"), false);
    raise_least(&b, json_object_get(schema, "exclusiveMinimum"), true);
    lower_most(&b, json_object_get(schema, "maximum"), false);
    lower_most(&b, json_object_get(schema, "exclusiveMaximum"), true);
    if (b.none || (b.has_least && b.has_most && b.least > b.most))
        return json_schema_refuse(r->tree, schema, NULL, ERR_RANGE,
                                  "has bounds that leave no integer of 64 bits");
    if (!b.has_least && !b.has_most)
        return json_schema_rules_refer_plain(r, &r->line, "integer");
    if (!b.has_least)
        b.least = b.most >= -sixteen_digits ? -sixteen_digits : INT64_MIN;
    if (!b.has_most)
        b.most = b.least <= sixteen_digits ? sixteen_digits : INT64_MAX;
    return integer_range_grammar(&r->line, b.least, b.most);
}

int json_schema_number_grammar(struct json_schema_rules *r, const json_t *schema)
{
    const char *name;
    const json_t *unused;
    json_object_foreach((json_t *)schema, name, unused)
    {
        const struct json_schema_keyword *k = json_schema_keyword_find(name);
        if (k->types & SCHEMA_NUMBER)
            return json_schema_refuse(r->tree, schema, name, ERR_UNSUPPORTED,
                                      "of a number that is no integer cannot be kept by a grammar; "
                                      "\"type\": \"integer\" can have it");
    }
    return json_schema_rules_refer_plain(r, &r->line, "number");
}
