#include "model/base/json.h"

#include "model/base/decimal.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum { SHOWN = 60 };

/* Before main, so that no value comes from another allocator. */
__attribute__((constructor)) static void count_allocations(void)
{
    json_set_alloc_funcs(mem_alloc_small, mem_free);
}

/* *e is set with ERR_FORMAT alone. */
static int parse_value(json_t **out, const char *text, size_t n, size_t flags, json_error_t *e)
{
    err_clear();
    json_t *value = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | flags, e);
    /* Also where there is a value: out of memory, jansson's lexer silently drops characters. */
    if (err_last() == ERR_NOMEM) {
        json_decref(value);
        return ERR_NOMEM;
    }
    *out = value == NULL ? *out : value;
    return value == NULL ? ERR_FORMAT : 0;
}

int json_read_text(json_t **out, const char *text, size_t n)
{
    json_error_t e;
    char what[2 * JSON_ERROR_TEXT_LENGTH];
    int rc = parse_value(out, text, n, 0, &e);
    return rc != ERR_FORMAT
               ? rc
               : err_set(rc, "not JSON: line %d: %s", e.line, file_show(what, sizeof what, e.text));
}

/* Whether n bytes, as a number is made of, are one that is too large. */
static bool is_huge(const char *text, size_t n)
{
    char *end;
    const bool whole = strcspn(text, ".eE") >= n;
    errno = 0;
    if (whole)
        strtoll(text, &end, 10);
    const double x = whole ? 0 : strtod(text, &end);
    return errno == ERANGE && (whole || isinf(x)) && end == text + n;
}

static size_t number_bytes(const char *at)
{
    return *at == '-' || (*at >= '0' && *at <= '9') ? strspn(at, "+-.0123456789eE") : 0;
}

bool json_is_huge_number(const json_t *value)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    const size_t n = number_bytes(text);
    return n > 0 && text[n] == '\0' && is_huge(text, n);
}

/* The text with such numbers in quotes. */
static int quote_huge_numbers(struct buf *out, const char *text)
{
    bool quoted = false;
    int rc = 0;
    for (const char *at = text; *at != '\0' && rc == 0;) {
        const size_t number = quoted ? 0 : number_bytes(at);
        const size_t n = number > 0 ? number : *at == '\\' && at[1] != '\0' ? 2 : 1;
        const char *quote = number > 0 && is_huge(at, n) ? "\"" : "";
        quoted ^= *at == '"';
        if ((rc = buf_str(out, quote)) == 0 && (rc = buf_add(out, at, n)) == 0)
            rc = buf_str(out, quote);
        at += n;
    }
    return rc;
}

int json_read_any_numbers(json_t **out, const char *text, size_t n)
{
    struct buf whole = {0}, quoted = {0};
    int rc = json_read_text(out, text, n);
    if (rc != ERR_FORMAT || memchr(text, '\0', n) != NULL)
        return rc;
    if ((rc = buf_add(&whole, text, n)) == 0 &&
        (rc = quote_huge_numbers(&quoted, buf_text(&whole))) == 0)
        rc = json_read_text(out, buf_text(&quoted), quoted.n);
    buf_release(&whole);
    buf_release(&quoted);
    return rc;
}

/* Where the text that jansson names begins: it counts to its end. */
static int find_column(const json_error_t *e)
{
    const char *near = strstr(e->text, " near '"), *last = strrchr(e->text, '\'');
    int characters = 0;
    if (near == NULL)
        return e->column;
    for (near += strlen(" near '"); near < last; near++)
        characters += ((unsigned char)*near & 0xc0) != 0x80;
    return characters < e->column ? e->column - characters + 1 : 1;
}

/* What is JSON, but with a number or a name that is not taken. */
static bool is_json(const json_error_t *e)
{
    const enum json_error_code code = json_error_code(e);
    return code == json_error_numeric_overflow || code == json_error_duplicate_key;
}

static int read_line(json_t **out, const char *line, size_t n, size_t flags)
{
    json_error_t e;
    char what[2 * JSON_ERROR_TEXT_LENGTH];
    int rc = parse_value(out, line, n, flags, &e);
    return rc != ERR_FORMAT ? rc
                            : err_set(rc, "%s: %s at column %d",
                                      is_json(&e) ? "the JSON is not read" : "not JSON",
                                      file_show(what, sizeof what, e.text), find_column(&e));
}

int json_read_line(json_t **out, const char *line, size_t n)
{
    return read_line(out, line, n, JSON_ALLOW_NUL);
}

/* The number of \uXXXX, -1: there is none at `at`. */
static long escaped_number(const char *at, const char *end)
{
    char digits[5] = {0};
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    memcpy(digits, at + 2, 4);
    return strspn(digits, "0123456789abcdefABCDEF") == 4 ? strtol(digits, NULL, 16) : -1;
}

/* Those of a surrogate without its other half become \uFFFD. */
static bool replace_lone_surrogates(char *line, size_t n)
{
    const char *end = line + n;
    bool replaced = false;
    for (char *at = line; (at = memchr(at, '\\', (size_t)(end - at))) != NULL && end - at > 1;) {
        const long number = escaped_number(at, end);
        const long next = number >> 10 == 0xd800 >> 10 ? escaped_number(at + 6, end) : -1;
        const bool pair = next >> 10 == 0xdc00 >> 10, lone = number >> 11 == 0xd800 >> 11 && !pair;
        if (lone)
            memcpy(at + 2, "FFFD", 4);
        replaced |= lone;
        at += pair ? 12 : number >= 0 ? 6 : 2;
    }
    return replaced;
}

int json_read_any_line(json_t **out, const char *line, size_t n, bool *replaced)
{
    struct buf copy = {0};
    int rc = json_read_line(out, line, n);
    *replaced = false;
    if (rc != ERR_FORMAT || memchr(line, '\\', n) == NULL)
        return rc;
    if ((rc = buf_add(&copy, line, n)) == 0) {
        *replaced = replace_lone_surrogates(copy.data, n);
        rc = json_read_line(out, copy.data, n);
    }
    buf_release(&copy);
    return rc;
}

int json_read_plain_line(json_t **out, const char *line, size_t n)
{
    return read_line(out, line, n, 0);
}

int json_read_open_file(json_t **out, const struct file *file, uint64_t max)
{
    struct buf text = {0};
    int rc = file_read_whole(&text, file, max);
    if (rc == 0 && (rc = json_read_text(out, buf_text(&text), text.n)) != 0)
        rc = file_wrap(file->path);
    buf_release(&text);
    return rc;
}

int json_read_file(json_t **out, const char *path, uint64_t max)
{
    struct file file;
    int rc = file_open(&file, path);
    if (rc != 0)
        return rc;
    rc = json_read_open_file(out, &file, max);
    file_close(&file);
    return rc;
}

const char *json_shown(char *out, size_t n, const json_t *value)
{
    struct buf text = {0};
    int rc = json_is_object(value)  ? buf_str(&text, "an object")
             : json_is_array(value) ? buf_str(&text, "a list")
                                    : json_print(&text, value, JSON_REAL_PRECISION(15));
    file_show(out, n, rc != 0 ? "?" : buf_text(&text));
    buf_release(&text);
    return out;
}

/* The value of key; NULL where it is missing or null. */
static const json_t *find_member(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

static int refuse_member(const json_t *value, const char *key, const char *expected)
{
    char shown[SHOWN];
    return err_set(ERR_RANGE, "%s is %s, must be %s", key, json_shown(shown, sizeof shown, value),
                   expected);
}

int json_take_int(const json_t *object, const char *key, int64_t least, int64_t most, int64_t *out)
{
    const json_t *value = find_member(object, key);
    if (value == NULL)
        return 0;
    if (!json_is_integer(value) || json_integer_value(value) < least ||
        json_integer_value(value) > most) {
        char expected[80];
        snprintf(expected, sizeof expected, "a whole number %lld to %lld", (long long)least,
                 (long long)most);
        return refuse_member(value, key, expected);
    }
    *out = json_integer_value(value);
    return 0;
}

int json_take_number(const json_t *object, const char *key, double least, double most, double *out)
{
    const json_t *value = find_member(object, key);
    if (value == NULL)
        return 0;
    double x = json_number_value(value);
    if (!json_is_number(value) || !(x >= least && x <= most)) {
        char expected[80];
        snprintf(expected, sizeof expected, "a number %g to %g", least, most);
        return refuse_member(value, key, expected);
    }
    *out = x;
    return 0;
}

int json_take_bool(const json_t *object, const char *key, bool *out)
{
    const json_t *value = find_member(object, key);
    if (value == NULL)
        return 0;
    if (!json_is_boolean(value))
        return refuse_member(value, key, "true or false");
    *out = json_is_true(value);
    return 0;
}

int json_take_text(const json_t *object, const char *key, const char **out)
{
    const json_t *value = find_member(object, key);
    if (value == NULL)
        return 0;
    if (!json_is_string(value))
        return refuse_member(value, key, "a text");
    *out = json_string_value(value);
    return 0;
}

/* ---- writing ---- */

/* rc keeps the first error, since jansson ignores some of those that its callback returns. */
struct json_writer {
    struct buf *text;
    int rc;
};

static int add_json(const char *text, size_t n, void *user)
{
    struct json_writer *w = user;
    if (w->rc == 0)
        w->rc = buf_add(w->text, text, n);
    return w->rc;
}

/* jansson writes all the digits it is given: 0.05 comes as 0.050000000000000003. In place. */
static void shorten_numbers(struct buf *text, size_t from)
{
    char shortest[DECIMAL_BYTES], *to = text->data + from;
    bool quoted = false;
    for (const char *p = to; *p != '\0';) {
        bool number = !quoted && (*p == '-' || (*p >= '0' && *p <= '9'));
        size_t n = number ? strspn(p, "+-.0123456789eE") : 0;
        if (n == 0) {
            quoted ^= *p == '"';
            if (*p == '\\')
                *to++ = *p++;
            *to++ = *p++;
            continue;
        }
        size_t length = n;
        if (memchr(p, '.', n) != NULL && memcmp(p + n - 2, ".0", 2) != 0)
            length = strlen(decimal_of_double(shortest, strtod(p, NULL)));
        if (length < n)
            memcpy(to, shortest, length);
        else
            memmove(to, p, length = n);
        to += length;
        p += n;
    }
    *to = '\0';
    text->n = (size_t)(to - text->data);
}

int json_print(struct buf *out, const json_t *value, size_t flags)
{
    struct json_writer w = {.text = out};
    size_t before = out->n;
    if (value == NULL || json_dump_callback(value, add_json, &w, JSON_ENCODE_ANY | flags) != 0 ||
        w.rc != 0) {
        if (out->data != NULL)
            out->data[out->n = before] = '\0';
        return w.rc != 0 ? w.rc : err_set(ERR_NOMEM, "no memory for a value as JSON");
    }
    shorten_numbers(out, before);
    return 0;
}

int json_write_file(const char *path, const json_t *value)
{
    struct buf text = {0};
    err_clear();
    int rc = json_print(&text, value, JSON_INDENT(2));
    /* As in parse_value: out of memory, jansson silently leaves things out. */
    if (err_last() == ERR_NOMEM)
        rc = ERR_NOMEM;
    if (rc == 0)
        rc = file_write_whole(path, text.data, text.n, false);
    buf_release(&text);
    return rc;
}

json_t *json_of_float(float v)
{
    char text[DECIMAL_BYTES];
    return isfinite(v) ? json_real(strtod(decimal_of_float(text, v), NULL)) : json_null();
}

json_t *json_of_text(const char *text, size_t n)
{
    struct buf valid = {0};
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0;) {
        utf8proc_int32_t c;
        utf8proc_ssize_t used =
            utf8proc_iterate((const utf8proc_uint8_t *)text + i, (utf8proc_ssize_t)(n - i), &c);
        rc = used > 0 ? buf_add(&valid, text + i, (size_t)used) : buf_str(&valid, "\xef\xbf\xbd");
        i += (size_t)(used > 0 ? used : 1);
    }
    json_t *s = rc == 0 ? json_stringn(buf_text(&valid), valid.n) : NULL;
    buf_release(&valid);
    return s;
}
