#ifndef PRATTLE_MODEL_BASE_MEM_H
#define PRATTLE_MODEL_BASE_MEM_H
/*
 * Memory. The program's own allocations all go through these functions, so that tests can count
 * them and make the k-th fail. Blocks are zeroed and aligned to 64 bytes, but for
 * mem_alloc_small's. Every function that allocates returns NULL after err_set(ERR_NOMEM).
 */
#include <stddef.h>
#include <stdint.h>

#define MEM_ALIGN 64
#define MEM_HUGE_PAGE ((size_t)2 << 20)

/* A block; of 0 bytes too, to be freed like any other. */
void *mem_alloc(size_t bytes);
/* The same for the many small objects of a library: aligned as malloc's, and not zeroed. */
void *mem_alloc_small(size_t bytes);
/* n objects of size bytes each; ERR_NOMEM where the product overflows. */
void *mem_array(size_t n, size_t size);
/* Move the block p (NULL: none) to a new one of new_bytes, zeroed after the copied bytes, and free
 * p. On failure p is unchanged. */
void *mem_grow(void *p, size_t old_bytes, size_t new_bytes);
char *mem_strdup(const char *s);
/* sprintf into a new string. */
char *mem_sprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Frees only blocks from these functions; a library's memory is freed by the library's function. */
void mem_free(void *p);

/* Large blocks mapped from the system: zeroed, backed by memory only once touched, with huge pages
 * requested. what names their use (mem_use.h), and is borrowed. mem_unmap takes the same size. */
void *mem_map(const char *what, size_t bytes);
void mem_unmap(void *p, size_t bytes);
/* Without huge pages in a part of such a block, so that what is touched beside it takes no memory
 * there. */
void mem_map_small(void *p, size_t bytes);
/* One of n parts of such a block without huge pages, which come and go: with huge pages where a
 * whole one fits inside the part; with none if there are very many parts. */
void mem_map_apart(void *p, size_t bytes, size_t n);
/* Zero such a block and give its memory back, as if it were new. */
void mem_clear_map(void *p, size_t bytes);
/* Zero a part of such a block, which is soon written again: the huge pages that lie wholly in it
 * go back. What it has of others is set to zero, since a huge page of which some goes back falls
 * apart into small ones for good. That is less than MEM_HUGE_PAGE at each end. */
void mem_clear_part(void *p, size_t bytes);
/* Call f for each block there is, in the order in which they were mapped. */
void mem_each_map(void (*f)(void *user, const char *what, void *p, size_t bytes), void *user);

/* Bytes of the C library's heap in use, by mem_alloc and libraries. */
size_t mem_heap_bytes(void);
/* Resident memory of this process, now and at its peak, in bytes; 0: not known. */
size_t mem_resident_bytes(void);
size_t mem_peak_bytes(void);

/*
 * Carving one block into aligned pieces, in two passes of the same calls: with base NULL
 * arena_take returns NULL and only adds up sizes in `used`; with base set to a block of that size
 * it returns the pieces in order.
 */
struct arena {
    char *base; /* NULL while sizing */
    size_t used;
};
void *arena_take(struct arena *a, size_t bytes);

/* For tests: how many allocations this process has made. */
uint64_t mem_count(void);
/* For tests: make the k-th allocation from now fail, k >= 1; 0: none. */
void mem_fail_at(uint64_t k);

#endif
