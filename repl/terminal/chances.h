#ifndef PRATTLE_REPL_TERMINAL_CHANCES_H
#define PRATTLE_REPL_TERMINAL_CHANCES_H
/*
 * Tokens with how likely they were: bars and numbers, in columns that fit the screen. Colours say
 * which tokens were certain, as their numbers do.
 */
#include "model/base/buf.h"
#include "model/tokenizer/tokenizer.h"
#include "sampling/chain/sampler.h"

#include <stdio.h>

/* Probable enough to be left out where only the others are asked for. */
static const float CHANCE_CERTAIN = 0.9F;

/* A token of a text, and what else could have come in its place. */
struct choice {
    size_t number;             /* from 1 */
    struct alternative chosen; /* rank 0: nothing stands before it, so nothing was expected */
    struct alternative *others;
    int n_others; /* most likely first, the chosen one may be among them */
};

struct chances_look {
    int width;                               /* columns of the screen */
    bool blocks;                             /* it has block characters */
    const char *sure, *unsure, *dim, *plain; /* escape sequences, or "" */
};
/* A screen of fewer columns has no room for alternatives in a list. */
enum { CHANCES_NARROW = 60 };
/* That of f. */
void chances_look(struct chances_look *out, FILE *f);

/* "41.2", "<0.1", "100"; "-" for what cannot come. */
void chances_percent(char out[8], double p);
/* So many columns, filled from the left by p of them. */
int chances_bar(struct buf *out, double p, int columns, bool blocks);

/* What a list shows besides: of an answer the model's own number, of one whose numbers are the
 * model's own nothing, of a prompt the surprise. */
enum chances_of { CHANCES_OF_ANSWER, CHANCES_OF_OWN, CHANCES_OF_PROMPT };
/* A head, and a row for each choice: as many alternatives as fit. t may be NULL. */
int chances_list(struct buf *out, const struct chances_look *look, const struct tokenizer *t,
                 const struct choice *list, size_t n, enum chances_of of);
/* A head, and for each of n tokens a bar after the sampling settings and one of the model's own;
 * the chosen one is marked, and comes last if it is not among them; NULL: none is. */
int chances_table(struct buf *out, const struct chances_look *look, const struct tokenizer *t,
                  const struct alternative *list, int n, const struct alternative *chosen);

#endif
