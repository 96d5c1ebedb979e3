#ifndef PRATTLE_WEIGHTS_PANEL_FOLDER_H
#define PRATTLE_WEIGHTS_PANEL_FOLDER_H
/* The folder of the panel cache: what is in it, and room for more. */
#include "weights/panel_file.h"

#include <time.h>

/* $XDG_CACHE_HOME/prattle/panels, or in ~/.cache; in fresh memory. NULL: neither is known. */
char *panel_folder_path(void);

struct panel_listed {
    char key[PANEL_KEY_BYTES + 1];
    uint64_t bytes; /* of the file */
    time_t used;
    struct panel_header header;
};
struct panel_list {
    struct panel_listed *entries; /* [n], the last used first; owned */
    size_t n;
    uint64_t bytes; /* of all */
};
/* Files that are no entries are left out; without a folder the list is empty. ERR_NOMEM. */
int panel_folder_list(struct panel_list *out, const char *folder);
void panel_list_release(struct panel_list *l);

/*
 * Make the folder, the user's alone, and room for `bytes` more: entries that were not used for
 * longest are deleted until all have no more than the limit; so are files that writers left which
 * were killed. Fails, ERR_IO or ERR_RANGE, if there can be no such room, the disk's included.
 */
int panel_folder_prepare(const char *folder, uint64_t bytes, uint64_t limit);
/* Delete an entry, by its key. */
int panel_folder_drop(const char *folder, const char *key);

#endif
