#ifndef PRATTLE_WEIGHTS_FOREIGN_FAIRSEQ_H
#define PRATTLE_WEIGHTS_FOREIGN_FAIRSEQ_H
#include "weights/foreign/foreign_kind.h"

/* fairseq's transformer_lm (transformer_lm_gpt and its like): checkpoint_best.pt and others, with
 * cfg or, in old ones, args. Token ids are those of its dict.txt. */
extern const struct foreign_kind foreign_fairseq;

#endif
