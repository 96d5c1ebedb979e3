#ifndef PRATTLE_MODEL_BASE_RECORD_FILE_H
#define PRATTLE_MODEL_BASE_RECORD_FILE_H
/*
 * Results in their order: a file of JSON objects, one a line, that is only appended to, in the
 * program's state folder ($XDG_STATE_HOME/prattle).
 */
#include "model/base/json.h"

/* Append a record in one write, so that several programs may do so at a time. ERR_IO, ERR_MISSING
 * (no home folder). */
int record_file_add(const char *name, const json_t *record);

struct records {
    json_t **list; /* [n], oldest first; owned */
    size_t n;
    size_t n_bad; /* lines that are no records, which are ignored */
};
/* Those that is_record takes. No file gives none. ERR_RANGE: the file is too large. */
int record_file_read(struct records *r, const char *name, bool (*is_record)(const json_t *o));
void records_release(struct records *r);
/* Leave out all but the newest n. */
void records_keep_newest(struct records *r, size_t n);
/* Forget all. No file is none. ERR_IO. */
int record_file_clear(const char *name);

#endif
