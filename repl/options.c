#include "repl/options.h"

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

enum { MAX_NAMES = 128 };

static bool same_name(const char *a, const char *b)
{
    for (; *a != '\0' && *b != '\0'; a++, b++)
        if ((*a == '-' ? '_' : *a) != (*b == '-' ? '_' : *b))
            return false;
    return *a == *b;
}

const struct option *option_find(const char *name)
{
    const struct option *o;
    for (int i = 0; (o = option_at(i)) != NULL && !same_name(o->name, name); i++)
        ;
    return o;
}

const struct option *option_by_letter(char letter)
{
    const struct option *o;
    for (int i = 0; (o = option_at(i)) != NULL && (letter == 0 || o->letter != letter); i++)
        ;
    return o;
}

static int say_unknown(const char *name, bool settable_only)
{
    const char *names[MAX_NAMES];
    size_t n = 0;
    const struct option *o;
    for (int i = 0; (o = option_at(i)) != NULL && n < MAX_NAMES; i++)
        if (!settable_only || !o->call_only)
            names[n++] = o->name;
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

int option_lookup(const struct option **out, const char *name)
{
    *out = option_find(name);
    return *out != NULL ? 0 : say_unknown(name, false);
}

int option_settable(const struct option **out, const char *name)
{
    *out = option_find(name);
    if (*out == NULL)
        return say_unknown(name, true);
    if ((*out)->call_only)
        return err_set(ERR_UNSUPPORTED, "%s is for one command, not kept as a setting",
                       (*out)->name);
    return 0;
}

/* Whether text is one of the names in "fp16|f16|half". */
static bool among(const char *names, const char *text)
{
    size_t n = strlen(text);
    for (const char *p = names; n > 0 && p != NULL; p = strchr(p, '|')) {
        p += *p == '|';
        if (strncmp(p, text, n) == 0 && (p[n] == '|' || p[n] == '\0'))
            return true;
    }
    return false;
}

static int first_name(const char *names)
{
    return (int)strcspn(names, "|");
}

int option_range(const struct option *o, struct buf *out)
{
    switch (o->type) {
    case OPTION_BOOL:
        return buf_str(out, "on or off");
    case OPTION_INT:
    case OPTION_INT64:
    case OPTION_FLOAT:
        return buf_printf(out, o->type == OPTION_FLOAT ? "%g to %g" : "%.0f to %.0f", o->min,
                          o->max);
    case OPTION_UINT64:
        return buf_printf(out, "0 to %" PRIu64, UINT64_MAX);
    case OPTION_CHOICE:
        for (int i = 0; o->choices[i] != NULL; i++) {
            const char *between = i == 0 ? "" : o->choices[i + 1] == NULL ? " or " : ", ";
            int rc = buf_printf(out, "%s%.*s", between, first_name(o->choices[i]), o->choices[i]);
            if (rc != 0)
                return rc;
        }
        return 0;
    case OPTION_STRING:
    case OPTION_PATH:
    case OPTION_SHORTHAND:
        break;
    }
    return buf_str(out, "text");
}

/* "top_k is 1e9, must be a whole number, 0 to 10000000" */
static int refuse(const struct option *o, const char *text)
{
    struct buf range = {0};
    char *shown = file_visible(text);
    bool whole = o->type == OPTION_INT || o->type == OPTION_INT64 || o->type == OPTION_UINT64;
    option_range(o, &range);
    err_set(ERR_RANGE, "%s is %.80s%s, must be %s%s", o->name,
            shown == NULL || *shown == '\0' ? "empty" : shown,
            shown != NULL && strlen(shown) > 80 ? "..." : "", whole ? "a whole number, " : "",
            buf_text(&range));
    buf_release(&range);
    mem_free(shown);
    return ERR_RANGE;
}

static int parse_whole(const struct option *o, void *place, const char *text)
{
    char *end;
    errno = 0;
    if (o->type == OPTION_UINT64) {
        uint64_t v = strtoull(text, &end, 10);
        if (strspn(text, "0123456789") == 0 || *end != '\0' || errno != 0)
            return refuse(o, text);
        memcpy(place, &v, sizeof v);
        return 0;
    }
    int64_t v = strtoll(text, &end, 10);
    bool digits = strspn(text + (*text == '-' || *text == '+'), "0123456789") > 0;
    if (!digits || *end != '\0' || errno != 0 || (double)v < o->min || (double)v > o->max)
        return refuse(o, text);
    if (o->type == OPTION_INT64)
        memcpy(place, &v, sizeof v);
    else
        *(int *)place = (int)v;
    return 0;
}

static int parse_float(const struct option *o, void *place, const char *text)
{
    char *end;
    /* A locale never set for numbers: the point is a point. Hexadecimal and blanks are
     * strtod's, not ours. */
    double v = strtod(text, &end);
    if (text[strspn(text, "+-0123456789.eE")] != '\0' || *end != '\0' || end == text ||
        !(v >= o->min && v <= o->max))
        return refuse(o, text);
    *(float *)place = (float)v;
    return 0;
}

static int parse_string(const struct option *o, char **place, const char *text)
{
    char *fresh = o->type == OPTION_PATH ? file_expand(text) : mem_strdup(text);
    if (fresh == NULL)
        return ERR_NOMEM;
    mem_free(*place);
    *place = fresh;
    return 0;
}

int option_parse(const struct option *o, struct settings *s, const char *text)
{
    void *place = (char *)s + o->offset;
    switch (o->type) {
    case OPTION_BOOL:
        if (!among("on|yes|true|1", text) && !among("off|no|false|0", text))
            return refuse(o, text);
        *(bool *)place = among("on|yes|true|1", text);
        return 0;
    case OPTION_INT:
    case OPTION_INT64:
    case OPTION_UINT64:
        return parse_whole(o, place, text);
    case OPTION_FLOAT:
        return parse_float(o, place, text);
    case OPTION_CHOICE:
        for (int i = 0; o->choices[i] != NULL; i++)
            if (among(o->choices[i], text)) {
                *(int *)place = i;
                return 0;
            }
        return refuse(o, text);
    case OPTION_STRING:
    case OPTION_PATH:
        return parse_string(o, place, text);
    case OPTION_SHORTHAND:
        return option_parse(option_find(o->choices[0]), s, o->choices[1]);
    }
    return 0;
}

/* The shortest decimal that reads back as the same float. */
static int format_float(struct buf *out, float v)
{
    char text[32];
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)v);
        if (strtof(text, NULL) == v)
            break;
    }
    return buf_str(out, text);
}

int option_format(const struct option *o, const struct settings *s, struct buf *out)
{
    const void *place = (const char *)s + o->offset;
    switch (o->type) {
    case OPTION_BOOL:
        return buf_str(out, *(const bool *)place ? "on" : "off");
    case OPTION_INT:
        return buf_printf(out, "%d", *(const int *)place);
    case OPTION_INT64:
        return buf_printf(out, "%" PRId64, *(const int64_t *)place);
    case OPTION_UINT64:
        return buf_printf(out, "%" PRIu64, *(const uint64_t *)place);
    case OPTION_FLOAT:
        return format_float(out, *(const float *)place);
    case OPTION_CHOICE: {
        const char *names = o->choices[*(const int *)place];
        return buf_add(out, names, (size_t)first_name(names));
    }
    case OPTION_STRING:
    case OPTION_PATH: {
        const char *text = *(char *const *)place;
        return buf_str(out, text == NULL ? "" : text);
    }
    case OPTION_SHORTHAND:
        break;
    }
    return buf_str(out, "");
}

static bool is_text(const struct option *o)
{
    return o->type == OPTION_STRING || o->type == OPTION_PATH;
}

void settings_release(struct settings *s)
{
    const struct option *o;
    for (int i = 0; (o = option_at(i)) != NULL; i++)
        if (is_text(o)) {
            char **place = (char **)((char *)s + o->offset);
            mem_free(*place);
            *place = NULL;
        }
}

int settings_copy(struct settings *dst, const struct settings *src)
{
    const struct option *o;
    *dst = *src;
    for (int i = 0; (o = option_at(i)) != NULL; i++)
        if (is_text(o))
            *(char **)((char *)dst + o->offset) = NULL;
    for (int i = 0; (o = option_at(i)) != NULL; i++) {
        const char *text = is_text(o) ? *(char *const *)((const char *)src + o->offset) : NULL;
        if (text == NULL)
            continue;
        char *copy = mem_strdup(text);
        if (copy == NULL) {
            settings_release(dst);
            return ERR_NOMEM;
        }
        *(char **)((char *)dst + o->offset) = copy;
    }
    return 0;
}
