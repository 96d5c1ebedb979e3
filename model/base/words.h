#ifndef PRATTLE_MODEL_BASE_WORDS_H
#define PRATTLE_MODEL_BASE_WORDS_H
/*
 * Lists of words as settings hold them ("\n,User:,a\,b"), and the nearest of a list
 * to a word somebody mistyped.
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
 * Words separated by commas, each as it stands, blanks too. C escapes: \n \t \r \a \b
 * \f \v \e \0 \\ \" \' \xHH, and \, for a comma inside a word. NULL and "" give none.
 * ERR_RANGE: an empty word or an unknown escape; out is then empty.
 */
int words_parse(struct words *out, const char *text);
void words_release(struct words *w);
/* Whether text is such a list: ERR_RANGE with "name: " in front. */
int words_check(const char *name, const char *text);

/* The nearest of n names to this one by Damerau-Levenshtein distance, the first of
 * several; NULL if none is near (more than a third of its letters, and 2, differ). */
const char *words_nearest(const char *name, const char *const *names, size_t n);

#endif
