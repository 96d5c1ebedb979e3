/*
 * The transport over MPI: a shared object of its own, prattle-mpi.so, built where mpicc is. MPI's
 * own handling of errors ends all ranks.
 */
#include "train/parallel/transport.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(MPI_Request) <= sizeof((struct transfer){0}.handle), "a request has room");

transport_entry prattle_transport_open;

static int mpi_finish(struct transfer *x, MPI_Request request)
{
    memcpy(x->handle, &request, sizeof request);
    x->going = true;
    return 0;
}

static int mpi_send(struct transport *t, int to, int tag, const void *data, size_t n,
                    struct transfer *x)
{
    MPI_Request request;
    (void)t;
    MPI_Isend(data, (int)n, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
    return mpi_finish(x, request);
}

static int mpi_receive(struct transport *t, int from, int tag, void *data, size_t n,
                       struct transfer *x)
{
    MPI_Request request;
    (void)t;
    MPI_Irecv(data, (int)n, MPI_BYTE, from, tag, MPI_COMM_WORLD, &request);
    return mpi_finish(x, request);
}

static int mpi_test(struct transport *t, struct transfer *x, bool *done)
{
    MPI_Request request;
    int flag = 1;
    (void)t;
    if (x->going) {
        memcpy(&request, x->handle, sizeof request);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        memcpy(x->handle, &request, sizeof request);
        x->going = !flag;
    }
    *done = flag != 0;
    return 0;
}

static int mpi_probe(struct transport *t, int from, int tag, bool *arrived)
{
    int flag;
    (void)t;
    MPI_Iprobe(from, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    *arrived = flag != 0;
    return 0;
}

static void mpi_end_all(struct transport *t, int status)
{
    (void)t;
    MPI_Abort(MPI_COMM_WORLD, status);
}

static void mpi_close(struct transport *t)
{
    (void)t;
    MPI_Finalize();
}

/* srun starts as many processes as it is told to, but tells Open MPI of the others only where it is
 * told that too; else MPI_Init ends each with a page of text. */
static bool is_untold_by_srun(void)
{
    static const char *const told[] = {"PMIX_RANK", "PMI_RANK", "PMI_FD", "OMPI_COMM_WORLD_RANK"};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        if (getenv(told[i]) != NULL)
            return false;
#ifdef OPEN_MPI
    return getenv("SLURM_STEP_NUM_TASKS") != NULL;
#else
    return false;
#endif
}

/* After MPI_Init: another MPI's launcher leaves each rank alone in a world of its own. */
static bool is_foreign(int started, char sentence[TRANSPORT_SENTENCE])
{
#if defined(OPEN_MPI)
    static const char own[] = "Open MPI";
#elif defined(MPICH_VERSION)
    static const char own[] = "MPICH";
#else
    static const char own[] = "one MPI";
#endif
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (started <= 1 || size > 1)
        return false;
    snprintf(sentence, TRANSPORT_SENTENCE,
             "it was built for %s, and another MPI has started these %d processes; `make "
             "MPICC=...` builds it for that one",
             own, started);
    return true;
}

int prattle_transport_open(struct transport *t, int version, char sentence[TRANSPORT_SENTENCE])
{
    const int started = t->size;
    int given, n;
    char host[MPI_MAX_PROCESSOR_NAME];
    if (version != TRANSPORT_VERSION) {
        snprintf(sentence, TRANSPORT_SENTENCE, "it is of version %d, the program of version %d",
                 TRANSPORT_VERSION, version);
        return 1;
    }
    if (is_untold_by_srun()) {
        snprintf(sentence, TRANSPORT_SENTENCE,
                 "srun has not told it of the other processes: srun --mpi=pmix");
        return 1;
    }
    setenv("HWLOC_HIDE_ERRORS", "2", 0); /* where there is no /sys, each rank would say so */
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given) != MPI_SUCCESS) {
        snprintf(sentence, TRANSPORT_SENTENCE, "MPI does not start");
        return 1;
    }
    if (is_foreign(started, sentence)) {
        MPI_Finalize();
        return 1;
    }
    *t = (struct transport){.one_thread = given < MPI_THREAD_SERIALIZED,
                            .send = mpi_send,
                            .receive = mpi_receive,
                            .test = mpi_test,
                            .probe = mpi_probe,
                            .end_all = mpi_end_all,
                            .close = mpi_close};
    MPI_Comm_rank(MPI_COMM_WORLD, &t->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t->size);
    MPI_Get_processor_name(host, &n);
    snprintf(t->host, sizeof t->host, "%s", host);
    return 0;
}
