#include "train/run/check.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "train/config/resolve.h"
#include "train/data/source.h"
#include "train/eval/eval.h"
#include "train/run/adapter.h"
#include "train/run/folder.h"
#include "train/run/wandb.h"
#include "weights/find.h"
#include "weights/hf/adapter_file.h"
#include "weights/open.h"

#include <inttypes.h>
#include <string.h>

int run_refuse_old(const char *folder)
{
    int64_t *steps;
    char shown[256];
    int n, rc = run_folder_steps(folder, &steps, &n);
    char word[256];
    file_show(shown, sizeof shown, folder);
    if (rc == 0 && n > 0)
        rc =
            err_set(ERR_EXISTS,
                    "%s has a checkpoint of step %" PRId64 " already: `:train resume %s` continues "
                    "from there; folder=DIR begins another run",
                    shown, steps[0], file_word(word, sizeof word, folder));
    else if (rc == 0 && file_exists_in(folder, "metrics.jsonl") && !run_folder_has_metrics(folder))
        rc =
            err_set(ERR_EXISTS,
                    "%s has a metrics.jsonl that is no run's and would be written over: folder=DIR "
                    "takes another folder",
                    shown);
    mem_free(steps);
    return rc;
}

/* Another's: a model that would be opened in place of the run, or the texts to train on. */
static int check_own_folder(const struct run_config *c)
{
    const char *folder = c->checkpoint.folder;
    struct mixture m;
    bool has_texts = false;
    char shown[256];
    if (file_exists_in(folder, "config.json") || file_exists_in(folder, "adapter_config.json"))
        return err_set(ERR_EXISTS, "%s has a model; a run takes a folder of its own: folder=DIR",
                       file_show(shown, sizeof shown, folder));
    if (mixture_parse(&m, c->data.data) != 0)
        return 0; /* which is told where data is read */
    if (m.n == 0)
        has_texts = file_is_same(c->data.data, folder);
    for (int i = 0; i < m.n_sources; i++)
        has_texts |= file_is_same(mixture_path(&m, i), folder);
    mixture_release(&m);
    return !has_texts ? 0
                      : err_set(ERR_EXISTS,
                                "%s has the texts to train on; a run takes a folder of its own: "
                                "folder=DIR",
                                file_show(shown, sizeof shown, folder));
}

static int check_paths(const char *paths)
{
    struct data_sources found;
    if (strcmp(paths, "generated") == 0)
        return 0;
    int rc = data_sources_find(&found, paths);
    data_sources_release(&found);
    return rc;
}

/* It counts validations. */
static int check_patience(const struct run_config *c)
{
    const int patience = c->training.patience;
    if (patience > 0 && c->logging.eval_every == 0) {
        err_set(ERR_RANGE, "patience is %d, but with eval_every=0 there is no validation",
                patience);
        return RUN_BLAME(c, RUN_ROW(training.patience), RUN_ROW(logging.eval_every));
    }
    if (patience > 0 && *c->data.validation == '\0' && c->data.validation_fraction == 0) {
        err_set(ERR_RANGE,
                "patience is %d, but without validation data: validation is empty, and "
                "validation_fraction is 0",
                patience);
        return RUN_BLAME(c, RUN_ROW(training.patience), RUN_ROW(data.validation_fraction),
                         RUN_ROW(data.validation));
    }
    return 0;
}

/* What goes with validations, given where or after these are switched off. What a run has stored
 * stays; a preset has it for those who do not. */
static int check_without_validation(const struct run_config *c)
{
    const struct logging_section *l = &c->logging;
    const struct setting *const every = RUN_ROW(logging.eval_every);
    const struct {
        bool on;
        const struct setting *row;
        const char *text;
    } idle[] = {{*l->eval != '\0', RUN_ROW(logging.eval), "eval runs with each validation"},
                {l->eval_first, RUN_ROW(logging.eval_first), "eval_first is the first validation"}};
    for (size_t i = 0; i < sizeof idle / sizeof *idle && l->eval_every == 0; i++)
        if (idle[i].on && settings_store_origin(&c->store, idle[i].row) != ORIGIN_CHECKPOINT &&
            settings_store_layer(&c->store, idle[i].row) >=
                settings_store_layer(&c->store, every)) {
            err_set(ERR_RANGE, "%s, but with eval_every=0 there is none", idle[i].text);
            return RUN_BLAME(c, idle[i].row, every);
        }
    return 0;
}

/* As eval_check_file says it of the command, which is given its FILE otherwise. */
static int explain_evaluation(int rc, const struct eval *e)
{
    const char *at = strstr(err_text(), "give FILE");
    if (rc == 0 || (at == NULL && e->file != NULL))
        return rc;
    if (e->file == NULL)
        return err_set(rc, "eval=%s needs a file: eval_file=PATH", e->name);
    char *why = mem_strdup(err_text());
    if (why != NULL)
        err_set(rc, "%.*sgive eval_file=PATH%s", (int)(at - err_text()), why,
                why + (at - err_text()) + strlen("give FILE"));
    mem_free(why);
    return rc;
}

static int check_evaluation(const struct run_config *run)
{
    const struct logging_section *l = &run->logging;
    struct eval_config c;
    if (*l->eval == '\0' && *l->eval_file != '\0') {
        err_set(ERR_MISSING,
                "eval_file is %s, but eval does not say what is measured on it, as in "
                "eval=text",
                file_quote(l->eval_file));
        return RUN_BLAME(run, RUN_ROW(logging.eval_file), RUN_ROW(logging.eval));
    }
    if (*l->eval == '\0' || l->eval_every == 0)
        return 0;
    eval_config_init(&c);
    c.data_dir = run->data_dir;
    const bool given = *l->eval_file != '\0';
    int rc = eval_check_file(eval_find(l->eval), &c, given ? l->eval_file : NULL);
    if (!given)
        rc = explain_evaluation(rc, eval_find(l->eval));
    return rc == 0 ? 0 : RUN_BLAME(run, RUN_ROW(logging.eval_file), RUN_ROW(logging.eval));
}

static int check_adapter(const struct run_config *c, const struct config *shape)
{
    struct adapter *a;
    int rc = run_adapter_first(&a, c, shape);
    adapter_free(a);
    return rc == 0 ? 0 : RUN_BLAME(c, RUN_ROW(model.adapter));
}

/* Each source of a mixture, or the one stream. */
static int check_sources(const struct data_config *d)
{
    struct mixture m;
    int rc = mixture_parse(&m, d->data);
    if (rc != 0)
        rc = err_wrap("data");
    if (rc == 0 && m.n == 0)
        rc = check_paths(d->data);
    for (int i = 0; i < m.n_sources && rc == 0; i++) {
        char *paths = data_list_path(mixture_path(&m, i));
        rc = paths == NULL ? ERR_NOMEM : check_paths(paths);
        mem_free(paths);
    }
    mixture_release(&m);
    return rc;
}

static int check_wandb(const struct run_config *c)
{
    if (!c->logging.wandb)
        return 0;
    if (!c->logging.tensorboard) {
        err_set(ERR_RANGE, "wandb=on needs tensorboard=on, which is off");
        return RUN_BLAME(c, RUN_ROW(logging.wandb), RUN_ROW(logging.tensorboard));
    }
    return wandb_check() == 0 ? 0 : RUN_BLAME(c, RUN_ROW(logging.wandb));
}

static int check_data(const struct run_config *c)
{
    if (check_sources(&c->data) != 0)
        return RUN_BLAME(c, RUN_ROW(data.data));
    if (*c->data.validation != '\0' && check_paths(c->data.validation) != 0)
        return RUN_BLAME(c, RUN_ROW(data.validation));
    return 0;
}

int run_check_reports(const struct run_config *c)
{
    int rc = check_wandb(c);
    if (rc == 0)
        rc = check_patience(c);
    if (rc == 0)
        rc = check_without_validation(c);
    return rc == 0 ? check_evaluation(c) : rc;
}

int run_check_inputs(const struct run_config *c)
{
    int rc = check_data(c);
    return rc == 0 ? run_check_reports(c) : rc;
}

int run_check_model(const struct run_config *c, const struct model *m)
{
    if (m->adapter != NULL)
        return err_set(
            ERR_EXISTS,
            "the model has an adapter, which training would not keep: init=BASE adapter=PATH "
            "trains "
            "it further; `:lora merge` at the prompt, or prattle convert, makes a model of both, "
            "and `:lora drop` removes it");
    /* A checkpoint of an adapter refers to the file that the weights beside it come from. */
    if (c->lora.rank > 0 && m->changed)
        return err_set(ERR_MISMATCH, "the weights in memory are in no file, which an adapter must "
                                     "name as its base; `:save PATH` first");
    return 0;
}

/* An adapter's folder is no model of its own to train. */
static int check_source(const struct run_config *c)
{
    struct buf path = {0};
    char shown[160], *found = NULL, *title = NULL;
    int rc = run_config_source(c, &path);
    if (rc == 0 && path.n > 0)
        rc = weights_find(&found, &title, buf_text(&path), NULL);
    if (rc == 0 && found != NULL && adapter_is_folder(found))
        rc = err_set(ERR_UNSUPPORTED,
                     "%s is an adapter: init=BASE lora.adapter=PATH trains it further, and prattle "
                     "convert makes a model of both",
                     file_show(shown, sizeof shown, buf_text(&path)));
    mem_free(title);
    mem_free(found);
    buf_release(&path);
    return rc;
}

/* Where a run begins; one that goes on brings its model and its folder along. */
static int check_beginning(const struct run_config *resolved, const struct model *m)
{
    if (resolved->checkpoint.resume && run_folder_has_checkpoint(resolved->checkpoint.folder))
        return 0;
    return m == NULL ? check_source(resolved) : run_check_model(resolved, m);
}

int run_check_new(const struct run_config *resolved)
{
    const struct checkpoint_section *k = &resolved->checkpoint;
    if (k->resume && run_folder_has_checkpoint(k->folder))
        return 0;
    int rc = run_refuse_old(k->folder);
    return rc == 0 ? check_own_folder(resolved) : rc;
}

int run_check_first(struct run_config *c, const struct config *shape, const struct model *m)
{
    int rc = run_config_resolve(c, shape);
    if (rc == 0 && (rc = check_beginning(c, m)) == 0 && (rc = run_check_inputs(c)) == 0 &&
        (rc = check_adapter(c, shape)) == 0)
        rc = file_check_folder(c->checkpoint.folder);
    return rc;
}
