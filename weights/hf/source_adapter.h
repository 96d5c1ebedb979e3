#ifndef PRATTLE_WEIGHTS_HF_SOURCE_ADAPTER_H
#define PRATTLE_WEIGHTS_HF_SOURCE_ADAPTER_H
/* Weights with an adapter merged into them, on their way from a source. */
#include "model/adapter.h"
#include "weights/tensors/source.h"

/* Merge the adapter into what is read from an open source: sums in fp32, then in the
 * precision of each tensor, or left in fp32. a is borrowed until source_close. */
int source_adapt(struct source *s, const struct adapter *a, bool own_precision);
/* The same in the precision of each tensor; a is the source's, unless that fails. */
int source_adapt_owned(struct source *s, struct adapter *a);
/* Which tensor of the source's table a LoRA branch belongs to; ERR_MISMATCH: none. */
int source_find_matrix(const struct source *s, const struct low_rank *t);

#endif
