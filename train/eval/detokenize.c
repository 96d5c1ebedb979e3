#include "train/eval/detokenize.h"

#include "model/base/err.h"
#include "train/eval/spaces.h"

#include <string.h>

/* `from` becomes `to`; or, without from, spaces just inside of a pair of signs go. */
struct rule {
    const char *from, *to;
    char opening, closing;
};

static const struct rule wikitext[] = {
    {.from = "s '", .to = "s'"},
    {.from = " @-@ ", .to = "-"},
    {.from = " @,@ ", .to = ","},
    {.from = " @.@ ", .to = "."},
    {.from = " : ", .to = ": "},
    {.from = " ; ", .to = "; "},
    {.from = " . ", .to = ". "},
    {.from = " ! ", .to = "! "},
    {.from = " ? ", .to = "? "},
    {.from = " , ", .to = ", "},
    {.opening = '(', .closing = ')'},
    {.opening = '[', .closing = ']'},
    {.opening = '{', .closing = '}'},
    {.opening = '"', .closing = '"'},
    {.opening = '\'', .closing = '\''},
    {.from = "= = = =", .to = "===="},
    {.from = "= = =", .to = "==="},
    {.from = "= =", .to = "=="},
    {.from = " \xc2\xb0 ", .to = "\xc2\xb0"},
    {.from = " \n", .to = "\n"},
    {.from = "\n ", .to = "\n"},
    {.from = " N ", .to = " 1 "},
    {.from = " 's", .to = "'s"},
};

static const struct rule ptb[] = {
    {.from = " '", .to = "'"},     {.from = " \n", .to = "\n"}, {.from = "\n ", .to = "\n"},
    {.from = " n't", .to = "n't"}, {.from = " N ", .to = "1 "}, {.from = "$ 1", .to = "$1"},
    {.from = "# 1", .to = "#1"},
};

/* Each occurrence from the left, none over another: str.replace. */
static int replace_span(struct buf *out, struct span in, const struct rule *r)
{
    size_t n = strlen(r->from);
    int rc = 0;
    for (const char *end = in.text + in.n; rc == 0 && in.text < end;) {
        const char *hit = memmem(in.text, (size_t)(end - in.text), r->from, n);
        rc = buf_add(out, in.text, (size_t)((hit == NULL ? end : hit) - in.text));
        if (rc == 0 && hit != NULL)
            rc = buf_str(out, r->to);
        in.text = hit == NULL ? end : hit + n;
    }
    return rc;
}

/* re.sub of \( \s* ([^)]*?) \s* \): a pair reaches from an opening sign to the next closing one,
 * whatever else is between. */
static int trim_pairs(struct buf *out, struct span in, const struct rule *r)
{
    int rc = 0;
    for (const char *end = in.text + in.n; rc == 0 && in.text < end;) {
        const char *opening = memchr(in.text, r->opening, (size_t)(end - in.text));
        const char *closing =
            opening == NULL ? NULL : memchr(opening + 1, r->closing, (size_t)(end - opening - 1));
        if (closing == NULL)
            return buf_add(out, in.text, (size_t)(end - in.text));
        struct span inside = {opening + 1, (size_t)(closing - opening - 1)};
        inside = span_strip(inside);
        rc = buf_add(out, in.text, (size_t)(opening + 1 - in.text));
        if (rc == 0)
            rc = buf_add(out, inside.text, inside.n);
        if (rc == 0)
            rc = buf_char(out, r->closing);
        in.text = closing + 1;
    }
    return rc;
}

static int apply_rules(struct buf *text, const struct rule *rules, size_t n)
{
    struct buf out = {0};
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct span in = {buf_text(text), text->n};
        out.n = 0;
        rc = buf_reserve(&out, in.n + 1);
        if (rc == 0)
            rc = (rules[i].from == NULL ? trim_pairs : replace_span)(&out, in, &rules[i]);
        struct buf done = out;
        if (rc == 0) {
            out = *text;
            *text = done;
        }
    }
    buf_release(&out);
    return rc;
}

int detokenize_wikitext(struct buf *text)
{
    return apply_rules(text, wikitext, sizeof wikitext / sizeof *wikitext);
}

int detokenize_ptb(struct buf *text)
{
    return apply_rules(text, ptb, sizeof ptb / sizeof *ptb);
}
