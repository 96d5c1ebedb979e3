#include "repl/terminal/term.h"

#include "repl/terminal/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <utf8proc.h>

static int color_setting, stand_in = -1;

void term_set_stand_in(int fd)
{
    stand_in = fd;
}

static int terminal_of(FILE *f)
{
    const int fd = fileno(f);
    return fd == STDOUT_FILENO && stand_in >= 0 ? stand_in : fd;
}

/* Columns of the terminals that these lead to by way of another program; 0: to none; -1: not by way
 * of another. */
static int behind[] = {[STDIN_FILENO] = -1, [STDOUT_FILENO] = -1, [STDERR_FILENO] = -1};
static int terminal_behind = -1; /* open: it says how wide it is now */

void term_behind(FILE *f, int columns)
{
    behind[fileno(f)] = columns;
}

void term_behind_path(const char *path)
{
    terminal_behind = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
}

/* Of another program's terminal; -1: there is none between. */
static int columns_behind(FILE *f)
{
    const int fd = fileno(f);
    return fd >= 0 && fd <= STDERR_FILENO ? behind[fd] : -1;
}

bool term_is(FILE *f)
{
    const int columns = columns_behind(f);
    return columns >= 0 ? columns > 0 : isatty(terminal_of(f)) == 1;
}

int term_width(FILE *f)
{
    struct winsize w;
    const bool through = columns_behind(f) > 0;
    const int fd = through ? terminal_behind : terminal_of(f);
    if (fd >= 0 && ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0)
        return w.ws_col;
    return through ? columns_behind(f) : 80;
}

int term_height(FILE *f)
{
    struct winsize w;
    return ioctl(terminal_of(f), TIOCGWINSZ, &w) == 0 && w.ws_row > 0 ? w.ws_row : 24;
}

bool term_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

const char *term_plus_minus(void)
{
    return term_utf8() ? "\u00b1" : "+-";
}

void term_set_color(int color)
{
    color_setting = color;
}

bool term_takes_escapes(FILE *f)
{
    const char *term = getenv("TERM");
    return term_is(f) && term != NULL && *term != '\0' && strcmp(term, "dumb") != 0;
}

static const char *escape_sequence(FILE *f, const char *s)
{
    const char *no_color = getenv("NO_COLOR");
    if (color_setting == SWITCH_ON)
        return s;
    bool can = color_setting == SWITCH_AUTO && term_takes_escapes(f) &&
               (no_color == NULL || *no_color == '\0');
    return can ? s : "";
}

const char *term_dim(FILE *f)
{
    return escape_sequence(f, "\033[2m");
}

const char *term_bold(FILE *f)
{
    return escape_sequence(f, "\033[1m");
}

const char *term_red(FILE *f)
{
    return escape_sequence(f, "\033[31m");
}

const char *term_curve(FILE *f, int k)
{
    static const char *const colors[] = {"\033[36m", "\033[33m", "\033[35m", "\033[32m"};
    const char *s = escape_sequence(f, colors[k % 4]);
    return *s == '\0' ? NULL : s;
}

const char *term_plain(FILE *f)
{
    return escape_sequence(f, "\033[0m");
}

static bool is_harmless_character(utf8proc_int32_t c)
{
    bool turns = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
    return c == '\n' || c == '\t' ||
           (utf8proc_category(c) != UTF8PROC_CATEGORY_CC && !turns && c != 0x2028 && c != 0x2029);
}

int term_visible(struct buf *out, const char *text, size_t n)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0;) {
        utf8proc_int32_t c;
        utf8proc_ssize_t used =
            utf8proc_iterate((const utf8proc_uint8_t *)text + i, (utf8proc_ssize_t)(n - i), &c);
        if (used > 0 && is_harmless_character(c)) {
            rc = buf_add(out, text + i, (size_t)used);
        } else {
            used = used > 0 ? used : 1;
            for (utf8proc_ssize_t k = 0; k < used && rc == 0; k++)
                rc = buf_printf(out, "\\x%02x", (unsigned char)text[i + (size_t)k]);
        }
        i += (size_t)used;
    }
    return rc;
}

size_t term_character(const char *text, size_t n, int *columns)
{
    utf8proc_int32_t c;
    utf8proc_ssize_t used =
        utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)n, &c);
    *columns = used > 0 ? utf8proc_charwidth(c) : 1;
    return used > 0 ? (size_t)used : 1;
}

int term_columns(const char *text, size_t n)
{
    int columns = 0, one;
    for (size_t i = 0; i < n; columns += one)
        i += term_character(text + i, n - i, &one);
    return columns;
}

int term_widest(const char *text)
{
    int most = 0;
    for (size_t n; *text != '\0'; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        const int columns = term_columns(text, n);
        most = columns > most ? columns : most;
    }
    return most;
}

size_t term_fit(const char *text, size_t n, int columns)
{
    size_t fits = 0, used;
    for (int one; fits < n; fits += used, columns -= one) {
        used = term_character(text + fits, n - fits, &one);
        if (one > columns)
            break;
    }
    return fits;
}

size_t term_last_words(const char *text, size_t n, int columns)
{
    size_t from = n;
    if (term_columns(text, n) <= columns)
        return 0;
    for (size_t i = n; i-- > 1;) {
        if (text[i - 1] != ' ' || text[i] == ' ')
            continue;
        if (term_columns(text + i, n - i) > columns)
            break;
        from = i;
    }
    return from;
}

void term_print(FILE *f, const char *text)
{
    struct buf safe = {0};
    term_visible(&safe, text, strlen(text));
    fputs(buf_text(&safe), f);
    buf_release(&safe);
}

void term_put(FILE *f, const struct buf *text)
{
    struct buf safe = {0};
    if (!term_is(f))
        fwrite(buf_text(text), 1, text->n, f);
    else if (term_visible(&safe, buf_text(text), text->n) == 0)
        fwrite(buf_text(&safe), 1, safe.n, f);
    buf_release(&safe);
}

/* What the terminal was like before it was hushed. */
static struct termios unhushed;
static bool hushed;

static void set_echo(bool on)
{
    struct termios t = unhushed;
    if (!on)
        t.c_lflag &= ~(tcflag_t)ECHO;
    tcsetattr(STDIN_FILENO, TCSANOW, &t);
}

/* In the background, changing the terminal would stop the program. */
static bool has_terminal(void)
{
    return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

/* Goes on in the background, and hears nothing of a fg. */
static volatile sig_atomic_t unwatched;

void term_stay_hushed(void)
{
    if (!hushed || !unwatched || !has_terminal())
        return;
    unwatched = 0;
    set_echo(false);
}

void term_write(const char *bytes, size_t n)
{
    term_stay_hushed();
    fflush(stdout);
    while (n > 0 && signals_leaving() == 0) {
        const ssize_t done = write(STDOUT_FILENO, bytes, n);
        if (done < 0 && errno != EINTR)
            return;
        bytes += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
}

/* Ctrl-Z leaves the shell a terminal that echoes. */
static void stop_unhushed(int sig)
{
    const int was = errno;
    sigset_t this;
    if (signals_forward(sig))
        return;
    if (has_terminal())
        set_echo(true);
    signal(sig, SIG_DFL);
    raise(sig);
    sigemptyset(&this);
    sigaddset(&this, sig);
    pthread_sigmask(SIG_UNBLOCK, &this, NULL); /* here it stops, and goes on */
    pthread_sigmask(SIG_BLOCK, &this, NULL);
    signal(sig, stop_unhushed);
    errno = was;
}

/* Once the program goes on, after fg; after bg only some shells (dash) say it again at fg. */
static void go_on_hushed(int sig)
{
    const int was = errno;
    if (!signals_forward(sig)) {
        unwatched = !has_terminal();
        if (!unwatched)
            set_echo(false);
    }
    errno = was;
}

void term_hush(bool on)
{
    static void (*stop)(int), (*go_on)(int);
    if (on && !hushed && tcgetattr(STDIN_FILENO, &unhushed) == 0) {
        hushed = true;
        unwatched = 0;
        set_echo(false);
        if ((stop = signal(SIGTSTP, stop_unhushed)) == SIG_IGN)
            signal(SIGTSTP, SIG_IGN);
        go_on = signal(SIGCONT, go_on_hushed);
    } else if (!on && hushed) {
        signal(SIGTSTP, stop);
        signal(SIGCONT, go_on);
        set_echo(true);
        hushed = false;
    }
}
