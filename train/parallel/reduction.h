#ifndef PRATTLE_TRAIN_PARALLEL_REDUCTION_H
#define PRATTLE_TRAIN_PARALLEL_REDUCTION_H
/*
 * The gradients of a step whose blocks several ranks have computed, added up to the bits that one
 * process has. Bytes move and the ranks add: each has a slice of the gradients, is sent that slice
 * of every node of the tree (step/gradient_blocks.h) that others have, and joins them in the tree's
 * order. It goes on in parts, of which two are on their way at once:
 *
 *   part 0   nodes to the slices' ranks | add | sums to all
 *   part 1                                nodes | add | sums to all
 */
#include "train/parallel/group.h"
#include "train/step/gradient_blocks.h"

struct reduction; /* buffers, and which nodes are joined in which order */

/*
 * Of gradients of a step whose blocks the ranks of a group share, for as long as the world and its
 * division are as they are.
 *
 * firsts  [size + 1], which blocks each rank has (division.h); looked at now only
 * bounds  [size + 1], where the slices begin, in elements; copied
 * half    nodes are rounded (half_partials.h), and are sent and received in 16 bits
 * returns ERR_NOMEM, or 0
 */
int reduction_new(struct reduction **out, const struct rank_group *g, const int *firsts,
                  const size_t *bounds, enum dtype dtype, bool half);
void reduction_free(struct reduction *r);
/* The memory of one of n elements, whose blocks are divided evenly. */
size_t reduction_bytes(int n_blocks, int size, size_t n, enum dtype dtype, bool half);
/*
 * By all of the group, once all blocks are done. The gradients [n], in which the last node of b
 * lies, become those of the step: this rank's slice of them, or, to_all, all. sums become those of
 * the step. Everything else that nodes lie in is overwritten.
 */
void reduction_run(struct reduction *r, struct gradient_blocks *b, void *gradients,
                   struct step_result *sums, bool to_all);

#endif
