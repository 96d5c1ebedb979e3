#ifndef PRATTLE_WEIGHTS_TENSORS_FOLDER_H
#define PRATTLE_WEIGHTS_TENSORS_FOLDER_H
/*
 * Atomic writing of a model's folder: files go to a temporary folder beside it; folder_commit syncs
 * them, puts that folder in its place by one rename and syncs the parent. Until then the old one
 * stands.
 */
#include <stdbool.h>

struct folder_writer {
    char *path, *temp; /* owned; files are written to temp */
    bool force;
    bool any_files; /* temp has other files than a model's, to be removed with it too */
};

/*
 * Without force an existing path is ERR_EXISTS, unless it is an empty folder; with
 * force it must be a folder (ERR_EXISTS too).
 */
int folder_create(struct folder_writer *f, const char *path, bool force);
/*
 * In place of an old folder: the new one takes its name in one step, then the files of
 * the old model go, and everything else that was there moves over.
 */
int folder_commit(struct folder_writer *f);
/* Removes what was written; NULL-safe, and harmless after a commit. */
void folder_abandon(struct folder_writer *f);

/* The path with links followed and without a slash at its end, so that a sibling of the folder
 * itself can be named; as it is where there is nothing. In fresh memory. */
char *folder_real_path(const char *path);

#endif
