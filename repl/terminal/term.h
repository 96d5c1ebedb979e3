#ifndef PRATTLE_REPL_TERMINAL_TERM_H
#define PRATTLE_REPL_TERMINAL_TERM_H
/*
 * What the terminal can do, and text made safe for it.
 */
#include "model/base/buf.h"

#include <stdbool.h>
#include <stdio.h>

/* Columns of a terminal behind f, 80 when it does not say. */
int term_width(FILE *f);
/* Its rows, 24 where it does not say. */
int term_height(FILE *f);
bool term_is(FILE *f);
/* Standard output or error, whatever it is, leads through another program to a terminal of so many
 * columns; 0: to none. */
void term_behind(FILE *f, int columns);
/* The path of that terminal on this machine, whose columns from now on are those it says it has. */
void term_behind_path(const char *path);
/* While standard output is a file whose text will be shown: the terminal it will be shown on, -1:
 * not so. */
void term_set_stand_in(int fd);
/* Whether f is a terminal that TERM says takes escape sequences. */
bool term_takes_escapes(FILE *f);
/* Whether the locale has more than ASCII, and what stands before a standard error in it. */
bool term_utf8(void);
const char *term_plus_minus(void);

/* What is done or not; AUTO: as it suits where input and output go. */
enum switch_choice { SWITCH_AUTO, SWITCH_ON, SWITCH_OFF };

/* color: enum switch_choice; AUTO asks the terminal, TERM and NO_COLOR. Holds for stdout and stderr
 * each. */
void term_set_color(int color);
/* Escape sequences for f, "" where there is no colour. */
const char *term_dim(FILE *f);
const char *term_bold(FILE *f);
const char *term_red(FILE *f);
const char *term_plain(FILE *f);
/* Of the k-th curve of a picture; NULL where there is no colour. */
const char *term_curve(FILE *f, int k);

/*
 * Append n bytes with control characters (but newline and tab), invalid UTF-8 and
 * what turns the direction of text around as \xNN: nothing in it can steer a terminal.
 */
int term_visible(struct buf *out, const char *text, size_t n);
/* The bytes of the first character of n > 0, 1 where they are of none, and the columns it takes. */
size_t term_character(const char *text, size_t n, int *columns);
/* Columns that text takes, its first n bytes. */
int term_columns(const char *text, size_t n);
/* Of its widest line. */
int term_widest(const char *text);
/* How many of these bytes, whole characters, fit into so many columns. */
size_t term_fit(const char *text, size_t n, int columns);
/* From which byte on the last words of text fit into so many columns; n where not one word does. */
size_t term_last_words(const char *text, size_t n, int columns);

/* Print text, made visible. */
void term_print(FILE *f, const char *text);
/* Print what is for programs: its bytes as they are, but to a terminal made visible. */
void term_put(FILE *f, const struct buf *text);
/* Bytes to standard output, a terminal. What a signal cuts short goes on, as stdio does not: Ctrl-C
 * loses no text of a slow terminal. SIGTERM and SIGHUP end it. */
void term_write(const char *bytes, size_t n);

/* While an answer runs, what is typed is kept for the prompt and not shown between. */
void term_hush(bool on);
/* For who writes meanwhile: after bg not every shell's fg says so, and its echo is on. */
void term_stay_hushed(void);

#endif
