#include "model/tokenizer/token_order.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/tokenizer/token_table.h"

#include <stdlib.h>
#include <string.h>

struct spelled {
    const char *bytes;
    size_t n;
    token_id id;
};

static size_t common_bytes(const struct spelled *a, const struct spelled *b)
{
    size_t n = 0;
    while (n < a->n && n < b->n && a->bytes[n] == b->bytes[n])
        n++;
    return n;
}

/* Of equal bytes the lower id comes first. */
static int by_bytes(const void *a, const void *b)
{
    const struct spelled *x = a, *y = b;
    const int order = memcmp(x->bytes, y->bytes, x->n < y->n ? x->n : y->n);
    if (order != 0)
        return order;
    return x->n != y->n ? (x->n < y->n ? -1 : 1) : x->id < y->id ? -1 : x->id > y->id;
}

int token_order_init(struct token_order *o, const struct token_table *t)
{
    const size_t size = (size_t)t->n_tokens;
    *o = (struct token_order){0};
    struct spelled *list = mem_array(size, sizeof *list);
    o->ids = mem_array(size, sizeof *o->ids);
    o->common = mem_array(size, sizeof *o->common);
    if (list == NULL || o->ids == NULL || o->common == NULL) {
        mem_free(list);
        return ERR_NOMEM;
    }
    for (token_id id = 0; id < (token_id)size; id++) {
        const struct token_span *span = &t->tokens[id].bytes;
        const struct spelled s = {t->bytes + span->at, span->n, id};
        if (s.n == 0 || t->tokens[id].special)
            continue;
        list[o->n++] = s;
        o->longest = s.n > o->longest ? s.n : o->longest;
    }
    qsort(list, (size_t)o->n, sizeof *list, by_bytes);
    for (int i = 0; i < o->n; i++) {
        o->ids[i] = list[i].id;
        o->common[i] = i == 0 ? 0 : (uint32_t)common_bytes(&list[i - 1], &list[i]);
    }
    mem_free(list);
    return 0;
}

void token_order_release(struct token_order *o)
{
    mem_free(o->ids);
    mem_free(o->common);
    *o = (struct token_order){0};
}
