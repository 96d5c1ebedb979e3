#include "kvcache/pages.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/kernels/attention_page.h"

#include <string.h>

/*
 * Text b forked from text a at position 70:
 *
 *     a: [ 0..63 ][ 64..127 ][ 128.. ]      refs 2, 2, 1
 *     b: [   "   ][    "    ]               shares, until it writes position 70: then a copy
 *
 * refs[i] is how many texts hold page i, and i is on the free stack if it is 0. A page is
 * written by one text alone, from its own n on (must_copy_page); what lies from n on is undefined.
 */

int kvcache_init(struct kvcache *c, const struct config *config, enum dtype dtype, int n_pages)
{
    *c = (struct kvcache){.n_layer = config->n_layer, .n_ctx = config->n_ctx, .n_pages = n_pages};
    kv_layout_init(&c->layout, config, dtype);
    c->pages_per_seq = kvcache_pages(config->n_ctx);
    if (__builtin_mul_overflow((size_t)n_pages, c->layout.page_bytes, &c->memory_bytes))
        return err_set(ERR_NOMEM, "cannot hold %d pages of %zu bytes of keys and values", n_pages,
                       c->layout.page_bytes);
    if ((c->refs = mem_array((size_t)n_pages, sizeof *c->refs)) == NULL ||
        (c->free = mem_array((size_t)n_pages, sizeof *c->free)) == NULL ||
        (c->memory = mem_map("keys and values", c->memory_bytes)) == NULL) {
        kvcache_release(c);
        return ERR_NOMEM;
    }
    /* A stack, so that the page freed last, which is warm in the cache, is used first. */
    for (c->n_free = 0; c->n_free < n_pages; c->n_free++)
        c->free[c->n_free] = n_pages - 1 - c->n_free;
    return 0;
}

void kvcache_release(struct kvcache *c)
{
    if (c == NULL)
        return;
    mem_unmap(c->memory, c->memory_bytes);
    mem_free(c->refs);
    mem_free(c->free);
    *c = (struct kvcache){0};
}

int kvcache_full(const struct kvcache *c)
{
    return err_set(ERR_FULL, "the cache is full: all %d pages of %d tokens are in use", c->n_pages,
                   KV_BLOCK);
}

size_t kvcache_used_bytes(const struct kvcache *c)
{
    return (size_t)(c->n_pages - c->n_free) * c->layout.page_bytes;
}

static int page_index(const struct kvcache *c, const char *page)
{
    return (int)((size_t)(page - c->memory) / c->layout.page_bytes);
}

static char *take_page(struct kvcache *c)
{
    int i = c->free[--c->n_free];
    c->refs[i] = 1;
    return c->memory + (size_t)i * c->layout.page_bytes;
}

static void share_page(struct kvcache *c, const char *page)
{
    c->refs[page_index(c, page)]++;
}

static void give_page(struct kvcache *c, const char *page)
{
    int i = page_index(c, page);
    if (--c->refs[i] == 0)
        c->free[c->n_free++] = i;
}

static void keep_pages(struct kv_seq *s, struct kvcache *c, int n_pages)
{
    while (s->n_pages > n_pages)
        give_page(c, s->pages[--s->n_pages]);
}

int kv_seq_init(struct kv_seq *s, const struct kvcache *c)
{
    *s = (struct kv_seq){0};
    s->pages = mem_array((size_t)c->pages_per_seq, sizeof *s->pages);
    return s->pages == NULL ? ERR_NOMEM : 0;
}

void kv_seq_release(struct kv_seq *s, struct kvcache *c)
{
    if (s == NULL)
        return;
    keep_pages(s, c, 0);
    mem_free(s->pages);
    *s = (struct kv_seq){0};
}

/* Only the page that holds position n can be shared and about to be written: a fork
 * shares no page without a filled position. */
static bool must_copy_page(const struct kv_seq *s, const struct kvcache *c)
{
    return s->n % KV_BLOCK != 0 && c->refs[page_index(c, s->pages[s->n / KV_BLOCK])] > 1;
}

void kvcache_copy_positions(const struct kvcache *c, char *to, const char *from, int n)
{
    const struct kv_layout *l = &c->layout;
    for (int layer = 0; layer < c->n_layer; layer++)
        for (int h = 0; h < l->n_head; h++) {
            size_t keys = kv_key_offset(l, layer, h), values = kv_value_offset(l, layer, h);
            attention_page_copy(l->dtype, l->head_size, to + keys, to + values, from + keys,
                                from + values, n);
        }
}

int kv_seq_reserve(struct kv_seq *s, struct kvcache *c, int more)
{
    if (more > c->n_ctx - s->n)
        return err_set(ERR_FULL, "the text would be %lld tokens long, the context holds %d",
                       (long long)s->n + more, c->n_ctx);
    bool copy = must_copy_page(s, c);
    int fresh = kvcache_pages(s->n + more) - s->n_pages;
    if (fresh < 0)
        fresh = 0;
    if (fresh + (copy ? 1 : 0) > c->n_free)
        return kvcache_full(c);
    if (copy) {
        char **page = &s->pages[s->n / KV_BLOCK], *shared = *page;
        *page = take_page(c);
        kvcache_copy_positions(c, *page, shared, s->n % KV_BLOCK);
        give_page(c, shared);
    }
    while (fresh-- > 0)
        s->pages[s->n_pages++] = take_page(c);
    return 0;
}

void kv_seq_advance(struct kv_seq *s, int more)
{
    s->n += more;
}

void kv_seq_truncate(struct kv_seq *s, struct kvcache *c, int n)
{
    if (n < s->n)
        s->n = n;
    keep_pages(s, c, kvcache_pages(s->n));
}

void kv_seq_fork(struct kv_seq *dst, const struct kv_seq *src, struct kvcache *c, int n)
{
    if (dst == src) {
        kv_seq_truncate(dst, c, n);
        return;
    }
    int n_pages = kvcache_pages(n);
    /* Share first: dst's own pages, released next, may be the same ones. */
    for (int i = 0; i < n_pages; i++)
        share_page(c, src->pages[i]);
    keep_pages(dst, c, 0);
    for (int i = 0; i < n_pages; i++)
        dst->pages[i] = src->pages[i];
    dst->n_pages = n_pages;
    dst->n = n;
}

struct kv_view kv_seq_view(const struct kv_seq *s)
{
    return (struct kv_view){.pages = s->pages, .n_past = s->n};
}
