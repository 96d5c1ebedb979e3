#include "sampling/schema/json_schema_name.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "sampling/schema/character_set.h"
#include "sampling/schema/gbnf.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

/* What may follow the first `bytes` of names from..end-1, which they share. */
struct name_part {
    size_t from, end, bytes;
};

struct name_parts {
    struct buf *out;
    const char *rule;
    const char **names;
    struct name_part *list;
    size_t n, cap;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Its number is that of the rule. */
static int add_part(struct name_parts *p, struct name_part part)
{
    if (p->n == p->cap) {
        const size_t cap = p->cap == 0 ? 16 : 2 * p->cap;
        void *grown = mem_grow(p->list, p->cap * sizeof *p->list, cap * sizeof *p->list);
        if (grown == NULL)
            return ERR_NOMEM;
        p->list = grown;
        p->cap = cap;
    }
    p->list[p->n++] = part;
    return 0;
}

/* The character after part's first bytes of its first name, and how many names share it. */
static struct name_part next_part(const struct name_parts *p, struct name_part part, uint32_t *c)
{
    utf8proc_int32_t found;
    const char *name = p->names[part.from];
    const utf8proc_ssize_t used =
        utf8proc_iterate((const utf8proc_uint8_t *)name + part.bytes, -1, &found);
    const size_t bytes = part.bytes + (size_t)(used > 0 ? used : 1);
    struct name_part next = {part.from, part.from, bytes};
    *c = used > 0 ? (uint32_t)found : 0xfffd;
    while (next.end < part.end && strncmp(p->names[next.end], name, bytes) == 0)
        next.end++;
    return next;
}

/* A name has c next: go on with what follows. Where one name alone ends there, any text does. */
static int add_shared(struct name_parts *p, struct name_part next, uint32_t c)
{
    struct buf text = {0};
    const bool last = next.end == next.from + 1 && p->names[next.from][next.bytes] == '\0';
    int rc = character_spell(&text, c);
    if (rc == 0 && (rc = buf_str(p->out, " | ")) == 0)
        rc = gbnf_add_literal(p->out, text.data, text.n);
    buf_release(&text);
    if (rc != 0)
        return rc;
    if (last)
        return buf_str(p->out, " char+ \"\\\"\"");
    if ((rc = add_part(p, next)) != 0)
        return rc;
    return buf_printf(p->out, " %s--name%zu", p->rule, p->n - 1);
}

static int add_part_rule(struct name_parts *p, size_t number)
{
    struct name_part rest = p->list[number];
    const bool ends = p->names[rest.from][rest.bytes] == '\0';
    struct buf shared = {0}, *out = p->out;
    int rc = buf_printf(out, number == 0 ? "%s--name ::= \"\\\"\" (" : "%s--name%zu ::= ", p->rule,
                        number);
    rest.from += ends;
    if (rc == 0)
        rc = buf_str(out, "[^\"\\\\\\x00-\\x1f\\x7f");
    /* The class has all these characters before the first alternative of one. */
    p->out = &shared;
    while (rest.from < rest.end && rc == 0) {
        uint32_t c;
        const struct name_part next = next_part(p, rest, &c);
        const bool plain = c > 0x1f && c != 0x7f && c != '"' && c != '\\';
        if (plain && (rc = gbnf_add_class_character(out, c)) == 0)
            rc = add_shared(p, next, c);
        rest.from = next.end;
    }
    p->out = out;
    if (rc == 0 && (rc = buf_printf(out, "] char* \"\\\"\"%s", buf_text(&shared))) == 0)
        rc = buf_str(out, ends ? "" : " | \"\\\"\"");
    buf_release(&shared);
    return rc != 0 ? rc : buf_str(out, number == 0 ? ")\n" : "\n");
}

int other_name_grammar(struct buf *out, const char *rule, const char **names, size_t n)
{
    struct name_parts p = {.out = out, .rule = rule, .names = names};
    qsort(names, n, sizeof *names, compare_names);
    int rc = add_part(&p, (struct name_part){0, n, 0});
    for (size_t i = 0; i < p.n && rc == 0; i++)
        rc = add_part_rule(&p, i);
    mem_free(p.list);
    return rc;
}
