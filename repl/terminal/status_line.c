#include "repl/terminal/status_line.h"

#include "repl/terminal/term.h"

#include <stdio.h>
#include <string.h>

/* Whether it stands in the row of the cursor, which is then at its end. */
static bool visible;

bool status_line_available(void)
{
    return term_takes_escapes(stderr);
}

void status_line_draw(const char *text)
{
    term_stay_hushed();
    size_t fits = term_fit(text, strlen(text), term_width(stderr) - 1);
    fprintf(stderr, "\r%s%.*s%s\033[K", term_dim(stderr), (int)fits, text, term_plain(stderr));
    fflush(stderr);
    visible = true;
}

void status_line_wipe(void)
{
    if (visible)
        fputs("\r\033[K", stderr);
    visible = false;
}
