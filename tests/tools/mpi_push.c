/*
 * Whether a message to who waits for it arrives while its sender computes, and asks MPI for
 * nothing.
 *
 *   mpirun -np 2 mpi_push BYTES
 *
 * Prints "arrived" or "waited for its sender". The part for several processes is in its folder.
 */
#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/parallel/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WORK_S = 1 };

static void work(void)
{
    nanosleep(&(struct timespec){.tv_sec = WORK_S}, NULL);
}

/* Seconds until it is there. */
static double receive(char *data, size_t n)
{
    struct transfer x = {0};
    const double begun = clock_s();
    world_receive(0, TAG_STATE, data, n, &x);
    world_wait(&x, 1);
    return clock_s() - begun;
}

static void send(const char *data, size_t n)
{
    struct transfer x = {0};
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL); /* the other waits by now */
    world_send(1, TAG_STATE, data, n, &x);
    work();
    world_wait(&x, 1);
}

int main(int argc, char **argv)
{
    const size_t n = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
    char *data = n > 0 ? mem_alloc(n) : NULL;
    double all[2], own = 0;
    if (data == NULL || world_open() != 0 || world_size() != 2) {
        printf("%s\n", err_text());
        return 1;
    }
    world_all_gather(all, &own, sizeof own);
    if (world_rank() == 0)
        send(data, n);
    else
        own = receive(data, n);
    world_all_gather(all, &own, sizeof own);
    if (world_rank() == 0)
        printf("%s\n", all[1] < WORK_S ? "arrived" : "waited for its sender");
    world_close();
    mem_free(data);
    return 0;
}
