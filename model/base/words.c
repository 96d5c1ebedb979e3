#include "model/base/words.h"

#include "model/base/buf.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/utf8.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The escape at p[0] = '\\': its byte in *out. Returns its length, 0 if it is unknown. */
static size_t read_escape(const char *p, char *out)
{
    static const char letters[] = "ntrabfve0\\\"',";
    static const char bytes[] = "\n\t\r\a\b\f\v\x1b\0\\\"',";
    if (p[1] == 'x' && hex_digit(p[2]) >= 0 && hex_digit(p[3]) >= 0) {
        *out = (char)(hex_digit(p[2]) << 4 | hex_digit(p[3]));
        return 4;
    }
    const char *at = p[1] ? strchr(letters, p[1]) : NULL;
    if (!at)
        return 0;
    *out = bytes[at - letters];
    return 2;
}

/* Bytes up to the next comma that separates words, before unescaping. */
static size_t word_length(const char *p)
{
    size_t n = 0;
    while (p[n] != '\0' && p[n] != ',')
        n += p[n] == '\\' && p[n + 1] != '\0' ? 2 : 1;
    return n;
}

int words_parse(struct words *out, const char *text)
{
    *out = (struct words){0};
    if (!text || !*text)
        return 0;
    size_t length = strlen(text), most = 1;
    for (size_t i = 0; i < length; i++)
        most += text[i] == ',';
    out->list = mem_array(most, sizeof *out->list);
    if (!out->list)
        return ERR_NOMEM;
    for (const char *p = text;; p++) {
        struct word *w = &out->list[out->n];
        w->bytes = mem_alloc(word_length(p) + 1);
        if (!w->bytes) {
            words_release(out);
            return ERR_NOMEM;
        }
        out->n++;
        while (*p && *p != ',') {
            char c = *p;
            size_t step = c == '\\' ? read_escape(p, &c) : 1;
            if (!step) {
                const size_t more =
                    utf8_bytes((const unsigned char *)p + 1, (const unsigned char *)p + strlen(p));
                int rc = err_set(ERR_RANGE,
                                 "unknown escape \\%.*s in \"%s\": write \\\\ for a backslash",
                                 more > 1 ? (int)more : 1, p + 1, file_quote(text));
                words_release(out);
                return rc;
            }
            w->bytes[w->n++] = c;
            p += step;
        }
        if (!w->n) {
            int rc = err_set(ERR_RANGE, "empty word in \"%s\": write \\, for a comma inside a word",
                             file_quote(text));
            words_release(out);
            return rc;
        }
        if (!*p)
            return 0;
    }
}

void words_release(struct words *w)
{
    for (size_t i = 0; i < w->n; i++)
        mem_free(w->list[i].bytes);
    mem_free(w->list);
    *w = (struct words){0};
}

char *words_undo_escapes(const char *text)
{
    char *out = mem_strdup(text), *to = out;
    for (const char *p = text; out != NULL && *p != '\0'; to++) {
        char c = *p;
        const bool escape = c == '\\' && p[1] != '\0' && strchr("ntr\\", p[1]) != NULL;
        p += escape ? read_escape(p, &c) : 1;
        *to = c;
    }
    if (out != NULL)
        *to = '\0';
    return out;
}

char *words_escape(const char *text)
{
    static const char controls[] = "\n\t\r", letters[] = "ntr";
    struct buf out = {0};
    int rc = buf_str(&out, "");
    for (const char *p = text; *p != '\0' && rc == 0; p++) {
        const char *control = strchr(controls, *p);
        if (control != NULL)
            rc = buf_printf(&out, "\\%c", letters[control - controls]);
        else if (*p == '\\' && p[1] != '\0' && strchr(controls, p[1]) != NULL)
            rc = buf_str(&out, "\\\\"); /* which would be part of the escape that follows */
        else if ((rc = buf_char(&out, *p)) == 0 && *p == '\\' && p[1] != '\0')
            rc = buf_char(&out, *++p);
    }
    if (rc == 0)
        return out.data;
    buf_release(&out);
    return NULL;
}

/* The length of the quoted part at the front of text [n]; 0: there is none. Escapes are those of
 * words, so one of a quote does not end it. */
static size_t quoted_length(const char *text, size_t n)
{
    size_t at = 1;
    if (n < 2 || (*text != '"' && *text != '\''))
        return 0;
    while (at < n && text[at] != *text)
        at += text[at] == '\\' ? 2 : 1;
    return at < n ? at + 1 : 0;
}

static size_t skip_spaces(const char *text, size_t at, size_t n)
{
    while (at < n && text[at] == ' ')
        at++;
    return at;
}

/* A word between quotes, with an escape before each comma of its own. */
static int add_unquoted(struct buf *out, bool first, const char *inner, size_t n)
{
    int rc = first ? 0 : buf_char(out, ',');
    for (size_t i = 0; i < n && rc == 0; i++) {
        const size_t step = inner[i] == '\\' && i + 1 < n ? 2 : 1;
        if (inner[i] == ',')
            rc = buf_char(out, '\\');
        if (rc == 0)
            rc = buf_add(out, inner + i, step);
        i += step - 1;
    }
    return rc;
}

int words_unquote(char **out, const char *text, size_t n)
{
    struct buf list = {0};
    size_t at = 0, words = 0, length;
    int rc = 0;
    *out = NULL;
    bool more = true;
    for (; more && rc == 0 && (length = quoted_length(text + at, n - at)) > 0; words++) {
        rc = add_unquoted(&list, words == 0, text + at + 1, length - 2);
        at = skip_spaces(text, at + length, n);
        more = at < n && text[at] == ',';
        if (rc == 0 && !more && quoted_length(text + at, n - at) > 0)
            rc = err_set(ERR_RANGE, "a comma is missing between words in quotes");
        at = more ? skip_spaces(text, at + 1, n) : at;
    }
    if (rc == 0 && !more && at == n && words > 1 && (*out = mem_strdup(buf_text(&list))) == NULL)
        rc = ERR_NOMEM;
    buf_release(&list);
    return rc;
}

int words_check(const char *name, const char *text)
{
    struct words words;
    int rc = words_parse(&words, text);
    words_release(&words);
    return rc == 0 ? 0 : err_wrap("%s", name);
}

enum { LONGEST_NAME = 63 };

static bool same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Optimal string alignment distance (restricted Damerau-Levenshtein), ignoring case. */
static size_t edit_distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    size_t rows[3][LONGEST_NAME + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= n_b; j++)
        last[j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        now[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            size_t best = last[j - 1] + !same_letter(a[i - 1], b[j - 1]);
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
                same_letter(a[i - 2], b[j - 1]) && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
        size_t *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[n_b];
}

/* Most of the longer one is in the other, or the name begins it: "foo" is not near "top". */
static bool is_like(const char *name, size_t length, const char *other, size_t n_other, size_t d)
{
    return 2 * d < (length > n_other ? length : n_other) ||
           (length > 0 && strncasecmp(name, other, length) == 0);
}

const char *words_nearest(const char *name, const char *const *names, size_t n)
{
    size_t length = strlen(name);
    size_t best = length / 3 > 2 ? length / 3 : 2;
    const char *nearest = NULL;
    if (length > LONGEST_NAME)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        size_t other = strlen(names[i]);
        if (other > LONGEST_NAME)
            continue;
        size_t d = edit_distance(name, length, names[i], other);
        if (d < best + !nearest && is_like(name, length, names[i], other, d)) {
            best = d;
            nearest = names[i];
        }
    }
    return nearest;
}
