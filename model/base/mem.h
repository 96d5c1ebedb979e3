#ifndef PRATTLE_MODEL_BASE_MEM_H
#define PRATTLE_MODEL_BASE_MEM_H
/*
 * Memory. Every allocation of the program passes here, so that a test can count
 * them and make number k fail. Blocks are zeroed and aligned to 64 bytes.
 */
#include <stddef.h>
#include <stdint.h>

#define MEM_ALIGN 64

/* NULL after err_set(ERR_NOMEM). Zero bytes give a block that can be freed. */
void *mem_alloc(size_t bytes);
/* n objects of size bytes; the product is checked. */
void *mem_array(size_t n, size_t size);
/* Grow p (from mem_*, or NULL) from old to new bytes; the new part is zero. On
 * failure returns NULL and p is untouched. */
void *mem_grow(void *p, size_t old_bytes, size_t new_bytes);
char *mem_strdup(const char *s);
/* printf into a fresh string. */
char *mem_sprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Of what mem_* gave, and of nothing else: a library's memory goes back by its own function. */
void mem_free(void *p);

/* Large blocks straight from the system: zero pages, touched only when used, huge
 * pages asked for. Give the same size back. */
void *mem_map(size_t bytes);
void mem_unmap(void *p, size_t bytes);

/* The most memory this process has had at once, by the system's count; 0: not known. */
size_t mem_peak_bytes(void);

/*
 * Carving: size first, then carve. With base NULL, arena_take only adds up; with a
 * base it hands out what the first pass counted, in the same order.
 */
struct arena {
    char *base; /* NULL while sizing */
    size_t used;
};
void *arena_take(struct arena *a, size_t bytes);

/* For tests. Allocations so far by this process. */
uint64_t mem_count(void);
/* The k-th allocation from now fails, k >= 1; 0 switches this off. */
void mem_fail_at(uint64_t k);

#endif
