/* GPT-2 freshly initialised (Radford et al. 2019): normal(0, initializer_range), the
 * projections into the residual stream scaled by 1 / sqrt(2 L), biases 0, LayerNorm 1
 * and 0. Nothing is stored: each element is a function of (seed, tensor, position). */
#include "weights/source.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/rng.h"
#include "weights/hf/adapter_file.h"
#include "weights/hf/hf_config.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One tensor: normals of one stream times scale, or one value everywhere. */
struct fresh {
    uint64_t seed, stream;
    float scale; /* 0: constant */
    float constant;
};

static int read_fresh(void *user, void *dst, uint64_t first, size_t n)
{
    const struct fresh *f = user;
    float *out = dst;
    if (f->scale == 0) {
        for (size_t i = 0; i < n; i++)
            out[i] = f->constant;
        return 0;
    }
    rng_normals(out, f->seed, f->stream, first, n);
    for (size_t i = 0; i < n; i++)
        out[i] *= f->scale;
    return 0;
}

static int make_readers(struct source *s, uint64_t seed)
{
    size_t n = (size_t)s->table.n_tensors;
    struct fresh *all = mem_array(n, sizeof *all);
    s->format = all;
    s->readers = mem_array(n, sizeof *s->readers);
    if (all == NULL || s->readers == NULL)
        return ERR_NOMEM;
    float residual = 1.0f / sqrtf(2.0f * (float)s->config.n_layer);
    for (size_t i = 0; i < n; i++) {
        const struct param_tensor *t = &s->table.tensors[i];
        float scale = t->kind == PARAM_VECTOR ? 0 : s->config.initializer_range;
        if (text_ends_in(t->name, "c_proj.weight"))
            scale *= residual;
        all[i] =
            (struct fresh){.seed = seed,
                           .stream = i,
                           .scale = scale,
                           .constant = t->kind == PARAM_VECTOR && text_ends_in(t->name, ".weight")};
        s->readers[i] =
            (struct tensor_reader){.read = read_fresh, .user = &all[i], .dtype = DTYPE_F32};
    }
    return 0;
}

/* UTF-8 of the character that stands for byte b in GPT-2's printable alphabet, where
 * bytes that are not printable come after 255, in their order. */
static void letter_of_byte(char out[4], int b, int *shifted)
{
    bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    int c = printable ? b : 256 + (*shifted)++;
    if (c < 128) {
        out[0] = (char)c;
        out[1] = '\0';
    } else {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        out[2] = '\0';
    }
}

enum { WORD_BYTES = 16 };

/*
 * Word number k, spelled in bijective base 80, so that no two are the same: " ba", " be",
 * ..., " zu", " baba". At most five syllables.
 */
static void make_word(char out[WORD_BYTES], uint32_t k)
{
    static const char consonants[] = "bdfghjklmnprstvz", vowels[] = "aeiou";
    enum { BASE = 80, BLANK_BYTES = 2 };
    int n = BLANK_BYTES, at;
    for (uint32_t left = k + 1; left > 0; left = (left - 1) / BASE)
        n += 2;
    memcpy(out, "\xc4\xa0", BLANK_BYTES);
    out[at = n] = '\0';
    for (uint32_t left = k + 1; left > 0; left = (left - 1) / BASE) {
        uint32_t digit = (left - 1) % BASE;
        out[--at] = vowels[digit % 5];
        out[--at] = consonants[digit / 5];
    }
}

/*
 * A vocabulary to type at it with: ids 0..255 are the bytes in GPT-2's order (printable
 * ones first), the last id ends a text. Those between are made-up words, so that there is
 * something to see in what the model says; without merges no text is encoded to them.
 * Below 257 ids there are only bytes.
 */
static int make_tokenizer(struct source *s)
{
    int n = s->config.n_vocab, n_bytes = n < 256 ? n : 256, shifted = 0, id = 0;
    token_id end = n > 256 ? n - 1 : TOKEN_NONE;
    int n_words = n > 257 ? n - 257 : 0;
    char letters[256][4];
    const char **tokens = mem_array((size_t)n, sizeof *tokens);
    unsigned char *special = mem_alloc((size_t)n);
    char(*words)[WORD_BYTES] = mem_array((size_t)n_words, sizeof *words);
    int rc = ERR_NOMEM;
    if (tokens == NULL || special == NULL || words == NULL)
        goto out;
    for (int b = 0; b < 256; b++)
        letter_of_byte(letters[b], b, &shifted);
    for (int pass = 0; pass < 2; pass++)
        for (int b = 0; b < 256 && id < n_bytes; b++)
            if (((unsigned char)letters[b][0] < 0xc4) == (pass == 0))
                tokens[id++] = letters[b];
    for (int k = 0; k < n_words; k++) {
        make_word(words[k], (uint32_t)k);
        tokens[id++] = words[k];
    }
    if (end != TOKEN_NONE) {
        tokens[end] = "<|endoftext|>";
        special[end] = 1;
    }
    s->config.bos_token_id = s->config.eos_token_id = end;
    struct vocab v = {.n_tokens = n, .tokens = tokens, .special = special, .bos = end, .eos = end};
    rc = tokenizer_new(&s->tokenizer, &v);
out:
    mem_free(tokens);
    mem_free(special);
    mem_free(words);
    return rc;
}

/* "gpt2@42" is gpt2 of seed 42: what a model from here is called, so that it can be
 * made again. Cuts the seed off the name. */
static void take_seed(char *name, uint64_t *seed)
{
    char *at = strrchr(name, '@'), *end;
    if (at == NULL || at[1] < '0' || at[1] > '9')
        return;
    errno = 0;
    unsigned long long value = strtoull(at + 1, &end, 10);
    if (*end != '\0' || errno != 0)
        return;
    *seed = value;
    *at = '\0';
}

/* How the size of a vocabulary stands to a tokenizer that is borrowed. */
enum vocab_rule { VOCAB_FOLLOWS, VOCAB_PADDED, VOCAB_GIVEN };
enum { PADDING = 128 };

/*
 * ",n_layer=4,vocab_size=512,tokenizer=PATH" behind a name: sizes in place of its own. The
 * tokenizer is the last, its path goes to the end.
 */
static int take_sizes(struct config *c, enum vocab_rule *vocab, const char **tokenizer, char *text)
{
    bool width = false, inner = false;
    const struct {
        const char *key;
        int *place;
    } sizes[] = {{"n_layer", &c->n_layer},     {"n_head", &c->n_head},
                 {"n_embd", &c->n_embd},       {"n_positions", &c->n_ctx},
                 {"n_inner", &c->n_inner},     {"vocab_size", &c->n_vocab},
                 {"vocab_padded", &c->n_vocab}};
    enum { N_SIZES = sizeof sizes / sizeof sizes[0] };
    while (text != NULL && *text != '\0') {
        char *key = text, *value = strchr(text, '='), *end;
        if (value == NULL)
            return err_set(ERR_RANGE, "random: expected n_layer=N or the like, not %s",
                           file_quote(text));
        *value++ = '\0';
        if (strcmp(key, "tokenizer") == 0) {
            *tokenizer = value;
            break;
        }
        if ((text = strchr(value, ',')) != NULL)
            *text++ = '\0';
        if (strcmp(key, "tie_word_embeddings") == 0) {
            c->tie_word_embeddings = strcmp(value, "on") == 0;
            if (!c->tie_word_embeddings && strcmp(value, "off") != 0)
                return err_set(ERR_RANGE, "tie_word_embeddings is %s, must be on or off",
                               file_quote(value));
            continue;
        }
        int i = 0;
        while (i < N_SIZES && strcmp(key, sizes[i].key) != 0)
            i++;
        if (i == N_SIZES)
            return err_set(ERR_MISSING,
                           "random: there is no %.40s; there are n_layer, n_head, n_embd, "
                           "n_positions, n_inner, vocab_size, tie_word_embeddings and tokenizer",
                           key);
        long n = strtol(value, &end, 10);
        if (end == value || *end != '\0' || n < 1 || n > INT_MAX)
            return err_set(ERR_RANGE, "%s is %s, must be a whole number from 1 on", key,
                           file_quote(value));
        *sizes[i].place = (int)n;
        width = width || sizes[i].place == &c->n_embd;
        inner = inner || sizes[i].place == &c->n_inner;
        if (sizes[i].place == &c->n_vocab)
            *vocab = strcmp(key, "vocab_padded") == 0 ? VOCAB_PADDED : VOCAB_GIVEN;
    }
    /* A width of one's own brings its feed-forward width with it. */
    if (width && !inner)
        c->n_inner = 0;
    return 0;
}

/* The vocabulary of another model or folder; a size not asked for follows it. */
static int borrow_tokenizer(struct source *s, const char *path, enum vocab_rule vocab)
{
    struct source other;
    /* An adapter's base may borrow from that adapter, and random:NAME may borrow in turn. */
    char *folder = file_expand(path);
    int rc = folder == NULL ? ERR_NOMEM : 0;
    if (rc == 0 && ((strncmp(path, "random:", 7) == 0 && strstr(path, "tokenizer=") != NULL) ||
                    adapter_is_folder(folder)))
        rc = err_set(ERR_UNSUPPORTED, "a tokenizer is not borrowed from an adapter, nor from "
                                      "what borrows itself");
    mem_free(folder);
    if (rc != 0)
        return file_wrap(path);
    if ((rc = source_open(&other, path, 0, false, NULL)) != 0)
        return rc;
    if (other.tokenizer == NULL) {
        rc = err_set(ERR_MISSING, "no tokenizer is there");
    } else if (vocab == VOCAB_GIVEN && s->config.n_vocab < tokenizer_size(other.tokenizer)) {
        rc = err_set(ERR_RANGE, "it has %d tokens, vocab_size is %d",
                     tokenizer_size(other.tokenizer), s->config.n_vocab);
    } else {
        s->tokenizer = other.tokenizer;
        other.tokenizer = NULL;
        const int size = tokenizer_size(s->tokenizer), more = s->config.n_vocab - size;
        if (vocab == VOCAB_FOLLOWS || (vocab == VOCAB_PADDED && (more < 0 || more >= PADDING)))
            s->config.n_vocab = size;
        token_id eos = tokenizer_eos(s->tokenizer);
        s->config.bos_token_id = s->config.eos_token_id = eos;
    }
    source_close(&other);
    return rc == 0 ? 0 : file_wrap(path);
}

static int open_named(struct source *s, char *name, uint64_t seed)
{
    const char *tokenizer = NULL;
    enum vocab_rule vocab = VOCAB_FOLLOWS;
    s->name = mem_sprintf("random:%s@%llu", name, (unsigned long long)seed);
    if (s->name == NULL)
        return ERR_NOMEM;
    char *sizes = strchr(name, ',');
    if (sizes != NULL)
        *sizes++ = '\0';
    struct config *c = &s->config;
    int rc = text_ends_in(name, ".json") ? hf_config_read(c, name) : config_named(c, name);
    if (rc == 0)
        rc = take_sizes(c, &vocab, &tokenizer, sizes);
    /* The tokenizer's own, which it may not have. */
    c->bos_token_id = c->eos_token_id = c->pad_token_id = TOKEN_NONE;
    if (rc == 0 && tokenizer == NULL)
        rc = config_check(c); /* before anything is made of its numbers */
    if (rc == 0)
        rc = tokenizer != NULL ? borrow_tokenizer(s, tokenizer, vocab) : make_tokenizer(s);
    if (rc != 0 || (rc = params_describe(&s->table, c)) != 0)
        return rc;
    s->dtype = DTYPE_F32;
    return make_readers(s, seed);
}

int source_open_random(struct source *s, const char *name, uint64_t seed)
{
    *s = (struct source){.close = mem_free};
    if (strncmp(name, "random:", 7) == 0)
        name += 7;
    char *plain = mem_strdup(name);
    if (plain == NULL)
        return ERR_NOMEM;
    take_seed(plain, &seed);
    int rc = open_named(s, plain, seed);
    mem_free(plain);
    if (rc != 0)
        source_close(s);
    return rc;
}
