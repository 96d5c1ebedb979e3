#ifndef PRATTLE_MODEL_BASE_FILE_PATH_H
#define PRATTLE_MODEL_BASE_FILE_PATH_H
/*
 * Paths and folders. Functions that return char * return new memory, to be freed with mem_free,
 * or NULL after err_set (ERR_NOMEM unless stated otherwise).
 */
#include <stdbool.h>

/* Whether path exists; a dangling symbolic link does. */
bool file_exists(const char *path);
/* Whether the folder has an entry of this name. Allocates nothing: false for paths over PATH_MAX.
 */
bool file_exists_in(const char *folder, const char *name);
/* Whether both paths exist and are the same file after following symbolic links. */
bool file_is_same(const char *a, const char *b);
bool file_is_folder(const char *path);

/* mkdir -p: 0 if the folder exists already. ERR_MISSING, ERR_IO. */
int file_make_folder(const char *path);
/* Check whether file_make_folder would succeed and the folder would be writable; creates nothing.
 */
int file_check_folder(const char *path);
/* Of a path that need not exist the longest part that does, "." if none does. */
char *file_part_there(const char *path);

/* "folder/name" */
char *file_join(const char *folder, const char *name);
/* "~" and "~/x" with the home folder; any other path is copied. */
char *file_expand(const char *path);

/* The program of this name that the shell would start: the first executable file in the folders of
 * PATH, of which an empty one is ".". NULL: there is none, or no memory, without err_set. */
char *file_find_program(const char *name);

/*
 * The path of NAME in the program's user folder of one kind, by the XDG Base Directory
 * Specification: $XDG_STATE_HOME/prattle/NAME, or ~/.local/state/prattle/NAME where the variable
 * is not set, and likewise for the other kinds. Creates nothing. ERR_MISSING: neither the
 * variable nor HOME is set.
 */
enum file_home { HOME_CONFIG, HOME_DATA, HOME_STATE, HOME_CACHE };
char *file_home(enum file_home kind, const char *name);

#endif
