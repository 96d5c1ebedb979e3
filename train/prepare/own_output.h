#ifndef PRATTLE_TRAIN_PREPARE_OWN_OUTPUT_H
#define PRATTLE_TRAIN_PREPARE_OWN_OUTPUT_H
/*
 * Files that are read, since they were found in a folder or by a pattern, and are to be written:
 * what an earlier call made there.
 */
#include "train/data/source.h"
#include "train/prepare/output.h"

/* Whether a source is such a file, of one of n paths of output_path. */
bool own_output_is(const struct data_source *s, enum output_format f, char *const *paths, int n);
/* Of tokens nobody can tell whether they are data, or those of an earlier call. Returns
 * ERR_EXISTS. */
int own_output_refuse(const char *path);

#endif
