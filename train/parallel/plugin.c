#include "train/parallel/plugin.h"

#include "model/base/err.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef PREFIX
#define PREFIX "/usr/local"
#endif

static const char FILE_NAME[] = "prattle-mpi.so";

/* Those of Open MPI, of MPICH and Intel MPI (PMI), of Slurm. */
static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
enum { N_LAUNCHERS = sizeof sizes / sizeof *sizes };

static int environment_number(const char *name, int otherwise)
{
    const char *text = getenv(name);
    char *end;
    if (text == NULL || *text == '\0')
        return otherwise;
    const long n = strtol(text, &end, 10);
    return *end == '\0' && n >= 0 && n <= INT_MAX ? (int)n : otherwise;
}

struct launch launch_find(void)
{
    for (int i = 0; i < N_LAUNCHERS; i++) {
        const int size = environment_number(sizes[i], 0);
        if (size > 0)
            return (struct launch){.size = size, .rank = environment_number(ranks[i], 0)};
    }
    const int rank = environment_number("PMIX_RANK", -1);
    return (struct launch){.size = rank >= 0 ? 0 : 1, .rank = rank >= 0 ? rank : 0};
}

void launch_forget(void)
{
    for (int i = 0; i < N_LAUNCHERS; i++) {
        unsetenv(sizes[i]);
        unsetenv(ranks[i]);
    }
    unsetenv("PMIX_RANK");
}

/* Beside the program, or where it is installed. */
static int find_plugin(char path[PATH_MAX])
{
    char folder[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash != NULL) {
        *slash = '\0';
        if (snprintf(path, PATH_MAX, "%s/%s", folder, FILE_NAME) < PATH_MAX &&
            access(path, R_OK) == 0)
            return 0;
        if (snprintf(path, PATH_MAX, "%s/../lib/prattle/%s", folder, FILE_NAME) < PATH_MAX &&
            access(path, R_OK) == 0)
            return 0;
    }
    snprintf(path, PATH_MAX, PREFIX "/lib/prattle/%s", FILE_NAME);
    if (access(path, R_OK) == 0)
        return 0;
    return err_set(ERR_MISSING,
                   "several processes need %s, which was not built: install MPI (Debian and "
                   "Ubuntu: apt-get install libopenmpi-dev openmpi-bin) and run make again",
                   FILE_NAME);
}

int plugin_check(void)
{
    char path[PATH_MAX];
    return find_plugin(path);
}

int plugin_open(struct transport *out)
{
    char path[PATH_MAX], sentence[TRANSPORT_SENTENCE] = "";
    int rc = find_plugin(path);
    if (rc != 0)
        return rc;
    /* RTLD_GLOBAL: Open MPI loads parts of its own that look for its functions. */
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL)
        return err_set(ERR_MISSING,
                       "%s does not load: %s; install MPI (Debian and Ubuntu: apt-get install "
                       "openmpi-bin)",
                       FILE_NAME, dlerror());
    transport_entry *entry;
    void *symbol = dlsym(library, TRANSPORT_ENTRY);
    memcpy(&entry, &symbol, sizeof entry);
    if (symbol == NULL || entry(out, TRANSPORT_VERSION, sentence) != 0)
        return err_set(ERR_UNSUPPORTED, "%s cannot be used: %s", FILE_NAME,
                       symbol == NULL ? "it is another library" : sentence);
    return 0;
}
