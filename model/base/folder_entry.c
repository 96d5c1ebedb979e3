#include "model/base/folder_entry.h"

#include <string.h>

const char *folder_entry_next(DIR *dir)
{
    const struct dirent *e = NULL;
    do
        e = dir == NULL ? NULL : readdir(dir);
    while (e != NULL && (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0));
    return e == NULL ? NULL : e->d_name;
}

void folder_entry_close(DIR *dir)
{
    if (dir != NULL)
        closedir(dir);
}
