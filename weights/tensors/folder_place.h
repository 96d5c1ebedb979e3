#ifndef PRATTLE_WEIGHTS_TENSORS_FOLDER_PLACE_H
#define PRATTLE_WEIGHTS_TENSORS_FOLDER_PLACE_H
/*
 * Replacing a model's files in a folder that exists. The folder itself stays: it may be somebody's
 * working directory, a mount, or hold a run at work; and so do all files of others. In it
 *
 *     .prattle-save-XXXXXX   the new files while they are written, locked (flock) by their writer
 *     .prattle-old-XXXXXX    the old files on their way out, config.json first
 *     .prattle-new-XXXXXX    the new files on their way in, config.json last
 *
 * so that a folder with a configuration is a whole model, the old one or the new, and one that a
 * kill left without has both here, of which folder_place_mend brings one back.
 */
#include <stdbool.h>

/* A name for folder_writer.temp, for mkdtemp; new memory. NULL: ERR_NOMEM. */
char *folder_place_temp(const char *path);
/* An open and locked descriptor of a new temporary folder; -1: errno says why. */
int folder_place_lock(const char *temp);

/* Whether nothing is in the folder but what writers left that were killed before they placed it. */
bool folder_is_empty(const char *path);
/* Whether the file is one of a model, ours or another program's. */
bool folder_is_model_file(const char *name);

/*
 * Replace the model's files at path by those of the folder `made` of the same file system, which
 * goes with that. A file takes the permissions of the one that it replaces. ERR_EXISTS: without
 * force, the folder is not empty; or it has a folder of the name of a new file. After a failure
 * the old files are there, and made.
 */
int folder_place(const char *made, const char *path, bool force);

/*
 * Where a kill left the folder between two models, bring the one back that is whole: the new, once
 * all of the old was out, else the old. Whoever opens or replaces a model calls it first. A folder
 * with a configuration is not touched, nor one that has a file of the user's in the place of one
 * that would come back, or that cannot be locked or written.
 */
enum folder_mended { FOLDER_WHOLE, FOLDER_OLD, FOLDER_NEW };
enum folder_mended folder_place_mend(const char *path);

/* Where that did nothing and a kill left the folder between two models: say how to get the one back
 * that is whole, as the error `rc`. Otherwise the error stays as it is. Returns rc. */
int folder_place_explain(int rc, const char *path);

#endif
