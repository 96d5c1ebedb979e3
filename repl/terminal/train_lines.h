#ifndef PRATTLE_REPL_TERMINAL_TRAIN_LINES_H
#define PRATTLE_REPL_TERMINAL_TRAIN_LINES_H
/*
 * What a training run looks like: a line now and then, and on a terminal a bar under it.
 */
#include "model/base/buf.h"
#include "train/run/metrics.h"

/* "step 40/200  epoch 0.50  loss 3.2104 ...": the figures of a line; where they take more than
 * `width` columns (0: no limit), in brief, and where that is too long too, in rows. */
int train_lines_format(const struct metrics *m, int width, struct buf *out);
/* Print it. */
void train_lines_show(const struct metrics *m);
/* A row a layer of what its activations were like in the step m is of. */
void train_lines_show_activations(const struct metrics *m, const struct activation_stats *w);
/* Draw the bar, a few times a second, where there is a live line: m is of the last line,
 * `step` steps are taken and `part` of the next. progress_wipe takes it away. */
void train_lines_draw_bar(const struct metrics *m, int64_t step, double part);

#endif
