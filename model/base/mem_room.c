#include "model/base/mem_room.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* The files of one version: limits and use, and in memory.stat the page cache. */
struct group_files {
    const char *below, *limit, *use, *inactive, *active, *swap;
    bool together; /* the limit of swap is one of memory and swap */
};
static const struct group_files VERSION_1 = {.below = "sys/fs/cgroup/memory",
                                             .limit = "memory.limit_in_bytes",
                                             .use = "memory.usage_in_bytes",
                                             .inactive = "total_inactive_file ",
                                             .active = "total_active_file ",
                                             .swap = "memory.memsw.limit_in_bytes",
                                             .together = true};
static const struct group_files VERSION_2 = {.below = "sys/fs/cgroup",
                                             .limit = "memory.max",
                                             .use = "memory.current",
                                             .inactive = "inactive_file ",
                                             .active = "active_file ",
                                             .swap = "memory.swap.max"};

static bool read_in(uint64_t *out, const char *folder, const char *file, const char *name)
{
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/%s", folder, file) < (int)sizeof path &&
           read_number(out, path, name);
}

/* What the groups allow. */
struct group_least {
    uint64_t room, memory, swap, together; /* UINT64_MAX: no limit */
};

static void take_least(uint64_t *least, uint64_t here)
{
    *least = here < *least ? here : *least;
}

/* The group of this folder; "max" and a missing file are no limit. */
static void take_group(struct group_least *least, const struct group_files *files,
                       const char *folder)
{
    uint64_t limit, use, cached, swap, files_cached = 0;
    if (read_in(&swap, folder, files->swap, ""))
        take_least(files->together ? &least->together : &least->swap, swap);
    if (!read_in(&limit, folder, files->limit, ""))
        return;
    take_least(&least->memory, limit);
    if (!read_in(&use, folder, files->use, ""))
        return;
    if (read_in(&cached, folder, "memory.stat", files->inactive))
        files_cached += cached;
    if (read_in(&cached, folder, "memory.stat", files->active))
        files_cached += cached;
    use = use > files_cached ? use - files_cached : 0;
    take_least(&least->room, limit > use ? limit - use : 0);
}

/* The group and all that it is in. A container may see another path than the one it has. */
static void take_groups(struct group_least *least, const char *root,
                        const struct group_files *files, const char *group)
{
    char folder[PATH_MAX];
    const int n = snprintf(folder, sizeof folder, "%s/%s", root, files->below);
    if (n >= (int)sizeof folder ||
        snprintf(folder + n, sizeof folder - (size_t)n, "%s", group) >= (int)sizeof folder - n)
        return;
    for (;;) {
        take_group(least, files, folder);
        char *end = strrchr(folder + n, '/');
        if (end == NULL)
            return;
        *end = '\0';
    }
}

static struct group_least find_least(const char *root)
{
    char path[PATH_MAX], line[PATH_MAX];
    struct group_least least = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        char *controllers = strchr(line, ':');
        char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');
        if (group == NULL)
            continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        if (controllers[1] == '\0')
            take_groups(&least, root, &VERSION_2, group);
        else if (strcmp(controllers + 1, "memory") == 0)
            take_groups(&least, root, &VERSION_1, group);
    }
    if (f != NULL)
        fclose(f);
    return least;
}

/* Of /proc/meminfo. */
static bool read_system(uint64_t *bytes, const char *root, const char *name)
{
    char path[PATH_MAX];
    uint64_t kib;
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    const bool found = read_number(&kib, path, name);
    *bytes = found ? kib * 1024 : 0;
    return found;
}

uint64_t mem_room_below(const char *root)
{
    uint64_t available, room = find_least(root).room;
    if (read_system(&available, root, "MemAvailable:"))
        take_least(&room, available);
    return room;
}

uint64_t mem_room_bytes(void)
{
    return mem_room_below("");
}

struct mem_limit mem_limit_below(const char *root)
{
    const struct group_least least = find_least(root);
    struct mem_limit out = {.owner = "this machine"};
    if (!read_system(&out.memory, root, "MemTotal:"))
        out.memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    else
        read_system(&out.swap, root, "SwapTotal:");
    if (least.memory < out.memory) {
        out.memory = least.memory;
        out.owner = "this control group";
    }
    take_least(&out.swap, least.swap);
    take_least(&out.swap, least.together > out.memory ? least.together - out.memory : 0);
    return out;
}

struct mem_limit mem_limit_find(void)
{
    return mem_limit_below("");
}
