#include "sampling/schema/json_schema_pattern.h"

#include "model/base/err.h"
#include "sampling/schema/pattern_atom.h"
#include "sampling/schema/gbnf.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH = 30 };

static void cut_text(struct buf *b, size_t n)
{
    if (b->data != NULL)
        b->data[b->n = n] = '\0';
}

struct pattern {
    const char *whole, *at; /* UTF-8 */
    struct buf *out;
    struct buf literal;        /* what comes next in out, as a JSON string has it */
    size_t start;              /* of the sequence in out */
    struct text_length length; /* that a text must have */
    size_t parts;
    size_t branches; /* of the last alternatives, without those that are empty */
    int depth;
};

static int read_times(struct pattern *p, struct text_length *times)
{
    static const char signs[] = "*+?";
    const char *sign = *p->at != '\0' ? strchr(signs, *p->at) : NULL;
    *times = (struct text_length){1, 1};
    if (sign != NULL) {
        *times = (struct text_length){sign == signs + 1, sign == signs + 2 ? 1 : GBNF_OPEN};
        p->at++;
    } else if (*p->at == '{') {
        char *end;
        if (p->at[1] < '0' || p->at[1] > '9')
            return err_set(ERR_FORMAT, "a { begins no {m,n}");
        times->least = times->most = strtoull(p->at + 1, &end, 10);
        if (*end == ',' && end[1] == '}') {
            times->most = GBNF_OPEN;
            end++;
        } else if (*end == ',' && end[1] >= '0' && end[1] <= '9') {
            times->most = strtoull(end + 1, &end, 10);
        }
        if (*end != '}' || times->least > times->most)
            return err_set(ERR_FORMAT, "a { begins no {m,n}");
        p->at = end + 1;
    } else {
        return 0;
    }
    if (times->least > PATTERN_TIMES || (times->most != GBNF_OPEN && times->most > PATTERN_TIMES))
        return err_set(ERR_RANGE, "it repeats something more than %d times", PATTERN_TIMES);
    p->at += *p->at == '?'; /* lazy, which matches the same texts */
    if (*p->at != '\0' && strchr("*+?{", *p->at) != NULL)
        return err_set(ERR_FORMAT, "a quantifier follows another");
    return 0;
}

static int count_parts(struct pattern *p, size_t before, struct text_length times)
{
    p->parts =
        before + (p->parts - before) * (times.most == GBNF_OPEN ? times.least + 1 : times.most);
    return p->parts <= PATTERN_PARTS
               ? 0
               : err_set(ERR_RANGE, "it has more than %d parts, copies of repetitions counted",
                         PATTERN_PARTS);
}

/* What follows in out is the next part of a sequence. */
static int begin_part(struct pattern *p)
{
    int rc = 0;
    if (p->literal.n > 0) {
        const bool more = p->out->n > p->start && p->out->data[p->out->n - 1] != ' ';
        if ((rc = buf_str(p->out, more ? " " : "")) == 0)
            rc = gbnf_add_literal(p->out, p->literal.data, p->literal.n);
        p->literal.n = 0;
    }
    const bool again = p->out->n > p->start && p->out->data[p->out->n - 1] != ' ';
    return rc != 0 ? rc : buf_str(p->out, again ? " " : "");
}

static int end_sequence(struct pattern *p)
{
    int rc = p->literal.n > 0 ? begin_part(p) : 0;
    if (rc == 0 && p->out->n > p->start && p->out->data[p->out->n - 1] == ' ')
        cut_text(p->out, p->out->n - 1);
    return rc;
}

/* A character that is repeated. */
static int add_character(struct pattern *p, uint32_t c)
{
    struct buf text = {0};
    int rc = character_spell(&text, c);
    const bool group = text.n > 1 && c < 0x80; /* an escape */
    if (rc == 0 && (rc = buf_str(p->out, group ? "(" : "")) == 0 &&
        (rc = gbnf_add_literal(p->out, text.data, text.n)) == 0)
        rc = buf_str(p->out, group ? ")" : "");
    p->parts += text.n;
    buf_release(&text);
    return rc;
}

/* A code point, so many times. */
static int add_set(struct pattern *p, const struct character_set *s, struct text_length times)
{
    const size_t before = p->parts, n = p->literal.n;
    const bool single = s->n == 1 && s->list[0].first == s->list[0].last;
    size_t parts;
    int rc;
    if (times.most == 0)
        return 0;
    if (single && times.least == 1 && times.most == 1) {
        rc = character_spell(&p->literal, s->list[0].first);
        p->parts += p->literal.n - n;
        return rc != 0 ? rc : count_parts(p, before, times);
    }
    if ((rc = begin_part(p)) != 0)
        return rc;
    if (single) {
        rc = add_character(p, s->list[0].first);
    } else if ((rc = character_set_grammar(p->out, &parts, s)) == 0) {
        p->parts += parts;
        if (parts == 0)
            rc = err_set(ERR_RANGE, "a class matches no character of a JSON text");
    }
    if (rc == 0 && (rc = gbnf_add_times(p->out, times.least, times.most)) == 0)
        rc = count_parts(p, before, times);
    return rc;
}

static int read_alternatives(struct pattern *p, struct text_length *length, bool *empty);

/* Behind the opening parenthesis. */
static int skip_group_kind(struct pattern *p)
{
    if (*p->at != '?')
        return 0;
    const bool named = p->at[1] == '<' && p->at[2] != '=' && p->at[2] != '!';
    const size_t n = named ? strcspn(p->at, ">") : 1;
    if (!named && p->at[1] != ':')
        return err_set(ERR_UNSUPPORTED, "a group that begins with (%.*s is not supported",
                       p->at[1] == '<' ? 3 : 2, p->at);
    if (p->at[n] == '\0')
        return err_set(ERR_FORMAT, "a group has no )");
    p->at += n + 1;
    return 0;
}

static int read_inside(struct pattern *p, struct text_length *length, bool *empty)
{
    const size_t start = p->start;
    int rc = skip_group_kind(p);
    if (rc == 0 && ++p->depth > DEPTH)
        rc = err_set(ERR_RANGE, "groups are nested deeper than %d", DEPTH);
    if (rc == 0 && (rc = read_alternatives(p, length, empty)) == 0 && *p->at != ')')
        rc = err_set(ERR_FORMAT, "a group has no )");
    p->at += rc == 0;
    p->depth--;
    p->start = start;
    return rc;
}

/* Behind the opening parenthesis, with what is behind the closing one. */
static int read_group(struct pattern *p, struct text_length *length)
{
    struct text_length times;
    bool empty = false;
    int rc = begin_part(p);
    const size_t before = p->out->n, parts = p->parts++;
    if (rc != 0 || (rc = buf_char(p->out, '(')) != 0 ||
        (rc = read_inside(p, length, &empty)) != 0 || (rc = read_times(p, &times)) != 0)
        return rc;
    if (p->out->n == before + 1 || times.most == 0) { /* nothing but the parenthesis, or never */
        cut_text(p->out, before);
        p->parts = parts;
        *length = (struct text_length){0, 0};
        return 0;
    }
    if (length->least == 0 && times.most == GBNF_OPEN)
        return err_set(ERR_UNSUPPORTED, "it repeats without bound what may be empty");
    times.least = empty ? 0 : times.least;
    length->least *= times.least;
    length->most = times.most == GBNF_OPEN || length->most == GBNF_OPEN ? GBNF_OPEN
                                                                        : length->most * times.most;
    if ((rc = buf_char(p->out, ')')) == 0 &&
        (rc = gbnf_add_times(p->out, times.least, times.most)) == 0)
        rc = count_parts(p, parts, times);
    return rc;
}

/* A code point, so many times. A pattern that is nothing else, `alone`, is held to its length. */
static int read_characters(struct pattern *p, struct text_length *length, bool alone)
{
    struct character_set s = {.n = 0};
    struct text_length times;
    int rc = pattern_read_atom(&p->at, &s);
    if (rc != 0 || (rc = read_times(p, &times)) != 0)
        return rc;
    if (alone && p->at[0] == '$' && p->at[1] == '\0') {
        const size_t least = times.least > p->length.least ? times.least : p->length.least;
        const size_t most = times.most < p->length.most ? times.most : p->length.most;
        if (least <= most)
            times = (struct text_length){least, most};
    }
    *length = times;
    return add_set(p, &s, times);
}

static bool ends_sequence(const struct pattern *p)
{
    return *p->at == '\0' || *p->at == '|' || (*p->at == ')' && p->depth > 0) ||
           (*p->at == '$' && p->depth == 0 && (p->at[1] == '\0' || p->at[1] == '|'));
}

static int read_sequence(struct pattern *p, struct text_length *length, bool alone)
{
    int rc = 0;
    while (rc == 0 && !ends_sequence(p)) {
        struct text_length term;
        const bool group = *p->at == '(';
        p->at += group;
        if ((rc = group ? read_group(p, &term) : read_characters(p, &term, alone)) != 0)
            break;
        alone = false;
        length->least += term.least;
        length->most = length->most == GBNF_OPEN || term.most == GBNF_OPEN
                           ? GBNF_OPEN
                           : length->most + term.most;
    }
    return rc != 0 ? rc : end_sequence(p);
}

/* An alternative of the whole: any text comes before and after it where it has no anchors. */
static int read_branch(struct pattern *p, struct text_length *length)
{
    static const char any[] = "char*";
    const bool begins = p->depth > 0 || *p->at == '^', first = p->at == p->whole;
    int rc = 0;
    *length = (struct text_length){0, begins ? 0 : GBNF_OPEN};
    p->start = p->out->n;
    if (!begins)
        rc = buf_str(p->out, any);
    else if (p->depth == 0)
        p->at++;
    if (rc != 0 || (rc = read_sequence(p, length, begins && first && p->depth == 0)) != 0 ||
        p->depth > 0)
        return rc;
    if (*p->at == '$') {
        p->at++;
        return 0;
    }
    length->most = GBNF_OPEN;
    return !begins && p->out->n == p->start + strlen(any) ? 0
           : (rc = begin_part(p)) != 0                    ? rc
                                                          : buf_str(p->out, any);
}

/* *empty: one of them matches the empty text alone, and is not in out. */
static int read_alternatives(struct pattern *p, struct text_length *length, bool *empty)
{
    size_t n = 0;
    int rc = 0;
    *length = (struct text_length){0, 0};
    for (;; p->at++) {
        struct text_length one;
        const size_t before = p->out->n;
        if ((rc = buf_str(p->out, n > 0 ? " | " : "")) != 0)
            return rc;
        const size_t from = p->out->n;
        if ((rc = read_branch(p, &one)) != 0)
            return rc;
        if (p->out->n == from) {
            *empty = true;
            cut_text(p->out, before);
        } else {
            length->least = n == 0 || one.least < length->least ? one.least : length->least;
            length->most = one.most > length->most ? one.most : length->most;
            n++;
        }
        if (*p->at != '|')
            break;
    }
    p->branches = n;
    return 0;
}

static int check_length(const struct text_length *found, const struct text_length *wanted)
{
    if (found->least < wanted->least)
        return err_set(ERR_UNSUPPORTED, "it matches texts shorter than minLength, which is %zu",
                       wanted->least);
    if (found->most > wanted->most)
        return err_set(ERR_UNSUPPORTED, "it matches texts longer than maxLength, which is %zu",
                       wanted->most);
    return 0;
}

int pattern_grammar(struct buf *out, size_t *parts, const char *pattern, struct text_length length)
{
    struct buf body = {0};
    struct pattern p = {.whole = pattern, .at = pattern, .out = &body, .length = length};
    struct text_length found;
    bool empty = false;
    int rc = read_alternatives(&p, &found, &empty);
    if (rc == 0) {
        found.least = empty ? 0 : found.least;
        rc = check_length(&found, &length);
    }
    if (rc == 0 && p.branches > 0)
        rc = buf_printf(out, empty ? "(%s)?" : p.branches > 1 ? "(%s)" : "%s", buf_text(&body));
    *parts = p.parts;
    buf_release(&body);
    buf_release(&p.literal);
    return rc;
}
