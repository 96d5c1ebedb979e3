#include "sampling/text/stream.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/words.h"

#include <string.h>

struct stop_strings {
    struct words words;
    size_t longest;
};

int stop_strings_new(struct stop_strings **out, const char *text)
{
    *out = NULL;
    if (text == NULL || *text == '\0')
        return 0;
    struct stop_strings *s = mem_alloc(sizeof *s);
    if (s == NULL)
        return ERR_NOMEM;
    int rc = words_parse(&s->words, text);
    if (rc != 0) {
        mem_free(s);
        return rc;
    }
    for (size_t i = 0; i < s->words.n; i++)
        if (s->words.list[i].n > s->longest)
            s->longest = s->words.list[i].n;
    *out = s;
    return 0;
}

void stop_strings_free(struct stop_strings *s)
{
    if (s == NULL)
        return;
    words_release(&s->words);
    mem_free(s);
}

static size_t longest_token(const struct tokenizer *t)
{
    size_t longest = 0;
    for (token_id id = 0; id < tokenizer_size(t); id++) {
        size_t n = 0;
        tokenizer_bytes(t, id, &n);
        if (n > longest)
            longest = n;
    }
    return longest;
}

int stream_init(struct stream *s, const struct tokenizer *t, const struct stop_strings *stops)
{
    *s = (struct stream){.tokenizer = t, .stops = stops};
    /* Before a push the held bytes are less than a stop string and less than a character (3). */
    s->token_bytes = t == NULL ? 0 : longest_token(t);
    s->held_bytes = (stops == NULL ? 0 : stops->longest) + 3 + s->token_bytes;
    s->held = mem_alloc(s->held_bytes);
    return s->held == NULL ? ERR_NOMEM : 0;
}

void stream_release(struct stream *s)
{
    if (s == NULL)
        return;
    mem_free(s->held);
    *s = (struct stream){0};
}

void stream_reset(struct stream *s, bool skip_space)
{
    s->n_held = 0;
    s->skip_space = skip_space;
    s->stopped = false;
    s->n_hidden = 0;
}

size_t stream_run_bytes(const struct stream *s, size_t n)
{
    return s->held_bytes + n * s->token_bytes;
}

/* The longest stop string that ends with the bytes held, 0 if none does. */
static size_t stop_length_at_end(const struct stream *s)
{
    size_t longest = 0;
    for (size_t i = 0; s->stops != NULL && i < s->stops->words.n; i++) {
        const struct word *w = &s->stops->words.list[i];
        if (w->n > longest && w->n <= s->n_held &&
            memcmp(s->held + s->n_held - w->n, w->bytes, w->n) == 0)
            longest = w->n;
    }
    return longest;
}

/* How many bytes at the end may become a stop string. */
static size_t begun_stop_length(const struct stream *s)
{
    size_t longest = 0;
    for (size_t i = 0; s->stops != NULL && i < s->stops->words.n; i++) {
        const struct word *w = &s->stops->words.list[i];
        size_t n = w->n - 1 < s->n_held ? w->n - 1 : s->n_held;
        for (; n > longest; n--)
            if (memcmp(s->held + s->n_held - n, w->bytes, n) == 0)
                longest = n;
    }
    return longest;
}

/* Whether p [n], n < 4, can be the beginning of a longer UTF-8 character (Unicode 15,
 * table 3-7). */
static bool begins_character(const unsigned char *p, size_t n)
{
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return false;
    size_t length = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (n >= length)
        return false;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return false;
    if (n < 2)
        return true;
    return !(p[0] == 0xe0 && p[1] < 0xa0) && !(p[0] == 0xed && p[1] > 0x9f) &&
           !(p[0] == 0xf0 && p[1] < 0x90) && !(p[0] == 0xf4 && p[1] > 0x8f);
}

/* How many of the last bytes of held [n] are a character not yet complete. */
static size_t begun_character_length(const char *held, size_t n)
{
    for (size_t back = n < 3 ? n : 3; back > 0; back--)
        if (begins_character((const unsigned char *)held + n - back, back))
            return back;
    return 0;
}

static size_t show_held_bytes(struct stream *s, char *out, size_t n)
{
    memcpy(out, s->held, n);
    memmove(s->held, s->held + n, s->n_held - n);
    s->n_held -= n;
    return n;
}

size_t stream_push(struct stream *s, token_id id, char *out)
{
    size_t n = 0;
    const char *token = s->tokenizer == NULL ? NULL : tokenizer_bytes(s->tokenizer, id, &n);
    if (token == NULL || n == 0 || s->stopped)
        return 0;
    if (s->skip_space && *token == ' ') {
        token++;
        n--;
    }
    s->skip_space = false;
    for (size_t i = 0; i < n; i++) {
        s->held[s->n_held++] = token[i];
        size_t stop = stop_length_at_end(s);
        if (stop > 0) {
            size_t shown = show_held_bytes(s, out, s->n_held - stop);
            s->n_held = 0;
            s->stopped = true;
            s->n_hidden = stop + n - i - 1;
            return shown;
        }
    }
    size_t ready = s->n_held - begun_stop_length(s);
    return show_held_bytes(s, out, ready - begun_character_length(s->held, ready));
}

size_t stream_shown(const struct stream *s, const token_id *ids, size_t n, size_t *part)
{
    size_t hidden = s->n_hidden, bytes;
    *part = 0;
    while (hidden > 0 && n > 0) {
        tokenizer_bytes(s->tokenizer, ids[--n], &bytes);
        if (hidden < bytes) {
            *part = bytes - hidden;
            break;
        }
        hidden -= bytes;
    }
    return n;
}

size_t stream_finish(struct stream *s, char *out)
{
    return show_held_bytes(s, out, s->n_held);
}
