#include "train/parallel/plugin.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/part.h"
#include "train/parallel/mca.h"

#include <arpa/inet.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

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
            return (struct launch){
                .size = size, .rank = environment_number(ranks[i], 0), .there = true};
    }
    const int rank = environment_number("PMIX_RANK", -1);
    return (struct launch){
        .size = rank >= 0 ? 0 : 1, .rank = rank >= 0 ? rank : 0, .there = rank >= 0};
}

void launch_forget(void)
{
    for (int i = 0; i < N_LAUNCHERS; i++) {
        unsetenv(sizes[i]);
        unsetenv(ranks[i]);
    }
    unsetenv("PMIX_RANK");
}

/* Where its PMIx server listened, on this host: "1968766976.0;tcp4://127.0.0.1:51401". */
static bool find_server(struct sockaddr_in *at)
{
    static const char *const names[] = {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3",
                                        "PMIX_SERVER_URI2"};
    char host[INET_ADDRSTRLEN];
    unsigned port;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *uri = getenv(names[i]);
        uri = uri != NULL ? strstr(uri, "tcp4://") : NULL;
        if (uri == NULL || sscanf(uri, "tcp4://%15[0-9.]:%u", host, &port) != 2)
            continue;
        *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
        return inet_pton(AF_INET, host, &at->sin_addr) == 1;
    }
    return false;
}

/* Nobody listens there where another may. To connect would have the server say that it was left. */
static bool is_free(const struct sockaddr_in *at)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const bool is = bind(fd, (const struct sockaddr *)at, sizeof *at) == 0;
    close(fd);
    return is;
}

static const char FORGET[] = "`unset ${!OMPI_*} ${!PMIX_*}` makes bash forget it";

int launch_check(void)
{
    const struct launch l = launch_find();
    struct sockaddr_in at;
    char of[32] = "";
    const bool half = getenv(sizes[0]) != NULL && getenv("PMIX_RANK") == NULL;
    if (l.size == 1 || !(half || (find_server(&at) && is_free(&at))))
        return 0;
    if (l.size > 0)
        snprintf(of, sizeof of, " of %d", l.size);
    return err_set(ERR_MISSING,
                   "the environment says that this is process %d%s of an mpirun that is not there "
                   "any more: %s",
                   l.rank + 1, of, FORGET);
}

int launch_check_nested(void)
{
    if (getenv(sizes[0]) == NULL)
        return 0;
    return err_set(ERR_UNSUPPORTED,
                   "mpirun has started this process, and starts no others from it: `mpirun -np N "
                   "prattle train ...`; if that mpirun has ended, %s",
                   FORGET);
}

int launch_refuse(void)
{
    const int size = environment_number("WORLD_SIZE", 1);
    if (getenv("TORCHELASTIC_RUN_ID") == NULL || size <= 1)
        return 0;
    return err_set(ERR_UNSUPPORTED,
                   "torchrun has started this as process %d of %d, but prattle's processes find "
                   "each other by MPI: mpirun -np %d prattle train ..., or replicas=%d without it",
                   environment_number("RANK", 0) + 1, size, size, size);
}

/* Global: Open MPI loads parts of its own that look for its functions. */
static const struct part mpi_part = {.what = "several processes",
                                     .verb = "need",
                                     .name = "mpi",
                                     .library = "MPI",
                                     .build = "libopenmpi-dev openmpi-bin",
                                     .run = "openmpi-bin",
                                     .entry = TRANSPORT_ENTRY,
                                     .global = true};

int plugin_check(void)
{
    return part_check(&mpi_part);
}

_Static_assert((int)PLUGIN_PATH == (int)PART_PATH, "one length of paths");
int plugin_find(char path[PLUGIN_PATH])
{
    return part_find(path, &mpi_part);
}

/*
 * What Open MPI buffers of a message within a machine, where nobody has said it: whole ones of 128
 * KiB, and longer ones in pieces of 256 KiB. For pieces both sides have to ask, unless one may read
 * the other's memory; and a process that computes asks seldom. With the 4 and 32 KiB that are
 * otherwise set a pipeline waits for its activations for a fifth of a step. Eight of each are there
 * from the start, which the segment of 4 MiB holds.
 */
static void set_buffers(void)
{
    static const char *const sizes_of[][2] = {{"btl_vader_eager_limit", "133120"},
                                              {"btl_vader_max_send_size", "262144"}};
    char variable[64];
    for (size_t i = 0; i < sizeof sizes_of / sizeof *sizes_of; i++) {
        snprintf(variable, sizeof variable, "OMPI_MCA_%s", sizes_of[i][0]);
        if (!mca_is_set(sizes_of[i][0]))
            setenv(variable, sizes_of[i][1], 1);
    }
}

/* Room for the shared memory of so many ranks, 16 MiB each since version 5. */
static bool has_shared_memory(int n)
{
    struct statvfs disk;
    char *base = mca_value("btl_sm_backing_directory");
    const bool known = statvfs(base == NULL ? "/dev/shm" : base, &disk) == 0;
    mem_free(base);
    return known && (double)disk.f_bavail * (double)disk.f_frsize >= n * (double)(16 << 20);
}

/* Ranks that are all on one host have no need of a network, but Open MPI 5 looks for ways between
 * its addresses all the same, and complains of each it does not find. */
static void leave_out_network(void)
{
    static const char local[] = "OMPI_COMM_WORLD_LOCAL_SIZE", all[] = "OMPI_COMM_WORLD_SIZE";
    const int n = environment_number(all, 0);
    if (getenv("PRTE_LAUNCHED") == NULL || n == 0 || environment_number(local, 0) != n ||
        !has_shared_memory(n))
        return;
    /* Debian's own setting is a list of what is left out. */
    char *said = mca_value("btl");
    char *value = said == NULL   ? mem_strdup("^tcp")
                  : *said == '^' ? mem_sprintf("%s,tcp", said)
                                 : NULL;
    if (value != NULL)
        setenv("OMPI_MCA_btl", value, 1);
    mem_free(said);
    mem_free(value);
}

int plugin_open(struct transport *out, int started)
{
    char sentence[TRANSPORT_SENTENCE] = "";
    transport_entry *entry;
    set_buffers();
    leave_out_network();
    out->size = started;
    int rc = part_open(&mpi_part, &entry);
    if (rc == 0 && entry(out, TRANSPORT_VERSION, sentence) != 0)
        rc = err_set(ERR_UNSUPPORTED, "prattle-mpi.so cannot be used: %s", sentence);
    return rc;
}
