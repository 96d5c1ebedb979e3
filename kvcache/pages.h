#ifndef PRATTLE_KVCACHE_PAGES_H
#define PRATTLE_KVCACHE_PAGES_H
/*
 * Keys and values in pages of KV_BLOCK positions with reference counts, so that texts with a common
 * beginning store and compute it once. kv_seq_reserve copies a shared page before a text writes to
 * it: at most one page a fork. After kvcache_init only kv_seq_init allocates; a page's memory is
 * touched when it is first used.
 */
#include "model/kv_view.h"

struct kvcache {
    struct kv_layout layout;
    int n_layer, n_ctx, pages_per_seq, n_pages;
    char *memory;
    size_t memory_bytes;
    int *refs; /* [n_pages], 0 = free */
    int *free; /* stack of free pages */
    int n_free;
};

/* A pool of n_pages of keys and values of a type; kvcache_pages(n_ctx) of them hold one full text.
 * ERR_NOMEM. */
int kvcache_init(struct kvcache *c, const struct config *config, enum dtype dtype, int n_pages);
void kvcache_release(struct kvcache *c);
/* The pages that n positions take. */
static inline int kvcache_pages(int n)
{
    return (n + KV_BLOCK - 1) / KV_BLOCK;
}
/* The longest text: one id more than the context, since the logits after a full context give an id
 * that is never fed. */
static inline size_t kvcache_text_max(const struct kvcache *c)
{
    return (size_t)c->n_ctx + 1;
}
/* How many more ids a text of n may get; 0: it is full. */
static inline size_t kvcache_text_room(const struct kvcache *c, size_t n)
{
    size_t most = kvcache_text_max(c);
    return n < most ? most - n : 0;
}
/* Set the message of a pool without a free page. Returns ERR_FULL. */
int kvcache_full(const struct kvcache *c);
/* Bytes of pages in use now. */
size_t kvcache_used_bytes(const struct kvcache *c);

/* Copy the first n positions of a page: keys and values of every head of every layer. */
void kvcache_copy_positions(const struct kvcache *c, char *to, const char *from, int n);

/* The keys and values of one text. */
struct kv_seq {
    int n;        /* positions filled */
    char **pages; /* [pages_per_seq], the first kvcache_pages(n) or more in use */
    int n_pages;
};
int kv_seq_init(struct kv_seq *s, const struct kvcache *c);
void kv_seq_release(struct kv_seq *s, struct kvcache *c);
/* Make room for `more` positions: take pages, and copy the page that will be written if it is
 * shared. ERR_FULL: the context or the pool is; s is unchanged. Does not allocate. */
int kv_seq_reserve(struct kv_seq *s, struct kvcache *c, int more);
/* Count `more` positions, which the forward pass has filled. */
void kv_seq_advance(struct kv_seq *s, int more);
/* Keep the first n positions, and give back pages that hold none, reserved ones too. */
void kv_seq_truncate(struct kv_seq *s, struct kvcache *c, int n);
/* dst becomes the first n positions of src, sharing its pages. */
void kv_seq_fork(struct kv_seq *dst, const struct kv_seq *src, struct kvcache *c, int n);
struct kv_view kv_seq_view(const struct kv_seq *s);

#endif
