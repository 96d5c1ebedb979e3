#ifndef PRATTLE_REPL_SESSION_SHOW_H
#define PRATTLE_REPL_SESSION_SHOW_H
/*
 * Showing an answer on standard output: as text, made harmless for a terminal and streamed if there
 * is one answer; unescaped (raw); as ids; or as a JSON line.
 */
#include "repl/session/token_scores.h"
#include "repl/settings/options_table.h"
#include "repl/terminal/wrap.h"
#include "sampling/text/request.h"

#include <stdio.h>

struct showing {
    const struct settings *settings; /* borrowed */
    bool visible;                    /* to a terminal: nothing in it may steer one */
    bool stream;
    bool raw, jsonl;                  /* as it is, NUL behind it; an object a line */
    const struct line_scores *scores; /* of the answers to show, NULL: none; borrowed */
    const char *typed;                /* the prompt [n_typed], borrowed */
    size_t n_typed;
    struct buf line; /* its last line, that a person's answer begins with */
    bool begun;      /* what stands before the answer was shown */
    bool any, newline;
    bool wraps;
    struct wrap lines;
    struct buf safe, wrapped;
};
void show_init(struct showing *w, const struct settings *s, bool interactive);
void show_release(struct showing *w);
/* Set the prompt, borrowed, for answers that repeat it (setting echo). */
void show_typed(struct showing *w, const char *prompt, size_t n);
/* Whether the answer is shown after the last line of the text instead, which a terminal does; and
 * set that text [n]. Of a line that is longer than the screen is wide, the last words are shown. */
bool show_echoes_line(const struct showing *w);
int show_echo_line(struct showing *w, const char *text, size_t n);
/* Callbacks for generate, which show the text as it comes if it is streamed. */
struct generate_callbacks show_callbacks(struct showing *w);
void show_text(struct showing *w, const char *bytes, size_t n);
/* Show what was not streamed of n answers, and what ends each: a newline, or NUL with raw. */
void show_answers(struct showing *w, const struct answer *answers, int n);
/* After a failure: end the line of what was shown. */
void show_end_line(struct showing *w);
/* "[4 prompt tokens in 0.02 s; 128 new in 1.30 s, 98.5 tokens/s; length; seed 7]"; where that is
 * wider than a terminal, without what the prompt took. */
void show_figures(FILE *f, const struct settings *s, const struct answer *a, int n);

#endif
