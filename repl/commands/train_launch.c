#include "repl/commands/train_continue.h"
#include "repl/commands/train_launch.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "repl/commands/train_restart.h"
#include "repl/session/launcher.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/signals.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "train/config/devices.h"
#include "train/parallel/world.h"
#include "train/run/folder.h"

#include <stdio.h>
#include <string.h>

/* How many processes a run is of. */
static int count_processes(const struct run_config *c)
{
    return c->execution.replicas * run_config_replica(c);
}

/* Whether the checkpoint alone says so. */
static bool is_stored(const struct run_config *c, const struct setting *row)
{
    const enum origin from = settings_store_origin(&c->store, row);
    return from == ORIGIN_CHECKPOINT || from == ORIGIN_BUILT_IN;
}

bool train_is_launched(const struct run_config *c)
{
    if (world_size() > 1 || count_processes(c) == 1)
        return false;
    if (!is_stored(c, RUN_ROW(execution.replicas)) ||
        !is_stored(c, RUN_ROW(execution.layers_per_device)) ||
        !is_stored(c, RUN_ROW(execution.virtual_stages)) ||
        !is_stored(c, RUN_ROW(execution.tensor_parallel)) || launcher_check() == 0)
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
                                     "processes could read them; `:save PATH` first");
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

static int add_all(struct word_list *l, char *const *words, int n)
{
    int rc = 0;
    for (int i = 0; i < n && rc == 0; i++)
        rc = add_word(l, mem_strdup(words[i]));
    return rc;
}

/* The model in memory, or that of the settings, which may not be loaded. */
static int list_options(struct word_list *l, const struct repl *r)
{
    const struct setting *row;
    int rc = 0;
    if (r->model != NULL || *r->options.settings.device.model != '\0')
        rc = add_word(l, mem_sprintf("--model=%s", r->model != NULL
                                                       ? r->model->source
                                                       : r->options.settings.device.model));
    for (int i = 0; rc == 0 && (row = settings_table_at(&options_table, i)) != NULL; i++)
        rc = add_option(l, r, row);
    return rc;
}

/* Of a command under profile: rank 0 writes the trace, over one of ranks that were lost. That there
 * is none of the user's, profile has seen to. */
static int list_profile(struct word_list *l, const char *trace)
{
    int rc = add_word(l, mem_strdup("profile"));
    if (rc == 0)
        rc = add_word(l, mem_strdup(trace));
    return rc;
}

/* The number of those that go on, and what they are where that is less than a replica. */
static int list_layout(struct word_list *l, const struct restart *again)
{
    const struct regroup *g = &again->layout;
    if (!again->regrouped)
        return add_word(l, mem_sprintf("replicas=%d", again->size / again->stages));
    int rc = add_word(l, mem_sprintf("layers_per_device=%s", g->layers));
    if (rc == 0)
        rc = add_word(l, mem_sprintf("tensor_parallel=%d", g->tensor));
    if (rc == 0)
        rc = add_word(l, mem_strdup("virtual_stages=1"));
    if (rc == 0 && g->tensor == 1)
        rc = add_word(l, mem_strdup("rts_activations=off"));
    return rc == 0 ? add_word(l, mem_strdup("replicas=1")) : rc;
}

/* "train" and the n words; of those that go on with fewer, with their layout, and where there is a
 * checkpoint since, which has what the words say, behind the folder: a run that was resumed names
 * the one that it began with. */
static int list_words(struct word_list *l, const struct repl *r, char *const *words, int n,
                      const struct restart *again, const char *trace)
{
    const bool resumed = n > 0 && strcmp(words[0], "resume") == 0,
               goes_on = again != NULL && again->step >= 0 && again->step != again->first;
    int rows = 0;
    while (settings_table_at(&options_table, rows) != NULL)
        rows++;
    l->n = 0;
    l->words = mem_array((size_t)(n + rows + 13), sizeof *l->words);
    if (l->words == NULL)
        return ERR_NOMEM;
    int rc = trace == NULL ? 0 : list_profile(l, trace);
    if (rc == 0)
        rc = add_word(l, mem_strdup("train"));
    if (rc == 0 && goes_on && (rc = add_word(l, mem_strdup("resume"))) == 0 &&
        (rc = add_word(l, mem_strdup(again->folder))) == 0 && resumed)
        rc = add_all(l, words + 2, n - 2);
    else if (rc == 0 && !goes_on)
        rc = add_all(l, words, n);
    if (rc == 0 && again != NULL)
        rc = list_layout(l, again);
    if (rc == 0)
        rc = list_options(l, r);
    return rc == 0 && trace != NULL ? add_word(l, mem_strdup("--force")) : rc;
}

static void release_words(struct word_list *l)
{
    for (int i = 0; i < l->n; i++)
        mem_free(l->words[i]);
    mem_free(l->words);
    *l = (struct word_list){0};
}

/* ---- afterwards ---- */

/* Ranks that were lost leave their checkpoints. */
static int explain_loss(int rc, const char *folder, bool lost)
{
    char word[256];
    char *why = mem_strdup(err_text());
    if (why != NULL && run_folder_has_checkpoint(folder))
        err_set(rc, "%s; `:train resume %s` continues from the newest checkpoint", why,
                file_word(word, sizeof word, folder));
    else if (why != NULL)
        err_set(rc, lost ? "%s; there is no checkpoint" : "%s", why);
    mem_free(why);
    return rc;
}

/* Stopped by Ctrl-C before rank 0 could say what it has saved. */
static void say_stopped(struct repl *r, const char *folder, bool shell)
{
    char text[320] = "there is no checkpoint yet", word[256];
    if (run_folder_has_checkpoint(folder) && shell)
        snprintf(text, sizeof text,
                 "`prattle train resume %s` continues from the newest checkpoint",
                 file_word(word, sizeof word, folder));
    else if (run_folder_has_checkpoint(folder))
        snprintf(text, sizeof text, "`:train resume` continues from the newest checkpoint");
    repl_say_stopped(r, text);
}

/* The session goes on with what they have trained; rc is how that ended. */
static int load_trained(struct repl *r, const char *folder, int rc)
{
    struct err_kept why;
    int loaded = 0;
    err_keep(&why);
    char *before = train_template(r);
    if (run_folder_has_checkpoint(folder))
        loaded = repl_load(r, folder, r->options.settings.sampler.seed);
    if (loaded == 0 && before != NULL)
        train_note_template(r, before);
    mem_free(before);
    r->told_stop = rc == ERR_INTERRUPTED;
    if (rc != 0)
        err_restore(&why);
    return rc == 0 ? loaded : rc;
}

/* One run of them under mpirun. */
static int launch_once(struct repl *r, const struct run_config *c, char *const *words, int n,
                       bool shell, struct restart *again, const char *trace,
                       struct launcher_end *end)
{
    struct word_list list = {0};
    int rc = list_words(&list, r, words, n,
                        again->size < count_processes(c) || again->step >= 0 ? again : NULL, trace);
    if (rc == 0) {
        const struct launcher_call call = {.words = list.words,
                                           .n = list.n,
                                           .size = again->size,
                                           .hosts = again->hosts != NULL ? again->hosts
                                                                         : c->execution.hosts,
                                           .prompt = !shell};
        progress_wipe();
        if (r->interactive)
            term_hush(true);
        rc = launcher_run(&call, end);
        term_hush(false);
    }
    release_words(&list);
    return rc;
}

int train_launch(struct repl *r, const struct run_config *c, char *const *words, int n, bool shell)
{
    struct launcher_end end = {0};
    struct restart again = {.folder = c->checkpoint.folder,
                            .size = count_processes(c),
                            .whole = count_processes(c),
                            .stages = run_config_replica(c),
                            .step = -1};
    const char *trace = r->trace;
    int rc = restart_begin(&again, c);
    if (rc != 0) {
        restart_release(&again);
        return rc;
    }
    r->trace = NULL;
    do
        rc = launch_once(r, c, words, n, shell, &again, trace, &end);
    while (rc != 0 && restart_plan(&again, c, &end));
    if (rc == ERR_IO && !end.ran)
        explain_loss(rc, again.folder, end.lost);
    const bool told = shell || (end.paused && run_folder_has_checkpoint(again.folder));
    if (rc == ERR_INTERRUPTED && (!end.ran || !told))
        say_stopped(r, again.folder, shell);
    repl_note_run(r, again.folder, rc == ERR_INTERRUPTED);
    r->last_unfinished = rc != 0 && run_folder_is(again.folder);
    if (!shell && !signals_leaving())
        rc = load_trained(r, again.folder, rc);
    restart_release(&again);
    return rc;
}
