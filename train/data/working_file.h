#ifndef PRATTLE_TRAIN_DATA_WORKING_FILE_H
#define PRATTLE_TRAIN_DATA_WORKING_FILE_H
/*
 * A file without a name for what has to lie on disk while it is read: it goes with its last
 * descriptor, however the program ends.
 */
#include "model/base/file.h"
#include "model/base/progress.h"

/*
 * The folder for these and for encoded texts, made if need be, in fresh memory: "data" in
 * $XDG_CACHE_HOME/prattle. Where there is none and none can be made, as for the user of a service,
 * it is "prattle-UID/data" in $TMPDIR or /var/tmp, which nobody else may write in; p is told when
 * that is begun. NULL: an error was set.
 */
char *working_folder(const struct progress *p);
/* The path in the cache folder of a set NAME.sha256 that is there for reading alone, as where
 * somebody shares one, in fresh memory; NULL: there is none. */
char *working_shared(const char *name);
/* Make an empty one in a folder; close it with working_file_close. name: what messages call it,
 * borrowed. ERR_IO. */
int working_file_open(struct file *f, const char *folder, const char *name);
void working_file_close(struct file *f);
/*
 * Append what read gives, as text_stream_read does, up to its end.
 * expected  how many bytes that is, 0: not known
 * folder    of the file, for messages
 * returns   0; ERR_IO: the disk is full, or has no room for what is expected; errors of read
 */
int working_file_fill(struct file *f, const char *folder, uint64_t expected,
                      int (*read)(void *user, char *dst, size_t n, size_t *got), void *user);

#endif
