#include "model/tokenizer/bpe_words.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/tokenizer/byte_hash.h"
#include "model/tokenizer/pretokenize.h"

#include <string.h>

struct bpe_slot {
    uint32_t hash;
    uint32_t word; /* index + 1, 0 for a free slot */
};

void bpe_words_release(struct bpe_words *w)
{
    buf_release(&w->bytes);
    mem_free(w->list);
    mem_free(w->slots);
    *w = (struct bpe_words){0};
}

static int grow_table(struct bpe_words *w)
{
    size_t cap = w->cap == 0 ? 1024 : 2 * w->cap;
    if (cap > UINT32_MAX)
        return err_set(ERR_RANGE, "the text has more than %zu different words", w->n);
    struct bpe_word *list = mem_grow(w->list, w->n * sizeof *list, cap * sizeof *list);
    if (list == NULL)
        return ERR_NOMEM;
    w->list = list;
    struct bpe_slot *slots = mem_array(2 * cap, sizeof *slots);
    if (slots == NULL)
        return ERR_NOMEM;
    size_t mask = 2 * cap - 1;
    for (size_t k = 0; w->slots != NULL && k <= w->mask; k++) {
        if (w->slots[k].word == 0)
            continue;
        size_t i = w->slots[k].hash & mask;
        while (slots[i].word != 0)
            i = (i + 1) & mask;
        slots[i] = w->slots[k];
    }
    mem_free(w->slots);
    w->slots = slots;
    w->mask = mask;
    w->cap = cap;
    return 0;
}

int bpe_words_find(struct bpe_words *w, size_t *index, const char *word, size_t n)
{
    int rc = w->n == w->cap ? grow_table(w) : 0;
    if (rc != 0)
        return rc;
    uint32_t hash = byte_hash(word, n);
    size_t i = hash & w->mask;
    for (; w->slots[i].word != 0; i = (i + 1) & w->mask) {
        const struct bpe_word *there = &w->list[w->slots[i].word - 1];
        if (w->slots[i].hash == hash && there->n == n &&
            memcmp(w->bytes.data + there->at, word, n) == 0) {
            *index = w->slots[i].word - 1;
            return 0;
        }
    }
    size_t at = w->bytes.n;
    if ((rc = buf_add(&w->bytes, word, n)) != 0)
        return rc;
    *index = w->n++;
    w->list[*index] = (struct bpe_word){at, n, 0};
    w->slots[i] = (struct bpe_slot){hash, (uint32_t)w->n};
    return 0;
}

int bpe_words_add(struct bpe_words *w, const char *text, size_t n)
{
    static const char separator[] = BPE_END_OF_TEXT;
    size_t index, skip = sizeof separator - 1;
    for (const char *end = text + n; text < end;) {
        const char *stop = memmem(text, (size_t)(end - text), separator, skip);
        const char *next = stop == NULL ? end : stop + skip;
        for (stop = stop == NULL ? end : stop; text < stop;) {
            size_t word = pretokenize_next(text, (size_t)(stop - text));
            int rc = bpe_words_find(w, &index, text, word);
            if (rc != 0)
                return rc;
            w->list[index].count++;
            text += word;
        }
        text = next;
    }
    return 0;
}
