#include "repl/session/processes.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "repl/session/repl.h"
#include "repl/terminal/signals.h"
#include "repl/terminal/term.h"
#include "train/parallel/cleaner.h"
#include "train/parallel/loss.h"
#include "train/parallel/plugin.h"
#include "train/parallel/start.h"
#include "train/parallel/world.h"
#include "train/run/ranks_check.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static enum { BY_OTHERS, FOR_SHELL, FOR_PROMPT } launched;

/* In one piece, as other ranks may have as much to say. */
static void tell_loss(int fd, const struct loss *l)
{
    char text[600];
    const int n = snprintf(text, sizeof text, "%c%d %d %s %s\n", PROCESSES_LOST, l->rank, l->n,
                           l->host, l->reason);
    if (n < (int)sizeof text && file_write_fd(fd, text, (size_t)n) != 0)
        err_clear();
}

static void tell_start(int fd, enum start_word word, int rank)
{
    static const char *const words[] = {
        [START_HERE] = "here", [START_MET] = "met", [START_APART] = "apart"};
    char host[64] = "", text[128];
    gethostname(host, sizeof host - 1);
    const int n =
        snprintf(text, sizeof text, "%c%s %d %s\n", PROCESSES_LOST, words[word], rank, host);
    if (file_write_fd(fd, text, (size_t)n) != 0)
        err_clear();
}

static void find_launcher(void)
{
    const char *whom = getenv(PROCESSES_FOR);
    if (whom == NULL)
        return;
    launched = strcmp(whom, "prompt") == 0 ? FOR_PROMPT : FOR_SHELL;
    loss_say_by(tell_loss);
    start_say_by(tell_start);
}

static void place_output(void)
{
    const char *text = getenv(PROCESSES_TERMINALS);
    int out = 0, err = 0, path = 0;
    if (text != NULL && sscanf(text, "%d %d %n", &out, &err, &path) != 2)
        out = err = 0;
    if (path > 0 && text[path] == '/')
        term_behind_path(text + path);
    unsetenv(PROCESSES_TERMINALS);
    unsetenv(PROCESSES_FOR);
    term_behind(stdout, out);
    term_behind(stderr, err);
    /* On one terminal both keep their order only by one way. */
    if (world_rank() == 0 && out > 0 && err > 0)
        dup2(STDOUT_FILENO, STDERR_FILENO);
}

void processes_tell_saved(int64_t step)
{
    char text[64];
    const int n = snprintf(text, sizeof text, "%csaved %" PRId64 "\n", PROCESSES_LOST, step);
    if (file_write_fd(loss_words(), text, (size_t)n) != 0)
        err_clear();
}

void processes_tell_asked(int sig)
{
    char text[160];
    if (sig == 0 || !processes_launched() || world_size() == 1)
        return;
    const int n = snprintf(text, sizeof text, "%casked %d %s ended by signal %d\n", PROCESSES_LOST,
                           world_rank(), world_host(world_rank()), sig);
    if (file_write_fd(loss_words(), text, (size_t)n) != 0)
        err_clear();
}

bool processes_launched(void)
{
    return launched != BY_OTHERS;
}

/* The one that is left of several, which has no world: it goes as they do when mpirun is killed.
 * Before place_output, behind which errors may go the way of the output. */
static void follow_mpirun(void)
{
    tell_start(STDERR_FILENO, START_HERE, 0);
    tell_start(STDERR_FILENO, START_MET, 0);
    cleaner_start();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

int processes_open(void)
{
    const struct launch l = launch_find();
    if (l.there) {
        find_launcher();
        signals_take(SIGUSR1); /* before mpirun is asked to pass on any */
    }
    const int rc = world_open();
    if (l.size == 1 && processes_launched())
        follow_mpirun();
    if (l.there)
        place_output();
    return rc;
}

/* Ranks that were given different words would wait for each other for ever. */
int processes_agree(int rc, const char *task)
{
    char own[64] = "", first[64];
    if ((rc = world_agree(rc)) != 0)
        return rc;
    if (world_size() == 1)
        return strncmp(task, "train", 5) == 0 && !processes_launched() ? launch_refuse() : 0;
    snprintf(own, sizeof own, "%s", task);
    memcpy(first, own, sizeof first);
    world_broadcast(first, sizeof first, 0);
    if (strcmp(own, first) != 0)
        rc = err_set(ERR_MISMATCH, "it has another command: %s, and rank 0 %s", own, first);
    return world_agree(rc);
}

/* Where the ranks may differ: in where things are, in speed, and in what is shown. */
static bool is_own(const struct setting *row)
{
    const struct setting *const own[] = {
        OPTION(device.model),       OPTION(device.offline),
        OPTION(device.lora),        OPTION(device.memory),
        OPTION(device.phased),      OPTION(device.threads),
        OPTION(device.pin),         OPTION(device.kernels),
        OPTION(device.cache_size),  OPTION(generate.device_loop),
        OPTION(generate.speculate), OPTION(generate.device_iterations),
        OPTION(batch.batch_size),   OPTION(call.out),
        OPTION(call.force),         OPTION(eval.data_dir),
        OPTION(call.json),          OPTION(talk.keep_results)};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (row == own[i])
            return true;
    return row->type == SETTING_SHORTHAND || strcmp(row->group, "Terminal") == 0;
}

int processes_check_options(const struct repl *r, const char *what)
{
    struct buf own = {0};
    const struct setting *row;
    if (world_size() == 1)
        return 0;
    int rc = buf_printf(&own, "%s\n", what);
    for (int i = 0; rc == 0 && (row = settings_table_at(&options_table, i)) != NULL; i++) {
        if (is_own(row))
            continue;
        if ((rc = buf_printf(&own, "%s: ", row->name)) == 0 &&
            (rc = setting_format(row, &r->options.settings, &own)) == 0)
            rc = buf_char(&own, '\n');
    }
    if ((rc = world_agree(rc)) == 0)
        rc = ranks_check_settings(buf_text(&own));
    buf_release(&own);
    return rc;
}

int processes_check_model(const struct repl *r)
{
    return ranks_check_model(r->model);
}

int processes_end(int rc, const char *said)
{
    if (world_size() == 1 || world_has_failed())
        return rc;
    const int all = world_agree(rc == 0 ? 0 : err_set(rc, "%s", said));
    if (rc == 0)
        repl_complain(all);
    return all;
}

bool processes_for_prompt(void)
{
    return launched == FOR_PROMPT;
}

void processes_tell_end(int rc)
{
    if (!processes_launched())
        return;
    printf("%c%d %s\n", PROCESSES_END, rc, rc == 0 ? "" : err_text());
    fflush(stdout);
}
