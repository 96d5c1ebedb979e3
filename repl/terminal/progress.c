/*
 * Work has no beginning and no end of its own here, only steps: another name, or a number that
 * falls, begins other work; the last step, progress_wipe and progress_forget end it (line.what is
 * "" then). Nothing is drawn in its first FIRST_S, so that what is over soon leaves no trace.
 */
#include "repl/terminal/progress.h"

#include "model/base/clock.h"
#include "repl/terminal/status_line.h"
#include "repl/terminal/duration.h"
#include "repl/terminal/hint.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"

#include <stdio.h>
#include <string.h>

static const double FIRST_S = 0.4, EVERY_S = 0.1;

static struct {
    char what[64];        /* "": the next step begins other work */
    double begun, drawn;  /* when */
    uint64_t first, done; /* at the first step, and at the last */
} line;

void progress_forget(void)
{
    line.what[0] = '\0';
}

void progress_wipe(void)
{
    status_line_wipe();
    progress_forget();
}

/* "512 MB", "1.2 GB"; "12.5 million" of what is counted, as small totals of anything are. */
static void format_amount(char *out, size_t n, const char *what, uint64_t v, uint64_t total)
{
    if (total >= 10000000 && progress_counts(what))
        snprintf(out, n, "%.1f million", (double)v / 1e6);
    else if (total >= 10000000)
        snprintf(out, n, total >= 1000000000 ? "%.2f GB" : "%.0f MB",
                 (double)v / (total >= 1000000000 ? 1e9 : 1e6));
    else
        snprintf(out, n, "%llu", (unsigned long long)v);
}

/* "512 of 548 MB, 93 %, 11.2 MB/s, 12 s left"; on a narrow screen without the share. */
static void draw_download(uint64_t done, uint64_t total, double spent_s)
{
    char text[192], amount[64], share[24] = "", rest[64] = "", left[24];
    const double unit = total >= 1000000000 ? 1e9 : 1e6;
    const double rate = spent_s > 0 ? (double)(done - line.first) / spent_s : 0;
    const int digits = total >= 1000000000 ? 2 : total >= 10000000 ? 0 : 1;
    snprintf(amount, sizeof amount, "%.*f of %.*f %s", digits, (double)done / unit, digits,
             (double)total / unit, unit > 1e6 ? "GB" : "MB");
    if (total == 0)
        snprintf(amount, sizeof amount, "%.1f MB", (double)done / 1e6);
    else
        snprintf(share, sizeof share, ", %.0f %%", 100.0 * (double)done / (double)total);
    if (rate > 0) {
        int n = snprintf(rest, sizeof rest, ", %.*f MB/s", rate < 1e8 ? 1 : 0, rate / 1e6);
        if (total > 0)
            snprintf(rest + n, sizeof rest - (size_t)n, ", %s left",
                     duration_text(left, (double)(total - done) / rate));
    }
    const int width = term_width(stderr) - 1;
    int n = snprintf(text, sizeof text, "%s %s%s%s", PROGRESS_DOWNLOADING, amount, share, rest);
    if (n > width)
        n = snprintf(text, sizeof text, "%s%s%s", amount, share, rest);
    if (n > width)
        snprintf(text, sizeof text, "%s%s", amount, rest);
    status_line_draw(text);
}

/* "reading: 4 of 100, 4 %, 12 s left"; on a narrow screen without the amounts. */
static void draw_progress(const char *what, uint64_t done, uint64_t total, double spent_s)
{
    char text[192], some[24], all[24], rest[48] = "", left[24];
    const double share = total > 0 ? 100.0 * (double)done / (double)total : 0;
    format_amount(some, sizeof some, what, done, total);
    format_amount(all, sizeof all, what, total, total);
    /* How long it takes is not known before there was some of it. */
    if (total > 0 && done > line.first)
        snprintf(
            rest, sizeof rest, ", %s left",
            duration_text(left, spent_s * (double)(total - done) / (double)(done - line.first)));
    int n = total == 0 ? snprintf(text, sizeof text, "%s: %s", what, some)
                       : snprintf(text, sizeof text, "%s: %s of %s, %.0f %%%s", what, some, all,
                                  share, rest);
    if (total > 0 && n > term_width(stderr) - 1)
        snprintf(text, sizeof text, "%s: %.0f %%%s", what, share, rest);
    status_line_draw(text);
}

static void report_step(void *user, const char *what, uint64_t done, uint64_t total)
{
    (void)user;
    double now = clock_s();
    /* Another name or a step back is other work. */
    if (strncmp(line.what, what, sizeof line.what - 1) != 0 || done < line.done) {
        snprintf(line.what, sizeof line.what, "%s", what);
        line.begun = now;
        line.first = done;
    }
    line.done = done;
    if (total > 0 && done >= total) {
        progress_wipe();
    } else if (now - line.begun > FIRST_S && now - line.drawn > EVERY_S) {
        line.drawn = now;
        if (strcmp(what, PROGRESS_DOWNLOADING) == 0)
            draw_download(done, total, now - line.begun);
        else
            draw_progress(what, done, total, now - line.begun);
    }
}

void progress_warn(const char *sentence)
{
    struct buf text = {0};
    status_line_wipe();
    fflush(stdout);
    wrap_say(stderr, "", "prattle: %s",
             hint_sentence(&text, sentence) == 0 ? buf_text(&text) : sentence);
    buf_release(&text);
}

static void report_note(void *user, const char *text)
{
    (void)user;
    progress_warn(text);
}

const struct progress *progress_show(void)
{
    static const struct progress drawn = {report_step, report_note, NULL},
                                 plain = {NULL, report_note, NULL};
    return status_line_available() ? &drawn : &plain;
}
