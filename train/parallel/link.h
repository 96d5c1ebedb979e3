#ifndef PRATTLE_TRAIN_PARALLEL_LINK_H
#define PRATTLE_TRAIN_PARALLEL_LINK_H

/* What lies between ranks 0 and 1: bytes a second each way while both send, from memory that no
 * cache holds, and the seconds of a message without bytes, by messages that go and come back. By
 * these two ranks alone. */
struct link_speed {
    double bytes_s, latency_s;
};
struct link_speed link_measure(void);

#endif
