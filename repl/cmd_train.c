/* :train CONFIG, show, status, resume */
#include "repl/commands.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/progress.h"
#include "repl/progress.h"
#include "repl/repl.h"
#include "repl/signals.h"
#include "repl/term.h"
#include "repl/wrap.h"
#include "repl/train_view.h"
#include "train/data/batches.h"
#include "train/run_config.h"
#include "train/speed.h"
#include "train/step.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- what a run shows ---- */

static void show_line(void *user, const struct metrics *m)
{
    (void)user;
    train_view_show(m);
}

static void show_activations(void *user, const struct metrics *m, const struct watch *w)
{
    (void)user;
    train_view_activations(m, w);
}

static void show_tick(void *user, const struct metrics *m, int64_t step, double part)
{
    (void)user;
    train_view_tick(m, step, part);
}

/* A text from the weights as they are, by the settings of answers, always with the same
 * draws; the text in progress is left alone. */
static int make_sample(struct repl *r, struct answer *a)
{
    const struct run_config *c = run_settings(r->run);
    const char *text = c->logging.sample_prompt;
    struct settings s;
    struct session session;
    struct prompt prompt = {0};
    struct generate_host host = {.progress = progress_show()};
    int rc = settings_copy(&s, &r->options.settings);
    if (rc != 0)
        return rc;
    s.generate.max_new_tokens = c->logging.sample_tokens;
    s.generate.num_return_sequences = 1;
    s.sampler.seed = c->training.seed;
    s.sampler.draw = 0;
    if ((rc = repl_ready(r, generate_texts(&s.generate, &s.sampler))) == 0 &&
        (rc = session_init(&session, &r->engine)) == 0) {
        if ((rc = prompt_encode(&prompt, r->model, &s.generate, text, strlen(text))) == 0)
            rc = generate(&session, &prompt, &s.generate, &s.sampler, &host, a);
        session_release(&session);
    }
    prompt_release(&prompt);
    settings_release(&s);
    return rc;
}

static int show_sample(void *user, struct buf *out)
{
    struct repl *r = user;
    struct answer a = {0};
    int rc = make_sample(r, &a);
    if (rc == 0 && (rc = buf_str(out, run_settings(r->run)->logging.sample_prompt)) == 0)
        rc = buf_add(out, buf_text(&a.text), a.text.n);
    progress_wipe();
    /* A model without words, or without a token to begin an empty prompt with, has none. */
    if (rc == ERR_MISSING || rc == ERR_RANGE) {
        char *why = mem_sprintf("no sample: %s", err_text());
        progress_warn(why != NULL ? why : "no sample");
        mem_free(why);
        answer_release(&a);
        return 0;
    }
    if (rc == 0) {
        struct buf shown = {0}; /* a text may have NUL */
        if ((rc = term_visible(&shown, out->data, out->n)) == 0)
            wrap_labelled(stdout, term_dim(stdout), "sample: ", buf_text(&shown));
        buf_release(&shown);
        putchar('\n');
    }
    fflush(stdout);
    answer_release(&a);
    return rc;
}

static struct run_events events_of(struct repl *r)
{
    return (struct run_events){.line = show_line,
                               .activations = show_activations,
                               .tick = show_tick,
                               .sample = show_sample,
                               .progress = progress_show(),
                               .user = r};
}

enum { SHOWN = 256 };

static const char *shown_path(char out[SHOWN], const struct repl *r)
{
    return file_show(out, SHOWN, run_path(r->run));
}

/* ---- the run in memory ---- */

static bool is_unsaved(const struct repl *r)
{
    return r->run != NULL && run_step(r->run) > 0 && run_step(r->run) != run_saved_step(r->run);
}

int train_keep(struct repl *r)
{
    char path[SHOWN];
    if (r->run == NULL || run_step(r->run) == 0)
        return 0;
    if ((run_state(r->run) == RUN_FINISHED || r->told_step == run_step(r->run)) && !is_unsaved(r))
        return 0;
    int rc = run_save(r->run);
    progress_wipe();
    r->told_step = run_step(r->run);
    if (rc == 0)
        wrap_say(stdout, term_dim(stdout),
                 "[step %" PRId64 " is saved; train resume %s goes on from there]",
                 run_step(r->run), shown_path(path, r));
    return rc;
}

/* Before another run, or another model, takes its place. */
int train_put_away(struct repl *r, const char *again)
{
    int rc = repl_keep_run(r, again);
    if (rc == 0)
        repl_drop_run(r);
    return rc;
}

/* What the plan of a run is to be held against. */
static double peak_gib(void)
{
    return (double)mem_peak_bytes() / (1 << 30);
}

static void say_finished(struct repl *r)
{
    char path[SHOWN], past[48] = "";
    const int64_t n = run_metrics(r->run)->n_steps;
    if (n > 0 && n < run_step(r->run)) /* steps=N of a run that is there already */
        snprintf(past, sizeof past, ", past the %" PRId64 " asked for", n);
    wrap_say(stdout, term_dim(stdout),
             "[finished at step %" PRId64 "%s; %s has the checkpoints and metrics; %.2f GiB of "
             "memory at most]",
             run_step(r->run), past, shown_path(path, r), peak_gib());
    if (r->model->adapter != NULL)
        wrap_say(stdout, term_dim(stdout),
                 "[the adapter is on; :lora off is the model without it]");
}

static void say_paused(struct repl *r)
{
    int64_t n = run_metrics(r->run)->n_steps;
    char of[32] = "";
    if (n > 0)
        snprintf(of, sizeof of, " of %" PRId64, n);
    wrap_say(stdout, term_dim(stdout),
             "[paused at step %" PRId64 "%s; a prompt is answered by these weights, :train resume "
             "goes on]",
             run_step(r->run), of);
}

static void say_not_saved(struct repl *r)
{
    const int64_t saved = run_saved_step(r->run);
    char *said = saved >= 0 ? mem_sprintf("; the newest checkpoint is of step %" PRId64, saved)
                            : mem_strdup("; there is no checkpoint");
    char *all = mem_sprintf("stopped while step %" PRId64 " was being saved%s", run_step(r->run),
                            said != NULL ? said : "");
    progress_warn(all != NULL ? all : "not saved");
    mem_free(said);
    mem_free(all);
}

/* Nobody goes on in this program with a run that stopped for rc: what it has reached is saved. */
static int keep_all_the_same(struct repl *r, int rc)
{
    struct buf why = {0};
    int kept = buf_str(&why, rc == ERR_INTERRUPTED ? "stopped" : err_text());
    interrupt_clear();
    if (kept == 0)
        kept = train_keep(r);
    if (kept == ERR_INTERRUPTED)
        say_not_saved(r);
    rc = kept != 0 && rc == ERR_INTERRUPTED ? kept : err_set(rc, "%s", buf_text(&why));
    buf_release(&why);
    return rc;
}

/*
 * Train until the end or Ctrl-C. At a prompt that is a pause; in the shell, and where
 * the program was asked to leave, it is kept for another time.
 */
static int go(struct repl *r, bool shell)
{
    int rc = repl_device(r);
    if (rc != 0)
        return rc;
    if (r->interactive)
        term_hush(true);
    rc = run_go(r->run);
    progress_wipe();
    term_hush(false);
    if (rc == 0) {
        say_finished(r);
    } else if (shell || signals_leaving()) {
        rc = keep_all_the_same(r, rc);
    } else if (rc == ERR_INTERRUPTED) {
        say_paused(r);
    }
    return rc;
}

/* ---- :train CONFIG ---- */

static const char AGAIN[] = "the same :train again goes on without";

/* A run that has begun, and the model it brings (NULL: it trains the one in memory). Where rc says
 * that it has not, the model in memory stays as it is. */
static int take_run(struct repl *r, int rc, struct model *fresh, struct run *run)
{
    progress_wipe();
    if (rc == ERR_INTERRUPTED && r->interactive)
        wrap_say(stdout, term_dim(stdout), "[stopped before the first step; no run is in memory]");
    if (rc != 0) {
        model_free(fresh);
        return rc;
    }
    if (fresh != NULL)
        repl_take_model(r, fresh);
    r->run = run;
    r->told_step = 0;
    return 0;
}

/* Go on from a checkpoint, under c, settled here. */
static int open_checkpoint(struct repl *r, struct checkpoint *cp, struct run_config *c)
{
    const struct run_events e = events_of(r);
    struct model *fresh = NULL;
    struct run *run = NULL;
    int rc = repl_read_model(r, &fresh, cp->path, 0);
    if (rc == 0 && (rc = run_config_settle(c, &fresh->config)) == 0)
        rc = run_resume(&run, cp, c, fresh, &e);
    return take_run(r, rc, fresh, run);
}

static int resume_folder(struct repl *r, const char *folder, struct run_config *c)
{
    struct checkpoint cp;
    int rc = checkpoint_open(&cp, folder, progress_show());
    progress_wipe();
    if (rc == 0 && (rc = run_check_resume(&cp, c)) == 0)
        rc = open_checkpoint(r, &cp, c);
    checkpoint_close(&cp);
    return rc;
}

/* Before the run in memory makes room. */
static int check_first(struct repl *r, const struct run_config *c)
{
    int rc = *c->model.init == '\0' ? repl_need_model(r) : 0;
    if (rc == 0)
        rc = run_check_first(c, r->model != NULL ? &r->model->config : NULL);
    return rc == 0 && *c->model.init == '\0' ? run_check_model(c, r->model) : rc;
}

/* The model that c names; NULL: the one in memory. */
static int read_named(struct repl *r, const struct run_config *c, struct model **out)
{
    struct buf path = {0};
    int rc = run_config_source(c, &path);
    if (rc == 0 && path.n > 0 && (rc = repl_leave_model(r, AGAIN)) == 0)
        rc = repl_read_model(r, out, buf_text(&path), c->training.seed);
    buf_release(&path);
    return rc;
}

static int begin(struct repl *r, struct run_config *c)
{
    const struct run_events e = events_of(r);
    struct model *fresh = NULL;
    struct run *run = NULL;
    int rc = read_named(r, c, &fresh);
    struct model *m = fresh != NULL ? fresh : r->model;
    if (rc == 0)
        rc = run_config_settle(c, &m->config);
    if (rc == 0 && c->checkpoint.resume && run_can_resume(c)) {
        model_free(fresh);
        rc = repl_leave_model(r, AGAIN);
        return rc != 0 ? rc : resume_folder(r, c->checkpoint.folder, c);
    }
    if (rc == 0)
        rc = run_new(&run, c, m, &e);
    return take_run(r, rc, fresh, run);
}

/* From what the machine's matrix product does, of which training reaches about so much: what
 * was measured lies between 0.75 and 0.9, in float16 between 0.55 and 0.8. */
static void show_time(const struct run_config *c, const struct config *shape, uint64_t n_windows)
{
    const struct training_section *t = &c->training;
    const double reached = t->precision == DTYPE_F16 ? 0.65 : 0.8;
    int again;
    char time[24];
    double flops = speed_sgemm_look(shape, t->micro_batch_size * t->sequence_length);
    double needed = speed_token_flops(shape, t->sequence_length, c->lora.rank > 0);
    if (step_recomputed(&again, c->execution.recompute, shape->n_layer) == 0)
        needed += speed_again_flops(shape, again);
    double rate = reached * flops / needed;
    double step_s = (double)t->global_batch_size * t->sequence_length / rate;
    const struct metrics m = {.n_steps = run_config_steps(c, n_windows),
                              .step_s = step_s,
                              .end_hours = run_config_end_hours(c)};
    double left_s = metrics_left_s(&m, 0);
    if (flops > 0 && left_s > 0)
        printf("  time: about %s, %.0f steps, %.0f tokens/s at %.0f %% of the %.0f GFLOP/s of "
               "sgemm here\n",
               train_view_duration(time, left_s), ceil(left_s / step_s - 1e-6), rate, 100 * reached,
               flops / 1e9);
}

/* Nothing of the model but its shape and tokenizer is looked at. */
static int plan_for(struct repl *r, struct run_config *c, const struct config *shape,
                    const struct tokenizer *t)
{
    struct dataset train, validation;
    struct batches *batches = NULL;
    struct buf text = {0};
    int rc = repl_device(r);
    if (rc == 0)
        rc = run_check_first(c, shape);
    if (rc == 0)
        rc = run_config_settle(c, shape);
    if (rc == 0)
        rc = dataset_open(&train, &validation, &c->data, t, shape->n_vocab, progress_show());
    progress_wipe();
    if (rc != 0)
        return rc;
    rc = batches_new(&batches, &train, &c->data, c->training.micro_batch_size,
                     c->training.sequence_length);
    if (rc == 0)
        rc = run_config_plan(c, shape, train.n_tokens, batches_per_epoch(batches), &text);
    if (rc == 0) {
        fputs(buf_text(&text), stdout);
        show_time(c, shape, batches_per_epoch(batches));
    }
    buf_release(&text);
    batches_free(batches);
    dataset_close(&train);
    dataset_close(&validation);
    return rc;
}

static int show_plan(struct repl *r, struct run_config *c)
{
    struct buf path = {0};
    struct source s = {0};
    int rc = run_config_source(c, &path);
    if (rc == 0 && path.n > 0 &&
        (rc = source_open(&s, path.data, c->training.seed, true, progress_show())) == 0)
        rc = plan_for(r, c, &s.table.config, s.tokenizer);
    else if (rc == 0 && (rc = check_first(r, c)) == 0)
        rc = plan_for(r, c, &r->model->config, r->model->tokenizer);
    source_close(&s);
    buf_release(&path);
    return rc;
}

static int show_settings(const struct run_config *c)
{
    struct buf text = {0};
    /* The last column is for lines that are broken (wrap.h). */
    int rc = run_config_show(c, term_is(stdout) ? term_width(stdout) - 1 : 0, &text);
    if (rc == 0)
        wrap_lines(stdout, "", buf_text(&text));
    buf_release(&text);
    return rc;
}

/* Settled where it is known for what: a plan, or what would be. */
static int show(struct repl *r, char *const *words, int n)
{
    struct run_config c;
    struct config shape;
    if (n == 0 && r->run != NULL)
        return show_settings(run_settings(r->run));
    int rc = run_config_init(&c);
    if (rc == 0 && (rc = run_config_words(&c, words, n)) == 0) {
        if (run_config_shape(&c, r->model != NULL ? &r->model->config : NULL, &shape) == 0)
            rc = run_config_settle(&c, &shape);
        if (rc == 0)
            rc = show_settings(&c);
    }
    run_config_release(&c);
    return rc;
}

/* ":train config" without such a file: what there is to configure, and that there is none. */
static int show_for_config(struct repl *r)
{
    char *why = mem_strdup(err_text());
    int rc = show(r, NULL, 0);
    if (rc == 0)
        rc = err_set(ERR_MISSING, "%s", why != NULL ? why : "there is no file config");
    mem_free(why);
    return rc;
}

static int train(struct repl *r, const struct call *call)
{
    struct run_config c;
    int rc = run_config_init(&c);
    if (rc != 0)
        return rc;
    rc = run_config_words(&c, call->words, call->n);
    if (rc == ERR_MISSING && call->n == 1 && strcmp(call->words[0], "config") == 0) {
        rc = show_for_config(r);
    } else if (rc == 0 && r->options.settings.call.plan) {
        rc = show_plan(r, &c);
    } else if (rc == 0 && (rc = check_first(r, &c)) == 0 && (rc = train_put_away(r, AGAIN)) == 0 &&
               (rc = begin(r, &c)) == 0) {
        rc = go(r, call->shell);
    }
    run_config_release(&c);
    return rc;
}

/* ---- :train status, resume ---- */

/* Of a run that another process trains, or none does. */
static int status_of_folder(const char *folder)
{
    struct metrics m;
    struct buf line = {0};
    char shown[SHOWN], who[48] = "";
    char *path = file_expand(folder);
    int rc = path == NULL ? ERR_NOMEM : metrics_read_last(&m, path);
    const long trainer = rc == 0 ? run_folder_trainer(path) : 0;
    if (trainer > 0)
        snprintf(who, sizeof who, ", process %ld", trainer);
    if (trainer == 0 && rc == 0) /* nothing is left of what nobody does */
        m.end_hours = 0;
    if (rc == 0 &&
        (rc = train_view_line(&m, term_is(stdout) ? term_width(stdout) - 2 : 0, &line)) == 0)
        printf("%s%s%s in %s%s\n  %s\n", term_bold(stdout), trainer != 0 ? "going" : "not going",
               term_plain(stdout), file_show(shown, sizeof shown, path), who, buf_text(&line));
    buf_release(&line);
    mem_free(path);
    return rc;
}

/* Of no run in memory and none named: the one that resume would go on with. */
static int status_of_latest(void)
{
    char *folder = NULL;
    if (run_folder_latest(&folder, RUNS_FOLDER) != 0)
        return err_set(ERR_MISSING, "no run is in memory; :train CONFIG begins one, :train resume "
                                    "FOLDER goes on with one, :train status FOLDER tells of one");
    int rc = status_of_folder(folder);
    mem_free(folder);
    return rc;
}

static int status(struct repl *r)
{
    static const char *const states[] = {
        [RUN_PAUSED] = "paused", [RUN_GOING] = "going", [RUN_FINISHED] = "finished"};
    char path[SHOWN], label[SHOWN], time[24];
    struct buf line = {0};
    if (r->run == NULL)
        return status_of_latest();
    const struct metrics now = run_now(r->run), *m = &now;
    printf("%s%s%s in %s, labelled %s\n", term_bold(stdout), states[run_state(r->run)],
           term_plain(stdout), shown_path(path, r),
           file_show(label, sizeof label, run_settings(r->run)->logging.label));
    int rc = train_view_line(m, term_is(stdout) ? term_width(stdout) - 2 : 0, &line);
    if (rc == 0)
        printf("  %s\n", buf_text(&line));
    buf_release(&line);
    wrap_say(stdout, "",
             "  step %" PRId64 " now; %" PRIu64 " tokens, %s of training, %" PRId64
             " steps skipped; learning_rate=%g",
             run_step(r->run), m->tokens, train_view_duration(time, m->hours * 3600), m->skipped,
             run_settings(r->run)->schedule.learning_rate);
    wrap_say(stdout, "", "  at most %.2f GiB of memory so far, in all the program does",
             peak_gib());
    if (m->loss_scale > 1 || m->overflows > 0)
        wrap_say(stdout, "",
                 "  loss scale %.0f; %" PRId64 " of the steps skipped were its overflows",
                 m->loss_scale, m->overflows);
    if (m->best_step >= 0)
        wrap_say(stdout, "",
                 "  validation loss %.4f at step %" PRId64 ", best %.4f at step %" PRId64,
                 m->validation_loss, m->validation_step, m->best_loss, m->best_step);
    if (run_saved_step(r->run) >= 0)
        wrap_say(stdout, "", "  newest checkpoint: step %" PRId64 "%s", run_saved_step(r->run),
                 is_unsaved(r) ? ", older than the weights" : "");
    else
        wrap_say(stdout, "", "  no checkpoint yet");
    return rc;
}

static int resume_from(struct repl *r, const char *folder, char *const *words, int n)
{
    static const char again[] = "the same :train resume again goes on without";
    struct checkpoint cp = {0};
    struct run_config c;
    char *path = file_expand(folder);
    /* The run in memory may be of this very folder, and have steps that are not in it yet. */
    int rc = path == NULL ? ERR_NOMEM : repl_keep_run(r, again);
    if (rc == 0)
        rc = checkpoint_open(&cp, path, progress_show());
    progress_wipe();
    if (rc == 0 && (rc = run_stored_config(&c, &cp)) == 0) {
        if ((rc = run_config_words(&c, words, n)) == 0 && (rc = run_check_resume(&cp, &c)) == 0 &&
            (rc = train_put_away(r, again)) == 0 && (rc = repl_leave_model(r, again)) == 0)
            rc = open_checkpoint(r, &cp, &c);
        run_config_release(&c);
    }
    checkpoint_close(&cp);
    mem_free(path);
    return rc;
}

static bool has_checkpoint(const char *folder)
{
    int64_t *steps;
    int n = 0;
    if (folder == NULL || run_folder_steps(folder, &steps, &n) != 0)
        return false;
    mem_free(steps);
    return n > 0;
}

/* No folder was named and no run is in memory: the session's last one, or that of ./runs which was
 * written to last. */
static int resume_latest(struct repl *r, char *const *words, int n)
{
    char *folder = NULL, shown[SHOWN];
    if (has_checkpoint(r->last_run) && (folder = mem_strdup(r->last_run)) == NULL)
        return ERR_NOMEM;
    if (folder == NULL && run_folder_latest(&folder, RUNS_FOLDER) != 0)
        return err_set(ERR_MISSING, "which run? " RUNS_FOLDER
                                    " has none with a checkpoint; train resume FOLDER");
    wrap_say(stdout, term_dim(stdout), "[%s]", file_show(shown, sizeof shown, folder));
    int rc = resume_from(r, folder, words, n);
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

static int resume(struct repl *r, const struct call *call)
{
    char **words = call->words + 1;
    int n = call->n - 1, rc;
    const char *folder = take_folder(words, n);
    if (folder != NULL)
        rc = resume_from(r, folder, words + 1, n - 1);
    else if (r->run != NULL)
        rc = run_change(r->run, words, n);
    else
        rc = resume_latest(r, words, n);
    return rc == 0 ? go(r, call->shell) : rc;
}

int cmd_train(struct repl *r, const struct call *c)
{
    const char *what = c->words[0];
    const bool shows = strcmp(what, "show") == 0, resumes = strcmp(what, "resume") == 0,
               tells = strcmp(what, "status") == 0 && c->n <= 2;
    if (r->options.settings.call.plan && (shows || resumes || tells))
        return err_set(ERR_RANGE,
                       "--plan is of a run that would begin: train CONFIG --plan, not train %s",
                       what);
    if (shows)
        return show(r, c->words + 1, c->n - 1);
    if (tells)
        return c->n == 2 ? status_of_folder(c->words[1]) : status(r);
    return resumes ? resume(r, c) : train(r, c);
}
