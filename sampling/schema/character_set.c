#include "sampling/schema/character_set.h"

#include "model/base/err.h"
#include "sampling/schema/gbnf.h"

#include <string.h>
#include <utf8proc.h>

enum { LAST = 0x10ffff, BEFORE_BLANK = 0x1f, DELETE = 0x7f };

int character_set_add(struct character_set *s, uint32_t first, uint32_t last)
{
    size_t at = 0, after;
    while (at < s->n && s->list[at].last + 1 < first)
        at++;
    for (after = at; after < s->n && s->list[after].first <= last + 1; after++) {
        first = s->list[after].first < first ? s->list[after].first : first;
        last = s->list[after].last > last ? s->list[after].last : last;
    }
    if (after == at && s->n == CHARACTER_RANGES)
        return err_set(ERR_RANGE, "a class has more than %d ranges", CHARACTER_RANGES);
    memmove(s->list + at + 1, s->list + after, (s->n - after) * sizeof *s->list);
    s->list[at] = (struct character_range){first, last};
    s->n = s->n + 1 - (after - at);
    return 0;
}

int character_set_add_all(struct character_set *s, const struct character_set *other)
{
    int rc = 0;
    for (size_t i = 0; i < other->n && rc == 0; i++)
        rc = character_set_add(s, other->list[i].first, other->list[i].last);
    return rc;
}

int character_set_complement(struct character_set *s)
{
    struct character_set gaps = {.n = 0};
    uint32_t from = 0;
    int rc = 0;
    for (size_t i = 0; i < s->n && rc == 0; i++) {
        if (s->list[i].first > from)
            rc = character_set_add(&gaps, from, s->list[i].first - 1);
        from = s->list[i].last + 1;
    }
    if (rc == 0 && from <= LAST)
        rc = character_set_add(&gaps, from, LAST);
    if (rc == 0)
        *s = gaps;
    return rc;
}

void character_set_remove(struct character_set *s, uint32_t first, uint32_t last)
{
    struct character_set left = {.n = 0};
    for (size_t i = 0; i < s->n; i++) {
        const struct character_range r = s->list[i];
        if (r.first < first)
            left.list[left.n++] =
                (struct character_range){r.first, r.last < first ? r.last : first - 1};
        if (r.last > last)
            left.list[left.n++] =
                (struct character_range){r.first > last ? r.first : last + 1, r.last};
    }
    *s = left;
}

bool character_set_has(const struct character_set *s, uint32_t c)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->list[i].first <= c && c <= s->list[i].last)
            return true;
    return false;
}

int character_spell(struct buf *out, uint32_t c)
{
    static const char letters[] = "\"\\bfnrt", bytes[] = "\"\\\b\f\n\r\t";
    unsigned char text[4];
    const char *at = c != 0 && c < 0x80 ? strchr(bytes, (int)c) : NULL;
    if (at != NULL)
        return buf_printf(out, "\\%c", letters[at - bytes]);
    if (c <= BEFORE_BLANK || c == DELETE)
        return buf_printf(out, "\\u%04x", (unsigned)c);
    const utf8proc_ssize_t n = utf8proc_encode_char((utf8proc_int32_t)c, text);
    return buf_add(out, text, (size_t)n);
}

static int add_ranges(struct buf *out, const struct character_set *s)
{
    int rc = 0;
    for (size_t i = 0; i < s->n && rc == 0; i++) {
        const struct character_range r = s->list[i];
        rc = gbnf_add_class_character(out, r.first);
        if (rc == 0 && r.last > r.first + 1)
            rc = buf_char(out, '-');
        if (rc == 0 && r.last > r.first)
            rc = gbnf_add_class_character(out, r.last);
    }
    return rc;
}

/* What a string may hold as it is. */
static void remove_escaped(struct character_set *s)
{
    character_set_remove(s, 0, BEFORE_BLANK);
    character_set_remove(s, '"', '"');
    character_set_remove(s, '\\', '\\');
    character_set_remove(s, DELETE, DELETE);
    character_set_remove(s, 0xd800, 0xdfff);
}

/* A class of those that stand for themselves. */
static int add_plain(struct buf *out, const struct character_set *s, size_t *parts)
{
    struct character_set plain = *s;
    int rc;
    *parts = 0;
    if (s->n > 0 && s->list[s->n - 1].last == LAST) {
        if ((rc = character_set_complement(&plain)) != 0)
            return rc;
        remove_escaped(&plain);
        rc = buf_str(out, "[^\"\\\\\\x00-\\x1f\\x7f");
    } else {
        remove_escaped(&plain);
        if (plain.n == 0)
            return 0;
        rc = buf_char(out, '[');
    }
    *parts = 1;
    if (rc == 0 && (rc = add_ranges(out, &plain)) == 0)
        rc = buf_char(out, ']');
    return rc;
}

int character_set_grammar(struct buf *out, size_t *parts, const struct character_set *s)
{
    struct buf one = {0}, all = {0};
    const bool all_but = s->n > 0 && s->list[s->n - 1].last == LAST;
    int rc = add_plain(&all, s, parts);
    for (uint32_t c = 0; c <= DELETE && rc == 0; c++) {
        const bool control = c <= BEFORE_BLANK || c == DELETE;
        if (!character_set_has(s, c) || !(control ? !all_but : c == '"' || c == '\\'))
            continue;
        one.n = 0;
        if ((rc = buf_str(&all, (*parts)++ > 0 ? " | " : "")) == 0 &&
            (rc = character_spell(&one, c)) == 0)
            rc = gbnf_add_literal(&all, one.data, one.n);
    }
    if (rc == 0)
        rc = buf_printf(out, *parts > 1 ? "(%s)" : "%s", buf_text(&all));
    buf_release(&one);
    buf_release(&all);
    return rc;
}
