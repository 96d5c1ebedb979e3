#ifndef PRATTLE_MODEL_BASE_MEM_ROOM_H
#define PRATTLE_MODEL_BASE_MEM_ROOM_H
/* How much memory this process can take, still or at all (Linux). */
#include <stdint.h>

/* What the system has available, or less where a control group (version 1 or 2) that the process is
 * in leaves less: its limit, without what is in use but for files in the page cache. UINT64_MAX:
 * not known. */
uint64_t mem_room_bytes(void);
/* The same with another root folder than /, for tests. */
uint64_t mem_room_below(const char *root);

/* What the processes here can take together, whatever is in use. */
struct mem_limit {
    uint64_t memory, swap; /* of the system, or of a control group that has less */
    const char *owner;     /* "this machine", "this control group" */
};
struct mem_limit mem_limit_find(void);
struct mem_limit mem_limit_below(const char *root);

#endif
