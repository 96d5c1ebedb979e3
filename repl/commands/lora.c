/* :lora load|save|on|off|merge|drop */
#include "repl/commands/commands.h"

#include "model/adapter.h"
#include "model/adapter_switch.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "repl/terminal/progress.h"
#include "repl/session/lora.h"
#include "repl/session/repl.h"
#include "repl/session/unsaved.h"
#include "repl/terminal/number.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "weights/hf/adapter_file.h"
#include "weights/run_folder.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN = 256 };

static void print_note(const char *text)
{
    wrap_say(stdout, term_dim(stdout), "[%s]", text);
}

static int need_adapter(const struct repl *r)
{
    return r->model->adapter != NULL
               ? 0
               : err_set(ERR_MISSING,
                         "the model has no adapter; `:lora load DIR` loads one, `:train "
                         "lora data=FILE` trains one");
}

static int show_adapter(struct repl *r)
{
    char text[SHOWN], count[NUMBER_TEXT];
    int rc = need_adapter(r);
    if (rc != 0)
        return rc;
    const struct adapter *a = r->model->adapter;
    wrap_row("adapter", lora_about(text, sizeof text, a));
    snprintf(text, sizeof text, "%s in %d matrices, %.2f %% of the model's",
             number_count(count, (double)a->n), a->n_branches,
             100 * (double)a->n / (double)config_params(&r->model->config));
    wrap_row("parameters", text);
    if (a->path != NULL)
        wrap_row(a->changed ? "once from" : "from", file_show(text, sizeof text, a->path));
    return 0;
}

static int load_adapter(struct repl *r, const char *path)
{
    struct adapter *a = NULL;
    int rc = repl_device(r);
    if (rc == 0)
        rc = lora_read(&a, r->model, path);
    if (rc == 0 && (rc = unsaved_put_away(r, DISCARD_LORA_LOAD, UNSAVED_ADAPTER)) == 0) {
        if ((rc = lora_attach(r->model, a)) == 0)
            rc = show_adapter(r);
        return rc;
    }
    adapter_free(a);
    return rc;
}

static int save_adapter(struct repl *r, const char *path)
{
    char shown[SHOWN], base[SHOWN];
    int rc = need_adapter(r);
    if (rc == 0 && r->model->changed)
        rc = err_set(ERR_MISMATCH, "the model's weights have changed and are in no file, which an "
                                   "adapter must name as its base; `:save PATH` first");
    char *expanded = rc == 0 ? file_expand(path) : NULL;
    if (rc == 0)
        rc = expanded == NULL ? ERR_NOMEM : run_folder_spare(expanded);
    if (rc == 0)
        rc = adapter_save(r->model->adapter, expanded, r->model->source,
                          r->options.settings.call.force);
    if (rc == 0)
        wrap_say(stdout, term_dim(stdout), "wrote %s: the adapter alone, for %s",
                 file_show(shown, sizeof shown, expanded),
                 file_show(base, sizeof base, r->model->source));
    if (rc == 0)
        lora_warn_of_base(r->model);
    mem_free(expanded);
    return rc;
}

static int switch_adapter(struct repl *r, bool on)
{
    int rc = need_adapter(r);
    if (rc == 0 && (rc = repl_device(r)) == 0) {
        adapter_switch(r->model, on);
        print_note(on ? "adapter on" : "adapter off: the model's own weights, bit for bit");
    }
    return rc;
}

static int merge_adapter(struct repl *r, const char *path)
{
    (void)path;
    int rc = need_adapter(r);
    if (rc == 0 && (rc = repl_device(r)) == 0 &&
        (rc = unsaved_put_away(r, DISCARD_LORA_MERGE, 0)) == 0) {
        adapter_merge(r->model);
        wrap_say(stdout, term_dim(stdout),
                 "adapter merged into the weights in memory; `:save %s` writes them in %s",
                 r->model->params.dtype == DTYPE_Q8 ? "FILE.gguf" : "PATH",
                 model_precision(r->model));
    }
    return rc;
}

static int drop_adapter(struct repl *r, const char *path)
{
    (void)path;
    int rc = need_adapter(r);
    if (rc == 0 && (rc = repl_device(r)) == 0 &&
        (rc = unsaved_put_away(r, DISCARD_LORA_DROP, UNSAVED_ADAPTER)) == 0) {
        adapter_drop(r->model);
        print_note("the model has no adapter now");
    }
    return rc;
}

static int switch_on_adapter(struct repl *r, const char *path)
{
    (void)path;
    return switch_adapter(r, true);
}

static int switch_off_adapter(struct repl *r, const char *path)
{
    (void)path;
    return switch_adapter(r, false);
}

static const struct {
    const char *name;
    int n_words;
    int (*run)(struct repl *r, const char *path); /* NULL: there is none */
} subcommands[] = {{"load", 2, load_adapter},    {"save", 2, save_adapter},
                   {"on", 1, switch_on_adapter}, {"off", 1, switch_off_adapter},
                   {"merge", 1, merge_adapter},  {"drop", 1, drop_adapter}};
enum { N_SUBCOMMANDS = sizeof subcommands / sizeof *subcommands };

const char *cmd_lora_word(int i)
{
    return i < N_SUBCOMMANDS ? subcommands[i].name : NULL;
}

int cmd_lora(struct repl *r, const struct call *c)
{
    if (c->n == 0)
        return show_adapter(r);
    for (int i = 0; i < N_SUBCOMMANDS; i++)
        if (c->n == subcommands[i].n_words && strcmp(c->words[0], subcommands[i].name) == 0)
            return subcommands[i].run(r, c->n > 1 ? c->words[1] : NULL);
    return err_set(ERR_RANGE, "usage: :lora [load DIR|save DIR|on|off|merge|drop]");
}
