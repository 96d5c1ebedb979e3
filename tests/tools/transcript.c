/*
 * Plays a transcript against the program on a real pseudo-terminal.
 *
 *   transcript FILE            prints TAP; PRATTLE names the program
 *
 * A line of the file is one of
 *
 *   # comment                  (blank lines too)
 *   env NAME=VALUE             for the program; before start
 *   size COLUMNS ROWS          of the terminal; while running: resizes it once keys are read as
 *                              they are typed
 *   start ARGUMENTS            run the program; words are split as a shell does
 *   shell                      run bash instead, whose prompt is "$ ": for Ctrl-Z and fg
 *   > TEXT                     type TEXT and Enter (once what was typed before is echoed)
 *   send BYTES                 type bytes, C escapes allowed: \x03 is Ctrl-C, \t completes
 *   paste N                    paste N bytes, bracketed, all at once
 *   expect TEXT                wait until TEXT appears, behind what was matched before
 *   expect~ REGEX              the same, extended regular expression
 *   raw TEXT                   as expect, with escape sequences kept and C escapes in TEXT
 *   never TEXT                 from the start to the end, TEXT never appears (visible text)
 *   never-raw TEXT             the same, with escape sequences kept and C escapes in TEXT
 *   signal NAME                TERM, HUP, INT, WINCH to the program
 *   record FILE                what the terminal was sent so far, as it came
 *   pause SECONDS
 *   prompt                     wait until keys are read as they are typed: Ctrl-D and the like,
 *                              sent before that, are the terminal's own
 *   exit STATUS                wait for its end; must come last
 *
 * What is matched is the visible text: escape sequences and carriage returns are
 * taken out. Each expect, raw, never, never-raw, record and exit is one test. $DATA and other
 * variables in arguments are the shell's.
 */
#include "model/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <regex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { MAX_OUTPUT = 4 << 20, MAX_NEVER = 32 };
static double patience_s = 60; /* times PATIENCE of the environment, as tests/run has it */

static char raw[MAX_OUTPUT], seen[MAX_OUTPUT]; /* as it came; visible text */
static size_t n_raw, n_seen, raw_at, seen_at;  /* matched so far */
static int terminal = -1, tests, failures, status;
static pid_t program;
static bool ended;
static struct winsize size = {.ws_col = 80, .ws_row = 24};
static struct {
    char *shown, *text;
    size_t n;
    bool raw;
} nevers[MAX_NEVER];
static int n_nevers;

static void report(bool ok, const char *what, const char *text)
{
    tests++;
    failures += !ok;
    printf("%s %d - %s %s\n", ok ? "ok" : "not ok", tests, what, text);
    if (!ok) {
        size_t from = n_seen > 1500 ? n_seen - 1500 : 0;
        printf("# the screen's last text:\n");
        for (char *line = strtok(strdup(seen + from), "\n"); line != NULL;
             line = strtok(NULL, "\n"))
            printf("# | %s\n", line);
    }
    fflush(stdout);
}

static void add_seen(char c)
{
    if (n_seen + 1 < MAX_OUTPUT)
        seen[n_seen++] = c;
}

/* One byte into the visible text; a small machine that drops escape sequences. A line that is
 * erased from its beginning, a status line, stays, and what follows begins a new one. */
static void see(char c)
{
    static enum { TEXT, ESCAPE, CSI, OSC } state;
    static bool at_begin; /* of a line with text, by \r */
    switch (state) {
    case ESCAPE:
        state = c == '[' ? CSI : c == ']' ? OSC : TEXT;
        return;
    case CSI:
        if (c == 'K' && at_begin)
            add_seen('\n');
        if (c >= '@' && c <= '~')
            state = TEXT;
        return;
    case OSC:
        if (c == '\a' || c == '\\')
            state = TEXT;
        return;
    case TEXT:
        break;
    }
    if (c == '\033') {
        state = ESCAPE;
        return;
    }
    at_begin = c == '\r' && n_seen > seen_at && seen[n_seen - 1] != '\n';
    if (c == '\b' && n_seen > seen_at && seen[n_seen - 1] != '\n')
        seen[--n_seen] = '\0';
    else if (c != '\r' && c != '\a' && c != '\b')
        add_seen(c);
}

/* Take what has come, waiting at most wait_s; false at the end of the output. */
static bool take(double wait_s)
{
    struct pollfd p = {.fd = terminal, .events = POLLIN};
    if (terminal < 0 || poll(&p, 1, (int)(wait_s * 1000)) <= 0)
        return terminal >= 0;
    char part[4096];
    ssize_t n = read(terminal, part, sizeof part);
    if (n <= 0) {
        ended = true;
        close(terminal);
        terminal = -1;
        return false;
    }
    for (ssize_t i = 0; i < n; i++) {
        see(part[i]);
        if (n_raw + 1 < MAX_OUTPUT)
            raw[n_raw++] = part[i];
    }
    return true;
}

/* C escapes in place; the length. */
static size_t unescape(char *s)
{
    char *to = s;
    for (char *p = s; *p != '\0';) {
        if (*p != '\\' || p[1] == '\0') {
            *to++ = *p++;
            continue;
        }
        p++;
        static const char names[] = "nrtabfve", values[] = "\n\r\t\a\b\f\v\033";
        const char *known = strchr(names, *p);
        if (*p == 'x') {
            char *end;
            char digits[3] = {p[1], p[1] ? p[2] : '\0', '\0'};
            *to++ = (char)strtol(digits, &end, 16);
            p += 1 + (end - digits);
        } else {
            *to++ = known != NULL ? values[known - names] : *p;
            p++;
        }
    }
    *to = '\0';
    return (size_t)(to - s);
}

static bool match(const char *kind, const char *text, size_t n)
{
    if (kind[0] == 'r') {
        char *at = memmem(raw + raw_at, n_raw - raw_at, text, n);
        if (at == NULL)
            return false;
        raw_at = (size_t)(at - raw) + n;
        return true;
    }
    const char *end = NULL;
    seen[n_seen] = '\0';
    if (kind[6] == '~') {
        regex_t re;
        regmatch_t m;
        if (regcomp(&re, text, REG_EXTENDED | REG_NEWLINE) != 0) {
            printf("Bail out! bad regular expression %s\n", text);
            exit(2);
        }
        if (regexec(&re, seen + seen_at, 1, &m, 0) == 0)
            end = seen + seen_at + m.rm_eo;
        regfree(&re);
    } else {
        const char *at = strstr(seen + seen_at, text);
        end = at == NULL ? NULL : at + n;
    }
    if (end == NULL)
        return false;
    seen_at = (size_t)(end - seen);
    return true;
}

static void expect(const char *kind, char *text)
{
    char *shown = strdup(text);
    size_t n = kind[0] == 'r' ? unescape(text) : strlen(text);
    double end = clock_s() + patience_s;
    bool ok;
    while (!(ok = match(kind, text, n)) && clock_s() < end && take(0.05))
        ;
    report(ok || match(kind, text, n), kind, shown);
    free(shown);
}

static void never(const char *kind, char *text)
{
    bool of_raw = strcmp(kind, "never-raw") == 0;
    char *shown = strdup(text);
    size_t n = of_raw ? unescape(text) : strlen(text);
    if (n_nevers == MAX_NEVER) {
        printf("Bail out! more than %d times never\n", MAX_NEVER);
        exit(2);
    }
    nevers[n_nevers].shown = shown;
    nevers[n_nevers].text = strdup(text);
    nevers[n_nevers].n = n;
    nevers[n_nevers++].raw = of_raw;
}

static void type(const char *bytes, size_t n)
{
    while (n > 0 && terminal >= 0) {
        /* Short parts, reading between them: a terminal's buffers are small. */
        ssize_t w = write(terminal, bytes, n < 512 ? n : 512);
        if (w < 0 && errno != EAGAIN)
            return;
        if (w > 0) {
            bytes += w;
            n -= (size_t)w;
        }
        take(0.01);
    }
}

/* A bracketed paste of n bytes, as fast as the program takes it. */
static void paste(size_t n)
{
    char *bytes = malloc(n + 13);
    if (bytes == NULL)
        exit(2);
    memcpy(bytes, "\033[200~", 6);
    for (size_t i = 0; i < n; i++)
        bytes[6 + i] = "lorem ipsum dolor\n"[i % 18];
    memcpy(bytes + 6 + n, "\033[201~", 6);
    double end = clock_s() + patience_s;
    for (size_t at = 0; at < n + 12 && terminal >= 0 && clock_s() < end;) {
        size_t left = n + 12 - at;
        ssize_t w = write(terminal, bytes + at, left < 4096 ? left : 4096);
        at += w > 0 ? (size_t)w : 0;
        take(w > 0 ? 0 : 0.01);
    }
    free(bytes);
}

static void start(const char *command)
{
    if (getenv("PRATTLE") == NULL) {
        printf("Bail out! PRATTLE is not set\n");
        exit(2);
    }
    program = forkpty(&terminal, NULL, NULL, &size);
    if (program == 0) {
        execl("/bin/sh", "sh", "-c", command, NULL);
        _exit(127);
    }
    fcntl(terminal, F_SETFL, O_NONBLOCK);
}

static int signal_number(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } table[] = {{"TSTP", SIGTSTP}, {"CONT", SIGCONT}, {"TERM", SIGTERM},
                 {"HUP", SIGHUP},   {"INT", SIGINT},   {"WINCH", SIGWINCH}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(name, table[i].name) == 0)
            return table[i].number;
    printf("Bail out! unknown signal %s\n", name);
    exit(2);
}

/* The program's end of the terminal shows at this one. */
static bool reads_keys(void)
{
    struct termios t;
    return terminal < 0 || (tcgetattr(terminal, &t) == 0 && (t.c_lflag & ICANON) == 0);
}

static void await_keys(double most_s)
{
    for (double end = clock_s() + most_s; !reads_keys() && clock_s() < end;)
        take(0.02);
}

static void await_exit(const char *wanted)
{
    double end = clock_s() + patience_s;
    pid_t done = 0;
    while ((done = waitpid(program, &status, WNOHANG)) == 0 && clock_s() < end)
        take(0.05);
    while (terminal >= 0 && take(0.2) && clock_s() < end)
        ;
    if (done == 0) {
        kill(program, SIGKILL);
        waitpid(program, &status, 0);
    }
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    report(done != 0 && code == atoi(wanted), "exit", wanted);
    if (done == 0 || code != atoi(wanted))
        printf("# it ended with %d%s\n", code, done == 0 ? " (killed: it did not end)" : "");
    program = 0;
}

static void record(const char *path)
{
    FILE *f = fopen(path, "w");
    bool ok = f != NULL && fwrite(raw, 1, n_raw, f) == n_raw;
    ok = f != NULL && fclose(f) == 0 && ok;
    report(ok, "record", path);
}

/* Readline, as it takes the terminal over, writes back the size that it has just read: a size set
 * between the two is lost, so we wait until it has the terminal. */
static void resize(void)
{
    await_keys(terminal >= 0 ? 5 : 0);
    if (terminal >= 0)
        ioctl(terminal, TIOCSWINSZ, &size);
}

static void play(char *verb, char *rest)
{
    if (strcmp(verb, "env") == 0) {
        putenv(strdup(rest));
    } else if (strcmp(verb, "size") == 0) {
        sscanf(rest, "%hu %hu", &size.ws_col, &size.ws_row);
        resize();
    } else if (strcmp(verb, "start") == 0) {
        char command[4096];
        snprintf(command, sizeof command, "exec \"$PRATTLE\" %s", rest);
        start(command);
    } else if (strcmp(verb, "shell") == 0) {
        start("PS1='$ ' exec bash --norc --noprofile -i");
    } else if (strcmp(verb, ">") == 0) {
        type(rest, strlen(rest));
        type("\r", 1);
    } else if (strcmp(verb, "send") == 0) {
        size_t n = unescape(rest);
        type(rest, n);
    } else if (strcmp(verb, "paste") == 0) {
        paste(strtoul(rest, NULL, 10));
    } else if (strcmp(verb, "expect") == 0 || strcmp(verb, "expect~") == 0 ||
               strcmp(verb, "raw") == 0) {
        expect(verb, rest);
    } else if (strcmp(verb, "never") == 0 || strcmp(verb, "never-raw") == 0) {
        never(verb, rest);
    } else if (strcmp(verb, "signal") == 0) {
        kill(program, signal_number(rest));
    } else if (strcmp(verb, "record") == 0) {
        record(rest);
    } else if (strcmp(verb, "pause") == 0) {
        for (double end = clock_s() + atof(rest); clock_s() < end && take(0.05);)
            ;
    } else if (strcmp(verb, "prompt") == 0) {
        await_keys(patience_s);
    } else if (strcmp(verb, "exit") == 0) {
        await_exit(rest);
    } else {
        printf("Bail out! unknown line: %s %s\n", verb, rest);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (f == NULL) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    const char *patience = getenv("PATIENCE");
    patience_s *= patience != NULL && atof(patience) > 0 ? atof(patience) : 1;
    setenv("TERM", "xterm-256color", 0);
    signal(SIGPIPE, SIG_IGN);
    char *line = NULL;
    size_t cap = 0;
    for (ssize_t n; (n = getline(&line, &cap, f)) > 0;) {
        if (line[n - 1] == '\n')
            line[n - 1] = '\0';
        if (line[0] == '#' || line[0] == '\0')
            continue;
        char *space = strchr(line, ' '), *rest = line + strlen(line);
        if (space != NULL) {
            *space = '\0';
            rest = space + 1;
        }
        play(line, rest);
    }
    if (program != 0)
        await_exit("0");
    seen[n_seen] = '\0';
    for (int i = 0; i < n_nevers; i++) {
        const char *in = nevers[i].raw ? raw : seen;
        report(memmem(in, nevers[i].raw ? n_raw : n_seen, nevers[i].text, nevers[i].n) == NULL,
               nevers[i].raw ? "never-raw" : "never", nevers[i].shown);
    }
    return failures != 0;
}
