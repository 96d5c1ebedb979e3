/*
 * A byte's way to Readline: the terminal; keys.ahead, one byte, or many inside a paste (read_byte);
 * keys.character, a whole character, given byte by byte (read_key), while what began the next one
 * waits in keys.pushed. The key PASTE_BEGIN runs insert_paste, which reads on by the same way up to
 * PASTE_END: while keys.pasting nothing is a key, and after Ctrl-C the rest is read and dropped.
 * Readline asks whether input waits before it asks the terminal: note_keys_ahead tells it, each
 * time that it was given a byte.
 */
#include "repl/terminal/keys.h"

#include "model/base/buf.h"
#include "model/base/progress.h"
#include "repl/terminal/signals.h"
#include "repl/terminal/term.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

#include <readline/readline.h>

static const char PASTE_BEGIN[] = "\033[200~", PASTE_END[] = "\033[201~";

/* Narrower than this Readline cannot draw: it divides by a width less that of a prompt. */
enum { LEAST_COLUMNS = 8, LEAST_ROWS = 2, NOT_READY = -2 };

/* Without a byte for so long a paste is over: its end was lost. */
static const struct timespec PASTE_PATIENCE = {.tv_sec = 10},
                             DROP_PATIENCE = {.tv_nsec = 200000000};

static struct {
    bool interrupted;
    bool pastes, prepared; /* the terminal is to mark pastes; it was told to */
    /* Inside a paste keys are read many at a time: what is read and not yet taken. */
    bool pasting;
    char ahead[4096];
    size_t n_ahead, taken;
    /* The character to be given, a byte at a time. */
    unsigned char character[4];
    size_t n_character, given;
    int pushed; /* a byte to be read once more; 0: none */
    bool utf8;
} keys;

/* ---- the terminal's size ---- */

static int larger_int(int n, int least)
{
    return n < least ? least : n;
}

static void fit_screen_size(void)
{
    struct winsize w;
    if (ioctl(fileno(rl_instream), TIOCGWINSZ, &w) != 0 || w.ws_col == 0 || w.ws_row == 0)
        return;
    rl_set_screen_size(larger_int(w.ws_row, LEAST_ROWS), larger_int(w.ws_col, LEAST_COLUMNS));
}

static void draw_resized_line(void)
{
    rl_clear_visible_line();
    fit_screen_size();
    rl_forced_update_display();
}

/* ---- keys ---- */

static int has_keys_ahead(void)
{
    return 1;
}

/* What was read and not given is input for Readline too. */
static void note_keys_ahead(void)
{
    bool more = keys.taken < keys.n_ahead || keys.given < keys.n_character || keys.pushed != 0;
    rl_input_available_hook = more ? has_keys_ahead : NULL;
}

/* The next of the keys that were read. */
static int take_key_ahead(void)
{
    return (unsigned char)keys.ahead[keys.taken++];
}

/* The rest of a paste that Ctrl-C has met: it is read to its end, so that none of it is a key. */
static bool drops_paste(void)
{
    return keys.pasting && interrupt_pending();
}

/* After Ctrl-C Readline 8.3 frees what a search within the line, or a command's name that is asked
 * for, still works with, so its eyes are shut to these until it has passed the signal on. */
static void pass_signal_on(void)
{
#ifdef RL_STATE_READSTR
    const unsigned long within = RL_STATE_ISEARCH | RL_STATE_NSEARCH | RL_STATE_READSTR;
#else
    const unsigned long within = RL_STATE_ISEARCH | RL_STATE_NSEARCH;
#endif
    const unsigned long asking = rl_readline_state & within;
    RL_UNSETSTATE(asking);
    rl_check_signals();
    RL_SETSTATE(asking);
}

/*
 * Wait for input or a signal: 1, 0 after a signal, EOF where no more is to come.
 * Signals are let in by ppoll alone, so that none can slip in between the look at the
 * flags and the wait.
 */
static int wait_input(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    const struct timespec *patience = drops_paste()  ? &DROP_PATIENCE
                                      : keys.pasting ? &PASTE_PATIENCE
                                                     : NULL;
    sigset_t held, before;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGHUP);
    sigaddset(&held, SIGCONT);
    sigaddset(&held, SIGWINCH);
    int ready = NOT_READY;
    sigprocmask(SIG_BLOCK, &held, &before);
    bool continued = signals_continued(), resized = signals_resized();
    if (!continued && !resized && !rl_pending_signal() && !signals_leaving() &&
        (!interrupt_pending() || drops_paste()))
        ready = ppoll(&p, 1, patience, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (rl_pending_signal() != 0)
        pass_signal_on();
    if (signals_resized() || resized)
        draw_resized_line();
    /* What is on the line now is not ours. That it stopped does not tell: the signal is sent to
     * the whole process, which may stop only after it was drawn again. */
    if (signals_continued() || continued)
        rl_forced_update_display();
    return ready == 0 ? EOF : ready > 0;
}

/* Readline's handler leaves the cursor in the last row of the line, which it takes for the first
 * from then on: the next prompt would be drawn in the second. */
static void draw_interrupted_line(void)
{
    rl_point = rl_end;
    rl_clear_visible_line();
    rl_forced_update_display();
    rl_echo_signal_char(SIGINT);
}

/*
 * Ctrl-C ends the line as Enter does, once, and what is asked within it by an end of input; a
 * signal to leave is the end of input.
 */
static int read_byte(FILE *f)
{
    if (keys.taken < keys.n_ahead)
        return take_key_ahead();
    for (;;) {
        int ready = wait_input(fileno(f));
        if (signals_leaving())
            return EOF;
        if (interrupt_pending() && !keys.pasting) {
            /* In the middle of a search, a question or a key of several: that ends first. */
            if (!RL_ISSTATE(RL_STATE_READCMD))
                return EOF;
            interrupt_clear();
            keys.interrupted = true;
            draw_interrupted_line();
            return '\n';
        }
        if (ready == EOF)
            return EOF;
        if (ready == 0)
            continue;
        ssize_t n = read(fileno(f), keys.ahead, keys.pasting ? sizeof keys.ahead : 1);
        if (n > 0) {
            keys.taken = 0;
            keys.n_ahead = (size_t)n;
            return take_key_ahead();
        }
        if (n == 0 || errno != EINTR)
            return EOF;
    }
}

/* Of the UTF-8 that begins with this byte; 1 where none does. */
static size_t character_bytes(int c)
{
    return c >= 0xf0 && c < 0xf8 ? 4 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xc2 && c < 0xe0 ? 2 : 1;
}

/*
 * Whole characters alone reach Readline, in UTF-8: on other bytes its searches for the next one
 * never end (8.2). What is none becomes U+FFFD.
 */
static int read_key(FILE *f)
{
    int c;
    if (keys.given == keys.n_character) {
        c = keys.pushed != 0 ? keys.pushed : read_byte(f);
        keys.pushed = 0;
        if (c < 0x80 || !keys.utf8)
            return note_keys_ahead(), c;
        size_t n = 0, whole = character_bytes(c);
        for (keys.character[n++] = (unsigned char)c; n < whole; n++) {
            c = read_byte(f);
            if (c < 0x80 || c > 0xbf)
                break;
            keys.character[n] = (unsigned char)c;
        }
        if (n < whole && c >= 0)
            keys.pushed = c; /* the first of another, or Ctrl-C's newline */
        utf8proc_int32_t point;
        keys.given = 0;
        keys.n_character = n;
        if (utf8proc_iterate(keys.character, (utf8proc_ssize_t)n, &point) != (utf8proc_ssize_t)n)
            keys.n_character = 3, memcpy(keys.character, "\xef\xbf\xbd", 3);
    }
    c = keys.character[keys.given++];
    return note_keys_ahead(), c;
}

/* ---- pastes ---- */

/* Whether a control character begins here, of one byte or, as U+0080 to U+009F, of two. */
static size_t control_bytes(const char *s)
{
    unsigned char c = (unsigned char)s[0], next = c == 0xc2 ? (unsigned char)s[1] : 0;
    return next >= 0x80 && next <= 0x9f                       ? 2
           : (c < ' ' && c != '\n' && c != '\t') || c == 0x7f ? 1
                                                              : 0;
}

/* In place; a terminal sends Enter for a newline. */
static void make_paste_harmless(struct buf *text)
{
    size_t to = 0;
    for (size_t i = 0; i < text->n;) {
        if (text->data[i] == '\r') {
            text->data[to++] = '\n';
            i += text->data[i + 1] == '\n' ? 2 : 1;
            continue;
        }
        size_t skip = control_bytes(text->data + i);
        if (skip == 0)
            text->data[to++] = text->data[i++];
        i += skip;
    }
    if (text->data != NULL)
        text->data[text->n = to] = '\0';
}

/* Up to the mark of its end. Without memory the rest is read, and lost. */
static void read_paste(struct buf *text)
{
    const size_t mark = sizeof PASTE_END - 1;
    size_t matched = 0;
    keys.pasting = true;
    for (int c; matched < mark && (c = rl_read_key()) >= 0;) {
        matched = c == PASTE_END[matched] ? matched + 1 : c == PASTE_END[0];
        buf_char(text, (char)c);
    }
    keys.pasting = false;
    if (matched == mark && text->n >= mark)
        text->data[text->n -= mark] = '\0';
}

/* Readline has active regions since 8.2; what it does not know has no value. */
static bool variable_is_on(const char *name)
{
    const char *value = rl_variable_value(name);
    return value != NULL && strcmp(value, "on") == 0;
}

static int insert_paste(int count, int key)
{
    (void)count, (void)key;
    struct buf text = {0};
    read_paste(&text);
    make_paste_harmless(&text);
    if (!interrupt_pending() && text.n > 0) {
        rl_mark = rl_point;
        rl_insert_text(buf_text(&text));
        if (variable_is_on("enable-active-region"))
            rl_activate_mark();
    }
    buf_release(&text);
    return 0;
}

/* The end of a paste that is over already. */
static int skip_paste_end(int count, int key)
{
    (void)count, (void)key;
    return 0;
}

static void prepare_terminal(int meta)
{
    rl_prep_terminal(meta);
    if (keys.pastes && !keys.prepared) {
        fputs("\033[?2004h", rl_outstream);
        fflush(rl_outstream);
        keys.prepared = true;
    }
}

static void restore_terminal(void)
{
    if (keys.prepared) {
        fputs("\033[?2004l\r", rl_outstream);
        fflush(rl_outstream);
        keys.prepared = false;
    }
    rl_deprep_terminal();
}

/* Readline must not see that the terminal marks pastes: its searches read them by themselves. */
static void bind_paste_keys(void)
{
    const bool highlights = variable_is_on("enable-active-region");
    const Keymap maps[] = {emacs_standard_keymap, vi_insertion_keymap, vi_movement_keymap};
    keys.pastes = variable_is_on("enable-bracketed-paste");
    rl_variable_bind("enable-bracketed-paste", "off"); /* which turns regions off too */
    if (highlights)
        rl_variable_bind("enable-active-region", "on");
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        rl_bind_keyseq_in_map(PASTE_BEGIN, insert_paste, maps[i]);
        rl_bind_keyseq_in_map(PASTE_END, skip_paste_end, maps[i]);
    }
    rl_prep_term_function = prepare_terminal;
    rl_deprep_term_function = restore_terminal;
}

void keys_open(void)
{
    rl_getc_function = read_key;
    keys.utf8 = term_utf8();
    rl_catch_sigwinch = 0;
    bind_paste_keys();
}

void keys_begin_line(void)
{
    keys.interrupted = false;
    signals_continued();
    signals_resized();
    fit_screen_size();
}

bool keys_interrupted(void)
{
    return keys.interrupted;
}
