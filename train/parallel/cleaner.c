#include "train/parallel/cleaner.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/folder_entry.h"
#include "model/base/mem.h"
#include "train/parallel/mca.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Copies: the environment is given up later. */
struct leavings {
    char session[PATH_MAX], top[PATH_MAX]; /* of mpirun, and of all of this user's */
    char shared[PATH_MAX];                 /* the folder of shared memory */
    char part[64];                         /* of this job's names there */
};

static bool copy_path(char out[PATH_MAX], const char *path)
{
    return path != NULL && *path == '/' && snprintf(out, PATH_MAX, "%s", path) < PATH_MAX;
}

/* The folder that Open MPI has been told for this, or else the other. */
static bool copy_set_path(char out[PATH_MAX], const char *name, const char *otherwise)
{
    char *path = mca_value(name);
    const bool set = copy_path(out, path) || copy_path(out, otherwise);
    mem_free(path);
    return set;
}

static bool find_leavings(struct leavings *l)
{
    const char *local = getenv("OMPI_COMM_WORLD_LOCAL_RANK"),
               *job = getenv("OMPI_MCA_ess_base_jobid");
    if (local == NULL || strcmp(local, "0") != 0 || job == NULL ||
        !copy_path(l->session, getenv("OMPI_MCA_orte_jobfam_session_dir")) ||
        !copy_path(l->top, getenv("OMPI_MCA_orte_top_session_dir")) ||
        !copy_set_path(l->shared, "btl_vader_backing_directory", "/dev/shm"))
        return false;
    const char *name = strrchr(l->session, '/') + 1;
    snprintf(l->part, sizeof l->part, ".%u.%lx.", (unsigned)geteuid(), strtoul(job, NULL, 10));
    return strncmp(name, "pid.", 4) == 0 || strncmp(name, "jf.", 3) == 0; /* mpirun; its daemon */
}

/* ---- in the process of its own ---- */

static void wait_for_end(pid_t launcher)
{
    struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, launcher, 0), .events = POLLIN};
    if (p.fd >= 0) {
        while (poll(&p, 1, -1) != 1)
            ;
        return;
    }
    while (kill(launcher, 0) == 0)
        poll(NULL, 0, 200);
}

static int remove_entry(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)at;
    if (s->st_uid == geteuid())
        kind == FTW_DP ? rmdir(path) : unlink(path);
    return 0;
}

static void remove_shared(const struct leavings *l)
{
    char path[PATH_MAX];
    DIR *d = opendir(l->shared);
    if (d == NULL)
        return;
    for (const char *name; (name = folder_entry_next(d)) != NULL;)
        if (strncmp(name, "vader_segment.", 14) == 0 && strstr(name, l->part) != NULL &&
            snprintf(path, sizeof path, "%s/%s", l->shared, name) < (int)sizeof path)
            unlink(path);
    folder_entry_close(d);
}

static void clean(const struct leavings *l, pid_t launcher)
{
    setsid();
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_DFL);
    prctl(PR_SET_NAME, "prattle-cleaner");
    close_range(0, ~0U, 0);
    if (chdir("/") != 0)
        return;
    wait_for_end(launcher);
    /* Twice: ranks that are about to be killed may still make some. What is of all mpiruns goes
     * only with what one has left there: one that begins just then would miss it. */
    for (int i = 0; i < 2; i++) {
        poll(NULL, 0, 100);
        const bool left = file_exists(l->session);
        nftw(l->session, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
        remove_shared(l);
        if (left)
            rmdir(l->top);
    }
}

void cleaner_start(void)
{
    struct leavings l;
    const pid_t launcher = getppid();
    if (!find_leavings(&l) || fork() != 0)
        return;
    clean(&l, launcher);
    _exit(0);
}

static const char *const base_names[] = {"TMPDIR", "TEMP", "TMP"};
enum { N_BASE_NAMES = sizeof base_names / sizeof *base_names };

/* Where Open MPI has its folders: its own setting, or the first of these. */
static bool find_base(char out[PATH_MAX])
{
    const char *otherwise = "/tmp";
    for (size_t i = N_BASE_NAMES; i-- > 0;) {
        const char *path = getenv(base_names[i]);
        if (path != NULL && *path == '/')
            otherwise = path;
    }
    return copy_set_path(out, "orte_tmpdir_base", otherwise);
}

/* What mpirun goes by, and cannot have its folders in. */
static int check_base_names(void)
{
    char shown[256];
    struct stat st;
    const char *path = NULL;
    size_t i = 0;
    while (i < N_BASE_NAMES && (path = getenv(base_names[i])) == NULL)
        i++;
    if (path == NULL || (*path == '/' && (stat(path, &st) != 0 || S_ISDIR(st.st_mode))))
        return 0;
    return err_set(ERR_RANGE,
                   "%s of the environment must be the path of a folder from / on, where mpirun "
                   "has its files, not %s",
                   base_names[i], *path == '\0' ? "empty" : file_show(shown, sizeof shown, path));
}

/* With too little room mpirun neither starts nor ends: its PMIx takes 4 MiB at a time. */
int cleaner_check_room(void)
{
    enum { LEAST_MIB = 16 };
    char base[PATH_MAX], shown[256];
    struct statvfs disk;
    int rc = mca_is_set("orte_tmpdir_base") ? 0 : check_base_names();
    if (rc != 0)
        return rc;
    if (!find_base(base) || statvfs(base, &disk) != 0)
        return 0;
    const double mib = (double)disk.f_bavail * (double)disk.f_frsize / (1 << 20);
    return mib >= LEAST_MIB
               ? 0
               : err_set(
                     ERR_IO,
                     "mpirun needs %d MiB for files of its own, and %s has %.1f MiB; TMPDIR=DIR "
                     "in the environment names another folder",
                     LEAST_MIB, file_show(shown, sizeof shown, base), mib);
}

void cleaner_remove(pid_t mpirun)
{
    char base[PATH_MAX], path[2 * PATH_MAX], end[32];
    DIR *d = find_base(base) ? opendir(base) : NULL;
    if (d == NULL)
        return;
    snprintf(end, sizeof end, ".%u", (unsigned)geteuid());
    for (const char *name; (name = folder_entry_next(d)) != NULL;) {
        const size_t n = strlen(name), m = strlen(end);
        if (strncmp(name, "ompi.", 5) != 0 || n < m || strcmp(name + n - m, end) != 0 ||
            snprintf(path, sizeof path, "%s/%s/pid.%ld", base, name, (long)mpirun) >=
                (int)sizeof path)
            continue;
        nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
        *strrchr(path, '/') = '\0';
        rmdir(path);
    }
    folder_entry_close(d);
}
