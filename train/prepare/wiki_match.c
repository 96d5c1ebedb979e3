#include "train/prepare/wiki_match.h"

#include "model/base/buf.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

enum { REACH = 64 }; /* how deep a closing one looks for its opening */

struct open {
    uint32_t at;
    char kind;
};

struct match {
    uint32_t *close;
    const char *text;
    size_t n;
    struct buf stack; /* of struct open */
};

static bool begins_line(const struct match *m, size_t i)
{
    while (i > 0 && (m->text[i - 1] == ' ' || m->text[i - 1] == ':' || m->text[i - 1] == '\t'))
        i--;
    return i == 0 || m->text[i - 1] == '\n';
}

static int push(struct match *m, size_t i, char kind)
{
    const struct open o = {(uint32_t)i, kind};
    return buf_add(&m->stack, &o, sizeof o);
}

/* Those that were opened later are none. false: nothing of this kind is open. */
static bool pop(struct match *m, size_t i, char kind)
{
    const size_t n = m->stack.n / sizeof(struct open);
    for (size_t k = 1; k <= n && k <= REACH; k++) {
        struct open o;
        memcpy(&o, m->stack.data + (n - k) * sizeof o, sizeof o);
        if (o.kind == kind) {
            m->close[o.at] = (uint32_t)i;
            m->stack.n = (n - k) * sizeof o;
            return true;
        }
    }
    return false;
}

static char top_kind(const struct match *m)
{
    struct open o = {0};
    if (m->stack.n > 0)
        memcpy(&o, m->stack.data + m->stack.n - sizeof o, sizeof o);
    return o.kind;
}

static const bool is_bracket[UCHAR_MAX + 1] = {
    ['{'] = true, ['}'] = true, ['['] = true, [']'] = true, ['|'] = true};

int wiki_match(uint32_t *close, const char *text, size_t n)
{
    struct match m = {.close = close, .text = text, .n = n};
    int rc = 0;
    for (size_t i = 0; i + 1 < n && rc == 0; i++) {
        if (!is_bracket[(unsigned char)text[i]])
            continue;
        const char a = text[i], b = text[i + 1];
        size_t used = 1;
        if (a == '{' && b == '{')
            rc = push(&m, i, '{');
        else if (a == '[' && b == '[')
            rc = push(&m, i, '[');
        else if (a == '{' && b == '|' && begins_line(&m, i))
            rc = push(&m, i, '|');
        else if (a == '}' && b == '}')
            pop(&m, i, '{');
        else if (a == ']' && b == ']')
            pop(&m, i, '[');
        else if (a == '|' && b == '}' && begins_line(&m, i) && top_kind(&m) != '{')
            pop(&m, i, '|');
        else
            used = 0;
        i += used;
    }
    buf_release(&m.stack);
    return rc;
}
