/* :train CONFIG and resume; train_report.c has the rest. */
#include "repl/commands/commands.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/progress.h"
#include "model/base/settings_words.h"
#include "repl/terminal/pager.h"
#include "repl/terminal/progress.h"
#include "repl/session/launcher.h"
#include "repl/session/processes.h"
#include "repl/session/repl.h"
#include "repl/session/unsaved.h"
#include "repl/terminal/signals.h"
#include "repl/terminal/term.h"
#include "repl/terminal/train_lines.h"
#include "repl/terminal/wrap.h"
#include "repl/commands/train_beginning.h"
#include "repl/commands/train_events.h"
#include "repl/commands/train_launch.h"
#include "repl/commands/train_report.h"
#include "repl/commands/train_scaling.h"
#include "repl/commands/train_words.h"
#include "train/config/fits.h"
#include "train/config/resolve.h"
#include "train/parallel/world.h"
#include "weights/load.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 256 };

static const char *shown_path(char out[SHOWN], const struct repl *r)
{
    return file_show(out, SHOWN, run_path(r->run));
}

/* Where evaluations look for their files, in a run too. */
static const char *data_dir(const struct repl *r)
{
    return r->options.settings.eval.data_dir;
}

/* ---- :train CONFIG ---- */

/* Beside the model for prompts. Processes on several hosts find out there. */
static int check_memory(const struct repl *r, const struct run_config *c,
                        const struct model_files *named)
{
    const bool launched = train_is_launched(c);
    enum dtype held;
    if (launched && *c->execution.hosts != '\0')
        return 0;
    if (named->path == NULL)
        return run_config_fits(c, &r->model->config, r->model->params.dtype, launched);
    int rc = repl_memory_dtype(&held, (enum precision_choice)r->options.settings.device.dtype);
    return rc == 0 ? run_config_fits(c, &named->source.table.config,
                                     load_dtype(&named->source, held), launched)
                   : options_blame(&r->options, OPTION(device.dtype));
}

/* A run that has begun, and the model it brings (NULL: it trains the one in memory). Where rc says
 * that it has not, the model in memory stays as it is. */
static int take_run(struct repl *r, int rc, struct model *fresh, struct run *run)
{
    progress_wipe();
    if (rc == ERR_INTERRUPTED && r->interactive)
        repl_say_stopped(r, "no run has begun");
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
                       enum discarder by, struct beginning *b)
{
    const struct run_events e = train_events(r);
    struct model *fresh = NULL;
    struct run *run = NULL;
    int rc = run_resume_check(q, c);
    if (rc == 0)
        rc = check_memory(r, &q->config, &q->model);
    const bool launched = rc == 0 && train_is_launched(&q->config);
    if (launched)
        rc = launcher_check();
    if (rc == 0)
        rc = unsaved_put_away(r, by, UNSAVED_MODEL);
    if (rc != 0)
        return rc;
    if (launched) {
        repl_drop_run(r);
        return beginning_leave(b, &q->config, by == DISCARD_TRAIN ? NULL : q->checkpoint.path);
    }
    if ((rc = repl_read_files(r, &fresh, &q->model)) == 0)
        rc = run_resume(&run, q, fresh, &e);
    return take_run(r, rc, fresh, run);
}

static int resume_in_folder(struct repl *r, const struct run_config *c, const char *folder,
                            struct beginning *b)
{
    struct resume q;
    int rc = run_resume_open(&q, folder, progress_show());
    progress_wipe();
    if (rc != 0)
        return rc;
    rc = resume_with(r, &q, c, DISCARD_TRAIN, b);
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
        (rc = model_files_open(f, buf_text(&path), c->training.seed, progress_show())) != 0) {
        run_folder_explain(rc, path.data);
        rc = RUN_BLAME(c, RUN_ROW(model.init));
    }
    progress_wipe();
    if (rc == 0 && f->checkpoint != NULL)
        progress_warn(f->checkpoint);
    if (rc == 0 && path.n > 0 && world_rank() == 0 && !processes_launched())
        train_note_bytes(c, f->source.config.n_vocab);
    buf_release(&path);
    return rc;
}

/* Before the run in memory makes room; c is resolved. */
static int check_run(struct repl *r, struct run_config *c, const struct model_files *named)
{
    int rc = 0;
    if (named->path != NULL)
        rc = run_check_first(c, &named->source.config, NULL);
    else if ((rc = repl_need_model(r)) == 0)
        rc = run_check_first(c, &r->model->config, r->model);
    return rc == 0 ? run_check_new(c) : rc;
}

/* A new run, c resolved. */
static int begin_run(struct repl *r, const struct run_config *c, struct model_files *named)
{
    const struct run_events e = train_events(r);
    const bool brings = named->path != NULL;
    struct model *fresh = NULL;
    struct run *run = NULL;
    int rc = check_memory(r, c, named);
    if (rc == 0)
        rc = unsaved_put_away(r, DISCARD_TRAIN, brings ? UNSAVED_MODEL : 0);
    if (rc != 0)
        return rc;
    if (brings)
        rc = repl_read_files(r, &fresh, named);
    if (rc == 0)
        rc = run_new(&run, c, brings ? fresh : r->model, brings ? named : NULL, &e);
    return take_run(r, rc, fresh, run);
}

/* The same by other processes, after which the session has their model. */
static int begin_launched(struct repl *r, const struct run_config *c,
                          const struct model_files *named, struct beginning *b)
{
    int rc = train_check_files(r, c);
    if (rc == 0)
        rc = check_memory(r, c, named);
    if (rc == 0)
        rc = unsaved_put_away(r, DISCARD_TRAIN, UNSAVED_MODEL);
    if (rc != 0)
        return rc;
    repl_drop_run(r);
    return beginning_leave(b, c, NULL);
}

/* Its folder is that of the run in memory. */
static int refuse_second_run(const struct repl *r)
{
    char path[SHOWN];
    const bool over = run_status(r->run) == RUN_FINISHED;
    return err_set(ERR_EXISTS,
                   "the run in %s %s at step %" PRId64 ": `:train resume%s%s` continues with it; "
                   "folder=DIR begins another run",
                   shown_path(path, r), over ? "has finished" : "is paused", run_step(r->run),
                   over ? " " : "", over ? run_extension(r->run) : "");
}

static bool is_run_in_memory(const struct repl *r, const struct run_config *c)
{
    return r->run != NULL && !c->checkpoint.resume &&
           file_is_same(c->checkpoint.folder, run_path(r->run));
}

static int begin(struct repl *r, struct run_config *c, struct beginning *b)
{
    struct model_files named = {0};
    int rc = open_named_model(&named, c);
    if (rc == 0)
        rc = check_run(r, c, &named);
    if ((rc == 0 || rc == ERR_EXISTS) && is_run_in_memory(r, c))
        rc = refuse_second_run(r);
    if (rc == 0)
        rc = train_is_launched(c) ? begin_launched(r, c, &named, b) : begin_run(r, c, &named);
    model_files_close(&named);
    return rc;
}

/* Where c says so and its folder has a checkpoint, it goes on from there, and the model that it
 * began with is not looked at. */
static int begin_or_resume(struct repl *r, struct beginning *b)
{
    struct run_config *c = b->config;
    char *folder;
    /* The run in memory may be the very one to go on with, and be in no checkpoint yet. */
    int rc = c->checkpoint.resume ? unsaved_try_save_run(r) : 0;
    if (rc == 0 && (rc = find_resumed(&folder, c)) == 0) {
        rc = folder == NULL ? begin(r, c, b) : resume_in_folder(r, c, folder, b);
        mem_free(folder);
    }
    return rc;
}

/* ":train config" without such a file: what there is to configure, and that there is none. */
static int show_for_config(struct repl *r)
{
    struct err_kept why;
    err_keep(&why);
    int rc = train_show(r, NULL, 0);
    return rc == 0 ? err_restore(&why) : rc;
}

/* Of --model or --lora, that of the shell; NULL: none, or that of a prompt which has launched this
 * process. */
static const char *shell_path(const struct repl *r, const struct setting *row, bool shell)
{
    const struct device_settings *d = &r->options.settings.device;
    const bool given = shell && !processes_launched() &&
                       settings_store_origin(&r->options.store, row) == ORIGIN_COMMAND_LINE;
    return !given ? NULL : row == OPTION(device.lora) ? d->lora : d->model;
}

/* A model, or an adapter beside it, that the run would not begin with. */
static int refuse_unused(const struct repl *r, const struct run_config *c, bool shell)
{
    char model[2][SHOWN], init[SHOWN];
    const char *named = shell_path(r, OPTION(device.model), shell),
               *lora = shell_path(r, OPTION(device.lora), shell);
    if ((named == NULL && lora == NULL) || *c->model.init == '\0')
        return 0;
    if (named == NULL)
        return err_set(ERR_RANGE,
                       "--lora is %s, but the run begins with init=%s: leave --lora out; in a "
                       "LoRA run adapter=%s trains that adapter further",
                       file_show(model[0], SHOWN, lora), file_show(init, SHOWN, c->model.init),
                       file_word(model[1], SHOWN, lora));
    return err_set(ERR_RANGE,
                   "--model is %s, but the run begins with init=%s: leave --model out, or give "
                   "init=%s to train that model",
                   file_show(model[0], SHOWN, named), file_show(init, SHOWN, c->model.init),
                   file_word(model[1], SHOWN, named));
}

static int train_config(struct repl *r, const struct call *call)
{
    struct run_config c;
    struct scaling_request scaling = {0};
    int n = call->n, rc = 0;
    if (r->options.settings.call.plan)
        rc = train_scaling_words(&scaling, call->words, &n);
    if (rc == 0)
        rc = run_config_init(&c);
    if (rc != 0)
        return rc;
    if ((rc = run_config_look_in(&c, data_dir(r))) == 0)
        rc = train_words(&c, call->words, n);
    if (rc == 0)
        rc = refuse_unused(r, &c, call->shell);
    if (rc == ERR_MISSING && call->n == 1 && strcmp(call->words[0], "config") == 0) {
        rc = show_for_config(r);
    } else if (rc == 0 && r->options.settings.call.plan) {
        rc = train_plan(r, &c, scaling.cluster.ranks > 0 ? &scaling : NULL);
    } else if (rc == 0) {
        struct beginning b = {
            .begin = begin_or_resume, .config = &c, .words = call->words, .n = call->n};
        rc = beginning_go_on(r, &b, call->shell);
    }
    run_config_release(&c);
    return rc;
}

/* ---- :train resume ---- */

/* Under what it was written with, changed by n words. */
static int resume_changed(struct repl *r, struct resume *q, struct beginning *b)
{
    struct run_config c;
    char shown[SHOWN];
    if (b->names_base && q->stored.lora.rank == 0)
        return err_set(ERR_RANGE,
                       "--model is for a new run: %s goes on with the weights of its checkpoint",
                       file_show(shown, sizeof shown, q->stored.checkpoint.folder));
    int rc = run_config_copy(&c, &q->stored);
    if (rc != 0)
        return rc;
    if ((rc = train_change_words(&c, b->words, b->n)) == 0 &&
        (rc = run_config_look_in(&c, data_dir(r))) == 0)
        rc = resume_with(r, q, &c, DISCARD_RESUME, b);
    run_config_release(&c);
    return rc;
}

static int resume_folder(struct repl *r, const char *folder, struct beginning *b)
{
    struct resume q = {0};
    char *path = file_expand(folder);
    /* The run in memory may be of this very folder, and have steps that are not in it yet. */
    int rc = path == NULL ? ERR_NOMEM : unsaved_try_save_run(r);
    if (rc == 0)
        rc = run_resume_open(&q, path, progress_show());
    progress_wipe();
    if (rc == 0)
        rc = resume_changed(r, &q, b);
    run_resume_close(&q);
    mem_free(path);
    return rc;
}

/* No folder was named and no run is in memory. */
static int resume_latest(struct repl *r, struct beginning *b)
{
    char *folder = NULL, shown[SHOWN];
    if (r->last_unfinished && r->last_run != NULL && !run_folder_has_checkpoint(r->last_run))
        return err_set(ERR_MISSING,
                       "the run in %s was stopped before its first checkpoint: begin it anew, or "
                       "name another: `:train resume FOLDER`",
                       file_show(shown, sizeof shown, r->last_run));
    if (repl_latest_run(r, true, &folder) != 0)
        return err_set(ERR_MISSING,
                       "which run? " RUNS_FOLDER
                       " has none with a checkpoint; `:train resume FOLDER` names one");
    wrap_say(stdout, term_dim(stdout), "[%s]", file_show(shown, sizeof shown, folder));
    int rc = resume_folder(r, folder, b);
    mem_free(folder);
    return rc;
}

/* That of the run in memory, which it is saved in first. */
static int resume_own_folder(struct repl *r, struct beginning *b)
{
    char *folder = mem_strdup(run_path(r->run));
    int rc = folder == NULL ? ERR_NOMEM : unsaved_save_run(r);
    if (rc == 0)
        rc = resume_folder(r, folder, b);
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

static int resume_any(struct repl *r, struct beginning *b)
{
    const char *folder = take_folder(b->words, b->n);
    if (folder != NULL) {
        b->words++;
        b->n--;
        return resume_folder(r, folder, b);
    }
    if (r->run == NULL)
        return resume_latest(r, b);
    if (run_change_opens(r->run, b->words, b->n))
        return resume_own_folder(r, b);
    int rc = run_look_in(r->run, data_dir(r));
    return rc == 0 ? run_change(r->run, b->words, b->n) : rc;
}

static int resume_run(struct repl *r, char **words, int n, bool shell)
{
    struct beginning b = {.begin = resume_any, .words = words, .n = n};
    const char *base = shell_path(r, OPTION(device.model), shell);
    if (shell_path(r, OPTION(device.lora), shell) != NULL)
        return err_set(ERR_RANGE, "--lora is not for a run that goes on: what it trains is in its "
                                  "checkpoint");
    train_note_repeated(words, n);
    if (base == NULL)
        return beginning_go_on(r, &b, shell);
    /* The base of an adapter, as a word that launched processes are told too. */
    b.names_base = true;
    b.words = mem_array((size_t)n + 1, sizeof *words);
    char **list = b.words, *init = mem_sprintf("init=%s", base);
    int rc = list == NULL || init == NULL ? ERR_NOMEM : 0;
    for (int i = 0; i < n && rc == 0; i++)
        list[i] = words[i];
    if (rc == 0) {
        list[b.n++] = init;
        rc = beginning_go_on(r, &b, shell);
    }
    mem_free(list);
    mem_free(init);
    return rc;
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
               tells = strcmp(what, "status") == 0 && (c->n <= 2 || !file_exists(what));
    if (r->options.settings.call.plan && (shows || resumes || tells))
        return err_set(ERR_RANGE, "--plan is for a new run: train CONFIG --plan, not train %s",
                       what);
    if (world_rank() > 0 && r->options.settings.call.plan)
        train_scaling_follow(c->words, c->n);
    if (world_rank() > 0 && (shows || tells || r->options.settings.call.plan))
        return 0;
    if (shows) {
        if (!c->shell)
            pager_begin();
        int rc = train_show(r, c->words + 1, c->n - 1);
        pager_end();
        return rc;
    }
    if (tells && c->n > 2)
        return command_usage(c, "status [FOLDER]");
    if (tells)
        return train_status(r, c->n == 2 ? c->words[1] : NULL);
    if (resumes)
        return resume_run(r, c->words + 1, c->n - 1, c->shell);
    return changes_run(r, c) ? resume_run(r, c->words, c->n, c->shell) : train_config(r, c);
}
