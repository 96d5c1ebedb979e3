#include "model/base/part.h"

#include "model/base/err.h"
#include "model/base/file.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef PREFIX
#define PREFIX "/usr/local"
#endif

/* As far as the last '/', "" where that is not known. */
static void program_folder(char folder[PATH_MAX])
{
    const ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    folder[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(folder, '/');
    folder[slash == NULL ? 0 : slash - folder] = '\0';
}

int part_find(char path[PART_PATH], const struct part *p)
{
    char folder[PATH_MAX];
    program_folder(folder);
    const char *const places[][2] = {
        {folder, ""}, {folder, "/../lib/prattle"}, {PREFIX, "/lib/prattle"}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (*places[i][0] != '\0' &&
            snprintf(path, PART_PATH, "%s%s/prattle-%s.so", places[i][0], places[i][1], p->name) <
                PART_PATH &&
            file_exists(path))
            return 0;
    return err_set(ERR_MISSING,
                   "%s %s prattle-%s.so, which make builds where %s is (Debian and Ubuntu: apt-get "
                   "install %s)",
                   p->what, p->verb, p->name, p->library, p->build);
}

int part_check(const struct part *p)
{
    char path[PART_PATH];
    return part_find(path, p);
}

int part_open(const struct part *p, void *function)
{
    char path[PART_PATH], why[200];
    int rc = part_find(path, p);
    if (rc != 0)
        return rc;
    void *library = dlopen(path, RTLD_NOW | (p->global ? RTLD_GLOBAL : RTLD_LOCAL));
    if (library == NULL)
        return err_set(ERR_MISSING,
                       "%s %s %s: install it (Debian and Ubuntu: apt-get install %s); %s", p->what,
                       p->verb, p->library, p->run, file_show(why, sizeof why, dlerror()));
    void *symbol = dlsym(library, p->entry);
    if (symbol == NULL)
        return err_set(ERR_UNSUPPORTED,
                       "prattle-%s.so is of another version of prattle: run make again", p->name);
    memcpy(function, &symbol, sizeof symbol);
    return 0;
}
