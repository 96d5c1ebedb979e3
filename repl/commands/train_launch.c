#include "repl/commands/train_launch.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "repl/session/launcher.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/signals.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "train/parallel/world.h"
#include "train/run/folder.h"

#include <stdio.h>
#include <string.h>

bool train_is_launched(const struct run_config *c)
{
    if (world_size() > 1 || c->execution.replicas == 1)
        return false;
    if (settings_store_origin(&c->store, RUN_ROW(execution.replicas)) != ORIGIN_CHECKPOINT ||
        launcher_check() == 0)
        return true;
    err_clear();
    return false;
}

int train_check_files(struct repl *r, const struct run_config *c)
{
    int rc = launcher_check();
    if (rc != 0 || *c->model.init != '\0' || r->model == NULL)
        return rc;
    if (r->model->changed || (r->model->adapter != NULL && r->model->adapter->changed))
        return err_set(ERR_MISMATCH, "the weights in memory are in no file, from which other "
                                     "processes could read them; :save PATH first");
    return 0;
}

/* ---- the words of the ranks ---- */

struct word_list {
    char **words; /* [n]; owned */
    int n;
};

static int add_word(struct word_list *l, char *word)
{
    if (word == NULL)
        return ERR_NOMEM;
    l->words[l->n++] = word;
    return 0;
}

/* What the user has said of this session: at the prompt, and with the program's own words. */
static int add_option(struct word_list *l, const struct repl *r, const struct setting *row)
{
    const enum origin from = settings_store_origin(&r->options.store, row);
    struct buf value = {0};
    if ((from != ORIGIN_SET && from != ORIGIN_COMMAND_LINE) || row->type == SETTING_SHORTHAND ||
        row == OPTION(device.model) || row->offset >= offsetof(struct settings, call))
        return 0;
    int rc = setting_format(row, &r->options.settings, &value);
    if (rc == 0)
        rc = add_word(l, mem_sprintf("--%s=%s", row->name, buf_text(&value)));
    buf_release(&value);
    return rc;
}

static int list_words(struct word_list *l, const struct repl *r, char *const *words, int n)
{
    const struct setting *row;
    int rows = 0, rc = 0;
    while (settings_table_at(&options_table, rows) != NULL)
        rows++;
    l->words = mem_array((size_t)(n + rows + 3), sizeof *l->words);
    if (l->words == NULL)
        return ERR_NOMEM;
    rc = add_word(l, mem_strdup("train"));
    for (int i = 0; i < n && rc == 0; i++)
        rc = add_word(l, mem_strdup(words[i]));
    /* The model in memory, or that of the settings, which may not be loaded. */
    if (rc == 0 && (r->model != NULL || *r->options.settings.device.model != '\0'))
        rc = add_word(l, mem_sprintf("--model=%s", r->model != NULL
                                                       ? r->model->source
                                                       : r->options.settings.device.model));
    for (int i = 0; i < rows && rc == 0; i++)
        if ((row = settings_table_at(&options_table, i)) != NULL)
            rc = add_option(l, r, row);
    return rc;
}

static void release_words(struct word_list *l)
{
    for (int i = 0; i < l->n; i++)
        mem_free(l->words[i]);
    mem_free(l->words);
}

/* ---- afterwards ---- */

/* Ranks that were lost leave their checkpoints. */
static int explain_loss(int rc, const char *folder)
{
    char word[256];
    char *why = mem_strdup(err_text());
    if (why != NULL && run_folder_has_checkpoint(folder))
        err_set(rc, "%s; `:train resume %s` goes on from the newest checkpoint", why,
                file_word(word, sizeof word, folder));
    else if (why != NULL)
        err_set(rc, "%s", why);
    mem_free(why);
    return rc;
}

/* The session goes on with what they have trained; rc is how that ended. */
static int load_trained(struct repl *r, const char *folder, int rc)
{
    char *why = rc == 0 ? NULL : mem_strdup(err_text());
    int loaded = 0;
    if (run_folder_has_checkpoint(folder))
        loaded = repl_load(r, folder, r->options.settings.sampler.seed);
    else if (rc == ERR_INTERRUPTED)
        wrap_say(stdout, term_dim(stdout), "[stopped before there was a checkpoint]");
    if (why != NULL)
        err_set(rc, "%s", why);
    mem_free(why);
    return rc == 0 ? loaded : rc;
}

int train_launch(struct repl *r, const struct run_config *c, char *const *words, int n, bool shell)
{
    struct word_list list = {0};
    char *folder = mem_strdup(c->checkpoint.folder);
    bool ran;
    int rc = folder == NULL ? ERR_NOMEM : list_words(&list, r, words, n);
    if (rc == 0) {
        const struct launcher_call call = {.words = list.words,
                                           .n = list.n,
                                           .size = c->execution.replicas,
                                           .hosts = c->execution.hosts,
                                           .prompt = !shell};
        progress_wipe();
        if (r->interactive)
            term_hush(true);
        rc = launcher_run(&call, &ran);
        term_hush(false);
        if (rc == ERR_IO && !ran)
            explain_loss(rc, folder);
        if (!shell && !signals_leaving())
            rc = load_trained(r, folder, rc);
    }
    release_words(&list);
    mem_free(folder);
    return rc;
}
