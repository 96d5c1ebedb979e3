#include "repl/terminal/chances.h"

#include "repl/terminal/term.h"
#include "repl/terminal/token_text.h"

#include <math.h>
#include <string.h>

enum { WIDE = 100, PERCENT = 5, OWN = 7, RANK = 5, OTHER_COLUMNS = 16, LEGIBLE = 12 };

/* Beside a token that nothing stands before: it has no other columns. */
static const char FIRST[] = "  (the first)";

/* Of what the sampling settings cut off: less says nothing. */
static const float WORTH_SHOWING = 0.01F;

void chances_look(struct chances_look *out, FILE *f)
{
    const char *sure = term_curve(f, 3), *unsure = term_curve(f, 1);
    *out = (struct chances_look){.width = term_width(f),
                                 .blocks = term_utf8(),
                                 .sure = sure == NULL ? "" : sure,
                                 .unsure = unsure == NULL ? "" : unsure,
                                 .dim = term_dim(f),
                                 .plain = term_plain(f)};
}

void chances_percent(char out[8], double p)
{
    const char *text = !(p > 0) ? "-" : p < 0.0005 ? "<0.1" : p >= 0.99995 ? "100" : NULL;
    if (text == NULL && p >= 0.9995)
        text = ">99.9";
    if (text != NULL)
        snprintf(out, 8, "%s", text);
    else
        snprintf(out, 8, "%.1f", 100 * p);
}

/* Eighths of a column where there are characters for them. */
int chances_bar(struct buf *out, double p, int columns, bool blocks)
{
    int parts = blocks ? 8 : 1, filled = (int)lround(p * columns * parts), rc = 0;
    if (!(p > 0) || filled < 0)
        filled = 0;
    if (filled > columns * parts)
        filled = columns * parts;
    for (int i = 0; i < columns && rc == 0; i++, filled -= parts) {
        if (filled <= 0)
            rc = buf_char(out, ' ');
        else if (!blocks)
            rc = buf_char(out, '#');
        else /* U+2588 is a full block, U+258F its left eighth */
            rc = buf_add(
                out, (char[]){(char)0xe2, (char)0x96, (char)(0x90 - (filled < 8 ? filled : 8))}, 3);
    }
    return rc;
}

/* A token in quotes, cut to so many columns and filled up to `least`. */
static int put_token(struct buf *out, const struct tokenizer *t, token_id id, int columns,
                     int least)
{
    struct buf text = {0};
    int rc = token_text_quote(&text, t, id), wide = term_columns(buf_text(&text), text.n);
    if (rc == 0 && wide > columns) {
        text.n = term_fit(buf_text(&text), text.n, columns - 3);
        rc = buf_str(&text, "..\"");
        wide = term_columns(buf_text(&text), text.n);
    }
    if (rc == 0)
        rc = buf_add(out, text.data, text.n);
    if (rc == 0)
        rc = buf_printf(out, "%*s", least > wide ? least - wide : 0, "");
    buf_release(&text);
    return rc;
}

static int token_columns(const struct tokenizer *t, token_id id)
{
    struct buf text = {0};
    int columns = token_text_quote(&text, t, id) == 0 ? term_columns(buf_text(&text), text.n) : 0;
    buf_release(&text);
    return columns;
}

static const char *color_of(const struct chances_look *look, double p)
{
    return p >= (double)CHANCE_CERTAIN ? look->sure : look->unsure;
}

static int put_share(struct buf *out, const struct chances_look *look, double p, int bar,
                     const char *color)
{
    char percent[8];
    chances_percent(percent, p);
    int rc = buf_str(out, color);
    if (rc == 0)
        rc = chances_bar(out, p, bar, look->blocks);
    if (rc == 0)
        rc = buf_printf(out, " %*s", PERCENT, percent);
    return rc == 0 && *color != '\0' ? buf_str(out, look->plain) : rc;
}

/* Spaces at the end of a line are in nobody's interest. */
static int end_line(struct buf *out)
{
    while (out->n > 0 && out->data[out->n - 1] == ' ')
        out->n--;
    return buf_char(out, '\n');
}

/* ---- lists ---- */

struct list_columns {
    const struct chances_look *look;
    const struct tokenizer *tokenizer;
    enum chances_of of;
    int number, token, bar;
    bool own, others;
};

static int columns_before_others(const struct list_columns *c)
{
    return c->number + 2 + c->token + 2 + c->bar + 1 + PERCENT + (c->own ? 1 + OWN : 0) + 1 + RANK;
}

static void measure_list(struct list_columns *c, const struct choice *list, size_t n)
{
    const int width = c->look->width;
    c->own = c->of == CHANCES_OF_PROMPT || (c->of == CHANCES_OF_ANSWER && width >= CHANCES_NARROW);
    c->bar = width >= WIDE ? 10 : width >= CHANCES_NARROW ? 8 : c->own ? 3 : 6;
    c->number = n > 0 ? snprintf(NULL, 0, "%zu", list[n - 1].number) : 1;
    int longest = 5;
    for (size_t i = 0; i < n; i++) {
        int columns = token_columns(c->tokenizer, list[i].chosen.id);
        longest = columns > longest ? columns : longest;
    }
    int most = width < CHANCES_NARROW ? width - 1 - columns_before_others(c) : width / 5;
    for (; most < longest && most < LEGIBLE && c->bar > 0; most++)
        c->bar--;
    most = most < 5 ? 5 : most;
    c->token = longest < most ? longest : most;
    c->others = width - columns_before_others(c) >= 20;
}

static int put_list_head(struct buf *out, const struct list_columns *c)
{
    const bool prompt = c->of == CHANCES_OF_PROMPT;
    int rc = buf_printf(out, "%s%*s  %-*s  %*s", c->look->dim, c->number, "#", c->token, "token",
                        c->bar + 1 + PERCENT, "%");
    if (rc == 0 && c->own)
        rc = buf_printf(out, " %*s", OWN, prompt ? "bits" : "(own)");
    if (rc == 0)
        rc = buf_printf(out, " %*s%s%s\n", RANK, "rank",
                        !c->others ? ""
                        : prompt   ? "  expected"
                                   : "  alternatives",
                        c->look->plain);
    return rc;
}

/* " Sara" 12.0 (9.1) */
static int format_other(struct buf *out, const struct list_columns *c, const struct alternative *a)
{
    char sampled[8], own[8];
    chances_percent(sampled, (double)a->p_chain);
    chances_percent(own, (double)a->p_model);
    int rc = put_token(out, c->tokenizer, a->id, OTHER_COLUMNS, 0);
    if (rc != 0)
        return rc;
    return c->of != CHANCES_OF_ANSWER ? buf_printf(out, " %s", own)
                                      : buf_printf(out, " %s (%s)", sampled, own);
}

static int put_others(struct buf *out, const struct list_columns *c, const struct choice *choice)
{
    struct buf one = {0};
    int at = columns_before_others(c), rc = 0;
    for (int i = 0; i < choice->n_others && rc == 0; i++) {
        const struct alternative *a = &choice->others[i];
        if (a->id == choice->chosen.id || (a->p_chain < 0.0005F && a->p_model < WORTH_SHOWING))
            continue;
        one.n = 0;
        rc = format_other(&one, c, a);
        at += 2 + term_columns(buf_text(&one), one.n);
        if (rc != 0 || at >= c->look->width)
            break;
        const bool cut = !(a->p_chain > 0);
        rc = buf_printf(out, "  %s%s%s", cut ? c->look->dim : "", buf_text(&one),
                        cut ? c->look->plain : "");
    }
    buf_release(&one);
    return rc;
}

static int put_own(struct buf *out, const struct list_columns *c, double p)
{
    char own[8], in_brackets[12];
    if (c->of == CHANCES_OF_PROMPT)
        return p > 0 ? buf_printf(out, " %*.1f", OWN, -log2(p))
                     : buf_printf(out, " %*s", OWN, ">149");
    chances_percent(own, p);
    snprintf(in_brackets, sizeof in_brackets, "(%s)", own);
    return buf_printf(out, " %*s", OWN, in_brackets);
}

static int put_choice(struct buf *out, const struct list_columns *c, const struct choice *choice)
{
    const struct alternative *a = &choice->chosen;
    const int before = c->number + 2, alone = c->look->width - 1 - before - (int)strlen(FIRST);
    const bool first = a->rank == 0;
    int rc = buf_printf(out, "%*zu  ", c->number, choice->number);
    if (rc == 0)
        rc = put_token(out, c->tokenizer, a->id, first && alone > c->token ? alone : c->token,
                       c->token);
    if (rc != 0)
        return rc;
    if (first)
        return buf_printf(out, "%s%s%s\n", c->look->dim, FIRST, c->look->plain);
    rc = buf_str(out, "  ");
    if (rc == 0)
        rc = put_share(out, c->look, (double)a->p_chain, c->bar,
                       color_of(c->look, (double)a->p_chain));
    if (rc == 0 && c->own)
        rc = put_own(out, c, (double)a->p_model);
    if (rc == 0)
        rc = buf_printf(out, " %*d", RANK, a->rank);
    if (rc == 0 && c->others)
        rc = put_others(out, c, choice);
    return rc == 0 ? end_line(out) : rc;
}

int chances_list(struct buf *out, const struct chances_look *look, const struct tokenizer *t,
                 const struct choice *list, size_t n, enum chances_of of)
{
    struct list_columns c = {.look = look, .tokenizer = t, .of = of};
    measure_list(&c, list, n);
    int rc = put_list_head(out, &c);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = put_choice(out, &c, &list[i]);
    return rc;
}

/* ---- tables ---- */

struct table_columns {
    const struct chances_look *look;
    const struct tokenizer *tokenizer;
    int token, bar;
    bool rank;
};

static int put_alternative(struct buf *out, const struct table_columns *c,
                           const struct alternative *a, bool chosen)
{
    const char *color = chosen ? color_of(c->look, (double)a->p_chain) : "";
    int rc = buf_str(out, chosen ? "> " : "  ");
    if (rc == 0)
        rc = put_token(out, c->tokenizer, a->id, c->token, c->token);
    if (rc == 0)
        rc = buf_str(out, "  ");
    if (rc == 0)
        rc = put_share(out, c->look, (double)a->p_chain, c->bar, color);
    if (rc == 0)
        rc = buf_str(out, "  ");
    if (rc == 0)
        rc = put_share(out, c->look, (double)a->p_model, c->bar, "");
    if (rc == 0 && c->rank)
        rc = buf_printf(out, " %*d", RANK, a->rank);
    return rc == 0 ? end_line(out) : rc;
}

static int put_table_head(struct buf *out, const struct table_columns *c)
{
    const bool narrow = c->look->width < CHANCES_NARROW;
    const int column = c->bar + 1 + PERCENT;
    const char *settings = column < (int)sizeof "after %" - 1  ? "after"
                           : column < (int)sizeof "settings %" ? "after %"
                                                               : "settings %";
    int rc = buf_printf(out, "%s  %-*s  %*s  %*s", c->look->dim, c->token, "token", column,
                        narrow ? settings : "after the settings %", column,
                        narrow ? "own %" : "the model's own %");
    if (rc == 0 && c->rank)
        rc = buf_printf(out, " %*s", RANK, "rank");
    return rc == 0 ? buf_printf(out, "%s\n", c->look->plain) : rc;
}

int chances_table(struct buf *out, const struct chances_look *look, const struct tokenizer *t,
                  const struct alternative *list, int n, const struct alternative *chosen)
{
    struct table_columns c = {.look = look, .tokenizer = t, .rank = look->width >= CHANCES_NARROW};
    c.bar = look->width >= WIDE ? 24 : look->width >= CHANCES_NARROW ? 14 : 5;
    int longest = chosen == NULL ? 5 : token_columns(t, chosen->id);
    for (int i = 0; i < n; i++) {
        int columns = token_columns(t, list[i].id);
        longest = columns > longest ? columns : longest;
    }
    int most = look->width - 1 - 6 - 2 * (c.bar + 1 + PERCENT) - (c.rank ? 1 + RANK : 0);
    for (; most < longest && most < LEGIBLE && c.bar > (most < 5 ? 0 : 1); most += 2)
        c.bar--;
    most = most > look->width / 4 && c.rank ? look->width / 4 : most < 5 ? 5 : most;
    c.token = longest < 5 ? 5 : longest < most ? longest : most;
    bool seen = chosen == NULL;
    int rc = put_table_head(out, &c);
    for (int i = 0; i < n && rc == 0; i++) {
        const bool is_chosen = chosen != NULL && list[i].id == chosen->id;
        seen |= is_chosen;
        rc = put_alternative(out, &c, &list[i], is_chosen);
    }
    return rc == 0 && !seen ? put_alternative(out, &c, chosen, true) : rc;
}
