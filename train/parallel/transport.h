#ifndef PRATTLE_TRAIN_PARALLEL_TRANSPORT_H
#define PRATTLE_TRAIN_PARALLEL_TRANSPORT_H
/*
 * What moves bytes between the ranks of a world; nothing here adds or looks at them. Messages from
 * one rank to another with one tag arrive in the order in which they were sent. Calls are made by
 * one thread at a time, where one_thread is set always by the one that opened it.
 *
 * Whoever implements it includes nothing else of this program, so that it can be a shared object of
 * its own (mpi_transport.c), which exports TRANSPORT_ENTRY.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message on its way; its buffer is in use until it is done. */
struct transfer {
    uint64_t handle[2]; /* the transport's */
    bool going;
};

enum { TRANSPORT_NAME = 256, TRANSPORT_SENTENCE = 512 };

struct transport {
    void *state;
    int rank, size;
    char host[TRANSPORT_NAME];
    bool one_thread;
    /* Start to send or receive n bytes, n below 2^30. Nonzero: it cannot be. */
    int (*send)(struct transport *t, int to, int tag, const void *data, size_t n,
                struct transfer *x);
    int (*receive)(struct transport *t, int from, int tag, void *data, size_t n,
                   struct transfer *x);
    /* Whether it is done, which it then is for good. */
    int (*test)(struct transport *t, struct transfer *x, bool *done);
    /* Whether a message of this rank and tag has arrived that nobody has received. */
    int (*probe)(struct transport *t, int from, int tag, bool *arrived);
    /* End all ranks now, with this status. */
    void (*end_all)(struct transport *t, int status);
    /* By all ranks, at their end. */
    void (*close)(struct transport *t);
};

/* Fill *t; nonzero after a sentence. The version is that of this header; t->size is how many ranks
 * were started, 0 where nobody has said it. */
enum { TRANSPORT_VERSION = 3 };
typedef int transport_entry(struct transport *t, int version, char sentence[TRANSPORT_SENTENCE]);
#define TRANSPORT_ENTRY "prattle_transport_open"

#endif
