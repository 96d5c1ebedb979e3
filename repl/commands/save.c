/* :save :convert */
#include "repl/commands/commands.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "repl/session/model_hint.h"
#include "repl/session/repl.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "weights/bundled/bundled.h"
#include "weights/load.h"
#include "weights/save.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --dtype of this very command; what the model has in memory does not count. */
static bool asked_dtype(enum dtype *out, const struct repl *r, const struct call *c)
{
    static const enum dtype chosen[] = {[PRECISION_FP16] = DTYPE_F16,
                                        [PRECISION_FP32] = DTYPE_F32,
                                        [PRECISION_BF16] = DTYPE_BF16,
                                        [PRECISION_Q8] = DTYPE_Q8};
    const int choice = r->options.settings.device.dtype;
    enum origin given = settings_store_origin(&r->options.store, OPTION(device.dtype));
    bool here = given == (c->shell ? ORIGIN_COMMAND_LINE : ORIGIN_CALL);
    if (!here || choice == PRECISION_AUTO)
        return false;
    *out = chosen[choice];
    return true;
}

static struct save_config save_settings(const struct repl *r, const struct call *c)
{
    const struct call_settings *k = &r->options.settings.call;
    struct save_config s = {.force = k->force, .compat = k->compat};
    s.convert = asked_dtype(&s.dtype, r, c);
    return s;
}

/* What a file of the model's weights has of its adapter. */
static const char *adapter_note(const struct model *m)
{
    return m->adapter == NULL ? ""
           : m->adapter->on
               ? ", the adapter merged into the weights; `:lora save DIR` writes it alone"
               : ", the model without its adapter, which is off; `:lora save DIR` writes that";
}

/* Where the path alone opens another model than the one that is there now. */
static int note_name(struct buf *out, const struct repl *r, const char *path)
{
    char shown[160];
    int rc = buf_str(out, adapter_note(r->model));
    if (rc == 0 && (bundled_is_name(path) || strncmp(path, "random:", 7) == 0))
        rc = buf_printf(out, "; `:load ./%s` opens it, %s alone is %s",
                        file_show(shown, sizeof shown, path), shown,
                        bundled_is_name(path) ? "the model that ships" : "a random model");
    return rc;
}

int cmd_save(struct repl *r, const struct call *c)
{
    struct save_config k = save_settings(r, c);
    char *path = file_expand(c->words[0]);
    struct buf note = {0};
    /* A run has the weights in fp32, memory perhaps in less. */
    bool trained = r->run != NULL && r->model->changed;
    int rc = path == NULL ? ERR_NOMEM
             : trained    ? run_export(r->run, path, &k)
                          : model_save(r->model, path, &k, progress_show());
    progress_wipe();
    if (rc == 0 && (rc = note_name(&note, r, path)) == 0)
        wrap_wrote(path, buf_text(&note));
    buf_release(&note);
    mem_free(path);
    return rc;
}

/* ---- what q8 costs: the loss of the file that was written, beside that of its source ---- */

/* Of a text that nobody named, so many windows. */
enum { COST_WINDOWS = 4 };

struct cost_side {
    struct model *model;
    struct engine engine;
};

static int open_side(struct cost_side *s, const struct repl *r, const char *path, enum dtype dtype)
{
    const struct settings *k = &r->options.settings;
    int rc = model_load(&s->model, path,
                        &(struct load_config){.dtype = dtype, .seed = k->sampler.seed}, NULL);
    return rc == 0 ? repl_engine(&s->engine, s->model, k->batch.batch_size, k) : rc;
}

static void close_side(struct cost_side *s)
{
    engine_release(&s->engine);
    model_free(s->model);
}

static void show_cost(const struct eval_result *result)
{
    const struct eval_figure *q8 = eval_figure_find(result, "perplexity"),
                             *fp16 = eval_figure_find(result, "other_perplexity"),
                             *change = eval_figure_find(result, "loss_change");
    const char *name = strrchr(result->path, '/');
    char shown[128], error[48] = "";
    if (!isnan(change->error))
        snprintf(error, sizeof error, " %s %.4f", term_plus_minus(), change->error);
    wrap_say(
        stdout, "", "loss %.4f in q8, %.4f in fp16, difference %.4f%s (%s, %llu window%s of %d)",
        log(q8->value), log(fp16->value), change->value, error,
        file_show(shown, sizeof shown, name == NULL ? result->path : name + 1),
        (unsigned long long)result->done, result->done == 1 ? "" : "s", result->config.seq_length);
}

/* text: NULL for the one in the data folder. */
static int measure_cost(struct repl *r, const char *in, const char *out, const char *text)
{
    struct eval_config how = r->options.settings.eval;
    struct cost_side q8 = {0}, fp16 = {0};
    struct eval_result result;
    if (text == NULL && how.limit == 0)
        how.limit = COST_WINDOWS;
    how.special = r->options.settings.generate.special;
    int rc = repl_device(r);
    if (rc == 0 && (rc = open_side(&q8, r, out, DTYPE_Q8)) == 0)
        rc = open_side(&fp16, r, in, DTYPE_F16);
    if (rc == 0)
        rc = eval_run(eval_find("kl"), &q8.engine, &fp16.engine, &how, text, &result,
                      progress_show());
    progress_wipe();
    if (rc == 0) {
        show_cost(&result);
        eval_result_release(&result);
    }
    close_side(&q8);
    close_side(&fp16);
    return rc;
}

/* The file is written by now: only a text that was named makes a failure of what follows. */
static int tell_cost(struct repl *r, bool shell, const char *in, const char *out, const char *text)
{
    const struct eval *e = eval_find("kl");
    char shown[2][160];
    if (text != NULL || eval_check_file(e, &r->options.settings.eval, NULL) == 0) {
        int rc = measure_cost(r, in, out, text);
        if (rc == 0 || text != NULL || rc == ERR_INTERRUPTED)
            return rc;
    }
    err_clear();
    file_word(shown[0], sizeof shown[0], in);
    file_word(shown[1], sizeof shown[1], out);
    if (shell)
        wrap_say(stdout, term_dim(stdout),
                 "what q8 costs on a text: `prattle eval kl %s TEXT --model %s`", shown[0],
                 shown[1]);
    else
        wrap_say(stdout, term_dim(stdout),
                 "what q8 costs on a text: `:load %s`, then `:eval kl %s TEXT`", shown[1],
                 shown[0]);
    return 0;
}

/* It is from file to file; settings.yaml's adapter is not meant by it. */
static bool adapter_is_given(const struct repl *r)
{
    const enum origin origin = settings_store_origin(&r->options.store, OPTION(device.lora));
    return origin == ORIGIN_COMMAND_LINE || origin == ORIGIN_CALL;
}

int cmd_convert(struct repl *r, const struct call *c)
{
    struct save_config k = save_settings(r, c);
    const bool q8 = k.convert && k.dtype == DTYPE_Q8;
    if (adapter_is_given(r))
        return err_set(ERR_UNSUPPORTED, "convert does not take --lora: `prattle IN --lora DIR` and "
                                        "then `:save OUT` merge an adapter");
    if (c->n > 2 && !q8)
        return err_set(ERR_RANGE, "a TEXT is for --dtype q8, whose cost is measured on it");
    char *in = file_expand(c->words[0]), *out = file_expand(c->words[1]);
    int rc = in == NULL || out == NULL ? ERR_NOMEM : 0;
    if (rc == 0 && c->n > 2) /* before anything is written */
        rc = eval_check_file(eval_find("kl"), &r->options.settings.eval, c->words[2]);
    if (rc == 0)
        rc = model_hint(
            weights_convert(in, out, r->options.settings.sampler.seed, &k, progress_show()), in,
            c->shell ? "prattle " : ":");
    progress_wipe();
    if (rc == 0)
        wrap_wrote(out, "");
    if (rc == 0 && q8)
        rc = tell_cost(r, c->shell, in, out, c->n > 2 ? c->words[2] : NULL);
    mem_free(in);
    mem_free(out);
    return rc;
}
