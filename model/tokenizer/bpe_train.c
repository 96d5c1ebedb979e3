#include "model/tokenizer/bpe_train.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/tokenizer/bpe_words.h"
#include "model/tokenizer/byte_text.h"

#include <string.h>
#include <utf8proc.h>

static const char END_OF_TEXT[] = BPE_END_OF_TEXT;

/* A pair of tokens that stood side by side in some word. */
struct pair {
    token_id left, right;
    int64_t count;
    /* In this step it newly occurred in n words, the last of them last_word; the next goes to
     * pool[fill]. */
    uint32_t step, last_word;
    size_t n, fill;
};

/* An element of the queue. */
struct entry {
    int64_t count; /* the pair's, as of when the entry was last examined */
    uint32_t pair;
    token_id left, right;
    size_t first, n; /* its words, in the pool */
};

struct training {
    struct bpe_words *words;
    token_id *symbols; /* [n_symbols]: a word's tokens begin where its bytes did */
    size_t n_symbols;
    struct bpe_words tokens; /* by id */

    struct pair *pairs; /* [n_pairs] */
    size_t n_pairs, pairs_cap;
    uint32_t *slots; /* [mask + 1]: index of a pair + 1, 0 for a free one */
    size_t mask;

    struct entry *queue; /* [n_queue], a binary heap */
    size_t n_queue, queue_cap;
    /* Words of the entries: n_symbols at first at most and two for each symbol that goes,
     * so that 3 n_symbols are always enough. */
    uint32_t *pool;
    size_t n_pool;

    uint32_t step; /* merges so far */
    struct change {
        uint32_t pair, word;
    } * changes; /* of this step: [n_changes], a pair and a word it came up in */
    size_t n_changes, changes_cap;

    uint32_t *merges; /* [step]: the pairs */
    size_t merges_cap;
};

/* Grow a list of n elements, if necessary, by room for one more. Returns its new address; NULL: no
 * memory, and the list is unchanged. */
static void *grow_list(void *list, size_t *cap, size_t n, size_t size)
{
    if (n < *cap)
        return list;
    size_t more = *cap == 0 ? 1024 : 2 * *cap;
    void *grown = mem_grow(list, n * size, more * size);
    if (grown != NULL)
        *cap = more;
    return grown;
}

static inline size_t pair_slot(const struct training *t, token_id left, token_id right)
{
    uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    return (size_t)((key ^ key >> 29) * 0x9e3779b97f4a7c15u >> 20) & t->mask;
}

static int grow_slots(struct training *t)
{
    size_t size = t->slots == NULL ? 1 << 14 : 2 * (t->mask + 1);
    uint32_t *slots = mem_array(size, sizeof *slots);
    if (slots == NULL)
        return ERR_NOMEM;
    mem_free(t->slots);
    t->slots = slots;
    t->mask = size - 1;
    for (size_t k = 0; k < t->n_pairs; k++) {
        size_t i = pair_slot(t, t->pairs[k].left, t->pairs[k].right);
        while (slots[i] != 0)
            i = (i + 1) & t->mask;
        slots[i] = (uint32_t)k + 1;
    }
    return 0;
}

/* The pair's index, made where there is none. */
static int find_pair(struct training *t, uint32_t *out, token_id left, token_id right)
{
    if (2 * t->n_pairs >= t->mask && grow_slots(t) != 0)
        return ERR_NOMEM;
    size_t i = pair_slot(t, left, right);
    for (; t->slots[i] != 0; i = (i + 1) & t->mask) {
        const struct pair *p = &t->pairs[t->slots[i] - 1];
        if (p->left == left && p->right == right) {
            *out = t->slots[i] - 1;
            return 0;
        }
    }
    struct pair *pairs = grow_list(t->pairs, &t->pairs_cap, t->n_pairs, sizeof *pairs);
    if (pairs == NULL)
        return ERR_NOMEM;
    t->pairs = pairs;
    t->pairs[t->n_pairs] = (struct pair){.left = left, .right = right, .step = UINT32_MAX};
    *out = (uint32_t)t->n_pairs++;
    t->slots[i] = *out + 1;
    return 0;
}

static int lose_pair(struct training *t, token_id left, token_id right, uint32_t word)
{
    uint32_t k;
    int rc = find_pair(t, &k, left, right);
    if (rc == 0)
        t->pairs[k].count -= (int64_t)t->words->list[word].count;
    return rc;
}

static int gain_pair(struct training *t, token_id left, token_id right, uint32_t word)
{
    uint32_t k;
    int rc = find_pair(t, &k, left, right);
    if (rc != 0)
        return rc;
    struct pair *p = &t->pairs[k];
    p->count += (int64_t)t->words->list[word].count;
    if (p->step != t->step) {
        p->step = t->step;
        p->n = 0;
    } else if (p->last_word == word) {
        return 0;
    }
    p->last_word = word;
    p->n++;
    struct change *changes = grow_list(t->changes, &t->changes_cap, t->n_changes, sizeof *changes);
    if (changes == NULL)
        return ERR_NOMEM;
    t->changes = changes;
    t->changes[t->n_changes++] = (struct change){k, word};
    return 0;
}

static inline bool pair_before(const struct entry *a, const struct entry *b)
{
    if (a->count != b->count)
        return a->count > b->count;
    if (a->left != b->left)
        return a->left < b->left;
    return a->right < b->right;
}

/* Put e into the heap's hole i, or sink it below. */
static void sink_pair(struct training *t, size_t i, struct entry e)
{
    for (size_t child; (child = 2 * i + 1) < t->n_queue; i = child) {
        child += child + 1 < t->n_queue && pair_before(&t->queue[child + 1], &t->queue[child]);
        if (!pair_before(&t->queue[child], &e))
            break;
        t->queue[i] = t->queue[child];
    }
    t->queue[i] = e;
}

static int push_pair(struct training *t, struct entry e)
{
    struct entry *queue = grow_list(t->queue, &t->queue_cap, t->n_queue, sizeof *queue);
    if (queue == NULL)
        return ERR_NOMEM;
    t->queue = queue;
    size_t i = t->n_queue++;
    for (; i > 0 && pair_before(&e, &t->queue[(i - 1) / 2]); i = (i - 1) / 2)
        t->queue[i] = t->queue[(i - 1) / 2];
    t->queue[i] = e;
    return 0;
}

/* Queue the pairs that newly occurred in this step, each with its words. */
static int queue_changes(struct training *t)
{
    for (size_t i = 0; i < t->n_changes; i++) {
        struct pair *p = &t->pairs[t->changes[i].pair];
        if (p->count <= 0)
            continue;
        if (p->n > 0) { /* the first of its changes */
            struct entry e = {p->count, t->changes[i].pair, p->left, p->right, t->n_pool, p->n};
            int rc = push_pair(t, e);
            if (rc != 0)
                return rc;
            p->fill = t->n_pool;
            t->n_pool += p->n;
            p->n = 0;
        }
        t->pool[p->fill++] = t->changes[i].word;
    }
    t->n_changes = 0;
    return 0;
}

/* Pop the pair to merge: the head of the queue, after correcting outdated counts. False: none is
 * left. */
static bool pop_pair(struct training *t, struct entry *out, int64_t min_frequency)
{
    while (t->n_queue > 0) {
        struct entry e = t->queue[0];
        int64_t count = t->pairs[e.pair].count;
        if (e.count == count) {
            *out = e;
            t->n_queue--;
            if (t->n_queue > 0)
                sink_pair(t, 0, t->queue[t->n_queue]);
            return count >= 1 && count >= min_frequency;
        }
        e.count = count;
        sink_pair(t, 0, e);
    }
    return false;
}

/* Merge e's pair wherever it stands in the word. */
static int merge_word(struct training *t, const struct entry *e, token_id merged, uint32_t w)
{
    struct bpe_word *word = &t->words->list[w];
    token_id *ids = t->symbols + word->at;
    size_t n = word->n, out = 0;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (i + 1 >= n || ids[i] != e->left || ids[i + 1] != e->right) {
            ids[out++] = ids[i];
            continue;
        }
        if (out > 0 && (rc = lose_pair(t, ids[out - 1], e->left, w)) == 0)
            rc = gain_pair(t, ids[out - 1], merged, w);
        i++;
        if (i + 1 < n && rc == 0 && (rc = lose_pair(t, e->right, ids[i + 1], w)) == 0)
            rc = gain_pair(t, merged, ids[i + 1], w);
        ids[out++] = merged;
    }
    word->n = out;
    return rc;
}

/* The token of both texts joined, new or existing. */
static int join_texts(struct training *t, token_id *merged, const struct entry *e)
{
    struct bpe_words *k = &t->tokens;
    const struct bpe_word left = k->list[e->left], right = k->list[e->right];
    size_t index;
    struct buf text = {0};
    int rc = buf_add(&text, k->bytes.data + left.at, left.n);
    if (rc == 0 && (rc = buf_add(&text, k->bytes.data + right.at, right.n)) == 0 &&
        (rc = bpe_words_find(k, &index, text.data, text.n)) == 0)
        *merged = (token_id)index;
    buf_release(&text);
    return rc;
}

static int merge_pair(struct training *t, const struct entry *e)
{
    token_id merged;
    uint32_t *merges = grow_list(t->merges, &t->merges_cap, t->step, sizeof *merges);
    if (merges == NULL)
        return ERR_NOMEM;
    t->merges = merges;
    int rc = join_texts(t, &merged, e);
    if (rc != 0)
        return rc;
    t->merges[t->step++] = e->pair;
    for (size_t i = 0; i < e->n && rc == 0; i++)
        rc = merge_word(t, e, merged, t->pool[e->first + i]);
    return rc == 0 ? queue_changes(t) : rc;
}

/* The special token and the alphabet, in the order of the signs. */
static int add_first_tokens(struct training *t)
{
    size_t id;
    int rc = bpe_words_find(&t->tokens, &id, END_OF_TEXT, sizeof END_OF_TEXT - 1);
    for (utf8proc_int32_t c = '!'; c < 0x144 && rc == 0; c++) {
        utf8proc_uint8_t sign[4];
        unsigned char byte;
        size_t n = (size_t)utf8proc_encode_char(c, sign);
        if (byte_text_decode(&byte, (const char *)sign, n) == 1)
            rc = bpe_words_find(&t->tokens, &id, (const char *)&byte, 1);
    }
    return rc;
}

/* The words as tokens, a byte each; their bytes are then no longer needed. */
static int spell_words(struct training *t)
{
    token_id of_byte[256];
    size_t id;
    for (int b = 0; b < 256; b++) {
        int rc = bpe_words_find(&t->tokens, &id, &(char){(char)b}, 1);
        if (rc != 0)
            return rc;
        of_byte[b] = (token_id)id;
    }
    struct buf *bytes = &t->words->bytes;
    t->n_symbols = bytes->n;
    if (t->n_symbols > UINT32_MAX / 3) /* then every pair has an index */
        return err_set(ERR_RANGE, "the different words have %zu bytes, at most %u can be learned",
                       bytes->n, UINT32_MAX / 3);
    if ((t->symbols = mem_map("tokenizer training", t->n_symbols * sizeof *t->symbols)) == NULL ||
        (t->pool = mem_map("tokenizer training", 3 * t->n_symbols * sizeof *t->pool)) == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < bytes->n; i++)
        t->symbols[i] = of_byte[(unsigned char)bytes->data[i]];
    buf_release(bytes);
    return 0;
}

static int count_pairs(struct training *t, const struct progress *p)
{
    const struct bpe_words *w = t->words;
    int rc = 0;
    for (size_t k = 0; k < w->n && rc == 0; k++) {
        const token_id *ids = t->symbols + w->list[k].at;
        if (k % 4096 == 0)
            rc = progress_step(p, "counting pairs", k, w->n);
        for (size_t i = 0; i + 1 < w->list[k].n && rc == 0; i++)
            rc = gain_pair(t, ids[i], ids[i + 1], (uint32_t)k);
    }
    return rc == 0 ? queue_changes(t) : rc;
}

/* Texts one after another, each with a NUL. */
struct text_list {
    struct buf bytes;
    const char **list; /* [n]; owned */
    size_t n;
};

static int add_token_text(struct training *t, struct buf *b, size_t id)
{
    const struct bpe_word *token = &t->tokens.list[id];
    const char *bytes = t->tokens.bytes.data + token->at;
    return id == 0 ? buf_str(b, END_OF_TEXT) : byte_text_encode(b, bytes, token->n);
}

static int list_texts(struct text_list *texts, size_t n)
{
    texts->list = mem_array(n, sizeof *texts->list);
    if (texts->list == NULL)
        return ERR_NOMEM;
    const char *at = texts->bytes.data;
    for (texts->n = 0; texts->n < n; at += strlen(at) + 1)
        texts->list[texts->n++] = at;
    return 0;
}

static int write_merges(struct training *t, struct text_list *merges)
{
    int rc = 0;
    for (uint32_t i = 0; i < t->step && rc == 0; i++) {
        const struct pair *p = &t->pairs[t->merges[i]];
        if ((rc = add_token_text(t, &merges->bytes, (size_t)p->left)) == 0 &&
            (rc = buf_char(&merges->bytes, ' ')) == 0 &&
            (rc = add_token_text(t, &merges->bytes, (size_t)p->right)) == 0)
            rc = buf_char(&merges->bytes, '\0');
    }
    return rc == 0 ? list_texts(merges, t->step) : rc;
}

static int make_tokenizer(struct tokenizer **out, struct training *t)
{
    struct text_list tokens = {0}, merges = {0};
    int rc = write_merges(t, &merges);
    for (size_t id = 0; id < t->tokens.n && rc == 0; id++)
        if ((rc = add_token_text(t, &tokens.bytes, id)) == 0)
            rc = buf_char(&tokens.bytes, '\0');
    if (rc == 0 && (rc = list_texts(&tokens, t->tokens.n)) == 0) {
        struct vocab v = {.n_tokens = (int)tokens.n,
                          .tokens = tokens.list,
                          .n_merges = (int)merges.n,
                          .merges = merges.list,
                          .eos = 0};
        rc = tokenizer_new(out, &v);
    }
    buf_release(&tokens.bytes);
    buf_release(&merges.bytes);
    mem_free(tokens.list);
    mem_free(merges.list);
    return rc;
}

static void release_training(struct training *t)
{
    mem_unmap(t->symbols, t->n_symbols * sizeof *t->symbols);
    mem_unmap(t->pool, 3 * t->n_symbols * sizeof *t->pool);
    bpe_words_release(&t->tokens);
    bpe_words_release(t->words);
    mem_free(t->pairs);
    mem_free(t->slots);
    mem_free(t->queue);
    mem_free(t->changes);
    mem_free(t->merges);
}

void bpe_train_config_init(struct bpe_train_config *c)
{
    *c = (struct bpe_train_config){.vocab_size = 50257};
}

static int check_input(const struct bpe_words *w, const struct bpe_train_config *c)
{
    if (c->vocab_size < BPE_MIN_VOCAB || c->vocab_size > BPE_MAX_VOCAB)
        return err_set(ERR_RANGE, "vocab_size must be %d (the 256 bytes and %s) to %d, not %d",
                       BPE_MIN_VOCAB, END_OF_TEXT, BPE_MAX_VOCAB, c->vocab_size);
    return w->n == 0 ? err_set(ERR_FORMAT, "there is no text to learn from") : 0;
}

int bpe_train(struct tokenizer **out, struct bpe_words *w, const struct bpe_train_config *c,
              const struct progress *p)
{
    struct training t = {.words = w};
    struct entry e;
    size_t wanted = (size_t)c->vocab_size;
    int rc = check_input(w, c);
    if (rc == 0 && (rc = add_first_tokens(&t)) == 0 && (rc = spell_words(&t)) == 0)
        rc = count_pairs(&t, p);
    while (rc == 0 && t.tokens.n < wanted && pop_pair(&t, &e, c->min_frequency))
        if ((rc = progress_step(p, "merging", t.tokens.n, wanted)) == 0)
            rc = merge_pair(&t, &e);
    if (rc == 0)
        rc = make_tokenizer(out, &t);
    if (rc == 0 && t.tokens.n < wanted)
        progress_note(p, "the text gives a vocabulary of %zu tokens; %zu were asked for",
                      t.tokens.n, wanted);
    release_training(&t);
    return rc;
}
