#ifndef PRATTLE_TESTS_SCRATCH_H
#define PRATTLE_TESTS_SCRATCH_H
/* Folders for the files of tests and fuzz targets, under TMPDIR. Where one cannot be made or
 * written, the program says why and aborts. */
#include "model/base/file.h"
#include "model/base/mem.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct scratch {
    char folder[PATH_MAX];
};

void scratch_open(struct scratch *s);
/* The folder goes with all that is in it. */
void scratch_close(struct scratch *s);

/* folder/name, valid until the next call but three. */
const char *scratch_path(const struct scratch *s, const char *name);
void scratch_write(const struct scratch *s, const char *name, const void *bytes, size_t n);

/* The sentence with the folder's path as "DIR". */
const char *scratch_sentence(const struct scratch *s, const char *sentence);

/* The folder of this process, which goes when it exits. */
const struct scratch *scratch_of_process(void);
/* Its file of this name, with these bytes; the path as of scratch_path. */
const char *scratch_file(const char *name, const void *bytes, size_t n);

#endif
