/*
 * prattle: GPT-2 at a prompt. What the command line asks for, and its exit status.
 */
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/thread.h"
#include "repl/session/batch_lines.h"
#include "repl/commands/commands.h"
#include "repl/commands/other_words.h"
#include "repl/commands/help_pages.h"
#include "repl/commands/shell_words.h"
#include "repl/commands/table.h"
#include "repl/commands/train_words.h"
#include "repl/commands/typed_path.h"
#include "repl/loop.h"
#include "repl/session/answer.h"
#include "repl/session/foreign_settings.h"
#include "repl/session/processes.h"
#include "repl/terminal/hint.h"
#include "repl/terminal/signals.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "train/parallel/world.h"
#include "weights/bundled/bundled.h"
#include "weights/find.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char VERSION[] = "0.1";

/* Characters as the user's locale has them; without one, as everybody's terminal has
 * them today. Numbers keep their point. */
static void choose_locale(void)
{
    const char *all = getenv("LC_ALL"), *ctype = getenv("LC_CTYPE"), *lang = getenv("LANG");
    bool said = (all != NULL && *all) || (ctype != NULL && *ctype) || (lang != NULL && *lang);
    if (!said || setlocale(LC_CTYPE, "") == NULL)
        setlocale(LC_CTYPE, "C.UTF-8");
}

static bool works_in_shell(const char *name, size_t n)
{
    const struct command *c;
    for (int i = 0; (c = command_at(i)) != NULL; i++)
        if (strlen(c->name) == n && memcmp(c->name, name, n) == 0)
            return (c->flags & IN_SHELL) != 0;
    return false;
}

/* -f, which names a file of prompts elsewhere. */
static int refuse_force(void)
{
    return err_set(ERR_UNSUPPORTED, "prattle does not take --force; %s",
                   foreign_setting_named("file"));
}

/* A word behind a model's. */
static int refuse_second(const struct repl *r, const char *model, const char *word)
{
    char shown[1024];
    if (works_in_shell(word, strlen(word)))
        return err_set(ERR_RANGE, "the command comes first: `prattle %s --model %s`", word,
                       file_word(shown, sizeof shown, model));
    if (r->options.settings.call.force)
        return refuse_force();
    const bool prompt =
        settings_store_origin(&r->options.store, OPTION(call.prompt)) != ORIGIN_BUILT_IN;
    return err_set(ERR_RANGE,
                   prompt ? "%s: one model at a time; a prompt of several words stands in quotes"
                          : "%s: one model at a time; -p gives a prompt",
                   file_quote(word));
}

/* A word for what a command does, or near a command's name. */
static int refuse_word(const char *word, const char *other, const char *near)
{
    char *shown = file_visible(word);
    err_set(ERR_MISSING, "there is no command and no model %s; did you mean `:%s`?", shown,
            other != NULL ? other : near);
    mem_free(shown);
    return ERR_MISSING;
}

/* The first word that is no command names the model. */
static int take_model(struct repl *r, char **words, int n)
{
    const char *near = command_nearest(words[0], true), *other = other_word_command(words[0]);
    bool a_path = strncmp(words[0], "random:", 7) != 0 && !bundled_is_name(words[0]) &&
                  !weights_is_hub_name(words[0]);
    if (shell_word_is(words[0]) && a_path && !file_exists(words[0]))
        return shell_word_refuse(words, n);
    if ((near != NULL || other != NULL) && a_path && !file_exists(words[0]))
        return refuse_word(words[0], other, near);
    if (settings_store_origin(&r->options.store, OPTION(device.model)) == ORIGIN_COMMAND_LINE)
        return err_set(ERR_RANGE, "two models: %s, and another with --model", file_quote(words[0]));
    if (n > 1)
        return refuse_second(r, words[0], words[1]);
    return options_set(&r->options, OPTION(device.model), ORIGIN_COMMAND_LINE, words[0]);
}

static bool is_asked(const struct repl *r)
{
    return settings_store_origin(&r->options.store, OPTION(call.prompt)) != ORIGIN_BUILT_IN;
}

/* Prompts from somewhere: -p, a terminal, or a pipe. */
static int read_prompts(struct repl *r)
{
    const struct settings *s = &r->options.settings;
    const bool asked = is_asked(r);
    int rc = command_check_options(r, "prattle", "prompt");
    if (rc != 0 && s->call.force)
        rc = refuse_force();
    r->interactive = rc == 0 && !asked && world_size() == 1 && isatty(STDIN_FILENO) == 1;
    if (r->interactive)
        hint_place(NULL);
    if (rc == 0 && (!r->interactive || repl_finds_model(r)))
        rc = repl_need_model(r);
    if (!asked)
        rc = world_agree(rc);
    if (rc != 0)
        return rc;
    if (asked)
        return answer_prompt(r, s->call.prompt, strlen(s->call.prompt));
    return r->interactive ? repl_run(r) : batch_lines(r, STDIN_FILENO, NULL, NULL);
}

/* A command, NULL: prompts. Of one that runs another, words[2], that one says it. */
static bool is_for_all_ranks(const struct repl *r, const struct command *c, char **words, int n)
{
    const struct settings *s = &r->options.settings;
    if (c != NULL && (c->flags & TAKES_COMMAND)) {
        const struct command *of = n > 2 ? command_find(words[2]) : NULL;
        return of != NULL && (of->flags & BY_RANKS) != 0 && !s->call.help && !s->call.version;
    }
    return s->call.version || s->call.help ? false
           : c != NULL                     ? (c->flags & BY_RANKS) != 0
                                           : !is_asked(r);
}

/* What decides who does what, in words. A path may be another on each host. */
static void name_task(char *out, size_t size, const struct repl *r, const struct command *c,
                      char **words, int n)
{
    enum { DECIDING = 4 };
    const struct settings *s = &r->options.settings;
    size_t at = (size_t)snprintf(out, size, "%s",
                                 c != NULL     ? c->name
                                 : is_asked(r) ? "--prompt"
                                               : "prompts");
    for (int i = 1; c != NULL && i < n && i < DECIDING && at < size; i++)
        if (strpbrk(words[i], "/.=") == NULL)
            at += (size_t)snprintf(out + at, size - at, " %s", words[i]);
    if (at < size && (s->call.help || s->call.version))
        snprintf(out + at, size - at, "%s", s->call.help ? " --help" : " --version");
}

static int run_command_line(struct repl *r, char **words, int n)
{
    const struct settings *s = &r->options.settings;
    int rc = processes_open();
    if (rc == 0)
        rc = options_read_user_file(&r->options);
    if (rc == 0) {
        const int all = n;
        rc = options_take(&r->options, ORIGIN_COMMAND_LINE, words, &n);
        const struct command *of = all > 0 ? command_find(words[0]) : NULL;
        rc = train_explain_options(rc, of == NULL ? NULL : of->name,
                                   of == NULL ? NULL : of->options, words, all);
        rc = typed_path_explain_option(rc, words, all);
        rc = foreign_setting_explain(rc, words, all);
    }
    const struct command *c = rc == 0 && n > 0 ? command_find(words[0]) : NULL;
    char task[64];
    name_task(task, sizeof task, r, c, words, n);
    if ((rc = processes_agree(rc, task)) != 0)
        return rc;
    term_set_color(s->talk.color);
    wrap_switch(s->talk.wrap);
    /* Rank 0 does for all what is not done together. */
    if (world_rank() > 0 && !is_for_all_ranks(r, c, words, n))
        return 0;
    if (s->call.version || (n == 1 && strcmp(words[0], "version") == 0 && !file_exists(words[0]))) {
        printf("prattle %s\n", VERSION);
        return 0;
    }
    if (s->call.help && c != NULL)
        return cmd_help(r, &(struct call){"help", words[0], words, 1, true});
    if (s->call.help) {
        help_usage();
        return 0;
    }
    if (c != NULL && (c->flags & IN_SHELL))
        return command_run_words(r, words, n);
    if (c != NULL && !file_exists(words[0]))
        return err_set(ERR_UNSUPPORTED, "%s works only at the prompt, as :%s", c->name, c->name);
    if (n > 0 && (rc = take_model(r, words, n)) != 0)
        return rc;
    return read_prompts(r);
}

/* A reader that has gone has what it wanted, and whoever is at a terminal has seen what Ctrl-C cut
 * short; a full disk needs a sentence. What an earlier write failed for is not known any more, only
 * that it did. */
static int finish_output(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    const int failed = fflush(stdout) == 0 ? 0 : errno;
    if ((failed == 0 && !ferror(stdout)) || failed == EPIPE || isatty(STDOUT_FILENO) ||
        (poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0))
        return 0;
    repl_complain(failed != 0
                      ? err_set(ERR_IO, "cannot write to standard output: %s", strerror(failed))
                      : err_set(ERR_IO, "cannot write all of it to standard output"));
    return ERR_IO;
}

/* A standard file that is closed stays one that cannot be used, but the program's own files are not
 * opened in its place, where lines and errors would go into them. */
static void hold_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    struct repl r;
    char said[1024];
    hold_standard_files();
    choose_locale();
    signals_install();
    commands_use(command_table);
    hint_place(works_in_shell);
    int rc = repl_init(&r);
    if (rc == 0)
        rc = thread_stacks();
    if (rc == 0)
        rc = run_command_line(&r, argv + 1, argc - 1);
    snprintf(said, sizeof said, "%s", rc == 0 ? "" : err_text());
    if (processes_launched())
        processes_tell_end(rc);
    else
        repl_complain(rc);
    if (rc == 0)
        rc = finish_output();
    repl_release(&r);
    processes_tell_asked(signals_leaving());
    rc = processes_end(rc, said);
    const bool together = processes_launched() && world_size() > 1;
    world_close();
    if (signals_leaving())
        return 128 + signals_leaving();
    if (together) /* and told: at another status mpirun sleeps a second or two for ranks to end */
        return 0;
    return rc == 0 ? 0 : rc == ERR_INTERRUPTED ? 130 : 1;
}
