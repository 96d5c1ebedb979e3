#include "repl/commands/eval_report.h"

#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void print_figure(const struct eval_figure *f, int width)
{
    char number[48];
    const char *format = fabs(f->value) < 1e6 ? f->format : "%.4g";
    snprintf(number, sizeof number, format, f->value);
    printf("  %-*s %s", width, f->text, number);
    if (!isnan(f->error)) {
        snprintf(number, sizeof number, format, f->error);
        printf(" +- %s", number);
    }
    putchar('\n');
}

void eval_report_show(const struct eval_result *r, const struct model *m)
{
    int width = 8;
    for (int i = 0; i < r->n_figures; i++)
        if ((int)strlen(r->figures[i].text) > width)
            width = (int)strlen(r->figures[i].text);
    printf("%s%s%s of ", term_bold(stdout), r->name, term_plain(stdout));
    term_print(stdout, m->name);
    printf(", %s, on ", model_precision(m));
    term_print(stdout, r->path);
    putchar('\n');
    wrap_say(stdout, term_dim(stdout), "  %s", r->definition);
    for (int i = 0; i < r->n_figures; i++)
        print_figure(&r->figures[i], width);
    struct buf counts = {0};
    int rc = buf_printf(&counts, "%s%llu of %llu %s", r->partial ? "PARTIAL, stopped: " : "",
                        (unsigned long long)r->done, (unsigned long long)r->total, r->unit);
    if (rc == 0 && r->left_out > 0)
        rc = buf_printf(&counts, ", %llu left out", (unsigned long long)r->left_out);
    if (rc == 0)
        buf_printf(&counts, "; %llu targets, %llu tokens in %.1f s, %.0f tokens/s",
                   (unsigned long long)r->targets, (unsigned long long)r->tokens, r->seconds,
                   r->seconds > 0 ? (double)r->tokens / r->seconds : 0);
    wrap_say(stdout, "", "  %s", buf_text(&counts));
    buf_release(&counts);
}
