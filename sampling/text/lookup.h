#ifndef PRATTLE_SAMPLING_TEXT_LOOKUP_H
#define PRATTLE_SAMPLING_TEXT_LOOKUP_H
/*
 * Prompt lookup: where the last ids of a text stood before, since what followed them then may
 * follow again (Saxena, "Prompt Lookup Decoding", 2023). An index of the text's n-grams: a token
 * is added, and an occurrence found, in constant expected time; memory is fixed by the longest
 * text.
 */
#include "model/base/ids.h"

enum { LOOKUP_SIZES = 4, LOOKUP_SHORTEST = 2, LOOKUP_REACH = 32 };
/* The lengths of n-grams in the index, longest first. */
extern const int lookup_sizes[LOOKUP_SIZES];

struct lookup {
    int *cells; /* [LOOKUP_SIZES][n_cells]: the end of an n-gram's last occurrence; 0: empty */
    size_t n_cells;
    size_t n; /* ids in the index */
};

/* What followed the last ids of the text when they stood there before. */
struct lookup_match {
    size_t next; /* the position of the id that followed; 0: they did not */
    int length;  /* how many ids before it are those before the end, at most LOOKUP_REACH */
};

/* An empty index for texts of up to max_ids. ERR_NOMEM. */
int lookup_init(struct lookup *l, size_t max_ids);
void lookup_release(struct lookup *l);
void lookup_reset(struct lookup *l);
/* Add text[l->n .. n-1]; the ids before are those that were added. */
void lookup_add(struct lookup *l, const token_id *text, size_t n);
/* The last earlier occurrence of the longest n-gram that ends the text, all of which was added. */
struct lookup_match lookup_find(const struct lookup *l, const token_id *text);

#endif
