#ifndef PRATTLE_WEIGHTS_HF_SOURCE_ADAPTER_H
#define PRATTLE_WEIGHTS_HF_SOURCE_ADAPTER_H
/* A source whose readers merge an adapter into the weights. */
#include "model/adapter.h"
#include "weights/tensors/source.h"

/*
 * Merge the adapter into what is read from an open source: summed in fp32, then rounded to each
 * tensor's own precision. Reading fails with ERR_RANGE if that makes a finite weight NaN or
 * infinite. a is borrowed until source_close. ERR_MISMATCH: the weights have other shapes; s is
 * then unchanged.
 */
int source_adapt(struct source *s, const struct adapter *a);
/* The same, but the sums stay in fp32; ERR_RANGE if one is infinite in the type `holds` of the
 * weights in memory. */
int source_adapt_sums(struct source *s, const struct adapter *a, enum dtype holds);
/* Undo the last source_adapt or source_adapt_sums. */
void source_unadapt(struct source *s);
/* As source_adapt; on success s owns a. */
int source_adapt_owned(struct source *s, struct adapter *a);
/* The index in the source's table of the matrix of a LoRA branch; ERR_MISMATCH: there is none. */
int source_find_matrix(const struct source *s, const struct low_rank *t);

#endif
