#ifndef PRATTLE_WEIGHTS_HF_SOURCE_ADAPTER_H
#define PRATTLE_WEIGHTS_HF_SOURCE_ADAPTER_H
/* Weights with an adapter merged into them, on their way from a source. */
#include "model/adapter.h"
#include "weights/tensors/source.h"

/*
 * Merge the adapter into what is read from an open source: sums in fp32, then in the precision of
 * each tensor. Reading fails with ERR_RANGE where that makes a weight NaN or infinite that was
 * neither. a is borrowed until source_close. On failure s is as it was.
 */
int source_adapt(struct source *s, const struct adapter *a);
/* The same, the sums left in fp32: for weights kept in memory as `holds`, which must hold them. */
int source_adapt_sums(struct source *s, const struct adapter *a, enum dtype holds);
/* Take the last adapter merged back out of what is read. */
void source_unadapt(struct source *s);
/* As source_adapt; a is the source's, unless that fails. */
int source_adapt_owned(struct source *s, struct adapter *a);
/* Which tensor of the source's table a LoRA branch belongs to; ERR_MISMATCH: none. */
int source_find_matrix(const struct source *s, const struct low_rank *t);

#endif
