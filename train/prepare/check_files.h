#ifndef PRATTLE_TRAIN_PREPARE_CHECK_FILES_H
#define PRATTLE_TRAIN_PREPARE_CHECK_FILES_H
/* The files of a data set's folder, and the lists that name them. */
#include "model/base/ids.h"
#include "model/base/sha256.h"

struct check_report {
    uint64_t files, bytes;  /* of a folder; 0: it is none */
    char sum[SHA256_HEX];   /* of their names and sizes, as Languini's integrity_test.py */
    uint64_t lists, listed; /* file lists, and the files that they name */
    uint64_t indexed;       /* TFRecord records that an index names */
    uint64_t documents, tokens;
    token_id least, most;
    uint64_t texts; /* documents that were compared */
};

/*
 * Count all files of a folder and of those in it, and hash the lines "size TAB name" of them,
 * sorted by name and size.
 */
int check_folder(struct check_report *r, const char *folder);
/*
 * Languini's lists, file_list*.npy in the folder or the one above: each file that they name is in
 * the folder, and has as many ids as they say. ERR_MISMATCH.
 */
int check_lists(struct check_report *r, const char *folder);

#endif
