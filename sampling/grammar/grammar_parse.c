#include "sampling/grammar/grammar_parse.h"

#include "model/base/buf.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/utf8.h"
#include "sampling/grammar/byte_ranges.h"
#include "sampling/grammar/grammar_check.h"

#include <jansson.h>
#include <limits.h>
#include <string.h>
#include <utf8proc.h>

/*
 * The text is read once. Elements of a rule are collected in a buffer of its own, since groups,
 * repetitions and classes become rules while the rule around them is being read:
 *
 *     x*      r ::= x r |           x+      x x*
 *     x{2,4}  x x r, r ::= x s |, s ::= x |
 *
 * At the end all are put together.
 */

struct draft {
    char *name;          /* owned; NULL: of a group, a repetition or a class */
    struct buf elements; /* of struct element, without its end */
    int line;            /* that names it first */
    bool defined;
    bool loops; /* of a repetition without an end */
};

struct parser {
    const char *at, *end;
    int line;
    struct buf drafts; /* of struct draft */
    struct buf sets;   /* of struct byte_set */
    json_t *names;     /* {"name": the number of its draft} */
    int single[256];   /* the number of the set of this byte alone, plus 1; 0: none yet */
    size_t n_elements;
};

static struct draft *draft_of(const struct parser *p, size_t i)
{
    return (struct draft *)(void *)p->drafts.data + i;
}

static size_t n_drafts(const struct parser *p)
{
    return p->drafts.n / sizeof(struct draft);
}

static int refuse(const struct parser *p, const char *what)
{
    return err_set(ERR_FORMAT, "line %d: %s", p->line, what);
}

/* ---- elements ---- */

static int count_element(struct parser *p)
{
    if (++p->n_elements <= GRAMMAR_ELEMENTS)
        return 0;
    return err_set(ERR_RANGE,
                   "line %d: the grammar is too large: more than %d characters, classes and rules, "
                   "of which {m,n} makes n",
                   p->line, GRAMMAR_ELEMENTS);
}

static int add_element(struct parser *p, struct buf *to, enum element_kind kind, size_t index)
{
    const struct element e = {.kind = kind, .index = (unsigned)index & 0x3fffffff};
    int rc = count_element(p);
    return rc != 0 ? rc : buf_add(to, &e, sizeof e);
}

static int new_draft(struct parser *p, size_t *index)
{
    const struct draft d = {.line = p->line, .defined = true};
    *index = n_drafts(p);
    int rc = count_element(p); /* its end */
    return rc != 0 ? rc : buf_add(&p->drafts, &d, sizeof d);
}

static int add_set(struct parser *p, struct buf *to, const struct byte_set *set)
{
    const struct byte_set *sets = (const void *)p->sets.data;
    const size_t n = p->sets.n / sizeof *set;
    size_t i = 0;
    while (i < n && memcmp(&sets[i], set, sizeof *set) != 0)
        i++;
    int rc = i < n ? 0 : buf_add(&p->sets, set, sizeof *set);
    return rc != 0 ? rc : add_element(p, to, ELEMENT_BYTE, i);
}

static int add_byte(struct parser *p, struct buf *to, unsigned char byte)
{
    struct byte_set set = {0};
    if (p->single[byte] > 0)
        return add_element(p, to, ELEMENT_BYTE, (size_t)p->single[byte] - 1);
    set.bits[byte >> 6] = UINT64_C(1) << (byte & 63);
    p->single[byte] = (int)(p->sets.n / sizeof set) + 1;
    int rc = buf_add(&p->sets, &set, sizeof set);
    return rc != 0 ? rc : add_element(p, to, ELEMENT_BYTE, (size_t)p->single[byte] - 1);
}

/* ---- characters ---- */

static bool at_end(const struct parser *p)
{
    return p->at == p->end;
}

static bool take(struct parser *p, char c)
{
    if (at_end(p) || *p->at != c)
        return false;
    p->at++;
    return true;
}

/* Blanks and comments, and line breaks where a rule goes on. */
static void skip_blanks(struct parser *p, bool lines)
{
    for (; !at_end(p); p->at++) {
        if (*p->at == '#')
            while (p->at + 1 < p->end && p->at[1] != '\n' && p->at[1] != '\r')
                p->at++;
        else if (*p->at == '\n' || *p->at == '\r') {
            if (!lines)
                return;
            p->line += *p->at == '\n';
        } else if (*p->at != ' ' && *p->at != '\t')
            return;
    }
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    const int letter = (c | 0x20) - 'a';
    return letter >= 0 && letter < 6 ? letter + 10 : -1;
}

static int read_hex(struct parser *p, int digits, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < digits; i++, p->at++) {
        const int digit = at_end(p) ? -1 : hex_digit(*p->at);
        if (digit < 0)
            return err_set(ERR_FORMAT, "line %d: an escape needs %d hexadecimal digits", p->line,
                           digits);
        *out = *out << 4 | (uint32_t)digit;
    }
    if (*out > CHARACTER_MAX || (*out >= 0xd800 && *out <= 0xdfff))
        return err_set(ERR_FORMAT, "line %d: there is no character U+%04X", p->line,
                       (unsigned)*out);
    return 0;
}

static int read_escape(struct parser *p, uint32_t *out)
{
    const char c = at_end(p) ? '\0' : *p->at++;
    switch (c) {
    case 'x':
        return read_hex(p, 2, out);
    case 'u':
        return read_hex(p, 4, out);
    case 'U':
        return read_hex(p, 8, out);
    case 'n':
        *out = '\n';
        return 0;
    case 'r':
        *out = '\r';
        return 0;
    case 't':
        *out = '\t';
        return 0;
    default:
        break;
    }
    *out = (unsigned char)c;
    if (c == '\0' || strchr("\\\"[]-^/", c) == NULL)
        return refuse(p, "unknown escape: \\n, \\r, \\t, \\\\, \\\", \\[, \\], \\-, \\^, \\xNN, "
                         "\\uNNNN and \\UNNNNNNNN are known");
    return 0;
}

/* One character, as it is or as an escape; the text is UTF-8. */
static int read_character(struct parser *p, uint32_t *out)
{
    utf8proc_int32_t c;
    if (take(p, '\\'))
        return read_escape(p, out);
    p->at += utf8proc_iterate((const utf8proc_uint8_t *)p->at, p->end - p->at, &c);
    *out = (uint32_t)c;
    return 0;
}

/* ---- items ---- */

struct spelling {
    struct parser *parser;
    struct buf *to;
    struct byte_set ascii; /* those of one byte, which become one element */
    bool any;              /* there is an alternative */
};

static int add_spelling(void *user, const struct byte_ranges *r)
{
    struct spelling *s = user;
    int rc = 0;
    if (r->n == 1) {
        for (int byte = r->low[0]; byte <= r->high[0]; byte++)
            s->ascii.bits[byte >> 6] |= UINT64_C(1) << (byte & 63);
        return 0;
    }
    if (s->any)
        rc = add_element(s->parser, s->to, ELEMENT_OR, 0);
    s->any = true;
    for (int i = 0; i < r->n && rc == 0; i++) {
        struct byte_set set = {0};
        for (int byte = r->low[i]; byte <= r->high[i]; byte++)
            set.bits[byte >> 6] |= UINT64_C(1) << (byte & 63);
        rc = add_set(s->parser, s->to, &set);
    }
    return rc;
}

/* One character of a closed set: an element where all are ASCII, else a rule. */
static int add_characters(struct parser *p, struct buf *to, const struct char_set *set)
{
    struct buf longer = {0};
    struct spelling s = {.parser = p, .to = &longer};
    size_t rule;
    int rc = byte_ranges_each(set, add_spelling, &s);
    const bool ascii = (s.ascii.bits[0] | s.ascii.bits[1]) != 0;
    if (rc == 0 && !s.any && !ascii)
        rc = refuse(p, "a class without a character");
    if (rc == 0 && s.any && ascii && (rc = add_element(p, &longer, ELEMENT_OR, 0)) == 0)
        rc = add_set(p, &longer, &s.ascii);
    if (rc == 0 && !s.any)
        rc = add_set(p, to, &s.ascii);
    else if (rc == 0 && (rc = new_draft(p, &rule)) == 0) {
        draft_of(p, rule)->elements = longer;
        longer = (struct buf){0};
        rc = add_element(p, to, ELEMENT_RULE, rule);
    }
    buf_release(&longer);
    return rc;
}

/* Behind [. */
static int read_class(struct parser *p, struct buf *to)
{
    struct char_set set = {0};
    const bool inverted = take(p, '^');
    int rc = 0;
    while (rc == 0 && !take(p, ']')) {
        uint32_t low, high;
        if (at_end(p) || *p->at == '\n')
            rc = refuse(p, "a class [ has no ]");
        else
            rc = read_character(p, &low);
        high = rc == 0 ? low : 0;
        if (rc == 0 && p->at + 1 < p->end && p->at[0] == '-' && p->at[1] != ']') {
            p->at++;
            rc = read_character(p, &high);
        }
        if (rc == 0 && high < low)
            rc = refuse(p, "a range in a class ends before it begins");
        if (rc == 0)
            rc = char_set_add(&set, low, high);
    }
    if (rc == 0)
        rc = char_set_close(&set, inverted);
    if (rc == 0)
        rc = add_characters(p, to, &set);
    char_set_release(&set);
    return rc;
}

static int read_any(struct parser *p, struct buf *to)
{
    struct char_set set = {0};
    int rc = char_set_close(&set, true);
    if (rc == 0)
        rc = add_characters(p, to, &set);
    char_set_release(&set);
    return rc;
}

/* Behind ". */
static int read_literal(struct parser *p, struct buf *to)
{
    int rc = 0;
    while (rc == 0 && !take(p, '"')) {
        unsigned char bytes[4];
        uint32_t c;
        if (at_end(p) || *p->at == '\n')
            return refuse(p, "a text \" has no end");
        if ((rc = read_character(p, &c)) != 0)
            break;
        const int n = (int)utf8proc_encode_char((utf8proc_int32_t)c, bytes);
        for (int i = 0; i < n && rc == 0; i++)
            rc = add_byte(p, to, bytes[i]);
    }
    return rc;
}

static bool in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

/* The rule of the name at p, which may not be defined yet. */
static int read_name(struct parser *p, size_t *index)
{
    const char *from = p->at;
    while (!at_end(p) && in_name(*p->at))
        p->at++;
    char *name = mem_sprintf("%.*s", (int)(p->at - from), from);
    if (name == NULL)
        return ERR_NOMEM;
    const json_t *known = json_object_get(p->names, name);
    *index = (size_t)json_integer_value(known);
    int rc = known != NULL ? 0 : new_draft(p, index);
    if (known != NULL || rc != 0) {
        mem_free(name);
        return rc;
    }
    draft_of(p, *index)->defined = false;
    draft_of(p, *index)->name = name;
    return json_object_set_new(p->names, name, json_integer((json_int_t)*index)) == 0
               ? 0
               : err_set(ERR_NOMEM, "not enough memory for the names of a grammar");
}

static int read_alternatives(struct parser *p, struct buf *to, int depth);

/* Behind (. */
static int read_group(struct parser *p, struct buf *to, int depth)
{
    struct buf inside = {0};
    size_t rule = 0;
    int rc = depth < GRAMMAR_DEPTH ? new_draft(p, &rule) : refuse(p, "too many ( in each other");
    if (rc == 0)
        rc = read_alternatives(p, &inside, depth + 1);
    if (rc == 0 && !take(p, ')'))
        rc = refuse(p, at_end(p) ? "a group ( has no )" : "expected |, ) or an item of a rule");
    if (rc == 0) {
        draft_of(p, rule)->elements = inside;
        return add_element(p, to, ELEMENT_RULE, rule);
    }
    buf_release(&inside);
    return rc;
}

/* ---- repetitions ---- */

static int add_copy(struct parser *p, struct buf *to, const struct buf *item)
{
    const struct element *e = (const void *)item->data;
    int rc = 0;
    for (size_t i = 0; i < item->n / sizeof *e && rc == 0; i++)
        rc = add_element(p, to, (enum element_kind)e[i].kind, e[i].index);
    return rc;
}

/* A rule: the item and then rule `next`, or nothing. next SIZE_MAX: the item, or nothing. */
static int add_option(struct parser *p, const struct buf *item, size_t next, size_t *rule)
{
    struct buf elements = {0};
    int rc = new_draft(p, rule);
    if (rc == 0)
        rc = add_copy(p, &elements, item);
    if (rc == 0 && next != SIZE_MAX)
        rc = add_element(p, &elements, ELEMENT_RULE, next);
    if (rc == 0)
        rc = add_element(p, &elements, ELEMENT_OR, 0);
    if (rc == 0)
        draft_of(p, *rule)->elements = elements;
    else
        buf_release(&elements);
    return rc;
}

/* The item as often as that; most -1: no limit. */
static int add_repeated(struct parser *p, struct buf *to, const struct buf *item, int least,
                        int most)
{
    size_t rule = SIZE_MAX;
    int rc = 0;
    for (int i = 0; i < least && rc == 0; i++)
        rc = add_copy(p, to, item);
    if (most < 0 && rc == 0) {
        rc = add_option(p, item, n_drafts(p), &rule);
        if (rc == 0)
            draft_of(p, rule)->loops = true;
    }
    for (int i = least; i < most && rc == 0; i++)
        rc = add_option(p, item, rule, &rule);
    return rc != 0 || rule == SIZE_MAX ? rc : add_element(p, to, ELEMENT_RULE, rule);
}

static int read_count(struct parser *p, int missing, int *out)
{
    long n = 0;
    bool any = false;
    skip_blanks(p, false);
    for (; !at_end(p) && *p->at >= '0' && *p->at <= '9'; p->at++, any = true)
        if ((n = 10 * n + *p->at - '0') > GRAMMAR_ELEMENTS)
            return err_set(ERR_RANGE, "line %d: {m,n} goes up to %d", p->line, GRAMMAR_ELEMENTS);
    skip_blanks(p, false);
    *out = any ? (int)n : missing;
    return 0;
}

/* Behind {. */
static int read_counts(struct parser *p, int *least, int *most)
{
    int rc = read_count(p, -1, least);
    const bool comma = rc == 0 && take(p, ',');
    if (rc == 0 && comma)
        rc = read_count(p, -1, most);
    if (rc != 0)
        return rc;
    if (!take(p, '}') || (*least < 0 && (!comma || *most < 0)))
        return refuse(p, "a repetition is {m}, {m,}, {,n} or {m,n}");
    *least = *least < 0 ? 0 : *least;
    *most = comma ? *most : *least;
    if (*most >= 0 && *most < *least)
        return refuse(p, "in {m,n} n is less than m");
    return 0;
}

/* What follows an item: how often it comes. */
static int read_repetition(struct parser *p, int *least, int *most)
{
    *least = *most = 1;
    if (take(p, '*'))
        *least = 0, *most = -1;
    else if (take(p, '+'))
        *most = -1;
    else if (take(p, '?'))
        *least = 0;
    else if (take(p, '{'))
        return read_counts(p, least, most);
    return 0;
}

/* An item that has been read, as often as that: once, as it is; else copies of it, where it is
 * longer than one element, by its number as a rule. */
static int add_item(struct parser *p, struct buf *to, struct buf *item, int least, int most)
{
    size_t rule;
    if (least == 1 && most == 1)
        return buf_add(to, item->data, item->n);
    if (item->n > sizeof(struct element)) {
        int rc = new_draft(p, &rule);
        if (rc != 0)
            return rc;
        draft_of(p, rule)->elements = *item;
        *item = (struct buf){0};
        if ((rc = add_element(p, item, ELEMENT_RULE, rule)) != 0)
            return rc;
    }
    p->n_elements -= item->n / sizeof(struct element); /* only its copies are there */
    return add_repeated(p, to, item, least, most);
}

/* An item with its repetitions. */
static int read_item(struct parser *p, struct buf *to, int depth)
{
    struct buf item = {0};
    size_t rule;
    int least = 1, most = 1, rc;
    if (take(p, '"'))
        rc = read_literal(p, &item);
    else if (take(p, '['))
        rc = read_class(p, &item);
    else if (take(p, '.'))
        rc = read_any(p, &item);
    else if (take(p, '('))
        rc = read_group(p, &item, depth);
    else if ((rc = read_name(p, &rule)) == 0)
        rc = add_element(p, &item, ELEMENT_RULE, rule);
    if (rc == 0)
        rc = read_repetition(p, &least, &most);
    if (rc == 0)
        rc = add_item(p, to, &item, least, most);
    buf_release(&item);
    return rc;
}

/* ---- rules ---- */

static bool begins_item(const struct parser *p)
{
    return !at_end(p) &&
           (*p->at == '"' || *p->at == '[' || *p->at == '.' || *p->at == '(' || in_name(*p->at));
}

/* Whether the next line goes on with |; then p is there. */
static bool continues(struct parser *p)
{
    struct parser ahead = *p;
    skip_blanks(&ahead, true);
    if (at_end(&ahead) || *ahead.at != '|')
        return false;
    p->at = ahead.at;
    p->line = ahead.line;
    return true;
}

static int read_alternatives(struct parser *p, struct buf *to, int depth)
{
    const bool group = depth > 0;
    int rc = 0;
    skip_blanks(p, true);
    while (rc == 0) {
        while (rc == 0 && begins_item(p)) {
            rc = read_item(p, to, depth);
            skip_blanks(p, group);
        }
        if (rc != 0 || !continues(p))
            return rc;
        p->at++;
        skip_blanks(p, true);
        rc = add_element(p, to, ELEMENT_OR, 0);
    }
    return rc;
}

static int read_rule(struct parser *p)
{
    struct buf elements = {0};
    size_t rule;
    if (!in_name(*p->at))
        return refuse(p, "expected the name of a rule");
    int rc = read_name(p, &rule);
    if (rc != 0)
        return rc;
    if (draft_of(p, rule)->defined)
        return err_set(ERR_FORMAT, "line %d: there are two rules %s", p->line,
                       file_quote(draft_of(p, rule)->name));
    skip_blanks(p, false);
    if (p->end - p->at < 3 || memcmp(p->at, "::=", 3) != 0)
        return refuse(p, "expected ::= behind the name of a rule");
    p->at += 3;
    draft_of(p, rule)->defined = true;
    draft_of(p, rule)->line = p->line;
    rc = read_alternatives(p, &elements, 0);
    draft_of(p, rule)->elements = elements;
    if (rc == 0 && !at_end(p) && *p->at != '\n' && *p->at != '\r')
        rc = refuse(p, "expected |, an item of the rule or the end of the line");
    return rc;
}

/* ---- putting it together ---- */

static int check_names(const struct parser *p)
{
    if (!draft_of(p, 0)->defined)
        return err_set(ERR_FORMAT, "no rule is named root, with which a text begins");
    for (size_t i = 0; i < n_drafts(p); i++)
        if (!draft_of(p, i)->defined)
            return err_set(ERR_FORMAT, "line %d: there is no rule %s", draft_of(p, i)->line,
                           file_quote(draft_of(p, i)->name));
    return 0;
}

static void copy_drafts(struct grammar *g, const struct parser *p)
{
    for (size_t i = 0; i < n_drafts(p); i++) {
        const struct buf *from = &draft_of(p, i)->elements;
        g->rules[i] = g->n_elements;
        if (from->n > 0)
            memcpy(g->elements + g->n_elements, from->data, from->n);
        g->n_elements += (int)(from->n / sizeof(struct element)) + 1;
        g->elements[g->n_elements - 1] = (struct element){.kind = ELEMENT_END};
    }
    if (p->sets.n > 0)
        memcpy(g->sets, p->sets.data, p->sets.n);
}

static int refuse_recursion(const struct parser *p, const struct grammar *g)
{
    int rule = -1;
    bool *loops = mem_array(n_drafts(p), sizeof *loops);
    if (loops == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < n_drafts(p); i++)
        loops[i] = draft_of(p, i)->loops;
    int rc = grammar_left_recursion(g, loops, &rule);
    mem_free(loops);
    if (rc != 0 || rule < 0)
        return rc;
    const struct draft *d = draft_of(p, (size_t)rule);
    return err_set(
        ERR_FORMAT,
        "line %d: rule %s can begin with itself: write repetitions as item*, or with the "
        "rule at the end",
        d->line, d->name == NULL ? "of a group" : file_quote(d->name));
}

/* The sets end with an empty one. */
static int prune(struct grammar *g)
{
    bool any = false;
    int rc = grammar_prune(g, g->n_sets - 1, &any);
    return rc != 0 || any ? rc
                          : err_set(ERR_FORMAT, "no text matches the grammar: root never comes to "
                                                "an end");
}

static int build(struct grammar **out, const struct parser *p)
{
    size_t n = 0;
    for (size_t i = 0; i < n_drafts(p); i++)
        n += draft_of(p, i)->elements.n / sizeof(struct element) + 1;
    struct grammar *g = mem_alloc(sizeof *g);
    if (g == NULL)
        return ERR_NOMEM;
    g->n_rules = (int)n_drafts(p);
    g->n_sets = (int)(p->sets.n / sizeof *g->sets) + 1;
    int rc = 0;
    if ((g->elements = mem_array(n, sizeof *g->elements)) == NULL ||
        (g->rules = mem_array(n_drafts(p), sizeof *g->rules)) == NULL ||
        (g->sets = mem_array((size_t)g->n_sets, sizeof *g->sets)) == NULL)
        rc = ERR_NOMEM;
    if (rc == 0) {
        copy_drafts(g, p);
        grammar_find_classes(g);
        rc = refuse_recursion(p, g);
    }
    if (rc == 0)
        rc = prune(g);
    if (rc == 0)
        *out = g;
    else
        grammar_free(g);
    return rc;
}

int grammar_parse(struct grammar **out, const char *text, size_t n)
{
    struct parser p = {.at = "root", .end = "root" + 4};
    size_t root;
    *out = NULL;
    p.names = json_object();
    int rc = p.names == NULL ? err_set(ERR_NOMEM, "not enough memory for a grammar") : 0;
    if (rc == 0)
        rc = read_name(&p, &root); /* has number 0, wherever it is defined */
    p.at = text;
    p.end = text + n;
    p.line = 1;
    if (rc == 0 && utf8_valid(text, n) != n)
        rc = err_set(ERR_FORMAT, "the grammar is not UTF-8");
    for (skip_blanks(&p, true); rc == 0 && !at_end(&p); skip_blanks(&p, true))
        rc = read_rule(&p);
    if (rc == 0)
        rc = check_names(&p);
    if (rc == 0)
        rc = build(out, &p);
    for (size_t i = 0; i < n_drafts(&p); i++) {
        mem_free(draft_of(&p, i)->name);
        buf_release(&draft_of(&p, i)->elements);
    }
    buf_release(&p.drafts);
    buf_release(&p.sets);
    json_decref(p.names);
    return rc;
}
