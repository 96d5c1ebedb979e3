#include "repl/session/answer.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/rng.h"
#include "repl/session/json_lines.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"

#include <inttypes.h>
#include <stdio.h>

/* What an answer looks like on its way out. */
struct showing {
    bool visible; /* to a terminal: nothing in it may steer one */
    bool stream;
    bool raw; /* as it is, NUL behind it */
    bool any, newline;
    bool wraps;
    struct wrap lines;
    struct buf safe, wrapped;
};

static void put_text(struct showing *w, const char *bytes, size_t n)
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
        fwrite(shown->data, 1, shown->n, stdout);
    } else {
        fwrite(bytes, 1, n, stdout);
    }
    w->any = true;
    w->newline = bytes[n - 1] == '\n';
    fflush(stdout);
}

static void take_text(void *user, int answer, const char *bytes, size_t n)
{
    struct showing *w = user;
    if (w->stream && answer == 0)
        put_text(w, bytes, n);
}

static void take_status(void *user, const char *sentence)
{
    struct showing *w = user;
    if (term_is(stdout)) {
        if (w->any && !w->newline)
            fputc('\n', stdout);
        w->newline = true;
        wrap_at(&w->lines, 0);
    }
    fflush(stdout);
    progress_wipe();
    wrap_say(stderr, term_dim(stderr), "%s", sentence);
}

/* "1.3 ms", "0.21 s" */
static const char *duration_short(char out[16], double s)
{
    if (s < 0.1)
        snprintf(out, 16, "%.1f ms", 1e3 * s);
    else
        snprintf(out, 16, s < 10 ? "%.2f s" : "%.1f s", s);
    return out;
}

/* "[4 prompt tokens in 0.02 s; 128 new in 1.30 s, 98.5 tokens/s; length; seed 7]" */
static int format_figures(struct buf *out, const struct turn *t, const struct answer *a, int n)
{
    const struct settings *s = &t->settings;
    size_t n_new = 0;
    for (int i = 0; i < n; i++)
        n_new += a[i].ids.n;
    double tokens = (double)n_new, decode_s = a->decode_s, all_s = a->prefill_s + a->decode_s;
    char prefill[16], decode[16];
    bool drawn = s->sampler.temperature > 0 && s->generate.num_beams == 1;
    int rc = buf_printf(out, "[%d prompt token%s in %s; %zu new in %s", a->n_prompt,
                        a->n_prompt == 1 ? "" : "s", duration_short(prefill, a->prefill_s), n_new,
                        duration_short(decode, decode_s));
    if (rc == 0 && decode_s > 0)
        rc = buf_printf(out, ", %.1f tokens/s", tokens / decode_s);
    if (rc == 0)
        rc = buf_printf(out, "; %s", finish_name(a->finish));
    if (rc == 0 && drawn)
        rc = buf_printf(out, "; seed %" PRIu64, s->sampler.seed);
    if (rc == 0 && drawn && s->sampler.draw != 0)
        rc = buf_printf(out, " draw %" PRId64, s->sampler.draw);
    if (rc == 0)
        rc = buf_str(out, "]\n");
    if (rc == 0 && s->talk.verbose)
        rc = buf_printf(out,
                        "[%.2f ms per token, %.1f ms per sentence, %.2f samples/s; %d of %d prompt "
                        "tokens were in the cache]\n",
                        n_new > 0 ? 1e3 * decode_s / tokens : 0.0, 1e3 * all_s / n,
                        all_s > 0 ? n / all_s : 0.0, a->n_reused, a->n_prompt);
    return rc;
}

static void show_figures(const struct repl *r, const struct turn *t, const struct answer *a, int n)
{
    FILE *f = r->interactive ? stdout : stderr;
    struct buf text = {0};
    if (format_figures(&text, t, a, n) == 0)
        wrap_lines(f, term_dim(f), buf_text(&text));
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
static void show_answers(struct showing *w, const struct settings *s, const char *prompt,
                         size_t n_prompt, const struct answer *answers, int n)
{
    for (int i = 0; i < n; i++) {
        if (s->call.output == OUTPUT_IDS) {
            show_ids(&answers[i]);
            continue;
        }
        if (!w->stream) {
            if (n > 1 && !w->raw)
                show_number(w, i + 1, s->generate.num_beams > 1 ? &answers[i] : NULL);
            if (s->talk.echo == SWITCH_ON)
                put_text(w, prompt, n_prompt);
            put_text(w, buf_text(&answers[i].text), answers[i].text.n);
        }
        if (w->raw)
            fputc('\0', stdout);
        else if (!w->newline)
            fputc('\n', stdout);
        w->newline = false;
        wrap_at(&w->lines, 0);
    }
}

static void show_object(const char *prompt, size_t n_prompt, const struct answer *answers, int n)
{
    struct buf line = {0};
    if (json_line_answer(&line, prompt, n_prompt, answers, n) == 0)
        fwrite(line.data, 1, line.n, stdout);
    buf_release(&line);
}

/* A stop string, and what came with it, go from the end of a text. */
static int cut_unseen(struct repl *r, struct ids *text, const struct turn *turn,
                      const struct answer *a)
{
    const struct tokenizer *t = r->model->tokenizer;
    const bool held_space = turn->prompt.held_space;
    size_t bytes = 0, n;
    for (size_t i = 0; i < a->ids.n; i++) {
        const char *piece = tokenizer_bytes(t, a->ids.data[i], &n);
        bytes += n - (i == 0 && held_space && n > 0 && *piece == ' ');
    }
    for (size_t unseen = bytes - a->text.n; unseen > 0 && text->n > 0;) {
        const char *piece = tokenizer_bytes(t, text->data[--text->n], &n);
        if (unseen < n) {
            n -= unseen;
            r->held_space =
                piece[n - 1] == ' ' && prompt_holds_space(r->model, &turn->settings.generate);
            return tokenizer_encode(t, text, piece, n - r->held_space, ENCODE_GOES_ON);
        }
        unseen -= n;
    }
    return 0;
}

/* The text goes on from what was shown. */
static int drop_unseen(struct repl *r, const struct turn *turn, const struct answer *a)
{
    struct ids text = {0};
    int rc = ids_add(&text, r->sequence.ids.data, r->sequence.ids.n);
    if (rc == 0)
        rc = cut_unseen(r, &text, turn, a);
    if (rc == 0)
        rc = sequence_assign(&r->sequence, text.data, text.n);
    ids_release(&text);
    return rc;
}

/* What the turn remembers of its first answer. */
static int remember_answer(struct repl *r, struct turn *t, const struct answer *a)
{
    const struct ids *text = &r->sequence.ids;
    int rc = 0;
    if (!a->unread)
        r->held_space = false;
    t->slid = a->slid;
    /* An empty prompt began with the begin token, which :why wants to see. */
    if (t->prompt.ids.n == 0 && text->n > a->ids.n)
        rc = ids_add(&t->prompt.ids, text->data, text->n - a->ids.n);
    if (rc == 0 && a->finish == FINISH_STOP_STRING)
        rc = drop_unseen(r, t, a);
    t->n_drawn =
        t->settings.sampler.position + (int64_t)a->ids.n + (a->finish == FINISH_STOP_TOKEN);
    t->answer.n = 0;
    return rc == 0 ? ids_add(&t->answer, a->ids.data, a->ids.n) : rc;
}

/* With the whole text that the answer goes on from. */
static int save_sample(const struct repl *r, const struct turn *t, const struct answer *answers,
                       int n)
{
    struct buf text = {0};
    int rc = 0;
    if (r->model->tokenizer != NULL)
        rc = tokenizer_decode(r->model->tokenizer, &text, t->prompt.ids.data + t->prompt.begun,
                              t->prompt.ids.n - t->prompt.begun);
    if (rc == 0 && t->prompt.held_space)
        rc = buf_char(&text, ' ');
    if (rc == 0)
        rc = answer_save_sample(&t->settings, buf_text(&text), text.n, answers, n);
    buf_release(&text);
    return rc;
}

/* Generate for a turn whose prompt and settings are there, and show it all. On failure the text
 * in progress is `before`. */
static int run_turn(struct repl *r, struct turn *t, const struct ids *before, const char *shown,
                    size_t n_shown)
{
    const struct settings *s = &t->settings;
    int n = s->generate.num_return_sequences;
    /* The forms of batches hold for one prompt too, not for a person at a terminal. */
    bool jsonl = s->batch.jsonl && !r->interactive, raw = s->batch.raw && !r->interactive;
    bool plain = s->call.output == OUTPUT_TEXT && !jsonl;
    struct showing w = {.visible = term_is(stdout) && !raw,
                        .stream = n == 1 && plain,
                        .raw = raw,
                        .wraps = s->talk.wrap};
    struct generate_callbacks callbacks = {.text = take_text,
                                           .status = take_status,
                                           .progress = progress_show(),
                                           .want_logprobs = jsonl || *s->talk.save_samples != '\0',
                                           .user = &w};
    struct answer *answers = mem_array((size_t)n, sizeof *answers);
    if (answers == NULL)
        return ERR_NOMEM;
    if (s->talk.echo == SWITCH_ON && w.stream)
        put_text(&w, shown, n_shown);
    if (r->interactive)
        term_hush(true);
    int rc = generate(&r->sequence, &t->prompt, &s->generate, &s->sampler, &callbacks, answers);
    progress_wipe();
    if (rc == 0 || rc == ERR_INTERRUPTED) {
        if (jsonl)
            show_object(shown, n_shown, answers, n);
        else
            show_answers(&w, s, shown, n_shown, answers, n);
        if (!r->interactive)
            repl_report_full(r, &s->generate, answers, n);
        if (r->interactive || s->talk.verbose)
            show_figures(r, t, answers, n);
        int kept = remember_answer(r, t, answers);
        if (kept == 0)
            kept = save_sample(r, t, answers, n);
        rc = kept != 0 ? kept : rc;
    } else {
        if (w.any && !w.newline)
            fputc('\n', stdout);
        sequence_assign(&r->sequence, before->data, before->n); /* had room for them */
    }
    term_hush(false);
    if (fflush(stdout) != 0 && rc == 0)
        rc = err_errno("cannot write to standard output");
    for (int i = 0; i < n; i++)
        answer_release(&answers[i]);
    mem_free(answers);
    wrap_release(&w.lines);
    buf_release(&w.safe);
    buf_release(&w.wrapped);
    return rc;
}

/* A turn that goes on from the text so far when `more`, with nothing behind it yet. */
static int begin_turn(struct repl *r, struct turn **out, bool more)
{
    int rc = repl_need_model(r);
    const struct settings *s = &r->options.settings;
    if (rc == 0 && !r->interactive)
        rc = answer_check_form(&s->batch);
    if (rc == 0)
        rc = generate_config_check(&s->generate, &s->sampler);
    if (rc == 0)
        rc = repl_ready(r, generate_texts(&s->generate, &s->sampler));
    if (rc != 0)
        return rc;
    struct turn *t = *out = repl_push_turn(r);
    if (t == NULL)
        return ERR_NOMEM;
    if (t->settings.sampler.seed == 0)
        t->settings.sampler.seed = rng_fresh_seed();
    const struct ids *text = &r->sequence.ids;
    if (!more || text->n == 0)
        return 0;
    t->prompt.begun = s->generate.begin && text->data[0] == prompt_begin_token(r->model);
    return ids_add(&t->prompt.ids, text->data, text->n);
}

/* Run the newest turn; one that came to nothing is taken back. */
static int finish_turn(struct repl *r, struct turn *t, int rc, const char *shown, size_t n_shown)
{
    if (rc == 0)
        rc = run_turn(r, t, &t->before, shown, n_shown);
    if (rc != 0 && rc != ERR_INTERRUPTED && t != NULL)
        repl_pop_turn(r);
    return rc;
}

/* The space that was held behind the text, and the prompt. */
static int encode_prompt(struct repl *r, struct prompt *p, const struct generate_config *g,
                         bool more, const char *text, size_t n)
{
    struct buf whole = {0};
    int rc = more && r->held_space ? buf_char(&whole, ' ') : 0;
    if (rc == 0)
        rc = buf_add(&whole, text, n);
    if (rc == 0)
        rc = prompt_encode(p, r->model, g, buf_text(&whole), whole.n);
    buf_release(&whole);
    return rc;
}

int answer_prompt(struct repl *r, const char *text, size_t n)
{
    struct turn *t = NULL;
    struct prompt p = {0};
    const bool keep = r->options.settings.talk.keep;
    int rc = begin_turn(r, &t, keep);
    if (rc == 0) {
        struct generate_config g = t->settings.generate;
        g.begin = g.begin && t->prompt.ids.n == 0;
        rc = encode_prompt(r, &p, &g, keep, text, n);
    }
    if (rc == 0)
        rc = ids_add(&t->prompt.ids, p.ids.data, p.ids.n);
    if (rc == 0) {
        t->prompt.held_space = p.held_space;
        t->prompt.begun |= p.begun;
    }
    prompt_release(&p);
    return finish_turn(r, t, rc, text, n);
}

/* A seed that was set goes on where the answer before ended: as if it had not ended there. */
static void draw_on(const struct repl *r, struct sampler_config *c)
{
    const struct turn *last = r->n_turns > 1 ? &r->turns[r->n_turns - 2] : NULL;
    if (last == NULL || last->settings.sampler.seed != c->seed)
        return;
    if (c->draw < last->settings.sampler.draw)
        c->draw = last->settings.sampler.draw;
    if (c->draw == last->settings.sampler.draw)
        c->position = last->n_drawn;
}

int answer_more(struct repl *r)
{
    struct turn *t = NULL;
    if (r->sequence.ids.n == 0)
        return err_set(ERR_MISSING, "there is no text yet to go on with; type a prompt");
    int rc = begin_turn(r, &t, true);
    if (rc == 0) {
        draw_on(r, &t->settings.sampler);
        t->prompt.held_space = r->held_space;
    }
    return finish_turn(r, t, rc, "", 0);
}

int answer_ids(struct repl *r, const struct ids *ids)
{
    struct turn *t = NULL;
    int rc = begin_turn(r, &t, false);
    if (rc == 0)
        rc = ids_add(&t->prompt.ids, ids->data, ids->n);
    return finish_turn(r, t, rc, "", 0);
}

int answer_again(struct repl *r)
{
    if (r->n_turns == 0)
        return err_set(ERR_MISSING, "there is no answer yet to draw again; type a prompt");
    struct turn *t = &r->turns[r->n_turns - 1];
    const struct settings *now = &r->options.settings;
    int rc = generate_config_check(&now->generate, &now->sampler);
    if (rc == 0)
        rc = repl_ready(r, generate_texts(&now->generate, &now->sampler));
    struct settings fresh;
    struct ids before = {0};
    if (rc != 0 || (rc = ids_add(&before, r->sequence.ids.data, r->sequence.ids.n)) != 0)
        return rc;
    if ((rc = settings_copy(&fresh, now)) != 0) {
        ids_release(&before);
        return rc;
    }
    const struct sampler_config *last = &t->settings.sampler;
    if (fresh.sampler.seed == 0 || fresh.sampler.seed == last->seed) {
        fresh.sampler.seed = last->seed;
        fresh.sampler.draw = last->draw + t->settings.generate.num_return_sequences;
        fresh.sampler.position = last->position;
    }
    struct settings old = t->settings;
    t->settings = fresh;
    rc = run_turn(r, t, &before, "", 0);
    ids_release(&before);
    /* Where nothing was drawn the answer that stands has its own settings still. */
    if (rc != 0 && rc != ERR_INTERRUPTED) {
        t->settings = old;
        old = fresh;
    }
    settings_release(&old);
    return rc;
}

int answer_check_form(const struct batch_settings *b)
{
    if (!b->raw || !b->jsonl)
        return 0;
    return err_set(ERR_RANGE, "raw and jsonl are two ways to write answers: choose one");
}

int answer_save_sample(const struct settings *s, const char *prompt, size_t n_prompt,
                       const struct answer *answers, int n_answers)
{
    const char *path = s->talk.save_samples;
    if (path == NULL || *path == '\0')
        return 0;
    struct buf line = {0};
    int rc = json_line_answer(&line, prompt, n_prompt, answers, n_answers);
    if (rc == 0)
        rc = file_append(path, line.data, line.n);
    buf_release(&line);
    return rc == 0 ? 0 : err_wrap("the sample is not saved");
}
