/*
 * A text of several lines grows in line_read until it is whole: with """ at its beginning up to the
 * next """ at a line's end, else as long as lines end in an odd number of backslashes. Ctrl-C, or
 * the end of input after the first line, drops all of it. A whole text is one entry of the history.
 */
#include "repl/terminal/line.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "repl/terminal/history_text.h"
#include "repl/terminal/keys.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <readline/history.h>
#include <readline/readline.h>

/* A longer text is not worth a place in the history. */
enum { MAX_ENTRY_BYTES = 64 << 10 };

static struct {
    struct line_config config;
    char *path; /* of the history; NULL: it is not kept */
    int inputrc_mode;
    struct completion found;
} line;

int completion_add(struct completion *c, const char *word)
{
    size_t n = (size_t)c->n;
    char **more = mem_grow(c->words, n * sizeof *more, (n + 1) * sizeof *more);
    if (more == NULL)
        return ERR_NOMEM;
    c->words = more;
    if ((more[n] = mem_strdup(word)) == NULL)
        return ERR_NOMEM;
    c->n++;
    return 0;
}

void completion_release(struct completion *c)
{
    for (int i = 0; i < c->n; i++)
        mem_free(c->words[i]);
    mem_free(c->words);
    *c = (struct completion){0};
}

/* What readline frees is from its own allocator. */
static char *next_match(const char *word, int state)
{
    static int at;
    if (state == 0)
        at = 0;
    size_t n = strlen(word);
    while (at < line.found.n) {
        const char *w = line.found.words[at++];
        if (strncmp(w, word, n) == 0)
            return strdup(w);
    }
    return NULL;
}

static char **complete_word(const char *word, int start, int end)
{
    (void)end;
    completion_release(&line.found);
    char *before = mem_sprintf("%.*s", start, rl_line_buffer);
    if (before == NULL || line.config.complete == NULL)
        return NULL;
    line.config.complete(&line.found, before, word);
    mem_free(before);
    char **matches = rl_completion_matches(word, next_match);
    if (matches != NULL && matches[1] == NULL && text_ends_in(matches[0], "="))
        rl_completion_suppress_append = 1;
    rl_attempted_completion_over = matches != NULL || !line.found.paths;
    return matches;
}

/* What ends a word to the left of the cursor: = as well where it stands behind a name, so that
 * the path in data=PATH is completed as one; not the one in runs/lr=1e-3/. */
static char *word_breaks(void)
{
    static char spaces[] = " \t\n\"'", and_key[] = " \t\n\"'=";
    int start = rl_point, end;
    while (start > 0 && strchr(spaces, rl_line_buffer[start - 1]) == NULL)
        start--;
    for (end = start; end < rl_point && (isalnum((unsigned char)rl_line_buffer[end]) ||
                                         strchr("_-.", rl_line_buffer[end]) != NULL);
         end++)
        ;
    return end > start && end < rl_point && rl_line_buffer[end] == '=' ? and_key : spaces;
}

/* Leave out of the file at path what is before its text [n], for its owner alone, as readline has
 * it. */
static void shorten_history(const char *path, const char *text, size_t n)
{
    char *followed = realpath(path, NULL); /* a link stays one */
    const mode_t mask = umask(S_IRWXG | S_IRWXO);
    if (followed != NULL)
        file_write_whole(followed, text, n, true);
    umask(mask);
    free(followed);
}

/* keep: the entries that the file is shortened to; 0: it stays as it is. */
static void load_history(const char *path, size_t keep)
{
    struct buf text = {0}, entry = {0};
    size_t n = 0;
    int rc = file_read_all(&text, path, SIZE_MAX);
    const char *at = buf_text(&text), *end = at + text.n;
    while (rc == 0 && (rc = history_text_next(&entry, &at, end)) == 0 && entry.n > 0) {
        add_history(buf_text(&entry));
        n++;
    }
    if (rc == 0 && keep > 0 && n > keep) {
        for (at = buf_text(&text); n > keep && rc == 0; n--)
            rc = history_text_next(&entry, &at, end);
        if (rc == 0)
            shorten_history(path, at, (size_t)(end - at));
    }
    buf_release(&entry);
    buf_release(&text);
}

/* The newest entry behind those of the file, which other programs append to as well; all of them
 * where it is gone, in one for its owner alone. */
static void save_entry(void)
{
    struct buf text = {0};
    int i = history_length - 1, rc = 0;
    if (!file_exists(line.path)) {
        const int fd = open(line.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd >= 0)
            close(fd);
        i = 0;
    }
    for (; i < history_length && rc == 0; i++) {
        const HIST_ENTRY *e = history_get(history_base + i);
        rc = history_text_add(&text, e->timestamp, e->line);
    }
    if (rc == 0)
        file_append(line.path, text.data, text.n);
    buf_release(&text);
}

/* Where lines are kept, its folder made. NULL with the reason in *note, or without home. */
static char *history_path(char **note)
{
    char *path = file_home(HOME_STATE, "history"), *folder = file_home(HOME_STATE, "");
    if (path == NULL || folder == NULL) {
        mem_free(path);
        mem_free(folder);
        return NULL;
    }
    int rc = file_make_folder(folder);
    if (rc == 0 && access(file_exists(path) ? path : folder, W_OK) != 0)
        rc = err_errno("cannot write %s", path);
    if (rc != 0) {
        *note = mem_sprintf("history is not kept: %s", err_text());
        load_history(path, 0);
        mem_free(path);
        path = NULL;
    }
    mem_free(folder);
    return path;
}

void line_configure(const struct line_config *c)
{
    line.config = *c;
    bool vi = c->editing_mode == EDITING_VI ||
              (c->editing_mode == EDITING_INPUTRC && line.inputrc_mode == 0);
    if (vi != (rl_editing_mode == 0)) {
        if (vi)
            rl_vi_editing_mode(1, 0);
        else
            rl_emacs_editing_mode(1, 0);
    }
    stifle_history(c->history);
}

void line_open(const struct line_config *c, char **note)
{
    *note = NULL;
    rl_readline_name = "prattle";
    rl_attempted_completion_function = complete_word;
    rl_completion_word_break_hook = word_breaks;
    rl_completer_quote_characters = "\"'";
    rl_filename_quote_characters = " \t\"'";
    rl_initialize();
    keys_open();
    line.inputrc_mode = rl_editing_mode;
    using_history();
    history_comment_char = '#'; /* before an entry's time */
    line_configure(c);
    line.path = c->history > 0 ? history_path(note) : NULL;
    if (line.path != NULL)
        load_history(line.path, (size_t)c->history);
}

void line_close(void)
{
    mem_free(line.path);
    completion_release(&line.found);
    line.path = NULL;
}

static void remember_text(const char *text)
{
    HIST_ENTRY *last = history_length > 0 ? history_get(history_base + history_length - 1) : NULL;
    bool is_empty = text[strspn(text, " \t\n")] == '\0';
    if (is_empty || line.config.history == 0 || strlen(text) > MAX_ENTRY_BYTES ||
        (last != NULL && strcmp(last->line, text) == 0))
        return;
    add_history(text);
    if (line.path != NULL)
        save_entry();
}

/* Whether a """ text is whole; spaces behind its end do not count. *n is where it ends. */
static bool quote_is_closed(const char *text, size_t *n)
{
    while (*n > 0 && strchr(" \t\n", text[*n - 1]) != NULL)
        (*n)--;
    return *n >= 6 && memcmp(text + *n - 3, "\"\"\"", 3) == 0;
}

static bool ends_in_backslash(const struct buf *b)
{
    size_t n = 0;
    while (n < b->n && b->data[b->n - 1 - n] == '\\')
        n++;
    return n % 2 == 1;
}

/* Take off the quotes, and a newline right inside of them. */
static int unquote_text(struct buf *out, const char *text, size_t n)
{
    text += 3, n -= 6;
    if (n > 0 && text[0] == '\n')
        text++, n--;
    if (n > 0 && text[n - 1] == '\n')
        n--;
    return buf_add(out, text, n);
}

enum line_event line_read(struct buf *out, bool *was_empty)
{
    struct buf all = {0};
    enum line_event event = LINE_TEXT;
    for (;;) {
        keys_begin_line();
        char *got = readline(all.n == 0 ? "> " : "... ");
        bool first = all.n == 0;
        if (keys_interrupted() || got == NULL) {
            *was_empty = first && (got == NULL || *got == '\0');
            if (got == NULL && !keys_interrupted())
                fputc('\n', stdout);
            if (got == NULL && !keys_interrupted() && !first) {
                remember_text(all.data);
                wrap_say(stdout, term_dim(stdout),
                         "[not sent, as it has no end; the up arrow brings it back]");
            }
            event = keys_interrupted() ? LINE_INTERRUPTED : first ? LINE_END : LINE_INTERRUPTED;
            free(got);
            break;
        }
        int rc = buf_str(&all, got);
        free(got);
        size_t n = all.n;
        bool quoted = strncmp(buf_text(&all), "\"\"\"", 3) == 0;
        if (rc == 0 && quoted && quote_is_closed(all.data, &n)) {
            remember_text(all.data);
            event = LINE_QUOTED;
            if (unquote_text(out, all.data, n) != 0)
                event = LINE_INTERRUPTED;
            break;
        }
        if (rc == 0 && !quoted && !ends_in_backslash(&all)) {
            remember_text(buf_text(&all));
            if (buf_add(out, buf_text(&all), all.n) != 0)
                event = LINE_INTERRUPTED;
            break;
        }
        if (rc == 0 && !quoted)
            all.data[--all.n] = '\0';
        if (rc != 0 || buf_char(&all, '\n') != 0) {
            event = LINE_INTERRUPTED;
            break;
        }
    }
    buf_release(&all);
    return event;
}

void line_type(char key)
{
    rl_stuff_char((unsigned char)key);
}

const char *line_history(int i)
{
    HIST_ENTRY *e = i >= 0 && i < history_length ? history_get(history_base + i) : NULL;
    return e == NULL ? NULL : e->line;
}
