/* :train CONFIG --plan, show and status. */
#include "repl/commands/train_report.h"

#include "repl/commands/train_restart.h"
#include "repl/commands/train_scaling.h"

#include "model/base/decimal.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "repl/session/unsaved.h"
#include "repl/terminal/plot.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/term.h"
#include "repl/terminal/duration.h"
#include "repl/terminal/train_lines.h"
#include "repl/terminal/wrap.h"
#include "train/data/batches.h"
#include "train/config/moments.h"
#include "train/config/plan.h"
#include "train/config/plan_sources.h"
#include "train/config/resolve.h"
#include "train/config/show.h"
#include "train/run/folder.h"
#include "train/run/resume.h"
#include "train/run/speed.h"
#include "train/step/step.h"
#include "weights/load.h"
#include "weights/open.h"
#include "weights/run_folder.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 256 };

/* ---- plans ---- */

/* From what the machine's matrix product does, of which training reaches about so much: what
 * was measured lies between 0.75 and 0.9, in float16 between 0.55 and 0.8. */
static double reached_share(const struct run_config *c)
{
    return c->training.precision == DTYPE_F16 ? 0.65 : 0.8;
}

/* What training does a second, and in *sgemm what matrix products do. With factors in bfloat16
 * these are faster, and the rest is not. Both 0: interrupted. */
static double planned_flops(const struct run_config *c, const struct config *shape, double *sgemm)
{
    const struct training_section *t = &c->training;
    const int rows = t->micro_batch_size * t->sequence_length;
    const double single = speed_sgemm_estimate(shape, rows, FACTORS_FLOAT32);
    *sgemm = t->matmul_precision == FACTORS_BFLOAT16
                 ? speed_sgemm_estimate(shape, rows, FACTORS_BFLOAT16)
                 : single;
    if (single == 0 || *sgemm == 0)
        return *sgemm = 0;
    return 1 / (1 / *sgemm + (1 / reached_share(c) - 1) / single);
}

/* flops: what training does a second, of the sgemm that matrix products do. */
static int time_plan(const struct run_config *c, const struct config *shape, uint64_t n_windows,
                     double flops, double sgemm, struct buf *out)
{
    const struct training_section *t = &c->training;
    int again;
    char time[24];
    double needed = speed_token_flops(shape, t->sequence_length, c->lora.rank > 0);
    if (step_recomputed(&again, c->execution.recompute, shape->n_layer) == 0)
        needed += speed_recompute_flops(shape, again);
    needed += moment_sizes_all(c, shape).flops / t->global_batch_size / t->sequence_length;
    const double rate = flops / needed;
    double step_s = (double)t->global_batch_size * t->sequence_length / rate;
    const struct metrics m = {.n_steps = run_config_steps(c, n_windows),
                              .step_s = step_s,
                              .end_hours = run_config_end_hours(c)};
    double left_s = metrics_left_s(&m, 0);
    const double steps = ceil(left_s / step_s - 1e-6);
    if (flops > 0 && left_s > 0)
        return buf_printf(out,
                          "  time: about %s, %.0f step%s, %.0f tokens/s at %.0f %% of the %.0f "
                          "GFLOP/s of %s here\n",
                          duration_text(time, left_s), steps, steps == 1 ? "" : "s", rate,
                          sgemm > 0 ? 100 * flops / sgemm : 0, sgemm / 1e9,
                          t->matmul_precision == FACTORS_BFLOAT16 ? "products in bfloat16"
                                                                  : "sgemm");
    return 0;
}

/* Lines of the plan; what goes on in another line stands further in. */
static void show_plan(struct buf *plan)
{
    char *line = plan->n > 0 ? plan->data : NULL, *rest = NULL;
    for (line = line == NULL ? NULL : strtok_r(line, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest))
        wrap_hanging(line, 0, 2);
}

/* What of the data is read and not learned, and how often each source is read. */
static int plan_sources(const struct run_config *c, const struct dataset *d, struct batches *b,
                        struct buf *out)
{
    if (d->n_prompt > 0) {
        const int rc = buf_printf(out,
                                  "  the loss counts completions: %" PRIu64
                                  " of an epoch's tokens, the others are prompts\n",
                                  d->n_tokens - d->n_prompt);
        if (rc != 0)
            return rc;
    }
    const int per_step = c->training.global_batch_size;
    const int64_t n_steps = run_config_steps(c, batches_per_epoch(b));
    return batches_plan(b, n_steps, per_step) != 0
               ? RUN_BLAME(c, RUN_ROW(data.data))
               : run_config_plan_sources(d, b, n_steps, per_step, out);
}

/* A cluster that is planned may be elsewhere, with its hostfile. */
static int check_hosts(const struct run_config *c, const struct scaling_request *scaling)
{
    int rc = restart_check_hosts(c);
    if (rc != ERR_MISSING || scaling == NULL)
        return rc;
    progress_warn(err_text());
    err_clear();
    return 0;
}

/* By the shape and tokenizer of a model that need not be loaded; m: the one in memory, where that
 * would be trained. */
static int plan_for(struct repl *r, struct run_config *c, const struct config *shape,
                    enum dtype held, const struct tokenizer *t, const struct model *m,
                    const struct scaling_request *scaling)
{
    struct dataset train, validation;
    struct batches *batches = NULL;
    struct buf text = {0};
    double sgemm = 0;
    int rc = repl_device(r);
    if (rc == 0)
        rc = run_check_first(c, shape, m);
    if (rc == 0)
        rc = check_hosts(c, scaling);
    if (rc == 0 && scaling != NULL && scaling->plot != NULL)
        rc = plot_write_check(scaling->plot, r->options.settings.call.force);
    if (rc == 0)
        rc = dataset_open(&train, &validation, &c->data, t, shape->n_vocab, progress_show());
    progress_wipe();
    if (rc != 0)
        return rc;
    if (run_check_new(c) != 0)
        progress_warn(err_text());
    rc = batches_new(&batches, &train, &c->data, c->training.micro_batch_size,
                     c->training.sequence_length);
    if (rc == 0)
        rc = run_config_plan(c, shape, held, train.n_tokens, batches_per_epoch(batches), &text);
    if (rc == 0)
        rc = plan_sources(c, &train, batches, &text);
    /* By the speed that was given, or what is here. */
    const bool here = scaling == NULL || scaling->cluster.flops == 0;
    const double flops = rc == 0 && here ? planned_flops(c, shape, &sgemm) : 0;
    if (rc == 0 && here)
        rc = time_plan(c, shape, batches_per_epoch(batches), flops, sgemm, &text);
    if (rc == 0)
        show_plan(&text);
    if (rc == 0 && scaling != NULL)
        rc = train_scaling_show(scaling, c, shape, held, flops, r->options.settings.call.force);
    buf_release(&text);
    batches_free(batches);
    dataset_close(&train);
    dataset_close(&validation);
    return rc;
}

static int plan_source(struct repl *r, struct run_config *c, const struct source *s,
                       const struct scaling_request *scaling)
{
    enum dtype held;
    int rc = repl_memory_dtype(&held, (enum precision_choice)r->options.settings.device.dtype);
    return rc != 0
               ? options_blame(&r->options, OPTION(device.dtype))
               : plan_for(r, c, &s->table.config, load_dtype(s, held), s->tokenizer, NULL, scaling);
}

int train_plan(struct repl *r, struct run_config *c, const struct scaling_request *scaling)
{
    struct buf path = {0};
    struct source s = {0};
    int rc = run_config_source(c, &path);
    if (rc == 0 && path.n > 0 &&
        (rc = source_open(&s, path.data, c->training.seed, true, progress_show())) != 0) {
        run_folder_explain(rc, path.data);
        rc = RUN_BLAME(c, RUN_ROW(model.init));
    } else if (rc == 0 && path.n > 0)
        rc = plan_source(r, c, &s, scaling);
    else if (rc == 0 && path.n == 0 && (rc = repl_need_model(r)) == 0)
        rc = plan_for(r, c, &r->model->config, r->model->params.dtype, r->model->tokenizer,
                      r->model, scaling);
    source_close(&s);
    buf_release(&path);
    return rc;
}

/* All of them, or those named. */
static int show_settings(const struct run_config *c, char *const *names, int n)
{
    struct buf text = {0};
    /* The last column is for lines that are broken (wrap.h). */
    const int width = term_is(stdout) ? term_width(stdout) - 1 : 0;
    int rc = n == 0 ? run_config_show(c, width, &text)
                    : run_config_show_named(c, width, names, n, &text);
    if (rc == 0)
        wrap_lines(stdout, "", buf_text(&text));
    buf_release(&text);
    return rc;
}

/* Those of a run in its folder, as it would be resumed. */
static int show_folder(const char *path, char *const *names, int n)
{
    struct resume q = {0};
    int rc = run_resume_open(&q, path, progress_show());
    progress_wipe();
    if (rc == 0)
        rc = run_config_resolve_implied(&q.stored);
    if (rc == 0)
        rc = show_settings(&q.stored, names, n);
    run_resume_close(&q);
    return rc;
}

/* Whether a word is the name of a setting of runs, and of nothing that settings are read from. */
static bool is_setting_name(const char *word)
{
    const struct setting *row;
    return !run_config_is_preset(word) && !file_exists(word) &&
           settings_table_lookup(&run_table, &row, word, false) == 0;
}

/* Settled where it is known for what: a plan, or what would be. */
int train_show(struct repl *r, char *const *words, int n)
{
    struct run_config c;
    struct config shape;
    int n_names = 0;
    while (n_names < n && is_setting_name(words[n - 1 - n_names]))
        n_names++;
    char *const *names = words + (n -= n_names);
    if (n == 0 && r->run != NULL)
        return show_settings(run_settings(r->run), names, n_names);
    if (n == 1 && file_is_folder(words[0]))
        return show_folder(words[0], names, n_names);
    int rc = run_config_init(&c);
    if (rc == 0 && (rc = run_config_words(&c, words, n)) == 0) {
        if (run_config_shape(&c, r->model != NULL ? &r->model->config : NULL, &shape) == 0)
            rc = run_config_resolve(&c, &shape);
        if (rc == 0)
            rc = show_settings(&c, names, n_names);
    }
    run_config_release(&c);
    return rc;
}

/* ---- where a run is ---- */

double train_peak_gib(void)
{
    return (double)mem_peak_bytes() / (1 << 30);
}

static void show_head(const char *state, const char *path, const char *label, const char *more)
{
    char shown[SHOWN], named[SHOWN] = "", head[16], text[2 * SHOWN + 80];
    if (*label != '\0')
        file_show(named, sizeof named, label);
    snprintf(text, sizeof text, "in %s%s%s%s\n", file_show(shown, sizeof shown, path),
             *named == '\0' ? "" : ", labeled ", named, more);
    snprintf(head, sizeof head, "%s ", state);
    wrap_labelled(stdout, term_bold(stdout), head, text);
}

static int show_line(const struct metrics *m)
{
    struct buf line = {0};
    int rc = train_lines_format(m, term_is(stdout) ? term_width(stdout) - 2 : 0, &line);
    if (rc == 0)
        printf("  %s\n", buf_text(&line));
    buf_release(&line);
    return rc;
}

static void show_sources(const struct source_reads *s, int n)
{
    char shown[SHOWN];
    for (int i = 0; i < n; i++)
        wrap_say(stdout, "", "  source %s: read %.*f times",
                 file_show(shown, sizeof shown, s[i].path),
                 s[i].times > 0 && s[i].times < 0.1 ? 4 : 2, s[i].times);
}

/* step -1: none, or `some`, of which none is whole. */
static void show_newest(int64_t step, const char *more, bool some)
{
    if (step >= 0)
        wrap_say(stdout, "", "  newest checkpoint: step %" PRId64 "%s", step, more);
    else
        wrap_say(stdout, "", some ? "  no whole checkpoint" : "  no checkpoint yet");
}

/* What it has done so far, between two clauses that may be empty. */
static void show_work(const struct metrics *m, const char *before, const char *after)
{
    char time[24];
    wrap_say(stdout, "", "  %s%" PRIu64 " tokens, %s of training, %" PRId64 " step%s skipped%s",
             before, m->tokens, duration_text(time, m->hours * 3600), m->skipped,
             m->skipped == 1 ? "" : "s", after);
}

/* The step's own line has the loss of its own step. */
static void show_validation(const struct metrics *m)
{
    char last[64] = "";
    if (m->best_step < 0 || m->best_step == m->step)
        return;
    if (m->validation_step >= 0 && m->validation_step != m->step)
        snprintf(last, sizeof last, "validation loss %.4f at step %" PRId64 ", ",
                 m->validation_loss, m->validation_step);
    wrap_say(stdout, "", "  %sbest %s%.4f at step %" PRId64, last,
             *last == '\0' ? "validation loss " : "", m->best_loss, m->best_step);
}

/* Of a run that another process has open, or none. */
static int status_of_folder(const struct repl *r, const char *path)
{
    struct metrics m;
    char who[48] = "", until[40] = "", *label = NULL;
    const int64_t newest = run_folder_newest(path, progress_show());
    int rc = metrics_read_last(&m, &label, path);
    if (rc != 0)
        return run_folder_explain(rc, path);
    const long holder = run_folder_holder(path);
    if (holder > 0)
        snprintf(who, sizeof who, ", in process %ld", holder);
    if (holder == 0) /* nothing is left of what nobody does */
        m.step_s = m.end_hours = 0;
    const bool over = m.finished || (m.n_steps > 0 && m.step >= m.n_steps);
    const bool paused = r->last_paused && r->last_run != NULL && file_is_same(path, r->last_run);
    show_head(holder != 0 ? "open"
              : over      ? "finished"
              : paused    ? "paused"
                          : "stopped",
              path, label, who);
    mem_free(label);
    if (newest > m.step)
        snprintf(until, sizeof until, "up to step %" PRId64 ": ", m.step);
    if ((rc = show_line(&m)) == 0)
        show_work(&m, until, "");
    if (rc == 0)
        show_validation(&m);
    struct source_reads *sources;
    int n;
    if (rc == 0 && (rc = metrics_read_sources(&sources, &n, path)) == 0) {
        show_sources(sources, n);
        mem_free(sources);
    }
    if (rc == 0)
        show_newest(newest,
                    holder == 0 && newest < m.step ? "; later steps are in no whole checkpoint"
                                                   : "",
                    run_folder_has_checkpoint(path));
    return rc;
}

static int status_of_memory(struct repl *r)
{
    static const char *const states[] = {[RUN_PAUSED] = "paused",
                                         [RUN_GOING] = "going",
                                         [RUN_FINISHED] = "finished",
                                         [RUN_LOST] = "lost"};
    char at[32] = "", rate[DECIMAL_BYTES], peak[32 + DECIMAL_BYTES];
    const struct metrics now = run_now(r->run), *m = &now;
    show_head(states[run_status(r->run)], run_path(r->run), run_settings(r->run)->logging.label,
              "");
    int rc = show_line(m);
    if (run_step(r->run) != m->step)
        snprintf(at, sizeof at, "step %" PRId64 " now; ", run_step(r->run));
    snprintf(peak, sizeof peak, "; peak learning rate %s",
             decimal_show(rate, run_settings(r->run)->schedule.learning_rate));
    show_work(m, at, peak);
    wrap_say(stdout, "", "  peak memory so far: %.2f GiB", train_peak_gib());
    if (m->loss_scale > 1 || m->overflows > 0)
        wrap_say(stdout, "", "  loss scale %.0f; %" PRId64 " step%s skipped for overflow",
                 m->loss_scale, m->overflows, m->overflows == 1 ? "" : "s");
    show_validation(m);
    show_sources(m->sources, m->n_sources);
    show_newest(run_saved_step(r->run), unsaved_has_steps(r) ? ", older than the weights" : "",
                false);
    return rc;
}

int train_status(struct repl *r, const char *folder)
{
    char *path = folder != NULL ? file_expand(folder) : NULL;
    if (folder != NULL && path == NULL)
        return ERR_NOMEM;
    if (r->run != NULL && (path == NULL || file_is_same(path, run_path(r->run)))) {
        mem_free(path);
        return status_of_memory(r);
    }
    if (path == NULL && repl_latest_run(r, false, &path) != 0)
        return err_set(ERR_MISSING,
                       "no run is in memory; `:train CONFIG` begins one, `:train "
                       "resume FOLDER` continues with one, `:train status FOLDER` shows one");
    char shown[SHOWN];
    int rc =
        folder != NULL && !run_folder_is(path)
            ? run_folder_explain(
                  err_set(ERR_MISSING, "%s is not the folder of a run", file_quote(folder)), path)
        : folder == NULL && !file_exists_in(path, "metrics.jsonl")
            ? err_set(
                  ERR_MISSING,
                  "the run in %s has no metrics.jsonl: no step has ended yet, or it was deleted",
                  file_show(shown, sizeof shown, path))
            : status_of_folder(r, path);
    mem_free(path);
    return rc;
}
