#include "repl/bench/pattern.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int refuse_pattern(const char *text, const char *what)
{
    return err_set(ERR_FORMAT, "the expression %s %s", file_quote(text), what);
}

/* A set in brackets, from its [ on; Python's escapes in it become what they stand for. */
static int copy_set(struct buf *out, const char **at, const char *whole)
{
    const char *p = *at;
    int rc = buf_char(out, *p++);
    if (*p == '^' && rc == 0)
        rc = buf_char(out, *p++);
    for (bool first = true; rc == 0 && *p != '\0' && (first || *p != ']'); first = false, p++) {
        if (*p == '[' && strchr(":.=", p[1]) != NULL && p[1] != '\0')
            return refuse_pattern(whole, "has a named class, which is not taken");
        if (*p != '\\')
            rc = buf_char(out, *p);
        else if (*++p == 'd')
            rc = buf_str(out, "0-9");
        else if (*p == 's')
            rc = buf_str(out, " \t");
        else if (*p != '\0' && strchr("/.,%+*()|$", *p) != NULL)
            rc = buf_char(out, *p);
        else
            return refuse_pattern(whole, "has an escape in brackets that is not taken");
    }
    if (rc == 0 && *p == '\0')
        return refuse_pattern(whole, "has a bracket that is not closed");
    *at = p;
    return rc == 0 ? buf_char(out, ']') : rc;
}

/* "{2,5}": only small counts, and few. */
static int copy_count(struct buf *out, const char **at, int *counts, const char *whole)
{
    const char *p = *at + 1;
    char *end;
    if (++*counts > PATTERN_COUNTS)
        return refuse_pattern(whole, "has more than 2 counts in braces");
    for (; *p != '}'; p = end + (*end == ',')) {
        if (*p == ' ' || *p == '-' || *p == '+' || strtol(p, &end, 10) > PATTERN_COUNT || end == p)
            return refuse_pattern(whole, "has braces that are not counts up to 100");
        if (*end != ',' && *end != '}')
            return refuse_pattern(whole, "has braces that are not counts up to 100");
    }
    const int rc = buf_add(out, *at, (size_t)(p + 1 - *at));
    *at = p;
    return rc;
}

/* ".*?" or ".+?" at p: up to the character that comes next, behind parentheses too. */
static int copy_lazy(struct buf *out, const char *p, const char *whole)
{
    const char *next = p + 3 + strspn(p + 3, ")");
    next += *next == '\\';
    if (*next == '\0' || (unsigned char)*next >= 0x80 ||
        (next[-1] == '\\' ? isalnum((unsigned char)*next) != 0
                          : strchr(".[(*+?{|^$", *next) != NULL))
        return refuse_pattern(whole, "has .*? with no character behind it to end it");
    return buf_printf(out, "[^%c]%c", *next, p[1]);
}

static int translate_pattern(struct buf *out, const char *text)
{
    int rc = 0, counts = 0;
    for (const char *p = text; *p != '\0' && rc == 0; p++) {
        const bool repeats = *p == '*' || *p == '+' || *p == '?' || *p == '}';
        if (*p == '\\' && p[1] == 'd') {
            rc = buf_str(out, "[0-9]");
            p++;
        } else if (*p == '\\' && (isdigit((unsigned char)p[1]) || p[1] == '\0')) {
            return refuse_pattern(text, "has a backreference, which is not taken");
        } else if (*p == '\\') {
            rc = buf_add(out, p++, 2);
        } else if (*p == '[') {
            rc = copy_set(out, &p, text);
        } else if (*p == '.' && (p[1] == '*' || p[1] == '+') && p[2] == '?') {
            rc = copy_lazy(out, p, text);
            p += 2;
        } else if (*p == '(' && p[1] == '?') {
            return refuse_pattern(text, "has (?, which is not taken");
        } else if (*p == '{') {
            rc = copy_count(out, &p, &counts, text);
        } else if (repeats && (p[1] == '?' || p[1] == '*' || p[1] == '+' || p[1] == '{')) {
            return refuse_pattern(text, "has a repetition of a repetition");
        } else {
            rc = buf_char(out, *p);
        }
    }
    return rc;
}

int pattern_compile(struct pattern *p, const char *text)
{
    struct buf posix = {0};
    char why[128];
    if (*text == '\0' || strlen(text) > PATTERN_BYTES)
        return err_set(ERR_FORMAT, "an expression has 1 to %d characters, not %zu", PATTERN_BYTES,
                       strlen(text));
    int rc = translate_pattern(&posix, text);
    if (rc == 0) {
        const int failed = regcomp(&p->regex, buf_text(&posix), REG_EXTENDED);
        p->compiled = failed == 0;
        if (failed != 0) {
            regerror(failed, &p->regex, why, sizeof why);
            rc = err_set(ERR_FORMAT, "the expression %s is not valid: %s", file_quote(text), why);
        } else if (p->regex.re_nsub > 1) {
            rc = refuse_pattern(text, "has more than one group");
        }
    }
    buf_release(&posix);
    if (rc != 0)
        pattern_release(p);
    return rc;
}

void pattern_release(struct pattern *p)
{
    if (p->compiled)
        regfree(&p->regex);
    p->compiled = false;
}

int numbers_add(struct numbers *out, double x)
{
    if (out->n == PATTERN_FOUND)
        return err_set(ERR_FULL, "more than %d numbers were found", PATTERN_FOUND);
    if (out->n == out->cap) {
        const size_t more = 2 * out->cap + 16;
        double *grown = mem_grow(out->list, out->cap * sizeof *grown, more * sizeof *grown);
        if (grown == NULL)
            return ERR_NOMEM;
        out->list = grown;
        out->cap = more;
    }
    out->list[out->n++] = x;
    return 0;
}

void numbers_release(struct numbers *out)
{
    mem_free(out->list);
    *out = (struct numbers){0};
}

static int take_number(struct numbers *out, const char *text, size_t n)
{
    char digits[64], *end, shown[80];
    size_t kept = 0;
    while (n > 0 && strchr(" \t,.", text[n - 1]) != NULL)
        n--;
    for (size_t i = 0; i < n && kept + 1 < sizeof digits; i++)
        if (strchr(" \t,", text[i]) == NULL)
            digits[kept++] = text[i];
    digits[kept] = '\0';
    const double x = strtod(digits, &end);
    if (kept == 0 || *end != '\0' || !isfinite(x) || kept + 1 == sizeof digits) {
        snprintf(digits, sizeof digits, "%.*s", n < 40 ? (int)n : 40, text);
        return err_set(ERR_FORMAT, "found %s, which is not a number",
                       file_show(shown, sizeof shown, n == 0 ? "nothing" : digits));
    }
    return numbers_add(out, x);
}

static int find_in_line(const struct pattern *p, struct numbers *out, const char *line)
{
    regmatch_t m[2];
    int flags = 0, rc = 0;
    while (rc == 0 && *line != '\0' && regexec(&p->regex, line, 2, m, flags) == 0) {
        const regmatch_t *g = p->regex.re_nsub == 1 ? &m[1] : &m[0];
        if (g->rm_so >= 0)
            rc = take_number(out, line + g->rm_so, (size_t)(g->rm_eo - g->rm_so));
        if (m[0].rm_eo == 0)
            line++;
        line += m[0].rm_eo;
        flags = REG_NOTBOL;
    }
    return rc;
}

int pattern_find(const struct pattern *p, struct numbers *out, const char *text, size_t n)
{
    int rc = 0;
    for (size_t at = 0; at < n && rc == 0;) {
        size_t length = 0;
        while (at + length < n && strchr("\r\n", text[at + length]) == NULL)
            length++;
        char *line = mem_sprintf("%.*s", (int)(length < 1 << 20 ? length : 1 << 20), text + at);
        rc = line == NULL ? ERR_NOMEM : find_in_line(p, out, line);
        mem_free(line);
        at += length + 1;
    }
    return rc;
}
