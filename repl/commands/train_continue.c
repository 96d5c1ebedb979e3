#include "repl/commands/train_continue.h"

#include "model/base/decimal.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/progress.h"
#include "repl/commands/train_report.h"
#include "repl/session/lora.h"
#include "repl/session/processes.h"
#include "repl/session/unsaved.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/signals.h"
#include "repl/terminal/term.h"
#include "repl/terminal/train_lines.h"
#include "repl/terminal/wrap.h"
#include "train/parallel/loss.h"
#include "train/optim/schedule.h"
#include "train/parallel/world.h"
#include "train/run/ask.h"
#include "train/run/wandb.h"
#include "weights/run_folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 256 };

static const char *shown_path(char out[SHOWN], const struct repl *r)
{
    return file_show(out, SHOWN, run_path(r->run));
}

/* Trained for too long, or to no avail, the newest model is not the best. */
static void report_best(const struct repl *r, bool shell)
{
    const struct metrics *m = run_metrics(r->run);
    char path[SHOWN], opens[SHOWN + 40] = "";
    if (m->best_step < 0 || m->best_step == m->validation_step)
        return;
    if (m->best_step == 0) {
        wrap_say(stdout, term_dim(stdout), "[validation loss was lowest before training: %.4f]",
                 m->best_loss);
        return;
    }
    char *best = run_folder_checkpoint(run_path(r->run), m->best_step);
    if (best != NULL && file_is_folder(best))
        snprintf(opens, sizeof opens, "; `%s %s` opens that model", shell ? "prattle" : ":load",
                 file_word(path, sizeof path, best));
    wrap_say(stdout, term_dim(stdout), "[validation loss was lowest at step %" PRId64 ": %.4f%s]",
             m->best_step, m->best_loss, opens);
    mem_free(best);
}

static void report_finished(struct repl *r, bool shell, bool idle)
{
    char path[SHOWN], line[SHOWN + 120];
    snprintf(line, sizeof line,
             "[finished at step %" PRId64 "; %s has the checkpoints and metrics; peak memory "
             "%.2f GiB]\n",
             run_step(r->run), shown_path(path, r), train_peak_gib()); /* against its plan */
    wrap_figures(stdout, term_dim(stdout), line);
    if (run_end(r->run) == END_EARLY)
        wrap_say(stdout, term_dim(stdout),
                 "[stopped early: no lower loss in the last %d validation%s]",
                 run_settings(r->run)->training.patience,
                 run_settings(r->run)->training.patience == 1 ? "" : "s");
    report_best(r, shell);
    if (idle && shell)
        wrap_say(stdout, term_dim(stdout), "[`prattle train resume %s %s` trains it further]",
                 file_word(path, sizeof path, run_path(r->run)), run_extension(r->run));
    else if (idle)
        wrap_say(stdout, term_dim(stdout), "[`:train resume %s` trains it further]",
                 run_extension(r->run));
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
             "[paused at step %" PRId64 "%s; prompts are answered by these weights, and `:train "
             "resume` continues]",
             run_step(r->run), of);
    r->told_stop = true;
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
    r->told_stop = true;
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
    struct err_kept why;
    err_keep(&why);
    repl_drop_run(r);
    err_restore(&why);
    return rc;
}

/* The prompt that has launched this rank goes on with the checkpoint. */
static int pause_for_prompt(struct repl *r)
{
    interrupt_clear();
    int rc = run_step(r->run) == 0 ? 0 : run_save(r->run);
    progress_wipe();
    if (rc == ERR_INTERRUPTED)
        warn_not_saved(r);
    else if (rc != 0)
        return rc;
    else if (run_step(r->run) > 0)
        report_paused(r);
    return err_set(ERR_INTERRUPTED, PROCESSES_PAUSED);
}

/* As where the disk is still full: what is due comes before the next step. */
static int explain_due_save(const struct repl *r, int rc)
{
    if (rc != ERR_IO || !run_owes_checkpoint(r->run))
        return rc;
    return err_wrap("no step was trained, since the checkpoint of step %" PRId64
                    " comes first (`:train resume %s` trains without it)",
                    run_step(r->run),
                    run_settings(r->run)->checkpoint.save_every > 0 ? "save_every=0"
                                                                    : "keep_best=off");
}

/* This process is about to end, as another is lost: what is whole here is kept. */
static void save_after_loss(void *user)
{
    struct repl *r = user;
    char path[SHOWN];
    int64_t step = run_step(r->run);
    interrupt_clear();
    progress_wipe();
    if (step == 0 || run_save_alone(r->run) != 0)
        step = -1;
    if (processes_launched())
        processes_tell_saved(step);
    else if (step > 0)
        wrap_say(stdout, term_dim(stdout),
                 "[step %" PRId64 " is saved; `prattle train resume %s` continues from there]",
                 step, file_word(path, sizeof path, run_path(r->run)));
    fflush(stdout);
}

/* Settings of processes that prattle starts itself, where it has started none. */
static void explain_launch(const struct repl *r)
{
    const struct execution_section *e = &run_settings(r->run)->execution;
    if (processes_launched())
        return;
    if (world_size() > 1 && *e->hosts != '\0')
        progress_warn("hosts is set, but mpirun has started the processes, where it was told to: "
                      "mpirun --hostfile FILE");
    if (world_size() > 1 && e->elastic == ELASTIC_ON)
        progress_warn("elastic is on, but mpirun has started the processes, so a lost one ends the "
                      "run: with replicas=N prattle starts them");
    if (world_size() == 1 && *e->hosts != '\0')
        progress_warn("hosts is set, but the run is one process, on this host: with replicas=N it "
                      "is on those");
}

/* Steps that end with their warmup, as where fewer are tried than a preset has. */
static void explain_warmup(const struct repl *r)
{
    const struct schedule_config *s = &run_settings(r->run)->schedule;
    const int64_t n = run_now(r->run).n_steps, warmup = schedule_warmup(s, n);
    char rate[DECIMAL_BYTES], text[160];
    if (n == 0 || warmup < n || s->kind == SCHEDULE_COSINE_RAMP || run_step(r->run) > 0)
        return;
    snprintf(text, sizeof text,
             "warmup takes %" PRId64 " steps and the run has %" PRId64
             ": it ends before learning_rate %s is reached",
             warmup, n, decimal_show(rate, s->learning_rate));
    progress_warn(text);
}

static int go_watched(struct repl *r)
{
    explain_launch(r);
    explain_warmup(r);
    if (run_settings(r->run)->lora.rank > 0 && run_step(r->run) == 0 && world_rank() == 0)
        lora_warn_of_base(r->model);
    loss_use(save_after_loss, r);
    const int rc = run_go(r->run);
    loss_use(NULL, NULL);
    return rc;
}

char *train_template(const struct repl *r)
{
    const char *is = r->options.settings.generate.template;
    return mem_strdup(is == NULL ? "" : is);
}

void train_note_template(const struct repl *r, const char *before)
{
    const char *is = r->options.settings.generate.template;
    char shown[SHOWN];
    if (!r->interactive || is == NULL || strcmp(is, before) == 0 ||
        settings_store_origin(&r->options.store, OPTION(generate.template)) != ORIGIN_MODEL)
        return;
    wrap_say(stdout, term_dim(stdout), "[prompts are read as in training: template \"%s\"]",
             file_show(shown, sizeof shown, is));
}

/* What was trained so is asked so, as if the checkpoint had been loaded. */
static void take_template(struct repl *r)
{
    bool said, changed;
    struct model *m = r->model;
    char *before = train_template(r);
    if (before != NULL && run_step(r->run) > 0 &&
        run_ask(r->run, &m->defaults, &m->defaults_file, &said, &changed) == 0 && changed) {
        repl_read_model_settings(r);
        train_note_template(r, before);
    }
    mem_free(before);
}

int train_continue(struct repl *r, bool shell)
{
    int rc = repl_device(r);
    if (rc != 0)
        return rc;
    if (world_rank() > 0)
        return run_go(r->run);
    const int64_t begun = run_step(r->run);
    if (r->interactive)
        term_hush(true);
    rc = go_watched(r);
    progress_wipe();
    term_hush(false);
    if (run_status(r->run) == RUN_LOST)
        return drop_lost(r, rc);
    if (rc == 0) {
        train_lines_end();
        report_finished(r, shell && !processes_for_prompt(), run_step(r->run) == begun);
    } else if (rc == ERR_INTERRUPTED && processes_for_prompt()) {
        rc = pause_for_prompt(r);
    } else if (shell || signals_leaving()) {
        rc = save_stopped_run(r, rc);
    } else if (rc == ERR_INTERRUPTED ||
               (run_status(r->run) == RUN_PAUSED && run_step(r->run) > begun)) {
        report_paused(r); /* also where a checkpoint could not be written */
    } else if (r->run != NULL && run_step(r->run) == begun && begun > 0) {
        rc = explain_due_save(r, rc);
    }
    if (rc == 0 || rc == ERR_INTERRUPTED) {
        struct err_kept why;
        err_keep(&why);
        take_template(r);
        sync_run(r);
        if (rc != 0)
            err_restore(&why);
    }
    return rc;
}
