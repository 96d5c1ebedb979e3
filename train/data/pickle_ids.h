#ifndef PRATTLE_TRAIN_DATA_PICKLE_IDS_H
#define PRATTLE_TRAIN_DATA_PICKLE_IDS_H
/*
 * Python pickles (protocols 2 to 5; pickletools.py documents the opcodes) of a list of lists of
 * token ids, as preparations of OpenWebText write them: each list is a document. A list may be a
 * tuple or a one-dimensional array of NumPy; a list of ids alone is one document; several pickles
 * may follow one another.
 *
 * Weights have a reader of pickles too (weights/torch/pickle.h), which makes values of what it
 * reads. This one writes ids as they come and holds only what is open, so that memory does not grow
 * with the ids. Nothing is looked up, called or executed: what lists of ids do not need is refused
 * by name.
 */
#include "model/base/progress.h"
#include "train/data/id_spool.h"

#include <stdbool.h>

/* .pkl, .pickle */
bool pickle_ids_is_name(const char *name);
/* Whether a file that begins with these bytes may be one: other things are pickled too. */
bool pickle_ids_may_be(const char *head, size_t n);
/* Read all of f into s. ERR_FORMAT, ERR_UNSUPPORTED, ERR_RANGE, which name file and place. */
int pickle_ids_read(struct id_spool *s, const struct file *f, const struct progress *p);

#endif
