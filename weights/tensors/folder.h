#ifndef PRATTLE_WEIGHTS_TENSORS_FOLDER_H
#define PRATTLE_WEIGHTS_TENSORS_FOLDER_H
/*
 * Atomic replacement of a model's folder: files are written to a temporary folder next to it (with
 * file_create, which syncs them); folder_commit puts that folder in its place by one rename and
 * syncs the parent. Until then the old folder stays.
 */
#include <stdbool.h>

struct folder_writer {
    char *path, *temp; /* owned; files are written to temp */
    bool force;
    bool any_files; /* temp has other files than a model's; folder_abandon removes them too */
};

/* ERR_EXISTS: path exists and is no folder, or, without force, a folder that is not empty. */
int folder_check(const char *path, bool force);
/* Make the temporary folder. Fails as folder_check. */
int folder_create(struct folder_writer *f, const char *path, bool force);
/*
 * Put the new folder in place. Of an old folder the model's files are deleted, and all others move
 * to the new one. ERR_EXISTS: there is a folder that was not there before, without force, or the
 * old one has a folder of the name of a new file; nothing is changed.
 */
int folder_commit(struct folder_writer *f);
/* Delete what was written. Accepts NULL; does nothing after folder_commit. */
void folder_abandon(struct folder_writer *f);

/* The path with links followed and without a final slash, so that appending to it names a sibling
 * of the folder; unchanged if nothing is there. New memory; NULL: ERR_NOMEM. */
char *folder_real_path(const char *path);

#endif
