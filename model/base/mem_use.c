#include "model/base/mem_use.h"

#include "model/base/mem.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES_AT_ONCE = 4096 };

/* Bytes of a block that were touched: mapped blocks get their memory then. */
static size_t resident_bytes(void *p, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), n_pages = (bytes + page - 1) / page;
    unsigned char there[PAGES_AT_ONCE];
    size_t found = 0;
    for (size_t at = 0; at < n_pages; at += PAGES_AT_ONCE) {
        size_t n = n_pages - at < PAGES_AT_ONCE ? n_pages - at : PAGES_AT_ONCE;
        if (mincore((char *)p + at * page, n * page, there) != 0)
            return bytes;
        for (size_t i = 0; i < n; i++)
            found += there[i] & 1;
    }
    return found * page;
}

static void add_block(void *user, const char *what, void *p, size_t bytes)
{
    struct mem_use *u = user;
    int i = 0;
    while (i < u->n && strcmp(u->blocks[i].what, what) != 0)
        i++;
    if (i == MEM_USES)
        return;
    if (i == u->n)
        u->blocks[u->n++].what = what;
    u->blocks[i].bytes += resident_bytes(p, bytes);
}

void mem_use_now(struct mem_use *out)
{
    *out = (struct mem_use){.heap = mem_heap_bytes(), .resident = mem_resident_bytes()};
    mem_each_map(add_block, out);
    size_t known = out->heap;
    for (int i = 0; i < out->n; i++)
        known += out->blocks[i].bytes;
    out->program = out->resident > known ? out->resident - known : 0;
    out->peak = mem_peak_bytes();
}
