#include "repl/commands/eval_report.h"

#include "model/adapter.h"
#include "model/base/err.h"
#include "model/base/file_show.h"
#include "model/base/mem.h"
#include "repl/terminal/duration.h"
#include "repl/terminal/number.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct figure_text {
    char value[NUMBER_TEXT], error[NUMBER_TEXT]; /* error "": there is none */
};

/* As many decimals as the evaluation has for it, and none where its digits are enough; else those
 * that the error justifies. */
static void format_figure(struct figure_text *out, const struct eval_figure *f)
{
    const double size = fabs(f->value);
    if (f->format == NULL && isfinite(f->value) && isfinite(f->error)) {
        number_pair(out->value, out->error, f->value, f->error);
        return;
    }
    if (f->format == NULL) {
        number_text(out->value, f->value, EVAL_DIGITS);
        out->error[0] = '\0';
        return;
    }
    const char *format = size < 1e5 ? f->format : size < 1e6 ? "%.0f" : "%.4g";
    snprintf(out->value, NUMBER_TEXT, format, f->value);
    number_shorten(out->value);
    out->error[0] = '\0';
    if (!isnan(f->error)) {
        snprintf(out->error, NUMBER_TEXT, format, f->error);
        number_shorten(out->error);
        /* "± 0.00" would say that there is none. */
        if (f->error > 0 && strtod(out->error, NULL) == 0)
            number_pair(out->value, out->error, f->value, f->error);
    }
}

static const char *error_text(const struct figure_text *t)
{
    return t->error[0] == '\0' ? NULL : t->error;
}

enum { INDENT = 2, LEAST_NAME = 12, USUAL_NAME = 8 };

/* Up to where the numbers begin. */
static int add_name(struct buf *row, const char *name, int room)
{
    char *text = mem_sprintf("%*s%s", INDENT, "", name);
    int rc = text == NULL ? ERR_NOMEM : wrap_into(row, text, INDENT + room + 1);
    const char *broken = row->n == 0 ? NULL : strrchr(row->data, '\n'),
               *last = broken == NULL ? buf_text(row) : broken + 1;
    const int gap = INDENT + room + 1 - term_columns(last, strlen(last));
    mem_free(text);
    return rc == 0 ? buf_printf(row, "%*s", gap < 1 ? 1 : gap, "") : rc;
}

/* Behind their names, which break between words where a terminal has no room for them beside. */
static int print_figures(const struct eval_result *r)
{
    struct figure_text texts[EVAL_MAX_FIGURES];
    struct number_column c = {0};
    int name = USUAL_NAME, rc = 0;
    for (int i = 0; i < r->n_figures; i++) {
        format_figure(&texts[i], &r->figures[i]);
        number_column_add(&c, texts[i].value, error_text(&texts[i]));
        name = (int)fmax(name, (double)strlen(r->figures[i].text));
    }
    const int room = term_width(stdout) - 1 - INDENT - 1 - number_column_width(&c);
    if (term_is(stdout) && name > room)
        name = room < LEAST_NAME ? LEAST_NAME : room;
    for (int i = 0; i < r->n_figures && rc == 0; i++) {
        struct buf row = {0};
        rc = add_name(&row, r->figures[i].text, name);
        if (rc == 0)
            rc = number_column_put(&row, &c, texts[i].value, error_text(&texts[i]));
        if (rc == 0)
            printf("%s\n", buf_text(&row));
        buf_release(&row);
    }
    return rc;
}

static int print_head(const struct eval_result *r, const struct model *m)
{
    struct buf head = {0};
    char shown[1024], *name = mem_sprintf("eval %s", r->name);
    int rc = name == NULL
                 ? ERR_NOMEM
                 : buf_printf(&head, ": %s%s%s, %s, on %s\n", m->name,
                              m->adapter != NULL && m->adapter->on ? " with an adapter" : "",
                              m->changed ? ", changed" : "", r->precision,
                              file_show(shown, sizeof shown, r->path));
    if (rc == 0)
        wrap_labelled(stdout, term_bold(stdout), name, buf_text(&head));
    mem_free(name);
    buf_release(&head);
    return rc;
}

/* The words that are counted agree with 1. */
static int add_counts(struct buf *out, const struct eval_result *r)
{
    char time[16];
    const int unit = (int)strlen(r->unit) - (r->total == 1);
    int rc = buf_printf(out, "%s%llu of %llu %.*s", r->partial ? "PARTIAL, stopped: " : "",
                        (unsigned long long)r->done, (unsigned long long)r->total, unit, r->unit);
    if (rc == 0 && r->left_out > 0)
        rc = buf_printf(out, ", %llu left out", (unsigned long long)r->left_out);
    if (rc == 0)
        rc = buf_printf(out, "; %llu target%s, %llu token%s in %s, %.0f tokens/s",
                        (unsigned long long)r->targets, r->targets == 1 ? "" : "s",
                        (unsigned long long)r->tokens, r->tokens == 1 ? "" : "s",
                        duration_short(time, r->seconds),
                        r->seconds > 0 ? (double)r->tokens / r->seconds : 0);
    return rc;
}

int eval_report_show(const struct eval_result *r, const struct model *m)
{
    int rc = print_head(r, m);
    wrap_say(stdout, term_dim(stdout), "  %s", r->definition);
    if (rc == 0)
        rc = print_figures(r);
    struct buf counts = {0};
    if (rc == 0)
        rc = buf_str(&counts, "  ");
    if (rc == 0)
        rc = add_counts(&counts, r);
    if (rc == 0)
        rc = buf_char(&counts, '\n');
    if (rc == 0)
        wrap_figures(stdout, "", buf_text(&counts));
    buf_release(&counts);
    return rc;
}
