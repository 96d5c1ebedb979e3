#ifndef PRATTLE_TESTS_LIB_SCREEN_H
#define PRATTLE_TESTS_LIB_SCREEN_H
/*
 * What a terminal like xterm shows of the bytes it is sent: a grid of characters with their looks,
 * and the lines that have scrolled off above.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a character looks: 0 plain, else these together. */
enum {
    LOOK_COLOR =
        31, /* 1 to 8 black, red, green, yellow, blue, magenta, cyan, white; 9 to 16 bright */
    LOOK_BOLD = 32,
    LOOK_DIM = 64,
    LOOKS = 128
};

struct cell {
    char text[14];   /* UTF-8, with what combines with it; "" or a space: blank */
    uint8_t columns; /* 1; 2: the next cell is its right half, which has 0 */
    uint8_t look;
};

struct screen {
    int columns, rows;
    int top;            /* lines that have scrolled off */
    int n_lines;        /* those and the terminal's rows */
    struct cell *cells; /* [n_lines][columns], owned */
    int line, column;   /* of the cursor; lines count from the first that was shown */
    bool cursor;        /* it is to be seen */
    bool full;          /* the last column was written: what comes next begins a line */
    uint8_t look;       /* of what comes next */
    char part[256];     /* an escape sequence or character that has not come whole */
    size_t n_part;
};

/* An empty terminal of so many columns and rows. Returns 0 or ERR_NOMEM. */
int screen_init(struct screen *s, int columns, int rows);
void screen_release(struct screen *s);
/*
 * Show n bytes. ERR_UNSUPPORTED: an escape sequence that is not known here; ERR_FORMAT: what is no
 * UTF-8. So a grid that came of it is what terminals show.
 */
int screen_write(struct screen *s, const char *bytes, size_t n);
const struct cell *screen_line(const struct screen *s, int line); /* [columns] */

#endif
