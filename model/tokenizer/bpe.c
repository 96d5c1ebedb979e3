#include "model/tokenizer/bpe.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <limits.h>
#include <string.h>

/*
 * A short pre-token (merge_few_ids) is scanned for its lowest rank, over and over. A long one
 * (merge_many_ids) is a linked list of nodes, and each rank has a list of the nodes where one of
 * its pairs begins:
 *
 *     levels   bitmaps of the ranks that have a list: the lowest rank in BPE_LEVELS steps
 *     lists    [rank] -> chunk -> chunk, each with up to CHUNK nodes
 *     nodes    id, neighbours, and the rank of the pair with the right neighbour
 *
 * Merging a pair changes the ranks of its neighbours' pairs, which are appended to the lists of
 * their new ranks; old entries stay, and are skipped because their node has another rank by then.
 * So each merge appends at most two entries, and the time is linear in the pre-token.
 */

enum { NO_RANK = INT_MAX, SHORT = 40, CHUNK = 14 };

struct bpe_node {
    token_id id;
    int32_t left, right; /* neighbours in the pre-token, -1 at its ends */
    int rank;            /* of the pair with the right neighbour, NO_RANK for none */
};

/* Nodes at which a pair of one rank begins, or began. */
struct bpe_chunk {
    int32_t next; /* -1 for none */
    int32_t n;
    int32_t at[CHUNK];
};

int bpe_init(struct bpe *b, int n)
{
    uint32_t size = 64;
    while (size < 2 * (uint64_t)n)
        size *= 2;
    *b = (struct bpe){.mask = size - 1, .n_ranks = n};
    b->slots = mem_array(size, sizeof *b->slots);
    if (b->slots == NULL)
        return ERR_NOMEM;
    for (uint32_t i = 0; i < size; i++)
        b->slots[i].left = TOKEN_NONE;
    return 0;
}

void bpe_release(struct bpe *b)
{
    mem_free(b->slots);
    *b = (struct bpe){0};
}

static inline uint32_t pair_slot(const struct bpe *b, token_id left, token_id right)
{
    uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    return (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) & b->mask;
}

void bpe_add(struct bpe *b, token_id left, token_id right, token_id merged, int rank)
{
    uint32_t i = pair_slot(b, left, right);
    while (b->slots[i].left != TOKEN_NONE &&
           (b->slots[i].left != left || b->slots[i].right != right))
        i = (i + 1) & b->mask;
    b->slots[i] = (struct bpe_pair){left, right, merged, rank};
}

static inline const struct bpe_pair *find_merge(const struct bpe *b, token_id left, token_id right)
{
    for (uint32_t i = pair_slot(b, left, right);; i = (i + 1) & b->mask) {
        const struct bpe_pair *p = &b->slots[i];
        if (p->left == left && p->right == right)
            return p;
        if (p->left == TOKEN_NONE)
            return NULL;
    }
}

static inline int pair_rank(const struct bpe *b, token_id left, token_id right)
{
    const struct bpe_pair *p = find_merge(b, left, right);
    return p == NULL ? NO_RANK : p->rank;
}

/* ranks[i] is that of the pair ids[i] ids[i+1]. */
static size_t merge_few_ids(const struct bpe *b, token_id *ids, size_t n)
{
    int ranks[SHORT];
    for (size_t i = 0; i + 1 < n; i++)
        ranks[i] = pair_rank(b, ids[i], ids[i + 1]);
    for (;;) {
        int best = NO_RANK;
        size_t first = 0;
        for (size_t i = 0; i + 1 < n; i++)
            if (ranks[i] < best) {
                best = ranks[i];
                first = i;
            }
        if (best == NO_RANK)
            return n;
        token_id merged = find_merge(b, ids[first], ids[first + 1])->merged;
        for (size_t i = first; i + 1 < n; i++) {
            if (ranks[i] != best)
                continue;
            n--;
            memmove(ids + i + 1, ids + i + 2, (n - i - 1) * sizeof *ids);
            memmove(ranks + i, ranks + i + 1, (n - i - 1) * sizeof *ranks);
            ids[i] = merged;
            if (i > 0)
                ranks[i - 1] = pair_rank(b, ids[i - 1], merged);
            ranks[i] = i + 1 < n ? pair_rank(b, merged, ids[i + 1]) : NO_RANK;
        }
    }
}

void bpe_scratch_release(struct bpe_scratch *s)
{
    mem_unmap(s->nodes, s->cap * sizeof *s->nodes);
    mem_unmap(s->chunks, s->chunk_cap * sizeof *s->chunks);
    mem_free(s->lists);
    for (int l = 0; l < BPE_LEVELS; l++)
        mem_free(s->levels[l]);
    *s = (struct bpe_scratch){0};
}

static int reserve_lists(struct bpe_scratch *s, int n_ranks)
{
    s->lists = mem_array((size_t)n_ranks, sizeof *s->lists);
    if (s->lists == NULL)
        return ERR_NOMEM;
    memset(s->lists, -1, (size_t)n_ranks * sizeof *s->lists);
    size_t words = (size_t)n_ranks;
    for (int l = 0; l < BPE_LEVELS; l++) {
        words = words / 64 + 1;
        if ((s->levels[l] = mem_array(words, sizeof **s->levels)) == NULL) {
            bpe_scratch_release(s);
            return ERR_NOMEM;
        }
    }
    return 0;
}

static int reserve_scratch(struct bpe_scratch *s, int n_ranks, size_t n)
{
    if (n > INT32_MAX / 4)
        return err_set(ERR_RANGE, "a word of %zu bytes cannot be encoded, at most %d", n,
                       INT32_MAX / 4);
    if (s->lists == NULL && reserve_lists(s, n_ranks) != 0)
        return ERR_NOMEM;
    if (n > s->cap) {
        size_t cap = n > 2 * s->cap ? n : 2 * s->cap;
        mem_unmap(s->nodes, s->cap * sizeof *s->nodes);
        mem_unmap(s->chunks, s->chunk_cap * sizeof *s->chunks);
        s->cap = s->chunk_cap = 0;
        s->chunks = NULL;
        if ((s->nodes = mem_map("tokenizer scratch", cap * sizeof *s->nodes)) == NULL)
            return ERR_NOMEM;
        s->cap = cap;
        /* n - 1 pairs at first and two for each merge, and for each rank a last chunk that
         * is not full. Pages that are not needed are never touched. */
        size_t pairs = 3 * cap, ranks = pairs < (size_t)n_ranks ? pairs : (size_t)n_ranks;
        size_t chunks = pairs / CHUNK + ranks + 1;
        if ((s->chunks = mem_map("tokenizer scratch", chunks * sizeof *s->chunks)) == NULL)
            return ERR_NOMEM;
        s->chunk_cap = chunks;
    }
    s->n_chunks = 0;
    s->free_chunk = -1;
    return 0;
}

static int32_t take_chunk(struct bpe_scratch *s)
{
    int32_t c = s->free_chunk;
    if (c >= 0)
        s->free_chunk = s->chunks[c].next;
    else
        c = s->n_chunks++;
    s->chunks[c].next = -1;
    s->chunks[c].n = 0;
    return c;
}

/* Set the rank of the pair that begins at node i, and append the node to the list of that rank. */
static void set_pair(struct bpe_scratch *s, int32_t i, int rank)
{
    s->nodes[i].rank = rank;
    if (rank == NO_RANK)
        return;
    struct bpe_list *list = &s->lists[rank];
    if (list->first < 0) {
        list->first = list->last = take_chunk(s);
        for (size_t l = 0, at = (size_t)rank; l < BPE_LEVELS; l++, at /= 64)
            s->levels[l][at / 64] |= (uint64_t)1 << at % 64;
    } else if (s->chunks[list->last].n == CHUNK) {
        int32_t c = take_chunk(s);
        s->chunks[list->last].next = c;
        list->last = c;
    }
    struct bpe_chunk *chunk = &s->chunks[list->last];
    chunk->at[chunk->n++] = i;
}

static void clear_list(struct bpe_scratch *s, int rank)
{
    struct bpe_list *list = &s->lists[rank];
    s->chunks[list->last].next = s->free_chunk;
    s->free_chunk = list->first;
    *list = (struct bpe_list){-1, -1};
    size_t at = (size_t)rank;
    for (int l = 0; l < BPE_LEVELS; l++, at /= 64)
        if ((s->levels[l][at / 64] &= ~((uint64_t)1 << at % 64)) != 0)
            break;
}

static int lowest_rank(const struct bpe_scratch *s)
{
    size_t at = 0;
    if (s->levels[BPE_LEVELS - 1][0] == 0)
        return NO_RANK;
    for (int l = BPE_LEVELS - 1; l >= 0; l--)
        at = at * 64 + (size_t)__builtin_ctzll(s->levels[l][at]);
    return (int)at;
}

/* Merge node i with its right neighbour. Returns the node after them; -1: none. */
static int32_t merge_node(const struct bpe *b, struct bpe_scratch *s, int32_t i, token_id merged)
{
    struct bpe_node *nodes = s->nodes;
    int32_t left = nodes[i].left, gone = nodes[i].right, right = nodes[gone].right;
    nodes[gone].rank = NO_RANK;
    nodes[i].id = merged;
    nodes[i].right = right;
    if (left >= 0)
        set_pair(s, left, pair_rank(b, nodes[left].id, merged));
    if (right >= 0)
        nodes[right].left = i;
    set_pair(s, i, right >= 0 ? pair_rank(b, merged, nodes[right].id) : NO_RANK);
    return right;
}

/* Merge every pair of this rank. */
static void merge_rank(const struct bpe *b, struct bpe_scratch *s, int rank)
{
    struct bpe_node *nodes = s->nodes;
    token_id merged = TOKEN_NONE;
    for (int32_t c = s->lists[rank].first; c >= 0; c = s->chunks[c].next)
        for (int32_t k = 0; k < s->chunks[c].n; k++) {
            int32_t i = s->chunks[c].at[k];
            if (nodes[i].rank != rank)
                continue;
            if (merged == TOKEN_NONE)
                merged = find_merge(b, nodes[i].id, nodes[nodes[i].right].id)->merged;
            /* Only a pair of equal ids (aaaa) overlaps itself; then the leftmost of the run is
             * merged first. For all others the order does not matter. */
            while (nodes[i].left >= 0 && nodes[nodes[i].left].rank == rank)
                i = nodes[i].left;
            while (i >= 0 && nodes[i].rank == rank)
                i = merge_node(b, s, i, merged);
        }
    clear_list(s, rank);
}

static size_t merge_many_ids(const struct bpe *b, struct bpe_scratch *s, token_id *ids, size_t n)
{
    struct bpe_node *nodes = s->nodes;
    int32_t last = (int32_t)n - 1;
    for (int32_t i = 0; i <= last; i++) {
        nodes[i] = (struct bpe_node){ids[i], i - 1, i < last ? i + 1 : -1, NO_RANK};
        set_pair(s, i, i < last ? pair_rank(b, ids[i], ids[i + 1]) : NO_RANK);
    }
    for (int rank; (rank = lowest_rank(s)) != NO_RANK;)
        merge_rank(b, s, rank);
    size_t left = 0;
    for (int32_t i = 0; i >= 0; i = nodes[i].right)
        ids[left++] = nodes[i].id;
    return left;
}

int bpe_merge(const struct bpe *b, struct bpe_scratch *s, token_id *ids, size_t n, size_t *n_out)
{
    if (n <= SHORT || b->n_ranks == 0) {
        *n_out = b->n_ranks == 0 ? n : merge_few_ids(b, ids, n);
        return 0;
    }
    int rc = reserve_scratch(s, b->n_ranks, n);
    if (rc == 0)
        *n_out = merge_many_ids(b, s, ids, n);
    return rc;
}
