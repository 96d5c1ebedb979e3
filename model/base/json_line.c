#include "model/base/json_line.h"

#include "model/base/utf8.h"

#include <stdint.h>
#include <string.h>

enum { MEMBERS = 32, DEPTH = 8, DIGITS = 18, EXPONENT_DIGITS = 2 };

struct json_scan {
    const unsigned char *at, *end;
    const char *name; /* of the wanted member */
    size_t name_bytes;
    char *to; /* behind what was decoded of its text */
    bool got;
};

static bool scan_value(struct json_scan *s, int depth);

/* ---- strings ---- */

/* Of 8 bytes the high bits of those that are a quote, a backslash, a control character or beyond
 * ASCII; a byte above such a one may be marked too. */
static uint64_t mark_special(uint64_t x)
{
    const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
    const uint64_t quote = x ^ ones * '"', slash = x ^ ones * '\\';
    return ((x - ones * ' ') | (quote - ones) | (slash - ones) | x) & high;
}

/* Pass over the plain characters of a string, and copy them where `to` is not NULL. */
static char *scan_plain(struct json_scan *s, char *to)
{
    for (uint64_t x; s->end - s->at >= 8; s->at += 8) {
        memcpy(&x, s->at, sizeof x);
        if (to != NULL)
            memcpy(to, &x, sizeof x); /* there is room for the line's length */
        const uint64_t marks = mark_special(x);
        const int n = marks == 0 ? 8 : __builtin_ctzll(marks) / 8;
        to = to == NULL ? NULL : to + n;
        if (n < 8) {
            s->at += n;
            break;
        }
    }
    while (s->at < s->end && *s->at >= ' ' && *s->at < 0x80 && *s->at != '"' && *s->at != '\\') {
        if (to != NULL)
            *to++ = (char)*s->at;
        s->at++;
    }
    return to;
}

static int hex_digit(unsigned char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The number of \uXXXX, which is passed over; -1: there is none here. */
static int32_t scan_escaped_number(struct json_scan *s)
{
    int32_t number = 0;
    if (s->end - s->at < 6 || s->at[0] != '\\' || s->at[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        const int digit = hex_digit(s->at[i]);
        if (digit < 0)
            return -1;
        number = number << 4 | digit;
    }
    s->at += 6;
    return number;
}

static char *put_character(char *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    *to++ = (char)(first[more] | c >> 6 * more);
    for (int i = more - 1; i >= 0; i--)
        *to++ = (char)(0x80 | (c >> 6 * i & 0x3f));
    return to;
}

/* An escape, decoded at *to unless that is NULL. Half a surrogate pair is not taken. */
static bool scan_escape(struct json_scan *s, char **to)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (s->end - s->at < 2)
        return false;
    const char *simple = memchr(names, s->at[1], sizeof names - 1);
    int32_t c = simple != NULL ? values[simple - names] : scan_escaped_number(s);
    if (simple != NULL)
        s->at += 2;
    if (c < 0 || c >> 10 == 0xdc00 >> 10)
        return false;
    if (c >> 10 == 0xd800 >> 10) {
        const int32_t low = scan_escaped_number(s);
        if (low < 0 || low >> 10 != 0xdc00 >> 10)
            return false;
        c = 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff));
    }
    if (*to != NULL)
        *to = put_character(*to, (uint32_t)c);
    return true;
}

/* A string behind its first quote, the last one with it; decoded at *to unless that is NULL. */
static bool scan_string(struct json_scan *s, char **to)
{
    for (;;) {
        *to = scan_plain(s, *to);
        if (s->at == s->end)
            return false;
        if (*s->at == '"') {
            s->at++;
            return true;
        }
        if (*s->at == '\\') {
            if (!scan_escape(s, to))
                return false;
            continue;
        }
        const size_t n = utf8_bytes(s->at, s->end);
        if (n == 0)
            return false;
        if (*to != NULL) {
            memcpy(*to, s->at, n);
            *to += n;
        }
        s->at += n;
    }
}

/* ---- other values ---- */

static void skip_spaces(struct json_scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r' || *s->at == '\n'))
        s->at++;
}

static bool skip_character(struct json_scan *s, char c)
{
    if (s->at == s->end || *s->at != (unsigned char)c)
        return false;
    s->at++;
    return true;
}

static bool skip_word(struct json_scan *s, const char *word)
{
    const size_t n = strlen(word);
    if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0)
        return false;
    s->at += n;
    return true;
}

/* Whether there are digits, but no more than `most`. */
static bool skip_digits(struct json_scan *s, int most)
{
    int n = 0;
    for (; s->at < s->end && *s->at >= '0' && *s->at <= '9' && n <= most; n++)
        s->at++;
    return n > 0 && n <= most;
}

/* So few digits that 64 bits, or a double, have it. */
static bool scan_number(struct json_scan *s)
{
    skip_character(s, '-');
    if (!skip_character(s, '0') && !skip_digits(s, DIGITS))
        return false;
    if (skip_character(s, '.') && !skip_digits(s, DIGITS))
        return false;
    if (!skip_character(s, 'e') && !skip_character(s, 'E'))
        return true;
    if (!skip_character(s, '-'))
        skip_character(s, '+');
    return skip_digits(s, EXPONENT_DIGITS);
}

static bool scan_list(struct json_scan *s, int depth)
{
    skip_spaces(s);
    if (skip_character(s, ']'))
        return true;
    do {
        if (!scan_value(s, depth + 1))
            return false;
        skip_spaces(s);
    } while (skip_character(s, ','));
    return skip_character(s, ']');
}

/* The names of an object so far, since none may come twice. */
struct json_names {
    const unsigned char *first[MEMBERS];
    size_t bytes[MEMBERS];
    int n;
};

/* A name, unlike those before it and without escapes, and its colon. */
static bool scan_name(struct json_scan *s, struct json_names *names)
{
    char *to = NULL;
    skip_spaces(s);
    if (names->n == MEMBERS || !skip_character(s, '"'))
        return false;
    const unsigned char *first = s->at;
    if (!scan_string(s, &to))
        return false;
    const size_t bytes = (size_t)(s->at - first) - 1;
    if (memchr(first, '\\', bytes) != NULL)
        return false;
    for (int i = 0; i < names->n; i++)
        if (names->bytes[i] == bytes && memcmp(names->first[i], first, bytes) == 0)
            return false;
    names->first[names->n] = first;
    names->bytes[names->n++] = bytes;
    skip_spaces(s);
    return skip_character(s, ':');
}

static bool is_wanted(const struct json_scan *s, const struct json_names *names, int depth)
{
    return depth == 0 && names->bytes[names->n - 1] == s->name_bytes &&
           memcmp(names->first[names->n - 1], s->name, s->name_bytes) == 0;
}

static bool scan_object(struct json_scan *s, int depth)
{
    struct json_names names;
    names.n = 0;
    skip_spaces(s);
    if (skip_character(s, '}'))
        return true;
    do {
        if (!scan_name(s, &names))
            return false;
        if (is_wanted(s, &names, depth)) {
            skip_spaces(s);
            s->got = skip_character(s, '"') && scan_string(s, &s->to);
            if (!s->got)
                return false;
        } else if (!scan_value(s, depth + 1)) {
            return false;
        }
        skip_spaces(s);
    } while (skip_character(s, ','));
    return skip_character(s, '}');
}

static bool scan_value(struct json_scan *s, int depth)
{
    char *to = NULL;
    skip_spaces(s);
    if (s->at == s->end || depth == DEPTH)
        return false;
    switch (*s->at) {
    case '"':
        s->at++;
        return scan_string(s, &to);
    case '{':
        s->at++;
        return scan_object(s, depth);
    case '[':
        s->at++;
        return scan_list(s, depth);
    case 't':
        return skip_word(s, "true");
    case 'f':
        return skip_word(s, "false");
    case 'n':
        return skip_word(s, "null");
    default:
        return scan_number(s);
    }
}

int json_line_text(struct buf *out, bool *got, const char *line, size_t n, const char *name)
{
    int rc = buf_reserve(out, n); /* no text is longer than what it is decoded from */
    *got = false;
    if (rc != 0)
        return rc;
    struct json_scan s = {.at = (const unsigned char *)line,
                          .end = (const unsigned char *)line + n,
                          .name = name,
                          .name_bytes = strlen(name),
                          .to = out->data + out->n};
    skip_spaces(&s);
    *got = skip_character(&s, '{') && scan_object(&s, 0) && s.got;
    skip_spaces(&s);
    *got = *got && s.at == s.end;
    if (*got)
        out->n = (size_t)(s.to - out->data);
    out->data[out->n] = '\0';
    return 0;
}
