#include "model/base/mem.h"

#include "model/base/err.h"

#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static atomic_uint_fast64_t count;
static atomic_uint_fast64_t fail_at;

static int allocation_fails(size_t bytes)
{
    uint64_t n = atomic_fetch_add(&count, 1) + 1;
    uint64_t k = atomic_load(&fail_at);
    if (k != 0 && n == k) {
        err_set(ERR_NOMEM, "cannot allocate %zu bytes: refused by a test", bytes);
        return 1;
    }
    return 0;
}

static void *refuse_allocation(size_t bytes)
{
    err_set(ERR_NOMEM, "cannot allocate %zu bytes", bytes);
    return NULL;
}

void *mem_alloc(size_t bytes)
{
    if (allocation_fails(bytes))
        return NULL;
    if (bytes > SIZE_MAX - 2 * MEM_ALIGN)
        return refuse_allocation(bytes);
    size_t rounded = (bytes + MEM_ALIGN) / MEM_ALIGN * MEM_ALIGN;
    void *p = aligned_alloc(MEM_ALIGN, rounded);
    if (p == NULL)
        return refuse_allocation(bytes);
    return memset(p, 0, rounded);
}

void *mem_alloc_small(size_t bytes)
{
    if (allocation_fails(bytes))
        return NULL;
    void *p = malloc(bytes == 0 ? 1 : bytes);
    return p == NULL ? refuse_allocation(bytes) : p;
}

void *mem_array(size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        return refuse_allocation(SIZE_MAX);
    return mem_alloc(bytes);
}

void *mem_grow(void *p, size_t old_bytes, size_t new_bytes)
{
    void *fresh = mem_alloc(new_bytes);
    if (fresh == NULL)
        return NULL;
    if (p != NULL)
        memcpy(fresh, p, old_bytes < new_bytes ? old_bytes : new_bytes);
    mem_free(p);
    return fresh;
}

char *mem_strdup(const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = mem_alloc(n);
    return copy == NULL ? NULL : memcpy(copy, s, n);
}

char *mem_sprintf(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *s = mem_alloc((size_t)n + 1);
    if (s == NULL)
        return NULL;
    va_start(ap, fmt);
    vsnprintf(s, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return s;
}

void mem_free(void *p)
{
    free(p);
}

/* The mapped blocks. The list is allocated by realloc, since tests count mem_alloc's calls. */
static struct {
    pthread_mutex_t lock;
    struct map {
        const char *what;
        void *p;
        size_t bytes;
    } * list;
    size_t n, cap;
} maps = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Without memory for the entry the block is not listed. */
static void list_map(const char *what, void *p, size_t bytes)
{
    pthread_mutex_lock(&maps.lock);
    if (maps.n == maps.cap) {
        size_t cap = 2 * maps.cap + 64;
        struct map *more = realloc(maps.list, cap * sizeof *more);
        if (more != NULL) {
            maps.list = more;
            maps.cap = cap;
        }
    }
    if (maps.n < maps.cap)
        maps.list[maps.n++] = (struct map){what, p, bytes};
    pthread_mutex_unlock(&maps.lock);
}

static void unlist_map(const void *p)
{
    pthread_mutex_lock(&maps.lock);
    size_t i = maps.n;
    while (i > 0 && maps.list[i - 1].p != p)
        i--;
    if (i > 0) {
        memmove(&maps.list[i - 1], &maps.list[i], (maps.n - i) * sizeof *maps.list);
        maps.n--;
    }
    pthread_mutex_unlock(&maps.lock);
}

void mem_each_map(void (*f)(void *user, const char *what, void *p, size_t bytes), void *user)
{
    pthread_mutex_lock(&maps.lock);
    for (size_t i = 0; i < maps.n; i++)
        f(user, maps.list[i].what, maps.list[i].p, maps.list[i].bytes);
    pthread_mutex_unlock(&maps.lock);
}

void *mem_map(const char *what, size_t bytes)
{
    if (allocation_fails(bytes))
        return NULL;
    void *p = mmap(NULL, bytes == 0 ? 1 : bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return refuse_allocation(bytes);
    madvise(p, bytes, MADV_HUGEPAGE);
    list_map(what, p, bytes);
    return p;
}

void mem_unmap(void *p, size_t bytes)
{
    if (p == NULL)
        return;
    unlist_map(p);
    munmap(p, bytes == 0 ? 1 : bytes);
}

static void advise_inside(void *p, size_t bytes, size_t page, int advice)
{
    const uintptr_t first = ((uintptr_t)p + page - 1) / page * page;
    const uintptr_t last = ((uintptr_t)p + bytes) / page * page;
    if (first < last)
        madvise((char *)p + (first - (uintptr_t)p), last - first, advice);
}

void mem_map_small(void *p, size_t bytes)
{
    enum { PAGE = 4096 };
    advise_inside(p, bytes, PAGE, MADV_NOHUGEPAGE);
}

/* Each is two mappings more, of which Linux gives a process 65530. */
void mem_map_apart(void *p, size_t bytes, size_t n)
{
    enum { MOST = 4096 };
    if (n <= MOST)
        advise_inside(p, bytes, MEM_HUGE_PAGE, MADV_HUGEPAGE);
}

void mem_clear_map(void *p, size_t bytes)
{
    if (madvise(p, bytes, MADV_DONTNEED) != 0)
        memset(p, 0, bytes);
}

void mem_clear_part(void *p, size_t bytes)
{
    char *at = p;
    size_t before = (MEM_HUGE_PAGE - (uintptr_t)p % MEM_HUGE_PAGE) % MEM_HUGE_PAGE;
    before = before < bytes ? before : bytes;
    const size_t whole = (bytes - before) / MEM_HUGE_PAGE * MEM_HUGE_PAGE;
    memset(at, 0, before);
    if (whole > 0)
        mem_clear_map(at + before, whole);
    memset(at + before + whole, 0, bytes - before - whole);
}

size_t mem_heap_bytes(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* Of /proc/self/status: not getrusage, whose maximum is inherited from the parent process. */
static size_t status_bytes(const char *field)
{
    size_t kib = 0;
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, field, strlen(field)) == 0)
            kib = strtoull(line + strlen(field), NULL, 10);
    if (f != NULL)
        fclose(f);
    return kib * 1024;
}

size_t mem_resident_bytes(void)
{
    return status_bytes("VmRSS:");
}

size_t mem_peak_bytes(void)
{
    return status_bytes("VmHWM:");
}

void *arena_take(struct arena *a, size_t bytes)
{
    size_t at = a->used;
    a->used = (at + bytes + MEM_ALIGN - 1) / MEM_ALIGN * MEM_ALIGN;
    return a->base == NULL ? NULL : a->base + at;
}

uint64_t mem_count(void)
{
    return atomic_load(&count);
}

void mem_fail_at(uint64_t k)
{
    atomic_store(&fail_at, k == 0 ? 0 : atomic_load(&count) + k);
}
