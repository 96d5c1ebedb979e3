#ifndef PRATTLE_WEIGHTS_TENSORS_WEIGHTS_SAMPLE_H
#define PRATTLE_WEIGHTS_TENSORS_WEIGHTS_SAMPLE_H
/*
 * By a sample of its matrices an adapter knows the weights that it was trained with, whatever file
 * or precision they come in later. It is in the adapter's file, as text.
 */
#include "model/adapter.h"
#include "model/base/buf.h"
#include "weights/tensors/source.h"

/* From an open source without an adapter. Empty where the weights are of a type so coarse that
 * nothing follows from a difference: 2 to 6 bits. Errors of the source's readers. */
int weights_sample_take(struct weights_sample *out, const struct source *s);
/* Whether both are of the same weights, as far as the coarser precision tells; true if one is
 * empty. */
bool weights_sample_match(const struct weights_sample *a, const struct weights_sample *b);
/* "F16 3c00...": the precision, then the values as 4 hexadecimal digits each. */
int weights_sample_write(struct buf *out, const struct weights_sample *a);
/* A note where an adapter was trained with other weights than those it is to be used with, which
 * are called `name`. */
void weights_sample_note(const struct adapter *a, const struct weights_sample *weights,
                         const char *name, const struct progress *p);
/* The same for weights of a source. Errors as weights_sample_take. */
int weights_sample_check(const struct adapter *a, const struct source *s, const char *name,
                         const struct progress *p);
/* Empty where the text is no such sample, as one of a later version. */
void weights_sample_read(struct weights_sample *out, const char *text);

#endif
