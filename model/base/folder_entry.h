#ifndef PRATTLE_MODEL_BASE_FOLDER_ENTRY_H
#define PRATTLE_MODEL_BASE_FOLDER_ENTRY_H
/*
 * What is in a folder:
 *
 *     DIR *dir = opendir(path);
 *     for (const char *name; (name = folder_entry_next(dir)) != NULL;)
 *         ...
 *     folder_entry_close(dir);
 */
#include <dirent.h>

/* The name of the next entry, other than "." and "..", in no particular order; NULL past the last,
 * and where dir is NULL. Borrowed until the next call. */
const char *folder_entry_next(DIR *dir);
/* closedir; accepts NULL. */
void folder_entry_close(DIR *dir);

#endif
