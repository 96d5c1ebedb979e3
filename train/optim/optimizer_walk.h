#ifndef PRATTLE_TRAIN_OPTIM_OPTIMIZER_WALK_H
#define PRATTLE_TRAIN_OPTIM_OPTIMIZER_WALK_H
/* The way of an optimizer through its pieces, in memory or on disk. */
#include "train/optim/optimizer_internal.h"

/* What is on disk, as the walk numbers it. */
enum { MOMENTS = 1 | 2, WEIGHTS = 4, GRADIENTS = 8 };

struct optimizer_pass;
typedef void optimizer_visit(const struct optimizer_pass *j, int piece);

/* The pieces that are stepped here, part by part; each thread has a run of each part's. used: what
 * f reads of what may be on disk, changed: and what it writes. By every thread of a job. */
void optimizer_walk(const struct optimizer *o, int thread, int n_threads, unsigned used,
                    unsigned changed, optimizer_visit *f, const struct optimizer_pass *j);

#endif
