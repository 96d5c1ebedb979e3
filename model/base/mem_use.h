#ifndef PRATTLE_MODEL_BASE_MEM_USE_H
#define PRATTLE_MODEL_BASE_MEM_USE_H
/*
 * What the memory of this process is for, in bytes that are resident. From /proc (Linux).
 */
#include <stddef.h>

enum { MEM_USES = 32 };

struct mem_use {
    struct {
        const char *what; /* of mem_map */
        size_t bytes;     /* of all blocks of that name */
    } blocks[MEM_USES];
    int n;
    size_t heap;     /* of mem_alloc and of libraries, in use */
    size_t program;  /* the program, its libraries and what these keep for themselves: buffers of
                        BLAS, stacks, heap that is free again */
    size_t resident; /* all of these together */
    size_t peak;     /* the most that was resident at once */
};
/* Zeroes where /proc does not say. */
void mem_use_now(struct mem_use *out);

#endif
