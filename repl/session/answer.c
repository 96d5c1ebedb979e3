/*
 * A turn goes begin_turn (settings, the text before), encode_prompt, finish_turn (run_turn:
 * generate, show, remember). One that fails before it has an answer is taken back, and the text in
 * progress is the one before it; after Ctrl-C what was generated stays.
 */
#include "repl/session/answer.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/rng.h"
#include "repl/session/json_lines.h"
#include "repl/session/show.h"
#include "repl/settings/unused.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/term.h"
#include "sampling/generate.h"
#include "sampling/text/template.h"

#include <errno.h>
#include <string.h>

/* The text goes on from what was shown: ids that a stop string hid go, and one that it cut is read
 * again up to there. */
static int drop_hidden_text(struct repl *r, const struct turn *turn, const struct answer *a)
{
    const struct tokenizer *t = r->model->tokenizer;
    const size_t gone = a->ids.n - a->n_whole, n = r->sequence.ids.n;
    struct ids part = {0};
    int rc = 0;
    if (a->n_part > 0 && gone <= n) {
        size_t bytes;
        const char *piece = tokenizer_bytes(t, a->ids.data[a->n_whole], &bytes);
        r->held_space =
            piece[a->n_part - 1] == ' ' && prompt_holds_space(r->model, &turn->settings.generate);
        rc = tokenizer_encode(t, &part, piece, a->n_part - r->held_space, ENCODE_GOES_ON);
    }
    if (rc == 0)
        rc = sequence_replace(&r->sequence, gone < n ? n - gone : 0, part.data, part.n);
    ids_release(&part);
    return rc;
}

/* What the turn remembers of its answers, of which the text goes on from the first. */
static int remember_answer(struct repl *r, struct turn *t, struct prompt *p, const struct answer *a)
{
    int rc = 0;
    if (!a->unread)
        r->held_space = false;
    turn_take_prompt(t, p, &r->sequence.ids, a);
    t->version = r->model->version;
    if (a->finish == FINISH_STOP_STRING)
        rc = drop_hidden_text(r, t, a);
    t->n_drawn =
        t->settings.sampler.position + (int64_t)a->ids.n + (a->finish == FINISH_STOP_TOKEN);
    return rc == 0 ? turn_take_answers(t, a, t->settings.generate.num_return_sequences) : rc;
}

/* With the whole text that the answer goes on from. */
static int save_sample(const struct repl *r, const struct turn *t, const struct answer *answers,
                       int n)
{
    struct buf text = {0};
    size_t n_prompt;
    const token_id *prompt = turn_prompt(t, &r->sequence.ids, &n_prompt);
    int rc = 0;
    if (r->model->tokenizer != NULL)
        rc = tokenizer_decode(r->model->tokenizer, &text, prompt + t->begun, n_prompt - t->begun);
    if (rc == 0 && t->held_space)
        rc = buf_char(&text, ' ');
    if (rc == 0)
        rc = answer_save_sample(&t->settings, buf_text(&text), text.n, t->settings.sampler.draw,
                                answers, n);
    buf_release(&text);
    return rc;
}

/* With the log-probabilities that a line of JSON has; Ctrl-C gives these up. */
static int show_scored(struct repl *r, const struct settings *s, const struct prompt *p,
                       struct showing *w, const struct answer *answers)
{
    struct line_scores scores = {0};
    const int n = s->generate.num_return_sequences;
    const bool wanted = w->jsonl && line_scores_wanted(s);
    int rc = wanted ? line_scores_of(&scores, r->model, s, p, answers, n) : 0;
    w->scores = wanted && rc == 0 ? &scores : NULL;
    rc = rc == ERR_INTERRUPTED ? 0 : rc;
    if (rc == 0)
        show_answers(w, answers, n);
    w->scores = NULL;
    line_scores_release(&scores);
    return rc;
}

/* A reader that has gone needs no sentence. */
static int flush_output(void)
{
    return fflush(stdout) == 0 || errno == EPIPE ? 0 : err_errno("cannot write to standard output");
}

/* What was made is shown and remembered. */
static int take_answers(struct repl *r, struct turn *t, struct prompt *p, struct showing *w,
                        const struct answer *answers)
{
    const struct settings *s = &t->settings;
    int n = s->generate.num_return_sequences;
    int rc = show_scored(r, s, p, w, answers);
    if (rc == 0 && !r->interactive) /* what follows is on standard error, perhaps the same file */
        rc = flush_output();
    if (rc != 0)
        return rc;
    r->told_stop = true; /* by the line of figures, where it is so */
    if (!r->interactive)
        repl_report_full(r, &s->generate, answers, n);
    if (r->interactive || s->talk.verbose)
        show_figures(r->interactive ? stdout : stderr, s, answers, n);
    return remember_answer(r, t, p, answers);
}

/* What an answer goes on from: the prompt as typed (NULL: none was), and as a person sees it before
 * the answer. */
static int show_prompt(const struct repl *r, const struct prompt *p, struct showing *w,
                       const char *typed, size_t n_typed)
{
    struct buf text = {0};
    int rc = 0;
    show_typed(w, typed, n_typed);
    if (show_echoes_line(w) && r->model->tokenizer != NULL)
        rc = tokenizer_decode(r->model->tokenizer, &text, p->ids.data + p->begun,
                              p->ids.n - p->begun);
    if (rc == 0 && text.n > 0 && p->held_space)
        rc = buf_char(&text, ' ');
    if (rc == 0 && text.n > 0)
        rc = show_echo_line(w, text.data, text.n);
    buf_release(&text);
    return rc;
}

/* Generate for a turn whose settings are there, and show it all. Unless that made an answer, on
 * failure, but for ERR_INTERRUPTED, the text in progress is the caller's to put right. */
static int run_turn(struct repl *r, struct turn *t, struct prompt *p, const char *shown,
                    size_t n_shown, bool *made)
{
    const struct settings *s = &t->settings;
    int n = s->generate.num_return_sequences;
    struct showing w;
    show_init(&w, s, r->interactive);
    const struct generate_callbacks callbacks = show_callbacks(&w);
    struct answer *answers = mem_array((size_t)n, sizeof *answers);
    if (answers == NULL)
        return ERR_NOMEM;
    if (r->interactive)
        term_hush(true);
    int rc = show_prompt(r, p, &w, shown, n_shown);
    if (rc == 0)
        rc = generate(&r->sequence, p, &s->generate, &s->sampler, &callbacks, answers);
    progress_wipe();
    if (rc == 0 || rc == ERR_INTERRUPTED) {
        int taken = take_answers(r, t, p, &w, answers);
        *made = taken == 0;
        if (taken == 0)
            taken = save_sample(r, t, answers, n);
        rc = taken != 0 ? taken : rc;
    } else {
        show_end_line(&w);
    }
    term_hush(false);
    if (rc == 0)
        rc = flush_output();
    else
        fflush(stdout);
    for (int i = 0; i < n; i++)
        answer_release(&answers[i]);
    mem_free(answers);
    show_release(&w);
    return rc;
}

/* A turn whose prompt is the text so far when `more`, with nothing behind it yet. */
static int begin_turn(struct repl *r, struct turn **out, struct prompt *p, bool more)
{
    *p = (struct prompt){0};
    *out = NULL;
    int rc = repl_need_model(r);
    const struct settings *s = &r->options.settings;
    if (rc == 0 && !r->interactive)
        rc = answer_check_form(&s->batch);
    if (rc == 0 && !r->interactive) /* at the prompt an answer is not only for its file */
        rc = answer_check_samples(s);
    if (rc == 0)
        rc = options_check_answers(&r->options, progress_warn);
    if (rc == 0 && !r->interactive) /* there another :set may follow */
        rc = options_say_unused(&r->options, ORIGIN_COMMAND_LINE, progress_warn);
    if (rc == 0)
        rc = repl_ready(r, generate_texts(&s->generate, &s->sampler));
    if (rc != 0)
        return rc;
    struct turn *t = *out = repl_push_turn(r, more);
    if (t == NULL)
        return ERR_NOMEM;
    if (t->settings.sampler.seed == 0)
        t->settings.sampler.seed = rng_fresh_seed();
    const struct ids *text = &r->sequence.ids;
    if (!more || text->n == 0)
        return 0;
    p->begun = s->generate.begin && text->data[0] == prompt_begin_token(r->model);
    return ids_add(&p->ids, text->data, text->n);
}

/* The text before a turn, which may have taken its prompt. */
static void restore_text(struct repl *r, const struct turn *t, const struct prompt *p)
{
    size_t n;
    const token_id *prompt = t->prompt.n > 0 ? t->prompt.data : p->ids.data,
                   *before = turn_before(t, prompt, &n);
    sequence_assign(&r->sequence, before, n); /* had room for them */
    r->held_space = t->before_held;
}

/* Run the newest turn; one that came to nothing is taken back, and the text is the one before it.
 */
static int finish_turn(struct repl *r, struct turn *t, struct prompt *p, int rc, const char *shown,
                       size_t n_shown)
{
    const bool ran = rc == 0;
    bool made = false;
    if (ran)
        rc = run_turn(r, t, p, shown, n_shown, &made);
    const bool stands = rc == 0 || rc == ERR_INTERRUPTED || made;
    if (ran && !stands)
        restore_text(r, t, p);
    prompt_release(p);
    if (stands)
        return rc;
    if (t != NULL)
        repl_pop_turn(r);
    return options_blame(&r->options, NULL);
}

/* As one text with what p has of the text before. */
static int encode_prompt(struct repl *r, struct turn *t, struct prompt *p, bool more,
                         const char *text, size_t n)
{
    struct buf whole = {0};
    const struct ids *before = &r->sequence.ids;
    int rc = prompt_join(&whole, &p->ids, r->model, more && r->held_space, text, n);
    /* The text before is then no longer how this one begins. */
    if (rc == 0 && more && p->ids.n < before->n)
        rc = ids_add(&t->replaced, before->data, before->n);
    if (rc == 0)
        rc = prompt_encode(p, r->model, &t->settings.generate, buf_text(&whole), whole.n);
    buf_release(&whole);
    return rc;
}

int answer_prompt(struct repl *r, const char *text, size_t n)
{
    struct turn *t;
    struct prompt p;
    const bool keep = r->options.settings.talk.keep;
    struct buf filled = {0};
    int rc = begin_turn(r, &t, &p, keep);
    if (rc == 0)
        rc = prompt_check_utf8(text, n);
    if (rc == 0)
        rc = template_fill(&filled, t->settings.generate.template, text, n);
    if (rc == 0)
        rc = encode_prompt(r, t, &p, keep, buf_text(&filled), filled.n);
    rc = finish_turn(r, t, &p, rc, buf_text(&filled), filled.n);
    buf_release(&filled);
    return rc;
}

/* A seed that was set goes on where the answer before ended: as if it had not ended there. */
static void advance_draw(const struct repl *r, struct sampler_config *c)
{
    const struct turn *last = r->n_turns > 1 ? &r->turns[r->n_turns - 2] : NULL;
    if (last == NULL || last->settings.sampler.seed != c->seed)
        return;
    if (c->draw < last->settings.sampler.draw)
        c->draw = last->settings.sampler.draw;
    if (c->draw == last->settings.sampler.draw)
        c->position = last->n_drawn;
}

/* Behind a stop token there is only what has nothing to do with the text, and behind the end of a
 * grammar nothing. */
static int refuse_ended(const struct repl *r)
{
    const struct sampler_config *c = &r->options.settings.sampler;
    const struct turn *last = r->n_turns > 0 ? &r->turns[r->n_turns - 1] : NULL;
    if (last != NULL && last->ended_by_grammar && turn_same_grammar(c, &last->settings.sampler))
        return err_set(ERR_MISSING, "by its grammar the text ends here: `:reset grammar` lets "
                                    ":continue go on, :regen samples another answer");
    if (last != NULL && last->ended && !c->ignore_eos && c->min_new_tokens == 0)
        return err_set(ERR_MISSING, "the text has ended with a stop token: `:set ignore_eos on` "
                                    "lets :continue go on, :regen samples another answer");
    return 0;
}

int answer_continue(struct repl *r)
{
    struct turn *t;
    struct prompt p;
    if (r->sequence.ids.n == 0)
        return err_set(ERR_MISSING, "there is no text to continue yet; type a prompt");
    const struct generate_config *g = &r->options.settings.generate;
    int rc = refuse_ended(r);
    if (rc != 0 || (rc = repl_ready(r, generate_texts(g, &r->options.settings.sampler))) != 0)
        return rc;
    if (g->on_full == ON_FULL_STOP && kvcache_text_room(&r->engine.cache, r->sequence.ids.n) == 0)
        return err_set(ERR_FULL,
                       "the text fills the context of %d tokens: `:set on_full slide` lets "
                       ":continue go on without its beginning",
                       r->engine.cache.n_ctx);
    rc = begin_turn(r, &t, &p, true);
    if (rc == 0) {
        advance_draw(r, &t->settings.sampler);
        if (r->n_turns > 1)
            turn_continue_grammar(&t->settings.sampler, t - 1, &r->sequence.ids);
        p.held_space = r->held_space;
    }
    return finish_turn(r, t, &p, rc, NULL, 0);
}

int answer_ids(struct repl *r, const struct ids *ids)
{
    struct turn *t;
    struct prompt p;
    int rc = begin_turn(r, &t, &p, false);
    if (rc == 0)
        rc = ids_add(&p.ids, ids->data, ids->n);
    return finish_turn(r, t, &p, rc, NULL, 0);
}

/* Settings of now for the turn drawn again: the next draw, unless the seed is another. */
static int copy_settings(struct settings *fresh, const struct settings *now, const struct turn *t)
{
    const struct sampler_config *last = &t->settings.sampler;
    int rc = settings_copy(fresh, now);
    if (rc == 0 && (fresh->sampler.seed == 0 || fresh->sampler.seed == last->seed)) {
        fresh->sampler.seed = last->seed;
        fresh->sampler.draw = last->draw + t->settings.generate.num_return_sequences;
        fresh->sampler.position = last->position;
    }
    if (rc == 0 && turn_same_grammar(&fresh->sampler, last))
        fresh->sampler.grammar_read = last->grammar_read;
    return rc;
}

/* Where nothing was drawn the answer that stands, and its settings, are there still. */
static int regenerate_turn(struct repl *r, struct turn *t, struct prompt *p,
                           const struct ids *before)
{
    struct turn fresh = *t, old = *t;
    const bool held_space = r->held_space;
    bool made = false;
    int rc = copy_settings(&fresh.settings, &r->options.settings, t);
    if (rc != 0)
        return rc;
    fresh.prompt = (struct ids){0};
    fresh.answers = NULL;
    fresh.n_answers = 0;
    *t = fresh;
    rc = run_turn(r, t, p, "", 0, &made);
    if (rc != 0 && rc != ERR_INTERRUPTED && !made) {
        sequence_assign(&r->sequence, before->data, before->n); /* had room for them */
        r->held_space = held_space;
        fresh = *t;
        *t = old;
        old = fresh;
    }
    old.replaced = (struct ids){0}; /* which both have */
    turn_release(&old);
    return rc;
}

int answer_regenerate(struct repl *r)
{
    if (r->n_turns == 0)
        return err_set(ERR_MISSING, "there is no answer to regenerate yet; type a prompt");
    struct turn *t = &r->turns[r->n_turns - 1];
    const struct settings *now = &r->options.settings;
    const struct ids *text = &r->sequence.ids;
    struct ids before = {0};
    struct prompt p = {0};
    int rc = options_check_answers(&r->options, progress_warn);
    if (rc == 0)
        rc = repl_ready(r, generate_texts(&now->generate, &now->sampler));
    if (rc == 0)
        rc = ids_add(&before, text->data, text->n);
    if (rc == 0)
        rc = turn_copy_prompt(t, text, &p);
    if (rc == 0)
        rc = regenerate_turn(r, t, &p, &before);
    prompt_release(&p);
    ids_release(&before);
    return rc;
}

int answer_check_form(const struct batch_settings *b)
{
    if (!b->raw || !b->jsonl)
        return 0;
    return err_set(ERR_RANGE, "raw and jsonl exclude each other: choose one");
}

int answer_check_samples(const struct settings *s)
{
    const char *path = s->talk.save_samples;
    if (path == NULL || *path == '\0' || file_check_append(path) == 0)
        return 0;
    return err_wrap("samples cannot be saved");
}

int answer_save_sample(const struct settings *s, const char *prompt, size_t n_prompt, int64_t draw,
                       const struct answer *answers, int n_answers)
{
    const char *path = s->talk.save_samples;
    if (path == NULL || *path == '\0')
        return 0;
    struct buf line = {0};
    int rc = json_line_answer(&line, (struct json_asked){.text = prompt, .n = n_prompt}, s, draw,
                              answers, n_answers, NULL);
    if (rc == 0)
        rc = file_append(path, line.data, line.n);
    buf_release(&line);
    return rc == 0 ? 0 : err_wrap("the sample is not saved");
}
