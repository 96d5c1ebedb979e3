#include "model/base/setting.h"

#include "model/base/decimal.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/words.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool setting_same_name(const char *a, const char *b)
{
    for (; *a != '\0' && *b != '\0'; a++, b++)
        if ((*a == '-' ? '_' : *a) != (*b == '-' ? '_' : *b))
            return false;
    return *a == *b;
}

bool setting_called(const struct setting *s, const char *name)
{
    char one[64];
    if (setting_same_name(s->name, name) || (*name != '\0' && *name == s->letter && !name[1]))
        return true;
    for (const char *p = s->also; p != NULL && *p != '\0'; p += *p == '|') {
        size_t n = strcspn(p, "|");
        snprintf(one, sizeof one, "%.*s", (int)n, p);
        if (setting_same_name(one, name))
            return true;
        p += n;
    }
    return false;
}

bool setting_is_list(const struct setting *s)
{
    const size_t n = s->argument == NULL ? 0 : strlen(s->argument);
    return s->type == SETTING_STRING && n >= 4 && strcmp(s->argument + n - 4, ",...") == 0;
}

int setting_unknown(const char *name, const char *const *names, size_t n)
{
    char *shown = file_visible(name);
    for (char *p = shown; p != NULL && *p != '\0'; p++)
        *p = *p == '-' ? '_' : *p;
    const char *near = words_nearest(shown == NULL ? "" : shown, names, n);
    if (near != NULL)
        err_set(ERR_MISSING, "there is no setting %s; did you mean %s?", shown, near);
    else
        err_set(ERR_MISSING, "there is no setting %s", shown == NULL ? "of that name" : shown);
    mem_free(shown);
    return ERR_MISSING;
}

/* Whether text is one of the names in "fp16|f16|half", in any case: Python writes True. */
static bool is_among_names(const char *names, const char *text)
{
    size_t n = strlen(text);
    if (strchr(text, '|') != NULL)
        return false;
    for (const char *p = names; n > 0 && p != NULL; p = strchr(p, '|')) {
        p += *p == '|';
        if (strncasecmp(p, text, n) == 0 && (p[n] == '|' || p[n] == '\0'))
            return true;
    }
    return false;
}

static int first_name_length(const char *names)
{
    return (int)strcspn(names, "|");
}

/* Whether six digits are enough: 0.9999999 must not be shown as 1. */
static bool is_short_number(double x)
{
    char text[32];
    snprintf(text, sizeof text, "%g", x);
    return strtod(text, NULL) == x || (float)strtod(text, NULL) == (float)x;
}

/* Whether it has no end that anybody gets to. */
static bool is_unbounded(const struct setting *s)
{
    return s->type == SETTING_UINT64 || (s->type == SETTING_INT64 && s->max > 9e15);
}

/* "0 to 1e7", "1 to 2147483647"; "0 or more". */
static int whole_range(const struct setting *s, struct buf *out)
{
    char max[40];
    if (is_unbounded(s))
        return buf_printf(out, "%.0f or more", s->min);
    snprintf(max, sizeof max, s->max >= 1e6 && is_short_number(s->max) ? "%g" : "%.0f", s->max);
    return buf_printf(out, "%.0f to %s", s->min, decimal_shorten(max));
}

static int number_range(const struct setting *s, struct buf *out)
{
    char min[40], max[40];
    snprintf(min, sizeof min, "%g", s->min);
    snprintf(max, sizeof max, "%.*g", is_short_number(s->max) ? 6 : 8, s->max);
    return buf_printf(out, "%s%s to %s", s->or_auto ? "auto or " : "", decimal_shorten(min),
                      decimal_shorten(max));
}

int setting_range(const struct setting *s, struct buf *out)
{
    switch (s->type) {
    case SETTING_BOOL:
        return buf_str(out, "on or off");
    case SETTING_INT:
    case SETTING_INT64:
    case SETTING_UINT64:
        return whole_range(s, out);
    case SETTING_FLOAT:
    case SETTING_DOUBLE:
        return number_range(s, out);
    case SETTING_CHOICE:
        for (int i = 0; s->choices[i] != NULL; i++) {
            const char *between = i == 0 ? "" : s->choices[i + 1] == NULL ? " or " : ", ";
            int rc =
                buf_printf(out, "%s%.*s", between, first_name_length(s->choices[i]), s->choices[i]);
            if (rc != 0)
                return rc;
        }
        return 0;
    case SETTING_STRING:
    case SETTING_PATH:
    case SETTING_SHORTHAND:
        break;
    }
    return buf_str(out, "text");
}

/* "top_k must be a whole number, 0 to 1e7, not 1e9"; of a number too large for "0 or more" what it
 * may be at most. */
static int refuse_value(const struct setting *s, const char *text)
{
    struct buf range = {0};
    bool whole = s->type == SETTING_INT || s->type == SETTING_INT64 || s->type == SETTING_UINT64;
    setting_range(s, &range);
    if (is_unbounded(s) && *text != '\0' && text[strspn(text, "0123456789")] == '\0')
        buf_printf(&range, ", at most %" PRIu64,
                   s->type == SETTING_UINT64 ? UINT64_MAX : (uint64_t)s->max);
    const bool elsewhere = s->minus_one != NULL && strcmp(text, "-1") == 0;
    err_set(ERR_RANGE, "%s must be %s%s, not %s%s%s", s->name, whole ? "a whole number, " : "",
            buf_text(&range), *text == '\0' ? "empty" : file_quote(text), elsewhere ? "; " : "",
            elsewhere ? s->minus_one : "");
    buf_release(&range);
    return ERR_RANGE;
}

/* "1e6", as ranges are shown: of a whole number, which the text says exactly, its digits. */
static const char *without_exponent(char out[32], const char *text)
{
    char *end;
    const double v = strtod(text, &end);
    const bool exponent =
        strpbrk(text, "eE") != NULL && text[strspn(text, "0123456789.eE+")] == '\0';
    if (!exponent || *end != '\0' || v != floor(v) || v > 9e15)
        return text;
    snprintf(out, 32, "%.0f", v);
    return out;
}

static int parse_whole(const struct setting *s, void *place, const char *text)
{
    char *end, plain[32];
    const char *digits = without_exponent(plain, text);
    errno = 0;
    if (s->type == SETTING_UINT64) {
        uint64_t v = strtoull(digits, &end, 10);
        if (strspn(digits, "0123456789") == 0 || *end != '\0' || errno != 0)
            return refuse_value(s, text);
        memcpy(place, &v, sizeof v);
        return 0;
    }
    int64_t v = strtoll(digits, &end, 10);
    bool whole = strspn(digits + (*digits == '-' || *digits == '+'), "0123456789") > 0;
    if (!whole || *end != '\0' || errno != 0 || (double)v < s->min || (double)v > s->max)
        return refuse_value(s, text);
    if (s->type == SETTING_INT64)
        memcpy(place, &v, sizeof v);
    else
        *(int *)place = (int)v;
    return 0;
}

static int parse_number(const struct setting *s, void *place, const char *text)
{
    char *end;
    if (s->or_auto && strcmp(text, "auto") == 0) {
        *(double *)place = SETTING_AUTO;
        return 0;
    }
    /* The locale is never set for numbers, so the decimal point is a point. strtod also takes
     * hexadecimal numbers and leading spaces, which are refused here. */
    double v = strtod(text, &end);
    if (text[strspn(text, "+-0123456789.eE")] != '\0' || *end != '\0' || end == text ||
        !(v >= s->min && v <= s->max))
        return refuse_value(s, text);
    if (s->type == SETTING_DOUBLE)
        *(double *)place = v;
    else
        *(float *)place = (float)v;
    return 0;
}

static int parse_string(const struct setting *s, char **place, const char *text)
{
    char *fresh = s->type == SETTING_PATH  ? file_expand(text)
                  : s->escapes || s->texts ? words_escape(text)
                                           : mem_strdup(text);
    if (fresh == NULL)
        return ERR_NOMEM;
    mem_free(*place);
    *place = fresh;
    return 0;
}

int setting_parse(const struct setting *s, void *base, const char *text)
{
    void *place = (char *)base + s->offset;
    switch (s->type) {
    case SETTING_BOOL:
        if (!is_among_names("on|yes|true|1", text) && !is_among_names("off|no|false|0", text))
            return refuse_value(s, text);
        *(bool *)place = is_among_names("on|yes|true|1", text);
        return 0;
    case SETTING_INT:
    case SETTING_INT64:
    case SETTING_UINT64:
        return parse_whole(s, place, text);
    case SETTING_FLOAT:
    case SETTING_DOUBLE:
        return parse_number(s, place, text);
    case SETTING_CHOICE:
        for (int i = 0; s->choices[i] != NULL; i++)
            if (is_among_names(s->choices[i], text)) {
                *(int *)place = i;
                return 0;
            }
        return refuse_value(s, text);
    case SETTING_STRING:
    case SETTING_PATH:
        return parse_string(s, place, text);
    case SETTING_SHORTHAND:
        break;
    }
    return 0;
}

int setting_switch(const struct setting *s, const char *text, bool *on)
{
    static const struct setting a_switch = {.name = "", .type = SETTING_BOOL};
    int rc = setting_parse(&a_switch, on, text);
    return rc == 0 ? 0
                   : err_set(ERR_RANGE, "%s must be on or off, not %s", s->name, file_quote(text));
}

/* Whole numbers as such: 20, not 2e+01. */
static int format_number(struct buf *out, double v, bool is_float)
{
    char text[DECIMAL_BYTES];
    if (v == floor(v) && fabs(v) < 1e6)
        return buf_printf(out, "%.0f", v);
    if (is_float)
        decimal_of_float(text, (float)v);
    else
        decimal_of_double(text, v);
    return buf_str(out, decimal_shorten(text));
}

int setting_format(const struct setting *s, const void *base, struct buf *out)
{
    const void *place = (const char *)base + s->offset;
    switch (s->type) {
    case SETTING_BOOL:
        return buf_str(out, *(const bool *)place ? "on" : "off");
    case SETTING_INT:
        return buf_printf(out, "%d", *(const int *)place);
    case SETTING_INT64:
        return buf_printf(out, "%" PRId64, *(const int64_t *)place);
    case SETTING_UINT64:
        return buf_printf(out, "%" PRIu64, *(const uint64_t *)place);
    case SETTING_FLOAT:
        return format_number(out, (double)*(const float *)place, true);
    case SETTING_DOUBLE:
        if (s->or_auto && *(const double *)place == SETTING_AUTO)
            return buf_str(out, "auto");
        return format_number(out, *(const double *)place, false);
    case SETTING_CHOICE: {
        const char *names = s->choices[*(const int *)place];
        return buf_add(out, names, (size_t)first_name_length(names));
    }
    case SETTING_STRING:
    case SETTING_PATH: {
        const char *text = *(char *const *)place;
        return buf_str(out, text == NULL ? "" : text);
    }
    case SETTING_SHORTHAND:
        break;
    }
    return buf_str(out, "");
}

static char **text_field(const struct setting *s, void *base)
{
    bool text = s->type == SETTING_STRING || s->type == SETTING_PATH;
    return text ? (char **)((char *)base + s->offset) : NULL;
}

void settings_free_texts(const struct setting *rows, size_t n, void *base)
{
    for (size_t i = 0; i < n; i++) {
        char **place = text_field(&rows[i], base);
        if (place != NULL) {
            mem_free(*place);
            *place = NULL;
        }
    }
}

void settings_forget_texts(const struct setting *rows, size_t n, void *base)
{
    for (size_t i = 0; i < n; i++)
        if (text_field(&rows[i], base) != NULL)
            *text_field(&rows[i], base) = NULL;
}

int settings_own_texts(const struct setting *rows, size_t n, void *dst, const void *src)
{
    settings_forget_texts(rows, n, dst);
    for (size_t i = 0; i < n; i++) {
        char **place = text_field(&rows[i], dst);
        const char *text =
            place == NULL ? NULL : *(char *const *)((const char *)src + rows[i].offset);
        if (text != NULL && (*place = mem_strdup(text)) == NULL) {
            settings_free_texts(rows, n, dst);
            return ERR_NOMEM;
        }
    }
    return 0;
}
