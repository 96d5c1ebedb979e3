/*
 * Keys at random against the program on pseudo-terminals of any size.
 *
 *   keys_fuzz SESSIONS SEED MODEL     prints TAP; PRATTLE names the program
 *
 * A session is keys, control keys, escape sequences, UTF-8 and bytes that are none, pastes whole
 * and cut off, lines and commands, other sizes and signals, all from its seed, which is printed
 * where it is lost: where the program does not end by :quit, with status 0 and no word of a
 * sanitizer's. `keys_fuzz 1 SEED MODEL` plays that one again, as far as time lets it be the same.
 */
#include "model/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { TAIL = 4096, SENT = 1 << 16, PIECES = 60 };
static const double PATIENCE_S = 60;

static struct session {
    uint64_t state; /* of the random numbers */
    int terminal;   /* -1: closed */
    pid_t program;
    char tail[TAIL + 1], sent[SENT];
    size_t n_tail, n_sent;
    bool sanitizer;
} s;

static uint64_t draw(void)
{
    uint64_t z = s.state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int below(int n)
{
    return (int)(draw() % (uint64_t)n);
}

/* The last of the output, for the report and for a sanitizer's words. */
static void keep(const char *part, size_t n)
{
    if (s.n_tail + n > TAIL) {
        size_t stays = TAIL - n;
        memmove(s.tail, s.tail + s.n_tail - (s.n_tail < stays ? s.n_tail : stays), stays);
        s.n_tail = s.n_tail < stays ? s.n_tail : stays;
    }
    for (size_t i = 0; i < n; i++)
        s.tail[s.n_tail++] = part[i] == '\0' ? ' ' : part[i];
    s.tail[s.n_tail] = '\0';
    s.sanitizer |= strstr(s.tail, "Sanitizer") != NULL || strstr(s.tail, "runtime error") != NULL;
}

/* Take what the program writes for so long. */
static void take(double wait_s)
{
    char part[1024];
    double end = clock_s() + wait_s;
    do {
        struct pollfd p = {.fd = s.terminal, .events = POLLIN};
        if (s.terminal < 0 || poll(&p, 1, (int)(wait_s * 1000)) <= 0)
            return;
        ssize_t n = read(s.terminal, part, sizeof part);
        if (n > 0) {
            keep(part, (size_t)n);
        } else if (errno != EAGAIN) {
            close(s.terminal);
            s.terminal = -1;
        }
    } while (clock_s() < end);
}

/* What a program that does not read has no room for goes, as from a terminal's own queue. */
static void type(const char *bytes, size_t n)
{
    double end = clock_s() + 1;
    for (size_t i = 0; i < n && s.n_sent < SENT; i++)
        s.sent[s.n_sent++] = bytes[i];
    while (n > 0 && s.terminal >= 0 && clock_s() < end) {
        ssize_t w = write(s.terminal, bytes, n < 256 ? n : 256);
        if (w > 0) {
            bytes += w;
            n -= (size_t)w;
        }
        take(w > 0 ? 0 : 0.005);
    }
}

static void type_text(const char *text)
{
    type(text, strlen(text));
}

/* ---- the pieces of a session ---- */

static void type_letters(void)
{
    char text[12];
    int n = 1 + below(12);
    for (int i = 0; i < n; i++)
        text[i] = (char)(' ' + below(95));
    type(text, (size_t)n);
}

/* Any but Ctrl-\, which ends any program. */
static void type_control(void)
{
    char c = (char)(below(33) == 32 ? 127 : 1 + below(31));
    if (c != '\x1c')
        type(&c, 1);
}

static void type_wide(void)
{
    static const char *const list[] = {
        "\xc3\xa9",         "e\xcc\x81",    "\xe4\xb8\xad\xe6\x96\x87",
        "\xf0\x9f\x98\x80", "\xe2\x80\xae", "\xd7\xa9\xd7\x9c",
        "\xc2\x9b",         "\xff\xfe",     "\xe4\xb8",
        "\xc0\xaf",         "\xed\xa0\x80", "\xe2\x80\x8d"};
    type_text(list[below((int)(sizeof list / sizeof *list))]);
}

static void type_escape(void)
{
    static const char *const list[] = {"\033",
                                       "\033[A",
                                       "\033[B",
                                       "\033[C",
                                       "\033[D",
                                       "\033[H",
                                       "\033[F",
                                       "\033[3~",
                                       "\033[2~",
                                       "\033[5~",
                                       "\033[1;5C",
                                       "\033OP",
                                       "\033OA",
                                       "\033[200~",
                                       "\033[201~",
                                       "\033[200",
                                       "\033[",
                                       "\033[9999",
                                       "\033\033",
                                       "\033\x7f",
                                       "\x16\033",
                                       "\x18\x15",
                                       "\x18\x18",
                                       "\x18(",
                                       "\x18)",
                                       "\x18"
                                       "e",
                                       "\x12",
                                       "\x12o\x12",
                                       "\033p",
                                       "\033-9",
                                       "\0339999",
                                       "\033.",
                                       "\033*",
                                       "\033?",
                                       "\x1d"
                                       "e",
                                       "\033#",
                                       "\x18\x7f",
                                       "\x16\x01",
                                       "\033\x12",
                                       "\x13",
                                       "\x11"};
    if (below(3) > 0) {
        type_text(list[below((int)(sizeof list / sizeof *list))]);
        return;
    }
    char meta[2] = {'\033', (char)(' ' + below(95))};
    type(meta, 2);
}

/* Whole, without its end, or within another. */
static void type_paste(void)
{
    char text[600];
    int n = below(10) == 0 ? below(600) : below(80);
    for (int i = 0; i < n; i++)
        text[i] = below(8) == 0 ? (char)draw() : "ab \n\tc\r:"[below(8)];
    for (int i = 0; i < n; i++) /* terminals take Ctrl-\ for themselves */
        text[i] = text[i] == '\x1c' ? ' ' : text[i];
    type_text("\033[200~");
    type(text, (size_t)n);
    if (below(6) > 0)
        type_text("\033[201~");
}

static void type_line(void)
{
    static const char *const list[] = {"hello\r",
                                       ":help\r",
                                       ":set\r",
                                       ":tokens \xc3\xa9t\xc3\xa9\r",
                                       ":history\r",
                                       "\"\"\"\r",
                                       "\\\r",
                                       ":set editing_mode vi\r",
                                       ":set editing_mode emacs\r",
                                       ":set history 3\r",
                                       ":why\r",
                                       ":regen\r",
                                       ":undo\r",
                                       ":model\r",
                                       ":set temperature \t",
                                       ":set \t\t",
                                       ":load /\t\t",
                                       ":\t\tn",
                                       ":x\r",
                                       "\r",
                                       ":set wrap off\r",
                                       ":set wrap on\r",
                                       ":set probs on\r",
                                       ":help tem\t\r"};
    type_text(list[below((int)(sizeof list / sizeof *list))]);
}

static struct winsize any_size(void)
{
    struct winsize w = {.ws_col = (unsigned short)(1 + below(below(2) ? 12 : 300)),
                        .ws_row = (unsigned short)(1 + below(below(2) ? 5 : 300))};
    return w;
}

static void send_signal(void)
{
    switch (below(4)) {
    case 0:
        kill(s.program, SIGINT);
        break;
    case 1:
        kill(s.program, SIGWINCH);
        break;
    case 2:
        kill(s.program, SIGTSTP);
        take(0.002);
        kill(s.program, SIGCONT);
        break;
    default:
        kill(s.program, SIGSTOP);
        take(0.002);
        kill(s.program, SIGCONT);
    }
}

static void play_piece(void)
{
    int kind = below(100);
    if (kind < 25)
        type_letters();
    else if (kind < 45)
        type_control();
    else if (kind < 52)
        type_wide();
    else if (kind < 70)
        type_escape();
    else if (kind < 78)
        type_paste();
    else if (kind < 88)
        type_line();
    else if (kind < 95) {
        struct winsize w = any_size();
        ioctl(s.terminal, TIOCSWINSZ, &w);
    } else
        send_signal();
    take(below(4) == 0 ? 0.003 * below(5) : 0);
}

/* ---- a session ---- */

static void begin(const char *model)
{
    static const char *const terms[] = {"xterm-256color", "xterm", "vt100",
                                        "linux",          "dumb",  "ansi"};
    const char *term = terms[below((int)(sizeof terms / sizeof *terms))];
    const char *mode = below(4) == 0 ? "vi" : "emacs";
    struct winsize w = any_size();
    s.program = forkpty(&s.terminal, NULL, NULL, &w);
    if (s.program == 0) {
        /* A shell's background job ignores Ctrl-C, and so would what it starts. */
        signal(SIGINT, SIG_DFL);
        signal(SIGQUIT, SIG_DFL);
        signal(SIGHUP, SIG_DFL);
        setenv("TERM", term, 1);
        execl(getenv("PRATTLE"), "prattle", model, "--max-new-tokens", "3", "--editing-mode", mode,
              "--threads", "1", (char *)NULL);
        _exit(127);
    }
    fcntl(s.terminal, F_SETFL, O_NONBLOCK);
}

/* Ctrl-Q for a Ctrl-S, Ctrl-C for whatever is in the middle of something, and :quit. */
static bool quits(int *status)
{
    double end = clock_s() + PATIENCE_S;
    while (clock_s() < end) {
        kill(s.program, SIGCONT);
        type_text("\x11\x03");
        take(0.05);
        type_text("\x03");
        take(0.3);
        type_text(":quit\r");
        for (double soon = clock_s() + 1.5; clock_s() < soon;) {
            take(0.02);
            if (waitpid(s.program, status, WNOHANG) == s.program) {
                take(0.05);
                return true;
            }
            if (s.terminal < 0)
                nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        }
    }
    kill(s.program, SIGKILL);
    waitpid(s.program, status, 0);
    return false;
}

static void show_escaped(const char *what, const char *bytes, size_t n)
{
    printf("# %s: ", what);
    for (size_t i = 0; i < n; i++)
        if (bytes[i] >= ' ' && bytes[i] < 127)
            putchar(bytes[i]);
        else if (bytes[i] == '\n')
            printf("\n# | ");
        else
            printf("\\x%02x", (unsigned char)bytes[i]);
    putchar('\n');
}

/* Before it minds signals, Ctrl-C ends it as any program. */
static void await_prompt(void)
{
    struct termios t;
    for (double end = clock_s() + PATIENCE_S; s.terminal >= 0 && clock_s() < end; take(0.01))
        if (tcgetattr(s.terminal, &t) == 0 && (t.c_lflag & ICANON) == 0)
            return;
}

static bool play(uint64_t seed, const char *model)
{
    int status;
    s = (struct session){.state = seed, .terminal = -1};
    begin(model);
    await_prompt();
    int pieces = 1 + below(PIECES);
    for (int i = 0; i < pieces && s.terminal >= 0; i++)
        play_piece();
    bool ended = quits(&status);
    if (s.terminal >= 0)
        close(s.terminal);
    if (ended && WIFEXITED(status) && WEXITSTATUS(status) == 0 && !s.sanitizer)
        return true;
    printf("# session %llu is lost: %s %d\n", (unsigned long long)seed,
           !ended                ? "it does not end; status"
           : WIFSIGNALED(status) ? "signal"
                                 : "exit status",
           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    show_escaped("sent", s.sent, s.n_sent);
    show_escaped("the last it wrote", s.tail, s.n_tail);
    fflush(stdout);
    return false;
}

int main(int argc, char **argv)
{
    if (argc != 4 || getenv("PRATTLE") == NULL) {
        fprintf(stderr, "usage: PRATTLE=PROGRAM %s SESSIONS SEED MODEL\n", argv[0]);
        return 2;
    }
    int n = atoi(argv[1]), lost = 0;
    uint64_t seed = strtoull(argv[2], NULL, 10);
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < n; i++)
        lost += !play(seed + (uint64_t)i, argv[3]);
    printf("%s 1 - %d sessions of keys at random from seed %llu, %d lost\n",
           lost > 0 ? "not ok" : "ok", n, (unsigned long long)seed, lost);
    return lost > 0;
}
