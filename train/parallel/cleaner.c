#include "train/parallel/cleaner.h"

#include "model/base/buf.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/folder_entry.h"
#include "model/base/mem.h"
#include "train/parallel/mca.h"

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
    char session[PATH_MAX]; /* of mpirun, or of its daemon on this host */
    char top[PATH_MAX];     /* of all of this user's, up to version 4; "" since */
    char shared[PATH_MAX];  /* the shared memory of this host's ranks; "": where Open MPI has it */
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

static bool has_name(const char *path, const char *const *beginnings, size_t n)
{
    const char *name = strrchr(path, '/') + 1;
    bool has = false;
    for (size_t i = 0; i < n; i++)
        has |= strncmp(name, beginnings[i], strlen(beginnings[i])) == 0;
    return has;
}

/* ORTE's, or PRRTE's since version 5: mpirun's, as it is called in 5 and in 6, and its daemons'. */
static bool find_session(struct leavings *l)
{
    static const char *const orte[] = {"pid.", "jf."}, *const prrte[] = {"prterun.", "ompi.",
                                                                         "prted."};
    if (copy_path(l->session, getenv("OMPI_MCA_orte_jobfam_session_dir")) &&
        copy_path(l->top, getenv("OMPI_MCA_orte_top_session_dir")))
        return has_name(l->session, orte, 2);
    *l->top = '\0';
    return copy_path(l->session, getenv("PMIX_SERVER_TMPDIR")) && has_name(l->session, prrte, 3);
}

/* Who has started this rank. Killed meanwhile, it is not the parent any more: that is init, whose
 * end is not to be waited for, while the session's name has its number. */
static pid_t find_launcher(const struct leavings *l, bool *gone)
{
    static const char own[] = "pid.";
    const char *name = strrchr(l->session, '/') + 1;
    const pid_t parent = getppid();
    const long named = strncmp(name, own, sizeof own - 1) == 0 ? atol(name + sizeof own - 1) : 0;
    *gone = parent == 1 && named > 1;
    return *gone ? (pid_t)named : parent;
}

static bool make_own_folder(const char *path)
{
    struct stat st;
    mkdir(path, 0700); /* or another rank has */
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* A folder of this job's ranks here, so that what one leaves in memory can be told from others'. */
static void set_shared(struct leavings *l, pid_t launcher)
{
    /* The same by its names in versions 4 and 5. */
    static const char *const names[] = {"btl_vader_backing_directory", "btl_sm_backing_directory"};
    char base[PATH_MAX], variable[64], host[64] = "";
    gethostname(host, sizeof host - 1);
    *l->shared = '\0';
    if (!copy_set_path(base, names[mca_is_set(names[1])], "/dev/shm") ||
        snprintf(l->shared, PATH_MAX, "%s/prattle.%s.%u.%ld", base, host, (unsigned)geteuid(),
                 (long)launcher) >= PATH_MAX ||
        !make_own_folder(l->shared)) {
        *l->shared = '\0';
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        snprintf(variable, sizeof variable, "OMPI_MCA_%s", names[i]);
        setenv(variable, l->shared, 1);
    }
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

/* launcher 0: it has ended. */
static void clean(const struct leavings *l, pid_t launcher)
{
    setsid();
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_DFL);
    prctl(PR_SET_NAME, "prattle-cleaner");
    close_range(0, ~0U, 0);
    if (chdir("/") != 0)
        return;
    if (launcher != 0)
        wait_for_end(launcher);
    /* Twice: ranks that are about to be killed may still make some. What is of all mpiruns goes
     * only with what one has left there: one that begins just then would miss it. */
    for (int i = 0; i < 2; i++) {
        poll(NULL, 0, 100);
        const bool left = file_exists(l->session);
        nftw(l->session, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
        if (*l->shared != '\0')
            nftw(l->shared, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
        if (left && *l->top != '\0')
            rmdir(l->top);
    }
}

void cleaner_start(void)
{
    struct leavings l;
    bool gone;
    const char *local = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    if (local == NULL || !find_session(&l))
        return;
    const pid_t launcher = find_launcher(&l, &gone);
    set_shared(&l, launcher);
    if (strcmp(local, "0") != 0 || fork() != 0)
        return;
    clean(&l, gone ? 0 : launcher);
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

/* Of ORTE ompi.HOST.USER/pid.PID, of PRRTE prterun.HOST.PID.USER, and since version 6 ompi.PID. */
void cleaner_remove(pid_t mpirun)
{
    char base[PATH_MAX], path[2 * PATH_MAX], end[32], own[64], plain[32];
    DIR *d = find_base(base) ? opendir(base) : NULL;
    if (d == NULL)
        return;
    snprintf(end, sizeof end, ".%u", (unsigned)geteuid());
    snprintf(own, sizeof own, ".%ld.%u", (long)mpirun, (unsigned)geteuid());
    snprintf(plain, sizeof plain, "ompi.%ld", (long)mpirun);
    for (const char *name; (name = folder_entry_next(d)) != NULL;) {
        const bool orte = strncmp(name, "ompi.", 5) == 0 && text_ends_in(name, end);
        const bool prrte = strcmp(name, plain) == 0 ||
                           (strncmp(name, "prterun.", 8) == 0 && text_ends_in(name, own));
        int n = snprintf(path, sizeof path, "%s/%s", base, name);
        if (orte)
            n += snprintf(path + n, sizeof path - (size_t)n, "/pid.%ld", (long)mpirun);
        if (n >= (int)sizeof path || !(orte || prrte))
            continue;
        nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
        *strrchr(path, '/') = '\0';
        if (orte)
            rmdir(path);
    }
    folder_entry_close(d);
}
