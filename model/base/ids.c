#include "model/base/ids.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <string.h>

void ids_release(struct ids *l)
{
    mem_free(l->data);
    *l = (struct ids){0};
}

int ids_reserve(struct ids *l, size_t more)
{
    if (more <= l->cap - l->n)
        return 0;
    size_t cap = l->cap < 64 ? 64 : l->cap;
    while (cap - l->n < more)
        cap *= 2;
    token_id *data = cap > SIZE_MAX / sizeof *data
                         ? mem_array(cap, sizeof *data)
                         : mem_grow(l->data, l->n * sizeof *data, cap * sizeof *data);
    if (data == NULL)
        return ERR_NOMEM;
    l->data = data;
    l->cap = cap;
    return 0;
}

int ids_add(struct ids *l, const token_id *ids, size_t n)
{
    int rc = ids_reserve(l, n);
    if (rc == 0 && n > 0)
        memcpy(l->data + l->n, ids, n * sizeof *ids);
    l->n += rc == 0 ? n : 0;
    return rc;
}
