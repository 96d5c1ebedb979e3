#include "model/tokenizer/pretokenize.h"

#include <utf8proc.h>

#define O CHAR_OTHER
#define L CHAR_LETTER
#define N CHAR_NUMBER
#define S CHAR_SPACE
/* White_Space has U+0009..D, but not U+001C..1F, which other definitions of space include. */
static const unsigned char ascii[128] = {
    O, O, O, O, O, O, O, O, O, S, S, S, S, S, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O,
    S, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, N, N, N, N, N, N, N, N, N, N, O, O, O, O, O, O,
    O, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, O, O, O, O, O,
    O, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, O, O, O, O, O,
};
#undef O
#undef L
#undef N
#undef S

static enum char_class wide_class(const char *text, size_t n, size_t *length)
{
    utf8proc_int32_t c;
    utf8proc_ssize_t bytes =
        utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)(n < 4 ? n : 4), &c);
    if (bytes <= 0) {
        *length = 1;
        return CHAR_OTHER;
    }
    *length = (size_t)bytes;
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
        return CHAR_LETTER;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return CHAR_NUMBER;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return CHAR_SPACE;
    default:
        return c == 0x85 ? CHAR_SPACE : CHAR_OTHER; /* the one control above ASCII */
    }
}

/* inline: the loops below are short. */
inline enum char_class char_class(const char *text, size_t n, size_t *length)
{
    unsigned char c = (unsigned char)text[0];
    if (c < 128) {
        *length = 1;
        return ascii[c];
    }
    return wide_class(text, n, length);
}

/* The end of the run of characters of this class from `at` on. */
static size_t run_end(const char *text, size_t n, size_t at, enum char_class class)
{
    size_t length;
    for (;;) {
        while (at < n && (signed char)text[at] >= 0 && ascii[(unsigned char)text[at]] == class)
            at++;
        if (at == n || (signed char)text[at] >= 0 ||
            wide_class(text + at, n - at, &length) != class)
            return at;
        at += length;
    }
}

/* Bytes of 's 't 're 've 'm 'll 'd at the beginning; 0: none. */
static size_t contraction_length(const char *text, size_t n)
{
    if (n < 2)
        return 0;
    switch (text[1]) {
    case 's':
    case 't':
    case 'm':
    case 'd':
        return 2;
    case 'r':
    case 'v':
        return n > 2 && text[2] == 'e' ? 3 : 0;
    case 'l':
        return n > 2 && text[2] == 'l' ? 3 : 0;
    default:
        return 0;
    }
}

/* \s+(?!\S)|\s+: all spaces if the text ends with them, else all but the last, which joins what
 * follows or stands alone. */
static size_t spaces_length(const char *text, size_t n)
{
    size_t at = 0, last = 0, length;
    while (at < n && char_class(text + at, n - at, &length) == CHAR_SPACE) {
        last = at;
        at += length;
    }
    return at == n || last == 0 ? at : last;
}

size_t pretokenize_next(const char *text, size_t n)
{
    size_t length, apostrophe;
    enum char_class class = char_class(text, n, &length);
    if (text[0] == '\'' && (apostrophe = contraction_length(text, n)) != 0)
        return apostrophe;
    if (text[0] == ' ' && n > 1) {
        size_t second;
        enum char_class next = char_class(text + 1, n - 1, &second);
        if (next != CHAR_SPACE)
            return run_end(text, n, 1 + second, next);
    }
    return class == CHAR_SPACE ? spaces_length(text, n) : run_end(text, n, length, class);
}
