#include "repl/progress.h"

#include "model/base/clock.h"
#include "repl/term.h"

#include <stdio.h>
#include <string.h>

static const double FIRST_S = 0.4, EVERY_S = 0.1, NEW_WORK_S = 1.0;

static struct {
    char what[64];
    double begun, drawn, last;
    uint64_t done;
    bool visible;
} line;

void progress_wipe(void)
{
    if (line.visible)
        fputs("\r\033[K", stderr);
    line.visible = false;
}

/* "512 MB", "1.2 GB"; large totals are bytes, small ones are counted. */
static void amount(char *out, size_t n, uint64_t v, uint64_t total)
{
    if (total >= 10000000)
        snprintf(out, n, total >= 1000000000 ? "%.2f GB" : "%.0f MB",
                 (double)v / (total >= 1000000000 ? 1e9 : 1e6));
    else
        snprintf(out, n, "%llu", (unsigned long long)v);
}

static void draw(const char *what, uint64_t done, uint64_t total, double spent_s)
{
    char text[160], some[24], all[24];
    amount(some, sizeof some, done, total);
    amount(all, sizeof all, total, total);
    if (total == 0)
        snprintf(text, sizeof text, "%s: %s", what, some);
    else {
        double left_s = done > 0 ? spent_s * (double)(total - done) / (double)done : 0;
        snprintf(text, sizeof text, "%s: %s of %s, %.0f %%, %.0f s left", what, some, all,
                 100.0 * (double)done / (double)total, left_s);
    }
    int width = term_width(stderr) - 1;
    fprintf(stderr, "\r%s%.*s%s\033[K", term_dim(stderr), width, text, term_plain(stderr));
    fflush(stderr);
    line.visible = true;
}

static void step(void *user, const char *what, uint64_t done, uint64_t total)
{
    (void)user;
    double now = clock_s();
    /* Another name, a step back or a long silence is other work. */
    if (strncmp(line.what, what, sizeof line.what - 1) != 0 || done == 0 || done < line.done ||
        now - line.last > NEW_WORK_S) {
        snprintf(line.what, sizeof line.what, "%s", what);
        line.begun = now;
    }
    line.last = now;
    line.done = done;
    if (total > 0 && done >= total) {
        progress_wipe();
    } else if (now - line.begun > FIRST_S && now - line.drawn > EVERY_S) {
        line.drawn = now;
        draw(what, done, total, now - line.begun);
    }
}

void progress_warn(const char *sentence)
{
    struct buf shown = {0};
    term_visible(&shown, sentence, strlen(sentence));
    progress_wipe();
    fflush(stdout);
    fprintf(stderr, "prattle: %s\n", buf_text(&shown));
    buf_release(&shown);
}

static void note(void *user, const char *text)
{
    (void)user;
    progress_warn(text);
}

const struct progress *progress_show(void)
{
    static const struct progress drawn = {step, note, NULL}, plain = {NULL, note, NULL};
    return term_is(stderr) ? &drawn : &plain;
}
