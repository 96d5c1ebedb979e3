#ifndef PRATTLE_WEIGHTS_TENSORS_FOLDER_H
#define PRATTLE_WEIGHTS_TENSORS_FOLDER_H
/*
 * Atomic replacement of a model: files are written to a temporary folder (with file_create, which
 * syncs them), and folder_commit puts them in place. Until then the old model stays. A new folder
 * is written next to its place and renamed; of one that is there the files are replaced, from
 * within (folder_place.h).
 */
#include <stdbool.h>

struct folder_writer {
    char *path, *temp; /* owned; files are written to temp */
    int lock;          /* of a temp within path; -1: none */
    bool force;
    bool any_files; /* temp has other files than a model's; folder_abandon removes them too */
};

/* ERR_EXISTS: path exists and is no folder, or, without force, a folder that is not empty. */
int folder_check(const char *path, bool force);
/* Make the temporary folder. Fails as folder_check. */
int folder_create(struct folder_writer *f, const char *path, bool force);
/*
 * Put the new files in place. Of a folder that is there the model's files are deleted, and all
 * others, its permissions and its owner stay. ERR_EXISTS: there is a folder that was not there
 * before, without force, or it has a folder of the name of a new file; nothing is changed.
 */
int folder_commit(struct folder_writer *f);
/* Delete what was written. Accepts NULL; does nothing after folder_commit. */
void folder_abandon(struct folder_writer *f);

/* The path with links followed and without a final slash, so that appending to it names a sibling
 * of the folder; unchanged if nothing is there. New memory; NULL: ERR_NOMEM. */
char *folder_real_path(const char *path);

#endif
