#include "train/parallel/link.h"

#include "model/base/clock.h"
#include "model/base/mem.h"
#include "train/parallel/world.h"

#include <math.h>

enum { LARGE = 8 << 20, SMALL = 8, TRIES = 5, ROUNDS = 50 };

/* Seconds of n bytes one way, at best. */
static double time_message(char *data, size_t n, int rounds)
{
    const int other = 1 - world_rank();
    double best_s = INFINITY;
    for (int i = 0; i < TRIES; i++) {
        const double begun = clock_s();
        for (int k = 0; k < rounds; k++) {
            if (world_rank() == 0)
                world_send_whole(other, TAG_GATHER, data, n);
            world_receive_whole(other, TAG_GATHER, data, n);
            if (world_rank() != 0)
                world_send_whole(other, TAG_GATHER, data, n);
        }
        best_s = fmin(best_s, (clock_s() - begun) / (2 * rounds));
    }
    return best_s;
}

struct link_speed link_measure(void)
{
    struct link_speed out = {0};
    char *data = mem_map("link", LARGE);
    const size_t n = data == NULL ? 0 : LARGE;
    char small[SMALL] = {0};
    out.latency_s = time_message(small, SMALL, ROUNDS);
    /* Both have to say so, or one would wait. */
    bool here = n > 0, there;
    struct transfer x[2] = {0};
    world_send(1 - world_rank(), TAG_GATHER, &here, sizeof here, &x[0]);
    world_receive(1 - world_rank(), TAG_GATHER, &there, sizeof there, &x[1]);
    world_wait(x, 2);
    if (here && there)
        out.bytes_s = (double)n / fmax(time_message(data, n, 1) - out.latency_s, 1e-9);
    mem_unmap(data, n);
    return out;
}
