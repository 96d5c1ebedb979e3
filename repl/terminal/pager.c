#include "repl/terminal/pager.h"

#include "model/base/mem.h"
#include "model/base/progress.h"
#include "repl/terminal/line.h"
#include "repl/terminal/term.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

enum { KEY_NONE = -1, KEY_PAGE = ' ', KEY_LINE = '\n', KEY_LEAVE = 'q', CTRL_D = 4, ESCAPE = 27 };

/* Lines of the screen, 0 where it does not say. */
static int screen_rows(void)
{
    struct winsize w;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 ? w.ws_row : 0;
}

static bool byte_waits(int ms)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&p, 1, ms) > 0;
}

/* The rest of what an arrow or a page key sends; Escape alone leaves. */
static int read_escape_sequence(void)
{
    char bytes[8] = {0};
    size_t n = 0;
    while (n + 1 < sizeof bytes && byte_waits(30) && read(STDIN_FILENO, &bytes[n], 1) == 1) {
        const char c = bytes[n++];
        if (n > 1 && c >= '@' && c <= '~')
            break;
    }
    if (n == 0)
        return KEY_LEAVE;
    return strcmp(bytes, "[B") == 0 || strcmp(bytes, "OB") == 0 ? KEY_LINE
           : strcmp(bytes, "[6~") == 0                          ? KEY_PAGE
                                                                : KEY_NONE;
}

/* Until a key is there: 1, -1 after a signal. A Ctrl-C just before the wait ends it too. */
static int await_key(void)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    sigset_t held, before;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGHUP);
    sigprocmask(SIG_BLOCK, &held, &before);
    errno = EINTR;
    const int ready = interrupt_pending() ? -1 : ppoll(&p, 1, NULL, &before);
    const int why = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return ready;
}

/* One key, as it is pressed. KEY_NONE: none, or none that means anything; what was drawn may be
 * gone. */
static int read_pager_key(void)
{
    struct termios before, raw;
    char c = KEY_LEAVE;
    if (tcgetattr(STDIN_FILENO, &before) != 0)
        return KEY_LEAVE;
    raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) != 0)
        return KEY_LEAVE;
    int key = KEY_LEAVE, ready = await_key();
    if (ready < 0) /* a signal: Ctrl-C, another size, or the program goes on after a stop */
        key = errno == EINTR && !interrupt_pending() ? KEY_NONE : KEY_LEAVE;
    else if (read(STDIN_FILENO, &c, 1) == 1)
        key = c == ESCAPE ? read_escape_sequence() : (unsigned char)c;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    return key;
}

/* Ask under what is shown how to go on; the line goes again. */
static int ask_for_key(size_t shown, size_t total)
{
    char line[96];
    const int width = term_width(stdout);
    int n =
        snprintf(line, sizeof line,
                 "-- %zu of %zu lines; space: next page, Enter: next line, q: leave", shown, total);
    if (n >= width)
        n = snprintf(line, sizeof line, "-- %zu of %zu: space, Enter or q", shown, total);
    n = (int)term_fit(line, (size_t)n, width - 1);
    printf("%s%.*s%s", term_dim(stdout), n, line, term_plain(stdout));
    fflush(stdout);
    int key = read_pager_key();
    printf("\r%*s\r", n, "");
    fflush(stdout);
    return key;
}

/* So many lines at most; how many bytes they are. */
static size_t show_lines(const char *text, size_t n, size_t most, size_t *shown)
{
    size_t bytes = 0;
    for (; most > 0 && bytes < n; most--, ++*shown) {
        const char *end = memchr(text + bytes, '\n', n - bytes);
        bytes = end == NULL ? n : (size_t)(end - text) + 1;
    }
    fwrite(text, 1, bytes, stdout);
    return bytes;
}

static bool person_sits_here(void)
{
    return term_is(stdout) && isatty(STDIN_FILENO) == 1;
}

void pager_show(const char *text, size_t n)
{
    size_t total = 0, shown = 0;
    for (size_t i = 0; i < n; i++)
        total += text[i] == '\n';
    const bool asks = person_sits_here();
    for (size_t at = 0, most = (size_t)-1; at < n;) {
        int rows = screen_rows();
        if (!asks || rows < 3) {
            most = (size_t)-1;
        } else if (shown > 0 || total >= (size_t)rows) {
            int key = shown > 0 ? ask_for_key(shown, total) : KEY_PAGE;
            if (key == KEY_NONE)
                continue;
            if (key != KEY_PAGE && key != KEY_LINE && key != '\r') {
                if (key > ' ' && key != KEY_LEAVE && key < 127)
                    line_type((char)key);
                return;
            }
            most = key == KEY_PAGE ? (size_t)rows - 1 : 1;
        }
        at += show_lines(text + at, n - at, most, &shown);
    }
}

static int terminal = -1; /* while standard output is a file in memory */

void pager_begin(void)
{
    const int file = person_sits_here() ? memfd_create("page", MFD_CLOEXEC) : -1;
    if (file < 0)
        return;
    fflush(stdout);
    terminal = dup(STDOUT_FILENO);
    if (terminal >= 0)
        dup2(file, STDOUT_FILENO);
    term_set_stand_in(terminal);
    close(file);
}

/* Without memory for all of it, and so without stops. */
static void copy_all(int from, off_t end, int to)
{
    char part[4096];
    for (off_t at = 0; at < end;) {
        const ssize_t n = pread(from, part, sizeof part, at);
        if (n <= 0 || write(to, part, (size_t)n) != n)
            return;
        at += n;
    }
}

void pager_end(void)
{
    if (terminal < 0)
        return;
    fflush(stdout);
    const off_t end = lseek(STDOUT_FILENO, 0, SEEK_END);
    char *text = end > 0 ? mem_alloc((size_t)end) : NULL;
    const ssize_t n = text != NULL ? pread(STDOUT_FILENO, text, (size_t)end, 0) : 0;
    if (text == NULL && end > 0)
        copy_all(STDOUT_FILENO, end, terminal);
    dup2(terminal, STDOUT_FILENO);
    close(terminal);
    term_set_stand_in(terminal = -1);
    if (n > 0)
        pager_show(text, (size_t)n);
    mem_free(text);
}
