#include "train/parallel/link.h"

#include "model/base/clock.h"
#include "model/base/mem.h"
#include "train/parallel/world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* PART is what gradients move in; LARGE is more than caches hold. */
enum { LARGE = 32 << 20, PART = 1 << 20, SMALL = 8, TRIES = 3, ROUNDS = 50 };

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds of a message one way, at best. */
static double time_message(void)
{
    const int other = 1 - world_rank();
    char data[SMALL] = {0};
    double best_s = INFINITY;
    for (int i = 0; i < TRIES; i++) {
        const double begun = clock_s();
        for (int k = 0; k < ROUNDS; k++) {
            if (world_rank() == 0)
                world_send_whole(other, TAG_GATHER, data, SMALL);
            world_receive_whole(other, TAG_GATHER, data, SMALL);
            if (world_rank() != 0)
                world_send_whole(other, TAG_GATHER, data, SMALL);
        }
        best_s = fmin(best_s, (clock_s() - begun) / (2 * ROUNDS));
    }
    return best_s;
}

/* Seconds of LARGE bytes both ways at once, in the middle of all tries. */
static double time_both_ways(const char *own, char *others)
{
    const int other = 1 - world_rank();
    double seconds[TRIES];
    for (int i = 0; i < TRIES; i++) {
        const double begun = clock_s();
        for (size_t at = 0; at < LARGE; at += PART)
            world_swap(other, own + at, others + at, PART);
        seconds[i] = clock_s() - begun;
    }
    qsort(seconds, TRIES, sizeof *seconds, ascending);
    return seconds[TRIES / 2];
}

struct link_speed link_measure(void)
{
    struct link_speed out = {0};
    char *data = mem_map("link", 2 * LARGE);
    out.latency_s = time_message();
    if (data != NULL)
        memset(data, 1, 2 * LARGE); /* memory of its own for each page */
    /* Both have to say so, or one would wait. */
    bool here = data != NULL, there;
    world_swap(1 - world_rank(), &here, &there, sizeof here);
    if (here && there)
        out.bytes_s = LARGE / fmax(time_both_ways(data, data + LARGE), 1e-9);
    mem_unmap(data, 2 * LARGE);
    return out;
}
