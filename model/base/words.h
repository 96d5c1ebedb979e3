#ifndef PRATTLE_MODEL_BASE_WORDS_H
#define PRATTLE_MODEL_BASE_WORDS_H
/*
 * Comma-separated lists of words in settings ("\n,User:,a\,b"), and the closest match for a
 * mistyped name.
 */
#include <stddef.h>

struct words {
    struct word {
        char *bytes; /* owned, followed by a NUL that is not counted */
        size_t n;    /* >= 1 */
    } * list;
    size_t n;
};

/*
 * Split text at its commas; spaces belong to the words. Escapes: \n \t \r \a \b \f \v \e \0 \\
 * \" \' \xHH as in C, and \, for a comma inside a word. NULL and "" give an empty list.
 * ERR_RANGE: an empty word or an unknown escape; out is then empty.
 */
int words_parse(struct words *out, const char *text);
void words_release(struct words *w);
/* A text that is no list, in fresh memory, with \n, \t, \r and \\ undone; any other backslash
 * stays, as in LaTeX's \section. NULL: no memory. */
char *words_undo_escapes(const char *text);
/* The other way for what a line cannot show, in fresh memory: a new line is \n, a tab \t, a
 * carriage return \r, and escapes that are there stay. Means the same to words_undo_escapes and
 * words_parse. NULL: no memory. */
char *words_escape(const char *text);
/* Of words in quotes with commas between, `"a", "b"`, fresh text for words_parse; NULL where text
 * [n] is not several of them. ERR_RANGE: a comma is missing. */
int words_unquote(char **out, const char *text, size_t n);
/* Check that words_parse accepts text: 0, or its error with "name: " in front. */
int words_check(const char *name, const char *text);

/* The one of n names closest to `name` by restricted Damerau-Levenshtein distance, ignoring case;
 * the first of several. NULL if every distance is above the greater of 2 and a third of name's
 * length, or half the longer name or more and `name` does not begin the other. */
const char *words_nearest(const char *name, const char *const *names, size_t n);

#endif
