#ifndef PRATTLE_TRAIN_STEP_GRADIENT_H
#define PRATTLE_TRAIN_STEP_GRADIENT_H
/*
 * The gradients of weights. Each element is one chain of additions over the tokens of a step: the
 * tokens of a sequence in their order, sequences in the order of their numbers. A micro-batch takes
 * the chain up where the one before left it, so that the bits do not depend on how a step is
 * divided. In float16 an element is rounded to binary16 at the end of each sequence, for the same
 * reason.
 *
 * wte as the embedding is an exception, since as the output head it has gradients too, and a
 * micro-batch has those of its last token before those of its first: the rows that tokens used are
 * added up apart, and to the rest once at the end of the step.
 */
#include "model/base/mem.h"
#include "train/step/backward_pass.h"

struct product;

/* Of the rows row .. last - 1, how many may be added at once. */
int gradient_run(const struct backward *b, int row, int last);
/* Add a product over a run of rows that begins at `row`: m with add, finish, user and c set here;
 * this thread's share, no barrier. ldc is m's. */
void gradient_add_product(const struct backward_thread *p, struct product *m, float *gradient,
                          int row);
/* gradient [N] += the rows of dy [rows,N], one after another. This thread's columns; no barrier. */
void gradient_add_rows(const struct backward_thread *p, float *gradient, const float *dy, int N);
/* In float16: x [n] to the nearest that binary16 has. */
void gradient_round(const struct backward *b, float *x, size_t n);

/* The gradient of the rows of wte that tokens of the step have used; carved from one block. */
struct embedding_gradient {
    int32_t *place; /* [V], of a token in ids and rows, plus 1; 0: none */
    token_id *ids;  /* [capacity] */
    float *rows;    /* [capacity,C]; zero from row n on */
    size_t n, capacity, C;
};
/* For a vocabulary of V and steps of at most `tokens`; 0: not known. */
void gradient_carve_embedding(struct embedding_gradient *e, struct arena *a, int V, int C,
                              int64_t tokens);
/* Give the tokens of the pass that are here (model/shard.h) their places; by one thread. */
void gradient_place_tokens(const struct backward *b);
/* That of a token that has one. */
static inline float *gradient_token_row(const struct embedding_gradient *e, token_id id)
{
    return e->rows + ((size_t)e->place[id] - 1) * e->C;
}
/* Add the rows to the gradient of wte, [V,C] of dtype, and forget them; by the whole team. */
void gradient_join_embedding(struct embedding_gradient *e, void *wte, enum dtype dtype);
void gradient_forget_embedding(struct embedding_gradient *e);

#endif
