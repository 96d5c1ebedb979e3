#ifndef PRATTLE_TRAIN_STEP_LOSS_H
#define PRATTLE_TRAIN_STEP_LOSS_H
/*
 * The output head and cross entropy, forward and backward, in slices of positions and vocabulary
 * columns: no more than [slice_rows,slice_columns] logits exist at once. Where several processes
 * have some of the vocabulary each (model/shard.h), a row's softmax and the gradient of hidden are
 * sums that go round them, and a process's slices are of its own columns.
 */
#include "train/step/backward_pass.h"
#include "train/step/step_result.h"

/* A row's softmax is summed up by so many columns, of which a slice has a multiple. */
enum { LOSS_COLUMNS = SHARD_COLUMNS };

struct loss {
    int slice_rows, slice_columns;
    float *logits;            /* [slice_rows,slice_columns] */
    double *row_loss;         /* [rows] */
    bool *row_correct;        /* [rows] */
    struct loss_row *running; /* [slice_rows], of the current slice of positions */
};

/* The running softmax of one position: maximum logit and its token so far, sum of exp(logit -
 * maximum), and the logit of the label. */
struct loss_row {
    float greatest, label;
    token_id best;
    double sum;
};

/*
 * The loss of every row of f->hidden [rows,C], computed by one call for each piece 0 ..
 * loss_pieces - 1, between which a pass may be interrupted. With `backward` the pieces also
 * differentiate scale times the sum of losses: p->b->branch becomes the gradient of hidden, and
 * that of the head's weights is added. labels [rows]. To be called by every thread of the job;
 * ends with a barrier.
 */
int loss_pieces(const struct loss *l, const struct backward *b, bool backward);
void loss_piece(const struct loss *l, const struct backward_thread *p, int piece,
                const token_id *labels, float scale, bool backward);
/* Add the rows, in their order, to the sums; called by one thread after the last piece. */
void loss_sum(const struct loss *l, struct step_result *out, const token_id *labels, int rows);

#endif
