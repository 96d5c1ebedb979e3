#include "train/step/stage.h"

#include "model/base/mem.h"

#include <stdint.h>
#include <unistd.h>

void stage_drop(void *block, size_t first, size_t last, size_t each)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *from = (char *)block + first * each;
    const size_t bytes = (last - first) * each, before = (page - (uintptr_t)from % page) % page;
    if (bytes >= before + page)
        mem_clear_map(from + before, (bytes - before) / page * page);
}

void stage_drop_others(const struct spans *own, void *block, size_t n, size_t each)
{
    size_t from = 0;
    for (int i = 0; i < own->n; i++) {
        stage_drop(block, from, own->at[i].first, each);
        from = own->at[i].first + own->at[i].n;
    }
    stage_drop(block, from, n, each);
}
