#include "repl/loop.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/progress.h"
#include "repl/commands/commands.h"
#include "repl/commands/complete.h"
#include "repl/commands/plain_words.h"
#include "repl/session/answer.h"
#include "repl/session/model_line.h"
#include "repl/session/unsaved.h"
#include "repl/terminal/line.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/signals.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int format_greeting(const struct repl *r, struct buf *out)
{
    int rc = r->model != NULL
                 ? model_line_format(r, term_is(stdout) ? term_width(stdout) - 1 : 0, out)
                 : buf_str(out, "no model yet: :load PATH opens one, :load random:gpt2 makes one "
                                "to try\n");
    return rc == 0 ? buf_str(out, ":help lists the commands, Ctrl-D leaves\n") : rc;
}

static void print_greeting(const struct repl *r)
{
    struct buf text = {0};
    if (format_greeting(r, &text) == 0)
        wrap_lines(stdout, term_dim(stdout), buf_text(&text));
    buf_release(&text);
}

static struct line_config line_settings(const struct repl *r)
{
    const struct talk_settings *t = &r->options.settings.talk;
    return (struct line_config){t->editing_mode, t->history, complete};
}

static int run_plain_word(struct repl *r, const char *line, const char *command)
{
    const char *typed = line + strspn(line, " \t\n");
    int rc = command_run_line(r, command), n = (int)strlen(typed);
    while (n > 0 && strchr(" \t\n", typed[n - 1]) != NULL)
        n--;
    if (rc == 0 && !r->told_plain)
        wrap_say(stdout, term_dim(stdout), "(%.*s%s is :%s; ::%.*s is a prompt)", n, typed,
                 strchr(command, ' ') == NULL ? " alone" : "", command, n, typed);
    r->told_plain = true;
    return rc;
}

static int run_slash(struct repl *r, const char *line)
{
    const int n = (int)strcspn(line, " \t\n"), rc = command_run_line(r, line);
    if (rc == 0 && !r->told_plain)
        wrap_say(stdout, term_dim(stdout), "(/%.*s is :%.*s; ::/%.*s is a prompt)", n, line, n,
                 line, n, line);
    r->told_plain = true;
    return rc;
}

/* A line that begins with ":" is a command, "::" a text that begins with one. */
static int run_line(struct repl *r, const char *text, size_t n)
{
    char command[PLAIN_COMMAND_BYTES];
    const char *colon = plain_colon(text);
    if (colon != NULL)
        return command_run_line(r, colon);
    if (plain_command(command, text))
        return run_plain_word(r, text, command);
    if ((colon = plain_slash(text)) != NULL)
        return run_slash(r, colon);
    const char *prompt = text[0] == ':' ? plain_prompt(text) : text;
    return answer_prompt(r, prompt, n - (size_t)(prompt - text));
}

static void take_line(struct repl *r, const struct buf *line, enum line_event event)
{
    const char *text = buf_text(line);
    interrupt_clear();
    if (text[strspn(text, " \t\n")] == '\0')
        return;
    r->told_stop = false;
    const int rc =
        event == LINE_QUOTED ? answer_prompt(r, text, line->n) : run_line(r, text, line->n);
    repl_complain(rc);
    if (rc == ERR_INTERRUPTED && !r->told_stop)
        repl_say_stopped(r, "");
    interrupt_clear();
}

/* Whether the output is a pipe that nobody reads any more: what is typed would be answered unseen.
 */
static bool reader_is_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

/* Asked to leave from outside: nobody is there to be told of unsaved weights. */
static int save_run_and_leave(struct repl *r)
{
    interrupt_clear();
    return unsaved_save_run(r);
}

int repl_run(struct repl *r)
{
    struct line_config c = line_settings(r);
    char *note;
    line_open(&c, &note);
    if (note != NULL)
        progress_warn(note);
    mem_free(note);
    print_greeting(r);
    while (!r->quit && !signals_leaving() && !reader_is_gone()) {
        struct buf text = {0};
        bool was_empty;
        struct line_config now = line_settings(r);
        if (now.editing_mode != c.editing_mode || now.history != c.history)
            line_configure(&now);
        c = now;
        fflush(stdout);
        const enum line_event event = line_read(&text, &was_empty);
        switch (event) {
        case LINE_TEXT:
        case LINE_QUOTED:
            take_line(r, &text, event);
            break;
        case LINE_END:
            if (signals_leaving() == 0)
                repl_complain(cmd_quit(r, NULL));
            break;
        case LINE_INTERRUPTED:
            if (was_empty)
                wrap_say(stdout, term_dim(stdout), "(Ctrl-D or :quit leaves)");
            break;
        }
        buf_release(&text);
        unsaved_next_line(r);
    }
    line_close();
    if (!r->quit && !signals_leaving())
        progress_warn("nobody reads the output any more");
    return r->quit ? 0 : save_run_and_leave(r);
}
