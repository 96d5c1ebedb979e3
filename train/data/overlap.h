#ifndef PRATTLE_TRAIN_DATA_OVERLAP_H
#define PRATTLE_TRAIN_DATA_OVERLAP_H
/* Files that are trained on and measured on. */
#include "model/base/progress.h"

/* Note where files of validation are files of data too, by whatever paths; both as in data_config.
 * Paths that are not found are no matter here. ERR_NOMEM. */
int data_note_overlap(const char *data, const char *validation, const struct progress *p);

#endif
