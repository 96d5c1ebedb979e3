#ifndef PRATTLE_MODEL_BASE_MEM_USE_H
#define PRATTLE_MODEL_BASE_MEM_USE_H
/*
 * The resident memory of this process by use, in bytes, from /proc and mincore (Linux).
 */
#include <stddef.h>

enum { MEM_USES = 32 };

struct mem_use {
    struct {
        const char *what; /* as given to mem_map */
        size_t bytes;     /* of all blocks of that name */
    } blocks[MEM_USES];
    int n;
    size_t heap; /* in use by mem_alloc and libraries */
    size_t
        program; /* the rest: the program, libraries and their buffers (BLAS), stacks, free heap */
    size_t resident; /* all of the above */
    size_t peak;     /* the largest resident memory so far */
};
/* Fields that /proc does not give are 0. */
void mem_use_now(struct mem_use *out);

#endif
