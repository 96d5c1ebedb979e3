/*
 * :regen :undo :continue :session :history :quit: the turns of a session, its file, its lines and
 * its end.
 */
#include "repl/commands/commands.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "kvcache/snapshot.h"
#include "repl/terminal/line.h"
#include "repl/terminal/progress.h"
#include "repl/session/repl.h"
#include "repl/session/unsaved.h"
#include "repl/session/answer.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HISTORY_SHOWN = 20, SHOWN_BYTES = 1024 };

int cmd_regen(struct repl *r, const struct call *c)
{
    (void)c;
    return answer_regenerate(r);
}

int cmd_continue(struct repl *r, const struct call *c)
{
    (void)c;
    return answer_continue(r);
}

static void print_text_length(const struct repl *r, const char *what)
{
    printf("%s%s: %zu token%s of text%s\n", term_dim(stdout), what, r->sequence.ids.n,
           r->sequence.ids.n == 1 ? "" : "s", term_plain(stdout));
}

int cmd_undo(struct repl *r, const struct call *c)
{
    (void)c;
    if (r->n_turns == 0)
        return err_set(ERR_MISSING,
                       r->sequence.ids.n == 0
                           ? "there is nothing to undo"
                           : "no step before this is known; `:reset text` starts a new text");
    struct turn *t = &r->turns[r->n_turns - 1];
    size_t n;
    const token_id *prompt = turn_prompt(t, &r->sequence.ids, &n);
    const token_id *before = turn_before(t, prompt, &n);
    int rc = sequence_assign(&r->sequence, before, n);
    if (rc != 0)
        return rc;
    r->held_space = t->before_held;
    repl_pop_turn(r);
    print_text_length(r, "undone; remaining");
    return 0;
}

/* What a session keeps besides its text, as YAML. */
static int settings_yaml(const struct repl *r, struct buf *out)
{
    const struct setting *o;
    int rc = 0;
    for (int i = 0; (o = settings_table_at(&options_table, i)) != NULL && rc == 0; i++)
        if (option_in_session(o))
            rc = turn_format_setting(o, &r->options.settings, out);
    return rc;
}

/* Behind the settings: a space followed the text, which joins the next word. */
#define SPACE_MARK "# space\n"

/* Before the name of the model, in the settings' comments. */
#define MODEL_MARK "# model: "

/* Where the weights can be had another day, if anywhere: for who loads the session without them. */
static int format_model(const struct repl *r, struct buf *out)
{
    const struct model *m = r->model;
    char shown[SHOWN_BYTES];
    const char *from = r->run != NULL && run_saved_step(r->run) == run_step(r->run)
                           ? run_path(r->run)
                       : m->changed || m->adapter != NULL ? NULL
                                                          : m->source;
    return from == NULL ? 0
                        : buf_printf(out, MODEL_MARK "%s\n", file_word(shown, sizeof shown, from));
}

/* What format_model wrote, for the error that the weights are others. */
static void explain_weights(int rc, const char *settings)
{
    const char *at = settings == NULL ? NULL : strstr(settings, "\n" MODEL_MARK);
    char first[SHOWN_BYTES];
    if (rc != ERR_MISMATCH || at == NULL)
        return;
    at += 1 + strlen(MODEL_MARK);
    snprintf(first, sizeof first, "%s", err_text());
    char *model = mem_sprintf("%.*s", (int)strcspn(at, "\n"), at), *shown = NULL;
    if (model != NULL && (shown = file_visible(model)) != NULL)
        err_set(rc, "%s, those of %s", first, shown);
    mem_free(model);
    mem_free(shown);
}

/* A run that goes on leaves them behind. */
static void warn_of_weights(const struct repl *r)
{
    const struct model *m = r->model;
    const bool saved = r->run != NULL && run_saved_step(r->run) == run_step(r->run);
    if (!saved && (m->changed || (m->adapter != NULL && m->adapter->changed)))
        wrap_say(stdout, term_dim(stdout),
                 "[a session loads under its own weights alone, and these are in no file: `:save "
                 "PATH` keeps them]");
}

static void say_undone(const struct repl *r)
{
    if (r->n_turns > 1)
        wrap_say(stdout, term_dim(stdout),
                 "[a session keeps one of the %d steps that `:undo` takes back]", r->n_turns);
}

static int save_session(struct repl *r, const char *path)
{
    struct buf settings = {0};
    int rc = r->sequence.ids.n == 0 ? err_set(ERR_MISSING, "there is no text yet to save") : 0;
    if (rc == 0)
        rc = sequence_keep(&r->sequence, r->sequence.ids.data, r->sequence.ids.n, progress_show());
    if (rc == 0 && r->n_turns > 0)
        rc = turn_format(&r->turns[r->n_turns - 1], &r->sequence.ids, &r->options.settings,
                         &settings);
    if (rc == 0)
        rc = settings_yaml(r, &settings);
    if (rc == 0 && r->held_space)
        rc = buf_str(&settings, SPACE_MARK);
    if (rc == 0)
        rc = format_model(r, &settings);
    if (rc == 0)
        rc = snapshot_save(&r->sequence, path, buf_text(&settings), r->options.settings.call.force);
    buf_release(&settings);
    if (rc == 0)
        print_text_length(r, "saved");
    if (rc == 0) {
        say_undone(r);
        warn_of_weights(r);
    }
    return rc;
}

/* What was set to the value it would have anyway is not set. */
static int unset_needless_settings(struct options *options)
{
    const struct setting *o;
    int rc = 0;
    for (int i = 0; (o = settings_table_at(&options_table, i)) != NULL && rc == 0; i++) {
        struct buf set = {0}, otherwise = {0};
        if (!option_in_session(o) || settings_store_origin(&options->store, o) != ORIGIN_SET)
            continue;
        rc = setting_format(o, &options->settings, &set);
        if (rc == 0)
            rc = options_set(options, o, ORIGIN_SET, NULL);
        if (rc == 0)
            rc = setting_format(o, &options->settings, &otherwise);
        if (rc == 0 && strcmp(buf_text(&set), buf_text(&otherwise)) != 0)
            rc = options_set(options, o, ORIGIN_SET, buf_text(&set));
        buf_release(&set);
        buf_release(&otherwise);
    }
    return rc;
}

static struct settings_text session_settings(const char *settings)
{
    return (struct settings_text){.label = "settings of the session",
                                  .text = settings,
                                  .n = strlen(settings),
                                  .may_set = option_in_session};
}

static int check_session_settings(void *user, const char *settings)
{
    const struct repl *r = user;
    const struct settings_text from = session_settings(settings);
    return options_check(&r->options, ORIGIN_SET, &from);
}

/* The turn that the text ends with, to be explained, drawn again and taken back. */
static int restore_turn(struct repl *r, const char *settings)
{
    struct turn *t = repl_push_turn(r, true);
    if (t == NULL)
        return ERR_NOMEM;
    t->version = r->model->version;
    if (!turn_parse(t, settings, &r->sequence.ids, r->model->config.n_vocab))
        repl_pop_turn(r);
    return 0;
}

static int load_session(struct repl *r, const char *path)
{
    char *settings = NULL, sentence[120];
    bool unread = false;
    int rc = snapshot_load(&r->sequence, path, check_session_settings, r, &settings, &unread);
    if (rc != 0) {
        explain_weights(rc, settings);
        mem_free(settings);
        return rc;
    }
    repl_forget_turns(r);
    const struct settings_text from = session_settings(settings);
    rc = options_read(&r->options, ORIGIN_SET, &from);
    if (rc == 0)
        rc = unset_needless_settings(&r->options);
    if (rc == 0)
        rc = restore_turn(r, settings);
    r->held_space = rc == 0 && strstr(settings, "\n" SPACE_MARK) != NULL;
    mem_free(settings);
    if (rc == 0)
        print_text_length(r, "loaded");
    if (rc == 0 && unread) {
        snprintf(sentence, sizeof sentence,
                 "its keys and values are not in %s: the next answer reads the text again",
                 dtype_short_name(r->engine.cache.layout.dtype));
        progress_warn(sentence);
    }
    return rc;
}

int cmd_session(struct repl *r, const struct call *c)
{
    bool save = strcmp(c->words[0], "save") == 0;
    if (!save && strcmp(c->words[0], "load") != 0)
        return err_set(ERR_RANGE, "usage: :session save FILE, or :session load FILE");
    const struct settings *s = &r->options.settings;
    char *path = file_expand(c->words[1]);
    int rc = path == NULL ? ERR_NOMEM : repl_ready(r, generate_texts(&s->generate, &s->sampler));
    if (rc == 0)
        rc = save ? save_session(r, path) : load_session(r, path);
    progress_wipe();
    mem_free(path);
    return rc;
}

int cmd_history(struct repl *r, const struct call *c)
{
    (void)r;
    int n = 0, shown = HISTORY_SHOWN;
    if (c->n > 0) {
        char *end;
        long v = strtol(c->words[0], &end, 10);
        if (*end != '\0' || v < 1 || v > 1000000)
            return err_set(ERR_RANGE, "the number of lines must be 1 to 1000000, not %s",
                           file_quote(c->words[0]));
        shown = (int)v;
    }
    while (line_history(n) != NULL)
        n++;
    for (int i = n > shown ? n - shown : 0; i < n; i++) {
        const int column = printf("%5d  ", i + 1);
        wrap_hanging(line_history(i), column, column);
    }
    return 0;
}

int cmd_quit(struct repl *r, const struct call *c)
{
    (void)c;
    int rc = unsaved_may_discard(r, DISCARD_QUIT, UNSAVED_ALL);
    r->quit = rc == 0;
    if (r->quit)
        unsaved_report_resume(r);
    return rc;
}
