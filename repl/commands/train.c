/* :train CONFIG and resume; train_report.c has the rest. */
#include "repl/commands/commands.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/progress.h"
#include "model/base/settings_words.h"
#include "repl/terminal/progress.h"
#include "repl/session/repl.h"
#include "repl/session/unsaved.h"
#include "repl/terminal/signals.h"
#include "repl/terminal/term.h"
#include "repl/terminal/train_lines.h"
#include "repl/terminal/wrap.h"
#include "repl/commands/train_events.h"
#include "repl/commands/train_report.h"
#include "repl/commands/train_words.h"
#include "train/config/resolve.h"
#include "train/run/wandb.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 256 };

static const char *shown_path(char out[SHOWN], const struct repl *r)
{
    return file_show(out, SHOWN, run_path(r->run));
}

static void report_finished(struct repl *r, bool shell, bool idle)
{
    char path[SHOWN], past[48] = "";
    const int64_t n = run_metrics(r->run)->n_steps;
    if (n > 0 && n < run_step(r->run)) /* steps=N of a run that is there already */
        snprintf(past, sizeof past, ", past the %" PRId64 " asked for", n);
    wrap_say(stdout, term_dim(stdout),
             "[finished at step %" PRId64 "%s; %s has the checkpoints and metrics; peak memory "
             "%.2f GiB]",
             run_step(r->run), past, shown_path(path, r), train_peak_gib()); /* against its plan */
    if (idle && shell)
        wrap_say(stdout, term_dim(stdout), "[`prattle train resume %s steps=N` trains it further]",
                 file_word(path, sizeof path, run_path(r->run)));
    else if (idle)
        wrap_say(stdout, term_dim(stdout), "[`:train resume steps=N` trains it further]");
    if (shell)
        wrap_say(stdout, term_dim(stdout), "[`prattle %s` opens the model]",
                 file_word(path, sizeof path, run_path(r->run)));
    if (r->model->adapter != NULL && !shell)
        wrap_say(stdout, term_dim(stdout), "[the adapter is on; `:lora off` turns it off]");
}

static void report_paused(struct repl *r)
{
    int64_t n = run_metrics(r->run)->n_steps;
    char of[32] = "";
    if (n > 0)
        snprintf(of, sizeof of, " of %" PRId64, n);
    wrap_say(stdout, term_dim(stdout),
             "[paused at step %" PRId64 "%s; a prompt is answered by these weights, `:train "
             "resume` goes on]",
             run_step(r->run), of);
}

static void warn_not_saved(struct repl *r)
{
    char newest[64] = "there is no checkpoint", text[160];
    if (run_saved_step(r->run) >= 0)
        snprintf(newest, sizeof newest, "the newest checkpoint is of step %" PRId64,
                 run_saved_step(r->run));
    snprintf(text, sizeof text, "stopped while step %" PRId64 " was being saved; %s",
             run_step(r->run), newest);
    progress_warn(text);
}

/* Nobody goes on in this program with a run that stopped for rc: what it has reached is saved. */
static int save_stopped_run(struct repl *r, int rc)
{
    struct buf why = {0};
    int kept = buf_str(&why, rc == ERR_INTERRUPTED ? "stopped" : err_text());
    interrupt_clear();
    if (kept == 0)
        kept = unsaved_save_run(r);
    if (kept == ERR_INTERRUPTED)
        warn_not_saved(r);
    rc = kept != 0 && rc == ERR_INTERRUPTED ? kept : err_set(rc, "%s", buf_text(&why));
    buf_release(&why);
    return rc;
}

/* The user's own program, once there is something new to read. */
static void sync_run(struct repl *r)
{
    char path[SHOWN], folder[SHOWN];
    if (!run_settings(r->run)->logging.wandb || run_step(r->run) == 0)
        return;
    if (wandb_sync(run_path(r->run)) != 0)
        progress_warn(err_text());
    else
        wrap_say(stdout, term_dim(stdout),
                 "[`wandb sync %s` is running; its output goes to %s/wandb.log]",
                 file_word(folder, sizeof folder, run_path(r->run)), shown_path(path, r));
}

/* Nothing goes on from its weights; `:train resume` finds its newest checkpoint, if it has one. */
static int drop_lost(struct repl *r, int rc)
{
    char *why = mem_strdup(err_text());
    repl_drop_run(r);
    if (why != NULL)
        err_set(rc, "%s", why);
    mem_free(why);
    return rc;
}

/*
 * Train until the end or Ctrl-C. At a prompt that is a pause; in the shell, and where
 * the program was asked to leave, it is kept for another time.
 */
static int continue_run(struct repl *r, bool shell)
{
    int rc = repl_device(r);
    if (rc != 0)
        return rc;
    if (r->interactive)
        term_hush(true);
    const int64_t begun = run_step(r->run);
    rc = run_go(r->run);
    progress_wipe();
    term_hush(false);
    if (run_status(r->run) == RUN_LOST)
        return drop_lost(r, rc);
    if (rc == 0) {
        train_lines_end();
        report_finished(r, shell, run_step(r->run) == begun);
    } else if (shell || signals_leaving()) {
        rc = save_stopped_run(r, rc);
    } else if (rc == ERR_INTERRUPTED) {
        report_paused(r);
    }
    if (rc == 0 || rc == ERR_INTERRUPTED) {
        char *why = rc == 0 ? NULL : mem_strdup(err_text());
        sync_run(r);
        if (why != NULL)
            err_set(rc, "%s", why);
        mem_free(why);
    }
    return rc;
}

/* ---- :train CONFIG ---- */

/* A run that has begun, and the model it brings (NULL: it trains the one in memory). Where rc says
 * that it has not, the model in memory stays as it is. */
static int take_run(struct repl *r, int rc, struct model *fresh, struct run *run)
{
    progress_wipe();
    if (rc == ERR_INTERRUPTED && r->interactive)
        wrap_say(stdout, term_dim(stdout), "[stopped before it began; no run is in memory]");
    if (rc != 0) {
        model_free(fresh);
        return rc;
    }
    if (fresh != NULL)
        repl_take_model(r, fresh);
    r->run = run;
    r->told_step = 0;
    train_lines_begin();
    return 0;
}

/* Go on from a checkpoint under c, not resolved. */
static int resume_with(struct repl *r, struct resume *q, const struct run_config *c,
                       enum discarder by)
{
    const struct run_events e = train_events(r);
    struct model *fresh = NULL;
    struct run *run = NULL;
    int rc = run_resume_check(q, c);
    if (rc == 0)
        rc = unsaved_put_away(r, by, UNSAVED_MODEL);
    if (rc != 0)
        return rc;
    if ((rc = repl_read_files(r, &fresh, &q->model)) == 0)
        rc = run_resume(&run, q, fresh, &e);
    return take_run(r, rc, fresh, run);
}

static int resume_in_folder(struct repl *r, const struct run_config *c, const char *folder)
{
    struct resume q;
    int rc = run_resume_open(&q, folder, progress_show());
    progress_wipe();
    if (rc != 0)
        return rc;
    rc = resume_with(r, &q, c, DISCARD_TRAIN);
    run_resume_close(&q);
    return rc;
}

/* The folder that c says to go on in, in fresh memory; NULL: it says to begin, or there is nothing
 * to go on from. */
static int find_resumed(char **folder, const struct run_config *c)
{
    struct run_config named;
    *folder = NULL;
    if (!c->checkpoint.resume)
        return 0;
    int rc = run_config_copy(&named, c);
    if (rc != 0)
        return rc;
    if ((rc = run_config_resolve_names(&named)) == 0 &&
        run_folder_has_checkpoint(named.checkpoint.folder) &&
        (*folder = mem_strdup(named.checkpoint.folder)) == NULL)
        rc = ERR_NOMEM;
    run_config_release(&named);
    return rc;
}

/* The model that c names; f stays empty: it is the one in memory. */
static int open_named_model(struct model_files *f, const struct run_config *c)
{
    struct buf path = {0};
    int rc = run_config_source(c, &path);
    if (rc == 0 && path.n > 0 &&
        model_files_open(f, buf_text(&path), c->training.seed, progress_show()) != 0)
        rc = RUN_BLAME(c, RUN_ROW(model.init));
    progress_wipe();
    if (rc == 0 && f->checkpoint != NULL)
        progress_warn(f->checkpoint);
    buf_release(&path);
    return rc;
}

/* Before the run in memory makes room; c is resolved. */
static int check_run(struct repl *r, struct run_config *c, const struct model_files *named)
{
    if (named->path != NULL)
        return run_check_first(c, &named->source.config, NULL);
    int rc = repl_need_model(r);
    return rc == 0 ? run_check_first(c, &r->model->config, r->model) : rc;
}

/* A new run, c resolved. */
static int begin_run(struct repl *r, const struct run_config *c, struct model_files *named)
{
    const struct run_events e = train_events(r);
    const bool brings = named->path != NULL;
    struct model *fresh = NULL;
    struct run *run = NULL;
    int rc = unsaved_put_away(r, DISCARD_TRAIN, brings ? UNSAVED_MODEL : 0);
    if (rc != 0)
        return rc;
    if (brings)
        rc = repl_read_files(r, &fresh, named);
    if (rc == 0)
        rc = run_new(&run, c, brings ? fresh : r->model, brings ? named : NULL, &e);
    return take_run(r, rc, fresh, run);
}

/* Its folder is that of the run in memory. */
static int refuse_second_run(const struct repl *r)
{
    char path[SHOWN];
    const bool over = run_status(r->run) == RUN_FINISHED;
    return err_set(ERR_EXISTS,
                   "the run in %s %s at step %" PRId64 ": `:train resume%s` goes on with it, "
                   "folder=DIR begins another run",
                   shown_path(path, r), over ? "has finished" : "is paused", run_step(r->run),
                   over ? " steps=N" : "");
}

static bool is_run_in_memory(const struct repl *r, const struct run_config *c)
{
    return r->run != NULL && !c->checkpoint.resume &&
           file_is_same(c->checkpoint.folder, run_path(r->run));
}

static int begin(struct repl *r, struct run_config *c)
{
    struct model_files named = {0};
    int rc = open_named_model(&named, c);
    if (rc == 0)
        rc = check_run(r, c, &named);
    if ((rc == 0 || rc == ERR_EXISTS) && is_run_in_memory(r, c))
        rc = refuse_second_run(r);
    if (rc == 0)
        rc = begin_run(r, c, &named);
    model_files_close(&named);
    return rc;
}

/* Where c says so and its folder has a checkpoint, it goes on from there, and the model that it
 * began with is not looked at. */
static int begin_or_resume(struct repl *r, struct run_config *c)
{
    char *folder;
    /* The run in memory may be the very one to go on with, and be in no checkpoint yet. */
    int rc = c->checkpoint.resume ? unsaved_try_save_run(r) : 0;
    if (rc == 0 && (rc = find_resumed(&folder, c)) == 0) {
        rc = folder == NULL ? begin(r, c) : resume_in_folder(r, c, folder);
        mem_free(folder);
    }
    return rc;
}

/* ":train config" without such a file: what there is to configure, and that there is none. */
static int show_for_config(struct repl *r)
{
    char *why = mem_strdup(err_text());
    int rc = train_show(r, NULL, 0);
    if (rc == 0)
        rc = err_set(ERR_MISSING, "%s", why != NULL ? why : "there is no file config");
    mem_free(why);
    return rc;
}

static int train_config(struct repl *r, const struct call *call)
{
    struct run_config c;
    int rc = run_config_init(&c);
    if (rc != 0)
        return rc;
    rc = train_words(&c, call->words, call->n);
    if (rc == ERR_MISSING && call->n == 1 && strcmp(call->words[0], "config") == 0) {
        rc = show_for_config(r);
    } else if (rc == 0 && r->options.settings.call.plan) {
        rc = train_plan(r, &c);
    } else if (rc == 0 && (rc = begin_or_resume(r, &c)) == 0) {
        rc = continue_run(r, call->shell);
    }
    run_config_release(&c);
    return rc;
}

/* ---- :train resume ---- */

/* Under what it was written with, changed by n words. */
static int resume_changed(struct repl *r, struct resume *q, char *const *words, int n)
{
    struct run_config c;
    int rc = run_config_copy(&c, &q->stored);
    if (rc != 0)
        return rc;
    if ((rc = run_config_words(&c, words, n)) == 0)
        rc = resume_with(r, q, &c, DISCARD_RESUME);
    run_config_release(&c);
    return rc;
}

static int resume_folder(struct repl *r, const char *folder, char *const *words, int n)
{
    struct resume q = {0};
    char *path = file_expand(folder);
    /* The run in memory may be of this very folder, and have steps that are not in it yet. */
    int rc = path == NULL ? ERR_NOMEM : unsaved_try_save_run(r);
    if (rc == 0)
        rc = run_resume_open(&q, path, progress_show());
    progress_wipe();
    if (rc == 0)
        rc = resume_changed(r, &q, words, n);
    run_resume_close(&q);
    mem_free(path);
    return rc;
}

/* No folder was named and no run is in memory. */
static int resume_latest(struct repl *r, char *const *words, int n)
{
    char *folder = NULL, shown[SHOWN];
    if (repl_latest_run(r, true, &folder) != 0)
        return err_set(ERR_MISSING, "which run? " RUNS_FOLDER
                                    " has none with a checkpoint; `:train resume FOLDER`");
    wrap_say(stdout, term_dim(stdout), "[%s]", file_show(shown, sizeof shown, folder));
    int rc = resume_folder(r, folder, words, n);
    mem_free(folder);
    return rc;
}

/* The first word that is no key=value, or a folder of such a name, goes to the front; NULL: none.
 */
static const char *take_folder(char **words, int n)
{
    for (int i = 0; i < n; i++) {
        char *word = words[i];
        if (strchr(word, '=') != NULL && !file_is_folder(word))
            continue;
        memmove(words + 1, words, (size_t)i * sizeof *words);
        return words[0] = word;
    }
    return NULL;
}

static int resume_run(struct repl *r, char **words, int n, bool shell)
{
    int rc;
    const char *folder = take_folder(words, n);
    if (folder != NULL)
        rc = resume_folder(r, folder, words + 1, n - 1);
    else if (r->run != NULL)
        rc = run_change(r->run, words, n);
    else
        rc = resume_latest(r, words, n);
    return rc == 0 ? continue_run(r, shell) : rc;
}

/* Settings alone are of the run in memory: "train resume" without saying so. Those that a new run
 * would be told, its data and its folder, begin one. */
static bool changes_run(const struct repl *r, const struct call *c)
{
    for (int i = 0; i < c->n; i++) {
        const size_t n = settings_pair_key(c->words[i]);
        const struct setting *row = NULL;
        char *key = n > 0 ? mem_sprintf("%.*s", (int)n, c->words[i]) : NULL;
        const bool begins = key == NULL ||
                            settings_table_lookup(&run_table, &row, key, false) != 0 ||
                            row == RUN_ROW(data.data) || row == RUN_ROW(model.init) ||
                            row == RUN_ROW(checkpoint.folder) || row == RUN_ROW(logging.label);
        mem_free(key);
        if (begins)
            return false;
    }
    return r->run != NULL && !r->options.settings.call.plan;
}

int cmd_train(struct repl *r, const struct call *c)
{
    const char *what = c->words[0];
    const bool shows = strcmp(what, "show") == 0, resumes = strcmp(what, "resume") == 0,
               tells = strcmp(what, "status") == 0 && c->n <= 2;
    if (r->options.settings.call.plan && (shows || resumes || tells))
        return err_set(ERR_RANGE, "--plan is for a new run: train CONFIG --plan, not train %s",
                       what);
    if (shows)
        return train_show(r, c->words + 1, c->n - 1);
    if (tells)
        return train_status(r, c->n == 2 ? c->words[1] : NULL);
    if (resumes)
        return resume_run(r, c->words + 1, c->n - 1, c->shell);
    return changes_run(r, c) ? resume_run(r, c->words, c->n, c->shell) : train_config(r, c);
}
