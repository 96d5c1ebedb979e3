#include "model/base/mem_room.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number behind a name at the beginning of a line; name "": of the first line. */
static bool read_number(uint64_t *out, const char *path, const char *name)
{
    char line[256];
    bool found = false;
    FILE *f = fopen(path, "r");
    while (f != NULL && !found && fgets(line, sizeof line, f) != NULL) {
        const size_t n = strlen(name);
        char *end;
        if (strncmp(line, name, n) != 0)
            continue;
        *out = strtoull(line + n, &end, 10);
        found = end != line + n;
        if (n == 0)
            break;
    }
    if (f != NULL)
        fclose(f);
    return found;
}

/* The files of one version: limit and use, and in memory.stat the page cache. */
struct group_files {
    const char *below, *limit, *use, *inactive, *active;
};
static const struct group_files VERSION_1 = {"sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                             "memory.usage_in_bytes", "total_inactive_file ",
                                             "total_active_file "};
static const struct group_files VERSION_2 = {"sys/fs/cgroup", "memory.max", "memory.current",
                                             "inactive_file ", "active_file "};

static bool read_in(uint64_t *out, const char *folder, const char *file, const char *name)
{
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/%s", folder, file) < (int)sizeof path &&
           read_number(out, path, name);
}

/* What the group of this folder leaves; "max" and a missing file are no limit. */
static uint64_t group_room(const struct group_files *files, const char *folder)
{
    uint64_t limit, use, cached, files_cached = 0;
    if (!read_in(&limit, folder, files->limit, "") || !read_in(&use, folder, files->use, ""))
        return UINT64_MAX;
    if (read_in(&cached, folder, "memory.stat", files->inactive))
        files_cached += cached;
    if (read_in(&cached, folder, "memory.stat", files->active))
        files_cached += cached;
    use = use > files_cached ? use - files_cached : 0;
    return limit > use ? limit - use : 0;
}

/* Of the group and of all that it is in. A container may see another path than the one it has. */
static uint64_t groups_room(const char *root, const struct group_files *files, const char *group)
{
    char folder[PATH_MAX];
    uint64_t room = UINT64_MAX;
    const int n = snprintf(folder, sizeof folder, "%s/%s", root, files->below);
    if (n >= (int)sizeof folder ||
        snprintf(folder + n, sizeof folder - (size_t)n, "%s", group) >= (int)sizeof folder - n)
        return room;
    for (;;) {
        const uint64_t here = group_room(files, folder);
        room = here < room ? here : room;
        char *end = strrchr(folder + n, '/');
        if (end == NULL)
            return room;
        *end = '\0';
    }
}

static uint64_t control_room(const char *root)
{
    char path[PATH_MAX], line[PATH_MAX];
    uint64_t room = UINT64_MAX;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        char *controllers = strchr(line, ':');
        char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (group == NULL)
            continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        uint64_t here = UINT64_MAX;
        if (controllers[1] == '\0')
            here = groups_room(root, &VERSION_2, group);
        else if (strcmp(controllers + 1, "memory") == 0)
            here = groups_room(root, &VERSION_1, group);
        room = here < room ? here : room;
    }
    if (f != NULL)
        fclose(f);
    return room;
}

uint64_t mem_room_below(const char *root)
{
    char path[PATH_MAX];
    uint64_t kib, room = control_room(root);
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    if (read_number(&kib, path, "MemAvailable:") && kib * 1024 < room)
        room = kib * 1024;
    return room;
}

uint64_t mem_room_bytes(void)
{
    return mem_room_below("");
}
