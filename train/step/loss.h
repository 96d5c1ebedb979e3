#ifndef PRATTLE_TRAIN_STEP_LOSS_H
#define PRATTLE_TRAIN_STEP_LOSS_H
/*
 * Cross entropy, its gradient and the head's, slice by slice over positions and vocabulary:
 * no more than [loss_rows, loss_columns] logits exist at once.
 */
#include "train/step/backward_pass.h"
#include "train/step/step_result.h"

struct loss {
    int slice_rows, slice_columns;
    float *logits;            /* [slice_rows,slice_columns] */
    double *row_loss;         /* [rows] */
    bool *row_correct;        /* [rows] */
    struct loss_row *running; /* [slice_rows]: a softmax under way, where the vocabulary is cut */
};

/* The greatest logit so far, the sum of exponentials below it, and the label's own. */
struct loss_row {
    float greatest, label;
    token_id best;
    double sum;
};

/*
 * Over the rows of the pass's f->hidden, in pieces, one call after another: 0 .. loss_pieces -
 * 1. With `backward`, p->b->branch gets the gradient of hidden and the head's weights theirs,
 * of the sum of losses * scale. labels [rows] of the whole pass. By every thread; ends with a
 * barrier.
 */
int loss_pieces(const struct loss *l, const struct backward *b, bool backward);
void loss_piece(const struct loss *l, const struct backward_thread *p, int piece,
                const token_id *labels, float scale, bool backward);
/* Added up in the rows' order; by one thread, after it. */
void loss_sum(const struct loss *l, struct step_result *out, const token_id *labels, int rows);

#endif
