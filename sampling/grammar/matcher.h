#ifndef PRATTLE_SAMPLING_GRAMMAR_MATCHER_H
#define PRATTLE_SAMPLING_GRAMMAR_MATCHER_H
/*
 * How far a text has come in a grammar: a pushdown automaton that goes byte by byte, all its
 * possible stacks at once. A state is a set of stacks; a stack is the place of the next byte in the
 * grammar's elements and below it the places at which to go on when a rule ends. Stacks share what
 * is below them (they are a tree; of a grammar in which a text can be read in many ways at once,
 * whose stacks differ below their top, there are many), equal stacks are one node, and equal states
 * one state: so steps that have been made are looked up, as in the lazy automata of RE2.
 *
 * Everything is allocated at the beginning. Where it does not suffice, matcher_keep forgets all
 * states but one.
 */
#include "sampling/grammar/grammar.h"

#include <stdbool.h>

struct matcher;

enum {
    MATCHER_DEAD = 0, /* the state after a byte that the grammar does not allow */
    MATCHER_FULL = -1 /* no state: there is no room for another */
};
enum { MATCHER_DEPTH = 4096 /* rules within rules, at most: what goes deeper does not match */ };

enum { MATCHER_NODES = 1 << 18 /* the usual room, of which memory is only what was used */ };
/* With room for so many nodes; g is borrowed. ERR_NOMEM. */
int matcher_new(struct matcher **out, const struct grammar *g, int most);
void matcher_free(struct matcher *m);
/* Forget all states; returns that of an empty text, MATCHER_FULL: there is no room for it. */
int matcher_start(struct matcher *m);
/* The state after one more byte. */
int matcher_step(struct matcher *m, int state, unsigned char byte);
/* Whether the text may end here, and whether it may go on. */
bool matcher_ends(const struct matcher *m, int state);
bool matcher_goes_on(const struct matcher *m, int state);
/* Forget all other states; returns the number that this one has then. */
int matcher_keep(struct matcher *m, int state);
/* A measure of the work so far: stacks looked at. */
uint64_t matcher_looks(const struct matcher *m);

#endif
