/* :profile: another command, and where its time went. */
#include "repl/commands/commands.h"

#include "model/base/child.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/trace_file.h"
#include "repl/commands/profile_table.h"
#include "repl/session/answer.h"
#include "repl/session/repl.h"
#include "repl/terminal/hint.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "train/parallel/world.h"

#include <stdio.h>
#include <string.h>

struct profiled {
    char *copy; /* of the line, whose words are cut out; owned */
    const char *path;
    const char *command; /* as it was given: borrowed */
    char **words;        /* the same in the shell; NULL: at the prompt */
    int n;
    bool force;
    int n_children; /* programs that were run before */
    bool by_ranks;  /* all processes of a launcher run it; rank 0 profiles it */
};

static bool begins_with_word(const char *text, const char *word)
{
    const size_t n = strlen(word);
    return strncmp(text, word, n) == 0 && (text[n] == '\0' || text[n] == ' ');
}

/* At the prompt: "[--force] FILE COMMAND", the command as it is. */
static int take_line(struct profiled *p, const struct call *c)
{
    static const char force[] = "--force";
    if ((p->copy = mem_strdup(c->text)) == NULL)
        return ERR_NOMEM;
    char *at = p->copy, *word;
    int rc = command_take_word(&at, &word);
    if (rc == 0 && word != NULL && strcmp(word, force) == 0) {
        p->force = true;
        rc = command_take_word(&at, &word);
    }
    p->path = word;
    at += strspn(at, " \t\n");
    if (rc == 0 && begins_with_word(at, force)) { /* behind FILE as well */
        p->force = true;
        at += sizeof force - 1;
        at += strspn(at, " \t\n");
    }
    p->command = at + (*at == ':'); /* as it stands at the prompt */
    return rc;
}

static void take_words(struct profiled *p, const struct repl *r, const struct call *c)
{
    p->force = r->options.settings.call.force;
    p->path = c->n > 0 ? c->words[0] : NULL;
    p->words = c->words + 1;
    p->n = c->n - 1;
    p->command = c->n > 1 ? c->text + strlen(c->words[0]) + 1 : "";
    const struct command *of = p->n > 0 ? command_find(p->words[0]) : NULL;
    p->by_ranks = world_size() > 1 && of != NULL && (of->flags & BY_RANKS) != 0;
}

static int refuse_command(const char *name, bool shell)
{
    const char *near = command_nearest(name, shell);
    char *shown = file_visible(name);
    int rc = near != NULL
                 ? err_set(ERR_MISSING, "profile: there is no command %s; did you mean `%s`?",
                           shown, near)
                 : err_set(ERR_MISSING,
                           "profile: there is no command %s; `:profile FILE generate TEXT` "
                           "profiles an answer",
                           shown);
    mem_free(shown);
    return rc;
}

/* Before anything runs: whether there is such a command, and it may be profiled. */
static int check_profiled(const struct profiled *p, const struct call *c)
{
    if (p->path == NULL || *p->command == '\0')
        return command_usage(c, "FILE COMMAND");
    char *name = mem_sprintf("%.*s", (int)strcspn(p->command, " \t\n"), p->command);
    if (name == NULL)
        return ERR_NOMEM;
    const struct command *of = c->shell ? command_find(p->words[0]) : command_called(name);
    const bool answers = !c->shell && strcmp(name, "generate") == 0;
    int rc = 0;
    if (of != NULL && strcmp(of->name, "profile") == 0)
        rc = err_set(ERR_UNSUPPORTED, "profile cannot profile itself");
    else if (of == NULL)
        rc = refuse_command(name, c->shell);
    else if (!answers && !(of->flags & (c->shell ? IN_SHELL : IN_REPL)))
        rc = err_set(ERR_UNSUPPORTED, "profile: %s works only %s", name,
                     c->shell ? "at the prompt" : "in the shell");
    else if (file_is_folder(p->path))
        rc = err_set(ERR_FORMAT, "profile: %s is a folder; name a file", file_quote(p->path));
    mem_free(name);
    return rc;
}

static int run_profiled(struct repl *r, struct profiled *p)
{
    static const char answer[] = "generate";
    if (p->words != NULL)
        return command_run_words(r, p->words, p->n);
    if (!begins_with_word(p->command, answer))
        return command_run_line(r, p->command);
    const char *text = p->command + sizeof answer - 1;
    text += *text != '\0';
    int rc = repl_need_model(r);
    return rc == 0 ? answer_prompt(r, text, strlen(text)) : rc;
}

static size_t count_spans(const struct profile_trace *t)
{
    size_t n = 0;
    for (int i = 0; i < t->n_threads + 2; i++)
        n += t->lanes[i].n_events;
    return n;
}

/* Whether the caller reads a model or opens data then. */
static bool is_beginning(const struct profile_trace *t, double when)
{
    const struct profile_lane *caller = &t->lanes[t->n_threads];
    for (size_t i = 0; i < caller->n_events; i++) {
        const struct profile_event *e = &caller->events[i];
        if ((e->span == SPAN_LOAD || e->span == SPAN_DATA) && e->begin <= when && when <= e->end)
            return true;
    }
    return false;
}

/* Whether the team did more than to read a model and data. */
static bool has_worked(const struct profile_trace *t)
{
    for (int k = 0; k < t->n_threads; k++)
        for (size_t i = 0; i < t->lanes[k].n_events; i++)
            if (!is_beginning(t, t->lanes[k].events[i].begin))
                return true;
    return false;
}

/* What it ran in other processes, as a benchmark does, was not looked at. */
static int tell_of_children(FILE *f, int n)
{
    struct buf shown = {0};
    if (n == 0)
        return 0;
    int rc = hint_sentence(&shown, "`:profile FILE COMMAND`");
    if (rc == 0)
        wrap_say(f, term_dim(f),
                 "%d program%s that it ran %s not in the trace; %s on what one of them does shows "
                 "where its time goes",
                 n, n == 1 ? "" : "s", n == 1 ? "is" : "are", shown.data);
    buf_release(&shown);
    return rc;
}

/* On standard error in the shell, where standard output is the command's. */
static int print_profile(const struct repl *r, const struct profiled *p, struct profile_trace *t)
{
    FILE *f = p->words != NULL ? stderr : stdout;
    const unsigned long long n_dropped = profile_trace_dropped(t);
    const size_t n = count_spans(t);
    char shown[256], ranks[48] = "";
    if (p->by_ranks)
        snprintf(ranks, sizeof ranks, " of rank 0, of %d ranks", world_size());
    fflush(stdout);
    int rc = profile_table_print(f, t, profile_limits_measure(t, r->model));
    if (rc == 0)
        wrap_say(f, term_dim(f),
                 "%.3f s, %d thread%s%s; %s has %zu span%s: ui.perfetto.dev opens it",
                 t->end - t->begin, t->n_threads, t->n_threads == 1 ? "" : "s", ranks,
                 file_show(shown, sizeof shown, p->path), n, n == 1 ? "" : "s");
    if (rc == 0 && n_dropped > 0)
        wrap_say(f, term_dim(f),
                 "%llu later span%s found no room in it; the table has all the time", n_dropped,
                 n_dropped == 1 ? "" : "s");
    return rc == 0 ? tell_of_children(f, child_count() - p->n_children) : rc;
}

/* A command that failed before it did anything, as one that was refused, can be corrected and given
 * again with the same FILE; and of one that has launched processes they have told it. */
static int keep_profile(const struct repl *r, const struct profiled *p, struct file_writer *w,
                        struct profile_trace *t, int rc)
{
    if (r->trace == NULL)
        return 0;
    if (rc != 0 && rc != ERR_INTERRUPTED && !has_worked(t))
        return 0;
    int kept = p->by_ranks ? file_create(w, p->path, p->force) : 0;
    if (kept == 0)
        kept = trace_file_write(w, t, p->command);
    if (kept == 0)
        kept = file_commit(w);
    return kept == 0 ? print_profile(r, p, t) : kept;
}

/* The command under the clock, and what there is to keep. */
static int record_command(struct repl *r, struct profiled *p, struct file_writer *w)
{
    struct profile_trace trace = {0};
    r->profiled = p->words != NULL;
    r->trace = p->path;
    p->n_children = child_count();
    profile_begin(SPAN_COMMAND, -1);
    int rc = run_profiled(r, p);
    profile_end();
    profile_trace_stop(&trace);
    struct err_kept why;
    err_keep(&why);
    const int kept = keep_profile(r, p, w, &trace, rc);
    r->profiled = false;
    r->trace = NULL;
    if (kept != 0 && rc != 0)
        repl_complain(kept);
    if (rc != 0)
        err_restore(&why);
    profile_trace_release(&trace);
    return rc == 0 ? kept : rc;
}

static int profile_command(struct repl *r, struct profiled *p, const struct call *c)
{
    struct file_writer w = {.fd = -1};
    int rc = check_profiled(p, c);
    if (rc == 0)
        rc = repl_device(r);
    if (rc == 0)
        rc = file_create(&w, p->path, p->force);
    if (p->by_ranks) /* the loss of another rank ends this one at once, and would leave it */
        file_abandon(&w);
    const bool starts = rc == 0 && (rc = profile_trace_start(par_threads(), 0)) == 0;
    if (p->by_ranks)
        rc = world_agree(rc);
    if (rc == 0) {
        rc = record_command(r, p, &w);
    } else if (starts) {
        struct profile_trace unused = {0};
        profile_trace_stop(&unused);
        profile_trace_release(&unused);
    }
    file_abandon(&w);
    return rc;
}

/* Ranks other than 0 run the command, once it is clear that rank 0 does. */
static int follow_command(struct repl *r, struct profiled *p)
{
    r->profiled = true;
    int rc = world_agree(0);
    if (rc == 0)
        rc = run_profiled(r, p);
    r->profiled = false;
    return rc;
}

int cmd_profile(struct repl *r, const struct call *c)
{
    struct profiled p = {0};
    int rc = 0;
    if (c->shell)
        take_words(&p, r, c);
    else
        rc = take_line(&p, c);
    if (rc == 0)
        rc = world_rank() > 0 ? follow_command(r, &p) : profile_command(r, &p, c);
    mem_free(p.copy);
    return rc;
}
