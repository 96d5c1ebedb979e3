#include "sampling/schema/pattern_atom.h"

#include "model/base/err.h"
#include "model/base/file.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

static uint32_t next_character(const char **at)
{
    utf8proc_int32_t c;
    const utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)*at, -1, &c);
    *at += n > 0 ? n : 1;
    return n > 0 ? (uint32_t)c : 0xfffd;
}

static int hex_of(const char *text, size_t n, uint32_t *c)
{
    char digits[9] = {0}, *end;
    if (n == 0 || n >= sizeof digits || strnlen(text, n) < n)
        return -1;
    memcpy(digits, text, n);
    *c = (uint32_t)strtoul(digits, &end, 16);
    return strspn(digits, "0123456789abcdefABCDEF") == n && *c <= 0x10ffff ? 0 : -1;
}

/* After \u: XXXX, a pair of those, or {X}. */
static int read_unicode_escape(const char **at, uint32_t *c)
{
    uint32_t low;
    const size_t n = (*at)[0] == '{' ? strcspn(*at, "}") - 1 : 4;
    const char *from = *at + ((*at)[0] == '{');
    if (hex_of(from, n, c) != 0 || ((*at)[0] == '{' && from[n] != '}'))
        return err_set(ERR_FORMAT, "\\u needs four hexadecimal digits, or some in braces");
    *at = from + n + ((*at)[0] == '{');
    if (*c >> 10 == 0xd800 >> 10 && (*at)[0] == '\\' && (*at)[1] == 'u' &&
        hex_of(*at + 2, 4, &low) == 0 && low >> 10 == 0xdc00 >> 10) {
        *c = 0x10000 + ((*c & 0x3ff) << 10 | (low & 0x3ff));
        *at += 6;
    }
    return *c >> 11 == 0xd800 >> 11
               ? err_set(ERR_UNSUPPORTED, "half a surrogate pair is no character")
               : 0;
}

static const struct character_set digits = {{{'0', '9'}}, 1};
static const struct character_set words = {{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}, 4};
static const struct character_set spaces = {{{0x09, 0x0d},
                                             {0x20, 0x20},
                                             {0xa0, 0xa0},
                                             {0x1680, 0x1680},
                                             {0x2000, 0x200a},
                                             {0x2028, 0x2029},
                                             {0x202f, 0x202f},
                                             {0x205f, 0x205f},
                                             {0x3000, 0x3000},
                                             {0xfeff, 0xfeff}},
                                            10};
static const struct character_set line_ends = {{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}, 3};

/* Of \d and the like; NULL: it is none. */
static const struct character_set *set_of_letter(char c)
{
    return strchr("dD", c) != NULL   ? &digits
           : strchr("wW", c) != NULL ? &words
           : strchr("sS", c) != NULL ? &spaces
                                     : NULL;
}

static int refuse_escape(char c)
{
    const char *what = strchr("bB", c) != NULL           ? "a word boundary"
                       : strchr("pP", c) != NULL         ? "a Unicode property"
                       : strchr("123456789k", c) != NULL ? "a backreference"
                                                         : NULL;
    char escape[] = {'\\', c, '\0'};
    if (what != NULL)
        return err_set(ERR_UNSUPPORTED, "%s (%s) is not supported", what, escape);
    return err_set(ERR_FORMAT, "%s is no escape", file_quote(escape));
}

/* The escape of one character, behind its backslash. */
static int read_character_escape(const char **at, uint32_t *c, bool in_class)
{
    static const char letters[] = "tnrfv0", bytes[] = "\t\n\r\f\v";
    const char letter = **at;
    const char *known = letter != '\0' ? strchr(letters, letter) : NULL;
    if (letter == '\0')
        return err_set(ERR_FORMAT, "a backslash is the last character");
    if (letter == '0' && (*at)[1] >= '0' && (*at)[1] <= '9')
        return err_set(ERR_FORMAT, "an octal escape is not supported");
    if (letter == 'u') {
        (*at)++;
        return read_unicode_escape(at, c);
    }
    if (letter == 'x') {
        if (hex_of(*at + 1, 2, c) != 0)
            return err_set(ERR_FORMAT, "\\x needs two hexadecimal digits");
        *at += 3;
        return 0;
    }
    if (letter == 'c' && (((*at)[1] | 32) >= 'a' && ((*at)[1] | 32) <= 'z')) {
        *c = (uint32_t)(*at)[1] & 31;
        *at += 2;
        return 0;
    }
    const bool is_letter =
        ((letter | 32) >= 'a' && (letter | 32) <= 'z') || (letter >= '0' && letter <= '9');
    if (known == NULL && is_letter && !(in_class && letter == 'b'))
        return refuse_escape(letter);
    *c = known != NULL ? (uint32_t)bytes[known - letters] : next_character(at);
    if (known != NULL)
        (*at)++;
    else if (is_letter)
        *c = '\b';
    return 0;
}

static int add_letter_set(struct character_set *s, char letter)
{
    struct character_set other = *set_of_letter(letter);
    int rc = letter < 'a' ? character_set_complement(&other) : 0;
    return rc != 0 ? rc : character_set_add_all(s, &other);
}

/* One end of a range; *is_set: it was \d or the like, which is in s now. */
static int read_class_atom(const char **at, struct character_set *s, uint32_t *c, bool *is_set)
{
    *is_set = **at == '\\' && (*at)[1] != '\0' && set_of_letter((*at)[1]) != NULL;
    if (*is_set) {
        *at += 2;
        return add_letter_set(s, (*at)[-1]);
    }
    if (**at == '\\') {
        (*at)++;
        return read_character_escape(at, c, true);
    }
    *c = next_character(at);
    return 0;
}

/* Behind the bracket. */
static int read_class(const char **at, struct character_set *s)
{
    const bool negated = **at == '^';
    int rc = 0;
    *at += negated;
    while (**at != ']' && **at != '\0' && rc == 0) {
        uint32_t first, last;
        bool is_set, ends_in_set = false;
        if ((rc = read_class_atom(at, s, &first, &is_set)) != 0)
            break;
        last = first = is_set ? 0 : first;
        const bool ranges = (*at)[0] == '-' && (*at)[1] != ']' && (*at)[1] != '\0';
        if (ranges) {
            (*at)++;
            if ((rc = read_class_atom(at, s, &last, &ends_in_set)) != 0)
                break;
        }
        if (ranges && (is_set || ends_in_set)) { /* a hyphen, as browsers and Python read it */
            if ((rc = character_set_add(s, '-', '-')) == 0 && !is_set)
                rc = character_set_add(s, first, first);
            if (rc == 0 && !ends_in_set)
                rc = character_set_add(s, last, last);
        } else if (last < first)
            rc = err_set(ERR_FORMAT, "a range of a class is out of order");
        else if (!is_set)
            rc = character_set_add(s, first, last);
    }
    if (rc == 0 && **at != ']')
        rc = err_set(ERR_FORMAT, "a class has no ]");
    (*at)++;
    return rc == 0 && negated ? character_set_complement(s) : rc;
}

int pattern_read_atom(const char **at, struct character_set *s)
{
    uint32_t c;
    int rc = 0;
    const char first = **at;
    if (first == '[') {
        (*at)++;
        return read_class(at, s);
    }
    if (first == '.') {
        (*at)++;
        return (rc = character_set_add_all(s, &line_ends)) != 0 ? rc : character_set_complement(s);
    }
    if (first == '\\' && (*at)[1] != '\0' && set_of_letter((*at)[1]) != NULL) {
        *at += 2;
        return add_letter_set(s, (*at)[-1]);
    }
    if (first == '^' || first == '$')
        return err_set(ERR_UNSUPPORTED, "%c is supported only at the ends", first);
    if (strchr("*+?{)", first) != NULL)
        return err_set(ERR_FORMAT,
                       first == ')' ? "a ) closes no group" : "a quantifier has nothing to repeat");
    if (first == '\\') {
        (*at)++;
        rc = read_character_escape(at, &c, false);
    } else {
        c = next_character(at);
    }
    return rc != 0 ? rc : character_set_add(s, c, c);
}
