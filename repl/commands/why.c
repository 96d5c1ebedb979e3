/* :why: what the tokens of an answer, or of its prompt, were chosen from. */
#include "repl/commands/commands.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "repl/session/explain.h"
#include "repl/session/repl.h"
#include "repl/terminal/chances.h"
#include "repl/terminal/number.h"
#include "repl/terminal/pager.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/token_text.h"
#include "repl/terminal/wrap.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_ALTERNATIVES = 8, TABLE_ALTERNATIVES = 20 };

enum why_what { WHY_UNCERTAIN, WHY_ALL, WHY_ONE, WHY_PROMPT };

struct why {
    struct repl *r;
    const struct turn *turn; /* NULL: a text that nobody knows how it was made */
    enum why_what what;
    long answer, number; /* from 1 */
    struct ids text;     /* the prompt and that answer */
    size_t start;        /* where it begins */
    struct chances_look look;
    struct buf out;
};

static bool parse_number(const char *word, long *out)
{
    char *end;
    *out = strtol(word, &end, 10);
    return *word != '\0' && *end == '\0' && *out > 0;
}

static int parse_why(struct why *w, const struct call *c)
{
    int at = 0;
    w->answer = 1;
    if (c->n > 0 && strcmp(c->words[0], "answer") == 0) {
        if (c->n < 2 || !parse_number(c->words[1], &w->answer))
            return err_set(ERR_RANGE, "which answer? `:why answer 2` explains the second");
        at = 2;
    }
    if (c->n > at + 1)
        return command_usage(c, "[answer N] [all|N|prompt]");
    if (c->n == at)
        w->what = WHY_UNCERTAIN;
    else if (strcmp(c->words[at], "all") == 0)
        w->what = WHY_ALL;
    else if (strcmp(c->words[at], "prompt") == 0)
        w->what = WHY_PROMPT;
    else if (parse_number(c->words[at], &w->number))
        w->what = WHY_ONE;
    else
        return command_usage(c, "[answer N] [all|N|prompt]");
    return 0;
}

/* The text in question. Of one whose beginning and end are not known all is its own prompt. */
static int take_text(struct why *w)
{
    const struct repl *r = w->r;
    const struct ids *text = &r->sequence.ids;
    w->turn = r->n_turns > 0 ? &r->turns[r->n_turns - 1] : NULL;
    if (w->turn == NULL && text->n == 0)
        return err_set(ERR_MISSING, "there is no answer yet to explain; type a prompt");
    if (w->turn == NULL) {
        w->start = text->n;
        return ids_add(&w->text, text->data, text->n);
    }
    const token_id *prompt = turn_prompt(w->turn, text, &w->start);
    if (w->answer > w->turn->n_answers)
        return err_set(ERR_RANGE, "there is no answer %ld; the last prompt has %d", w->answer,
                       w->turn->n_answers);
    const struct ids *answer = &w->turn->answers[w->answer - 1];
    int rc = ids_add(&w->text, prompt, w->start);
    return rc == 0 ? ids_add(&w->text, answer->data, answer->n) : rc;
}

/* A dim line, broken between words. */
__attribute__((format(printf, 2, 3))) static int say_why(struct why *w, const char *fmt, ...)
{
    struct buf line = {0};
    va_list args;
    va_start(args, fmt);
    int rc = buf_vprintf(&line, fmt, args);
    va_end(args);
    if (rc == 0)
        rc = buf_str(&w->out, w->look.dim);
    if (rc == 0)
        rc = wrap_into(&w->out, buf_text(&line), w->look.width);
    buf_release(&line);
    return rc == 0 ? buf_printf(&w->out, "%s\n", w->look.plain) : rc;
}

/* By what settings one token was chosen. */
static int say_settings(struct why *w)
{
    struct buf line = {0};
    int rc = chooser_describe(&w->turn->settings, &line);
    if (rc == 0)
        rc = say_why(w, "%s", buf_text(&line));
    buf_release(&line);
    return rc;
}

static int print_answer_head(struct why *w, const struct chooser *by)
{
    const struct turn *t = w->turn;
    int rc = 0;
    if (t->n_answers > 1)
        rc = say_why(w, "answer %ld of %d; `:why answer N` explains another", w->answer,
                     t->n_answers);
    if (rc == 0 && t->version != w->r->model->version)
        rc = say_why(w, "the weights have changed since this answer: these numbers are of now");
    if (rc != 0 || by->note != NULL)
        return rc != 0 ? rc : say_why(w, "%s", by->note);
    if (w->what == WHY_ONE)
        return say_settings(w);
    return say_why(w, w->look.width < CHANCES_NARROW
                          ? "%% after the sampling settings; `:why N` shows token N with its "
                            "alternatives"
                          : "alternatives: %% after the sampling settings (the model's own)");
}

/* Which token is explained. */
static int print_token_head(struct why *w, const struct choice *c)
{
    const struct tokenizer *t = w->r->model->tokenizer;
    const size_t before = w->start + c->number - 1;
    struct buf token = {0}, after = {0};
    int rc = token_text_quote(&token, t, c->chosen.id);
    if (rc == 0)
        rc = token_text_last(&after, t, w->text.data + w->turn->begun, before - w->turn->begun,
                             w->look.width / 2);
    if (rc == 0)
        rc = say_why(w, "token %zu of %zu: %s%s%s", c->number, w->text.n - w->start,
                     buf_text(&token), after.n > 0 ? " after " : "", buf_text(&after));
    buf_release(&token);
    buf_release(&after);
    return rc;
}

/* Whether sampling settings change no number that is shown: one column has them all. */
static bool are_own(const struct choice *list, size_t n)
{
    bool same = true;
    for (size_t i = 0; i < n && same; i++) {
        same = fabsf(list[i].chosen.p_chain - list[i].chosen.p_model) < 1e-5F;
        for (int k = 0; k < list[i].n_others && same; k++)
            same = fabsf(list[i].others[k].p_chain - list[i].others[k].p_model) < 1e-5F;
    }
    return same;
}

/* The certain ones left out, unless all are asked for. */
static int show_list(struct why *w, struct explanation *e, const struct chooser *by)
{
    const enum chances_of of =
        by->note != NULL && are_own(e->list, e->n) ? CHANCES_OF_OWN : CHANCES_OF_ANSWER;
    size_t n = 0;
    for (size_t i = 0; i < e->n; i++)
        if (w->what == WHY_ALL || e->list[i].chosen.p_chain < CHANCE_CERTAIN)
            e->list[n++] = e->list[i];
    const size_t left_out = e->n - n;
    int rc = 0;
    if (n > 0)
        rc = chances_list(&w->out, &w->look, w->r->model->tokenizer, e->list, n, of);
    if (rc == 0 && w->what == WHY_UNCERTAIN)
        rc =
            left_out > 0
                ? say_why(w,
                          "%zu of %zu tokens %s not shown (90 %% or more); `:why all` shows them, "
                          "`:why N` shows twenty alternatives of one",
                          left_out, e->n, left_out == 1 ? "is" : "are")
                : say_why(w, "no token was certain (90 %% or more); `:why N` shows one with twenty "
                             "alternatives");
    return rc;
}

static int why_answer(struct why *w)
{
    const struct turn *t = w->turn;
    const size_t n = w->text.n - w->start;
    struct chooser by;
    struct explained text = {.ids = w->text.data,
                             .n = w->text.n,
                             .start = w->start,
                             .first = w->start,
                             .last = w->text.n,
                             .held_space = t->held_space,
                             .max = LIST_ALTERNATIVES};
    struct explanation e = {0};
    chooser_init(&by, &t->settings);
    by.config.draw += w->answer - 1;
    if (n == 0)
        return err_set(ERR_MISSING, "the last answer is empty");
    if (w->what == WHY_ONE && (size_t)w->number > n)
        return err_set(ERR_RANGE, "there is no token %ld, the answer has %zu", w->number, n);
    if (w->what == WHY_ONE) {
        text.first = w->start + (size_t)w->number - 1;
        text.last = text.first + 1;
        text.max = TABLE_ALTERNATIVES;
    }
    int rc = explain(&e, &w->r->engine, &text, &by, &t->settings, progress_show());
    if (rc == 0)
        rc = w->what == WHY_ONE ? print_token_head(w, e.list) : 0;
    if (rc == 0)
        rc = print_answer_head(w, &by);
    if (rc == 0)
        rc = w->what == WHY_ONE ? chances_table(&w->out, &w->look, w->r->model->tokenizer,
                                                e.list->others, e.list->n_others, &e.list->chosen)
                                : show_list(w, &e, &by);
    explanation_release(&e);
    return rc;
}

/* "12 tokens, 5.2 bits each: perplexity 36.8" */
static int print_surprise(struct why *w, const struct choice *list, size_t n)
{
    double bits = 0;
    for (size_t i = 0; i < n; i++)
        bits -= log2((double)list[i].chosen.p_model);
    bits /= (double)n;
    char perplexity[NUMBER_TEXT];
    return say_why(w, "mean surprise of a token: %.2f bits (perplexity %s)", bits,
                   number_text(perplexity, exp2(bits), 4));
}

/* The tokens that the answer's first one was drawn after, by the model alone. */
static int why_prompt(struct why *w)
{
    const struct turn *t = w->turn;
    const size_t begin = t == NULL ? 0 : explain_context(&w->r->engine.cache, 0, w->start),
                 n = w->start - begin;
    struct explained text = {.ids = w->text.data + begin,
                             .n = n,
                             .start = 1,
                             .first = 1,
                             .last = n,
                             .max = LIST_ALTERNATIVES};
    struct explanation e = {0};
    struct chooser by;
    chooser_plain(&by);
    struct choice *list = mem_array(n + 1, sizeof *list);
    int rc = list == NULL ? ERR_NOMEM : 0;
    if (rc == 0 && n > 1)
        rc = explain(&e, &w->r->engine, &text, &by, &w->r->options.settings, progress_show());
    if (rc == 0 && t == NULL)
        rc = say_why(w, "which part of this text is an answer is not known: all of it is explained "
                        "as a prompt is");
    if (rc == 0)
        rc = say_why(w, "how likely the model thought each token of the %s",
                     t == NULL ? "text" : "prompt");
    if (rc == 0) {
        list[0] = (struct choice){.number = 1, .chosen = {.id = text.ids[0]}};
        for (size_t i = 0; i < e.n; i++) {
            list[i + 1] = e.list[i];
            list[i + 1].number++;
        }
        rc = chances_list(&w->out, &w->look, w->r->model->tokenizer, list, e.n + 1,
                          CHANCES_OF_PROMPT);
    }
    if (rc == 0 && e.n > 0)
        rc = print_surprise(w, e.list, e.n);
    explanation_release(&e);
    mem_free(list);
    return rc;
}

int cmd_why(struct repl *r, const struct call *c)
{
    struct why w = {.r = r};
    chances_look(&w.look, stdout);
    int rc = parse_why(&w, c);
    if (rc == 0)
        rc = take_text(&w);
    if (rc == 0)
        rc = repl_ready(r, 1);
    if (rc == 0)
        rc = w.turn == NULL || w.what == WHY_PROMPT ? why_prompt(&w) : why_answer(&w);
    progress_wipe();
    if (rc == 0)
        pager_show(w.out.data, w.out.n);
    ids_release(&w.text);
    buf_release(&w.out);
    return rc;
}
