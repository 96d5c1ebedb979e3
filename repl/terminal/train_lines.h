#ifndef PRATTLE_REPL_TERMINAL_TRAIN_LINES_H
#define PRATTLE_REPL_TERMINAL_TRAIN_LINES_H
/*
 * What a training run looks like: a line now and then, and on a terminal a bar under it.
 */
#include "model/base/buf.h"
#include "train/run/metrics.h"

#include <stdbool.h>

/* "step 40/200  epoch 0.50  loss 3.2104 ...": the figures of a line; where they take more than
 * `width` columns (0: no limit), in brief, and where that is too long too, in rows. */
int train_lines_format(const struct metrics *m, int width, struct buf *out);
/* The same for a terminal, where such rows stand below each other: in as many columns each, without
 * accuracy, norm and samples/s where they would take more than one row of `width`. */
int train_lines_format_row(const struct metrics *m, int width, bool with_left, struct buf *out);
/* Print it; on a terminal also the loss as a small curve, where an epoch is over. */
void train_lines_show(const struct metrics *m);
/* Another run begins: its curve does too. */
void train_lines_begin(void);
/* It is over: the loss of all its lines as a small curve, on a terminal. */
void train_lines_end(void);
/* A row a layer of what its activations were like in the step m is of. */
void train_lines_show_activations(const struct metrics *m, const struct activation_stats *w);
/* Draw the bar, a few times a second, where there is a live line: m is of the last line,
 * `step` steps are taken and `part` of the next. progress_wipe takes it away. */
void train_lines_draw_bar(const struct metrics *m, int64_t step, double part);

#endif
