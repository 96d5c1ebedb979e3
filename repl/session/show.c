/*
 * A text on its way to standard output: the bytes, made visible (`safe`) where that is a terminal,
 * then broken into lines (`wrapped`). What stands before an answer is shown only when its first
 * text comes, as the status line may be drawn until then.
 */
#include "repl/session/show.h"

#include "repl/session/json_lines.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/duration.h"
#include "repl/terminal/term.h"

#include <inttypes.h>
#include <limits.h>

void show_text(struct showing *w, const char *bytes, size_t n)
{
    if (n == 0)
        return;
    progress_wipe();
    if (w->visible) {
        w->safe.n = 0;
        if (term_visible(&w->safe, bytes, n) != 0)
            return;
        const struct buf *shown = &w->safe;
        w->wrapped.n = 0;
        if (w->wraps) {
            if (wrap_text(&w->lines, &w->wrapped, w->safe.data, w->safe.n, term_width(stdout)) != 0)
                return;
            shown = &w->wrapped;
        }
        term_write(shown->data, shown->n);
    } else {
        fwrite(bytes, 1, n, stdout);
        fflush(stdout);
    }
    w->any = true;
    w->newline = bytes[n - 1] == '\n';
}

/* Before an answer: late, as the status line may be drawn until its first text comes. */
static void show_head(struct showing *w)
{
    const bool typed = w->settings->talk.echo == SWITCH_ON;
    const char *text = typed ? w->typed : buf_text(&w->line);
    const size_t n = typed ? w->n_typed : w->line.n;
    w->begun = true;
    if (n == 0)
        return;
    progress_wipe();
    fputs(w->visible ? term_dim(stdout) : "", stdout);
    show_text(w, text, n);
    fputs(w->visible ? term_plain(stdout) : "", stdout);
}

static void stream_text(void *user, int answer, const char *bytes, size_t n)
{
    struct showing *w = user;
    if (!w->stream || answer != 0)
        return;
    if (!w->begun)
        show_head(w);
    show_text(w, bytes, n);
}

static void show_status(void *user, const char *sentence)
{
    struct showing *w = user;
    if (term_is(stdout)) {
        if (w->any && !w->newline)
            fputc('\n', stdout);
        w->newline = true;
        wrap_at(&w->lines, 0);
    }
    progress_warn(sentence);
}

/* "; 42 of 60 drafted tokens accepted", where there were any. */
static int format_drafted(struct buf *out, const struct answer *a, int n)
{
    long drafted = 0, accepted = 0;
    for (int i = 0; i < n; i++) {
        drafted += a[i].n_drafted;
        accepted += a[i].n_accepted;
    }
    return drafted == 0 ? 0
                        : buf_printf(out, "; %ld of %ld drafted token%s accepted", accepted,
                                     drafted, drafted == 1 ? "" : "s");
}

static size_t count_new(const struct answer *a, int n)
{
    size_t n_new = 0;
    for (int i = 0; i < n; i++)
        n_new += a[i].ids.n;
    return n_new;
}

/* What a terminal may be too narrow for: first the time that the prompt took, then the prompt. */
enum figures_form { ALL_FIGURES, WITHOUT_PREFILL, WITHOUT_PROMPT, N_FIGURES_FORMS };

static int format_prompt(struct buf *out, const struct answer *a, enum figures_form form)
{
    char prefill[16];
    if (form == WITHOUT_PROMPT)
        return 0;
    int rc = buf_printf(out, "%d prompt token%s", a->n_prompt, a->n_prompt == 1 ? "" : "s");
    if (rc == 0 && form == ALL_FIGURES)
        rc = buf_printf(out, " in %s", duration_short(prefill, a->prefill_s));
    return rc == 0 ? buf_str(out, "; ") : rc;
}

/* "[4 prompt tokens in 0.02 s; 128 new in 1.30 s, 98.5 tokens/s; length; seed 7]" */
static int format_figures(struct buf *out, const struct settings *s, const struct answer *a, int n,
                          enum figures_form form)
{
    const double decode_s = a->decode_s;
    const size_t n_new = count_new(a, n);
    const double speed = decode_s > 0 ? (double)n_new / decode_s : 0;
    char decode[16];
    const bool drawn = json_is_drawn(s);
    int rc = buf_char(out, '[');
    if (rc == 0)
        rc = format_prompt(out, a, form);
    if (rc == 0)
        rc = buf_printf(out, "%zu new in %s", n_new, duration_short(decode, decode_s));
    if (rc == 0 && decode_s > 0)
        rc = buf_printf(out, ", %.*f tokens/s", speed < 99.95 ? 1 : 0, speed);
    if (rc == 0)
        rc = buf_printf(out, "; %s", finish_name(a->finish));
    if (rc == 0 && drawn)
        rc = buf_printf(out, "; seed %" PRIu64, s->sampler.seed);
    if (rc == 0 && drawn && s->sampler.draw != 0)
        rc = buf_printf(out, ", draw %" PRId64, s->sampler.draw);
    /* Who asked for drafts sees what came of them; with auto, who wants to see all. */
    if (rc == 0 && !s->talk.verbose && speculate_of(s->generate.speculate) != SPECULATE_AUTO)
        rc = format_drafted(out, a, n);
    return rc == 0 ? buf_str(out, "]\n") : rc;
}

static int format_verbose(struct buf *out, const struct answer *a, int n)
{
    const double all_s = a->prefill_s + a->decode_s;
    const size_t n_new = count_new(a, n);
    int rc = buf_printf(out,
                        "[%.2f ms per token, %.1f ms per sentence, %.2f samples/s; %d of %d prompt "
                        "tokens were in the cache",
                        n_new > 0 ? 1e3 * a->decode_s / (double)n_new : 0.0, 1e3 * all_s / n,
                        all_s > 0 ? n / all_s : 0.0, a->n_reused, a->n_prompt);
    if (rc == 0)
        rc = format_drafted(out, a, n);
    return rc == 0 ? buf_str(out, "]\n") : rc;
}

/* In one row, where leaving figures out makes it one; else all of them. */
static int fit_figures(struct buf *out, const struct settings *s, const struct answer *a, int n,
                       int width)
{
    for (enum figures_form form = ALL_FIGURES; form < N_FIGURES_FORMS; form++) {
        out->n = 0;
        const int rc = format_figures(out, s, a, n, form);
        if (rc != 0 || (int)out->n <= width) /* its newline takes no column, but the last is free */
            return rc;
    }
    out->n = 0;
    return format_figures(out, s, a, n, ALL_FIGURES);
}

void show_figures(FILE *f, const struct settings *s, const struct answer *a, int n)
{
    struct buf text = {0};
    int rc = fit_figures(&text, s, a, n, term_is(f) ? term_width(f) : INT_MAX);
    if (rc == 0 && s->talk.verbose)
        rc = format_verbose(&text, a, n);
    if (rc == 0)
        wrap_figures(f, term_dim(f), buf_text(&text));
    buf_release(&text);
}

static void show_ids(const struct answer *a)
{
    for (size_t i = 0; i < a->ids.n; i++)
        printf("%s%d", i == 0 ? "" : ",", a->ids.data[i]);
    fputc('\n', stdout);
}

/* "[2] ", "[2, score -0.7311] " of what a beam search found. */
static void show_number(struct showing *w, int number, const struct answer *scored)
{
    char label[48];
    int n = snprintf(label, sizeof label, "[%d", number);
    if (scored != NULL)
        n += snprintf(label + n, sizeof label - (size_t)n, ", score %.4f", scored->score);
    printf("%s%s]%s ", term_dim(stdout), label, term_plain(stdout));
    wrap_at(&w->lines, n + 2);
}

/* The answers that were not streamed, and what ends each: a newline, or NUL with raw. */
static void show_plain(struct showing *w, const struct answer *answers, int n)
{
    const struct settings *s = w->settings;
    for (int i = 0; i < n; i++) {
        if (s->call.output == OUTPUT_IDS) {
            show_ids(&answers[i]);
            continue;
        }
        if (!w->stream) {
            if (n > 1 && !w->raw)
                show_number(w, i + 1, s->generate.num_beams > 1 ? &answers[i] : NULL);
            show_head(w);
            show_text(w, buf_text(&answers[i].text), answers[i].text.n);
        } else if (!w->begun) {
            show_head(w);
        }
        if (w->raw)
            fputc('\0', stdout);
        else if (!w->newline)
            fputc('\n', stdout);
        w->newline = false;
        wrap_at(&w->lines, 0);
    }
}

static void show_object(const struct showing *w, const struct answer *answers, int n)
{
    struct buf line = {0};
    if (json_line_answer(&line, (struct json_asked){.text = w->typed, .n = w->n_typed}, w->settings,
                         w->settings->sampler.draw, answers, n, w->scores) == 0)
        term_put(stdout, &line);
    buf_release(&line);
}

void show_answers(struct showing *w, const struct answer *answers, int n)
{
    if (w->jsonl)
        show_object(w, answers, n);
    else
        show_plain(w, answers, n);
}

void show_typed(struct showing *w, const char *prompt, size_t n)
{
    w->typed = prompt;
    w->n_typed = n;
}

bool show_echoes_line(const struct showing *w)
{
    return w->settings->talk.echo == SWITCH_AUTO && w->visible && !w->jsonl &&
           w->settings->call.output == OUTPUT_TEXT;
}

int show_echo_line(struct showing *w, const char *text, size_t n)
{
    const int width = term_width(stdout);
    size_t line = n;
    while (line > 0 && text[line - 1] != '\n')
        line--;
    size_t from = line + term_last_words(text + line, n - line, width - 1);
    if (from == line)
        return buf_add(&w->line, text + line, n - line);
    from = line + term_last_words(text + line, n - line, width / 2);
    int rc = buf_str(&w->line, "... ");
    return rc == 0 ? buf_add(&w->line, text + from, n - from) : rc;
}

void show_init(struct showing *w, const struct settings *s, bool interactive)
{
    /* The forms of batches hold for one prompt too, not for a person at a terminal. */
    const bool raw = s->batch.raw && !interactive, jsonl = s->batch.jsonl && !interactive;
    *w = (struct showing){.settings = s,
                          .visible = term_is(stdout) && !raw,
                          .stream = s->generate.num_return_sequences == 1 &&
                                    s->call.output == OUTPUT_TEXT && !jsonl,
                          .raw = raw,
                          .jsonl = jsonl,
                          .wraps = s->talk.wrap};
}

struct generate_callbacks show_callbacks(struct showing *w)
{
    return (struct generate_callbacks){.text = stream_text,
                                       .status = show_status,
                                       .progress = progress_show(),
                                       .want_logprobs =
                                           w->jsonl || *w->settings->talk.save_samples != '\0',
                                       .user = w};
}

void show_end_line(struct showing *w)
{
    if (w->any && !w->newline)
        fputc('\n', stdout);
}

void show_release(struct showing *w)
{
    wrap_release(&w->lines);
    buf_release(&w->line);
    buf_release(&w->safe);
    buf_release(&w->wrapped);
}
