#include "train/prepare/slot.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/prepare/wiki_date.h"
#include "train/prepare/wiki_text.h"

#include <stdio.h>
#include <string.h>

int slot_add(struct slot *s, const struct part *p)
{
    if (s->n == s->cap) {
        size_t cap = s->cap == 0 ? 16 : 2 * s->cap;
        struct part *more = mem_grow(s->parts, s->cap * sizeof *more, cap * sizeof *more);
        if (more == NULL)
            return ERR_NOMEM;
        s->parts = more;
        s->cap = cap;
    }
    s->parts[s->n++] = *p;
    return 0;
}

void slot_release(struct slot *s)
{
    buf_release(&s->text);
    buf_release(&s->plain);
    ids_release(&s->ids);
    mem_free(s->parts);
}

static uint64_t count_characters(const char *text, size_t n)
{
    uint64_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

const char *slot_text(const struct slot *s, size_t k, size_t *n)
{
    const struct part *p = &s->parts[k];
    const size_t plain = k == 0 ? 0 : s->parts[k - 1].plain_end;
    const size_t text = k == 0 ? 0 : s->parts[k - 1].text_end;
    *n = p->wiki ? p->plain_end - plain : p->text_end - text;
    return p->wiki ? buf_text(&s->plain) + plain : buf_text(&s->text) + text;
}

/* The title and the paragraphs of a page, which has its title, its time and its text, each behind
 * a line break; nothing of a page without paragraphs. */
static int clean_page(struct slot *s, size_t k)
{
    const size_t from = k == 0 ? 0 : s->parts[k - 1].text_end, to = s->parts[k].text_end;
    const char *text = s->text.data + from;
    const size_t title = (size_t)((const char *)memchr(text, '\n', to - from) - text);
    const char *written = text + title + 1;
    const char *page = (const char *)memchr(written, '\n', to - from - title - 1) + 1;
    struct wiki_day today;
    const size_t before = s->plain.n;
    int rc = buf_add(&s->plain, text, title);
    if (rc == 0)
        rc = buf_str(&s->plain, "\n\n");
    const size_t body = s->plain.n;
    if (rc == 0)
        rc = wiki_text(&s->plain, page, to - from - (size_t)(page - text),
                       wiki_day_parse(&today, written) ? &today : NULL);
    if (s->plain.n == body)
        s->plain.n = before;
    return rc;
}

/* A document that ends with the end-of-text token, read as such, gets no second one. */
static int encode_ids(struct slot *s, const struct part *p, const struct slot_encoder *e,
                      struct word_cache *words, const char *text, size_t n)
{
    const size_t before = s->ids.n;
    int rc = tokenizer_encode_much(e->tokenizer, words, &s->ids, text, n,
                                   (p->begins ? ENCODE_TEXT : ENCODE_PART) |
                                       (e->special ? ENCODE_SPECIAL : ENCODE_TEXT));
    if (rc == 0 && e->special && p->ends && s->ids.n > before &&
        s->ids.data[s->ids.n - 1] == tokenizer_eos(e->tokenizer))
        s->ids.n--;
    return rc;
}

static int encode_part(struct slot *s, size_t k, const struct slot_encoder *e,
                       struct word_cache *words)
{
    struct part *p = &s->parts[k];
    size_t n;
    int rc = p->wiki ? clean_page(s, k) : 0;
    p->plain_end = s->plain.n;
    const char *text = slot_text(s, k, &n);
    p->characters = e->count ? count_characters(text, n) : 0;
    store_mark_begin(&p->mark);
    if (e->hash)
        text_hash_add(&p->mark.hash, text, n);
    if (e->near)
        min_hash_add(&p->mark.near, text, n);
    if (rc == 0 && e->tokenizer != NULL)
        rc = encode_ids(s, p, e, words, text, n);
    p->ids_end = s->ids.n;
    return rc;
}

void slot_encode(struct slot *s, const struct slot_encoder *e, struct word_cache *words)
{
    s->ids.n = s->plain.n = 0;
    s->rc = 0;
    for (size_t k = 0; k < s->n && s->rc == 0; k++) {
        s->rc = encode_part(s, k, e, words);
        s->failed = k;
    }
    if (s->rc != 0)
        snprintf(s->sentence, sizeof s->sentence, "%s", err_text());
}
