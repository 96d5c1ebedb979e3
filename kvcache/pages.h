#ifndef PRATTLE_KVCACHE_PAGES_H
#define PRATTLE_KVCACHE_PAGES_H
/*
 * Keys and values in pages of KV_BLOCK positions, counted by reference, so that texts
 * with a common beginning store and compute it once. A shared page is copied in one place,
 * kv_seq_reserve, before the text that wants to write there does: one page a fork at most.
 * After kvcache_init nothing here allocates; page memory is touched only when used.
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

/* n_pages in the pool; kvcache_pages(n_ctx) hold one full text. */
int kvcache_init(struct kvcache *c, const struct config *config, bool fp32, int n_pages);
void kvcache_release(struct kvcache *c);
static inline int kvcache_pages(int n)
{
    return (n + KV_BLOCK - 1) / KV_BLOCK;
}
/* A text's last id may be one that nobody feeds: a full context still says what comes next. */
static inline size_t kvcache_text_max(const struct kvcache *c)
{
    return (size_t)c->n_ctx + 1;
}
/* How many more ids a text of n may get; 0: its context is full, and so is the text. */
static inline size_t kvcache_text_room(const struct kvcache *c, size_t n)
{
    size_t most = kvcache_text_max(c);
    return n < most ? most - n : 0;
}
/* ERR_FULL: the sentence of a pool without a page. */
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
/* Room for `more` positions: pages exist and the one being written is not shared
 * (copied if it was). ERR_FULL: context or pool; s is unchanged. Does not allocate. */
int kv_seq_reserve(struct kv_seq *s, struct kvcache *c, int more);
/* The forward pass has filled `more` of them. */
void kv_seq_advance(struct kv_seq *s, int more);
void kv_seq_truncate(struct kv_seq *s, struct kvcache *c, int n);
/* dst becomes the first n positions of src, sharing its pages. */
void kv_seq_fork(struct kv_seq *dst, const struct kv_seq *src, struct kvcache *c, int n);
struct kv_view kv_seq_view(const struct kv_seq *s);

#endif
