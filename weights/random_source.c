#include "weights/random_source.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/random.h"
#include "model/tokenizer/random_vocab.h"
#include "weights/hf/hf_config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { PADDING = 128 };

/* "gpt2@42" is gpt2 of seed 42. Cuts the seed off the name. */
static void cut_seed(char *name, uint64_t *seed)
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

/*
 * Parse "n_layer=4,vocab_size=512,tokenizer=PATH", which follows a name. The tokenizer comes last:
 * its path extends to the end.
 */
static int read_sizes(struct random_name *r, char *text)
{
    struct config *c = &r->config;
    bool width = false, inner = false;
    const struct {
        const char *key;
        int *place;
    } sizes[] = {{"n_layer", &c->n_layer},    {"n_head", &c->n_head},
                 {"n_embd", &c->n_embd},      {"n_positions", &c->n_ctx},
                 {"n_inner", &c->n_inner},    {"head_dim", &c->head_size},
                 {"vocab_size", &c->n_vocab}, {"vocab_padded", &c->n_vocab}};
    enum { N_SIZES = sizeof sizes / sizeof sizes[0] };
    while (text != NULL && *text != '\0') {
        char *key = text, *value = strchr(text, '='), *end;
        if (value == NULL)
            return err_set(ERR_RANGE, "random: expected n_layer=N or the like, not %s",
                           file_quote(text));
        *value++ = '\0';
        if (strcmp(key, "tokenizer") == 0) {
            r->tokenizer = value;
            break;
        }
        if ((text = strchr(value, ',')) != NULL)
            *text++ = '\0';
        if (strcmp(key, "tie_word_embeddings") == 0) {
            c->tie_word_embeddings = strcmp(value, "on") == 0;
            if (!c->tie_word_embeddings && strcmp(value, "off") != 0)
                return err_set(ERR_RANGE, "tie_word_embeddings must be on or off, not %s",
                               file_quote(value));
            continue;
        }
        int i = 0;
        while (i < N_SIZES && strcmp(key, sizes[i].key) != 0)
            i++;
        if (i == N_SIZES)
            return err_set(ERR_MISSING,
                           "random: there is no %s; there are n_layer, n_head, n_embd, "
                           "n_positions, n_inner, head_dim, vocab_size, tie_word_embeddings and "
                           "tokenizer",
                           file_quote(key));
        long n = strtol(value, &end, 10);
        if (end == value || *end != '\0' || n < 1 || n > INT_MAX)
            return err_set(ERR_RANGE, "%s must be a whole number from 1 on, not %s", key,
                           file_quote(value));
        *sizes[i].place = (int)n;
        width = width || sizes[i].place == &c->n_embd;
        inner = inner || sizes[i].place == &c->n_inner;
        if (sizes[i].place == &c->n_vocab)
            r->vocab = strcmp(key, "vocab_padded") == 0 ? RANDOM_VOCAB_PADDED : RANDOM_VOCAB_GIVEN;
    }
    /* A changed width changes the feed-forward width to its default. */
    if (width && !inner)
        c->n_inner = 0;
    return 0;
}

int random_name_read(struct random_name *r, const char *name, uint64_t seed)
{
    *r = (struct random_name){.seed = seed};
    if ((r->text = mem_strdup(name)) == NULL)
        return ERR_NOMEM;
    cut_seed(r->text, &r->seed);
    r->name = mem_sprintf("random:%s@%llu", r->text, (unsigned long long)r->seed);
    if (r->name == NULL) {
        random_name_release(r);
        return ERR_NOMEM;
    }
    char *sizes = strchr(r->text, ',');
    if (sizes != NULL)
        *sizes++ = '\0';
    struct config *c = &r->config;
    int rc = text_ends_in(r->text, ".json") ? hf_config_read(c, r->text) : config_named(c, r->text);
    if (rc == 0)
        rc = read_sizes(r, sizes);
    /* They will be the tokenizer's. */
    c->bos_token_id = c->eos_token_id = c->pad_token_id = TOKEN_NONE;
    if (rc != 0)
        random_name_release(r);
    return rc;
}

void random_name_release(struct random_name *r)
{
    if (r == NULL)
        return;
    mem_free(r->name);
    mem_free(r->text);
    *r = (struct random_name){0};
}

/* Set or check the size of the vocabulary by the tokenizer's. */
static int fit_vocab(struct config *c, enum random_vocab_rule rule, const struct tokenizer *t)
{
    const int size = tokenizer_size(t), more = c->n_vocab - size;
    if (rule == RANDOM_VOCAB_GIVEN && more < 0)
        return err_set(ERR_RANGE, "it has %d tokens, vocab_size is %d", size, c->n_vocab);
    if (rule == RANDOM_VOCAB_FOLLOWS ||
        (rule == RANDOM_VOCAB_PADDED && (more < 0 || more >= PADDING)))
        c->n_vocab = size;
    return 0;
}

static int read_random(void *user, void *dst, uint64_t first, size_t n)
{
    random_tensor_read(user, dst, first, n);
    return 0;
}

static int make_readers(struct source *s, uint64_t seed)
{
    size_t n = (size_t)s->table.n_tensors;
    struct random_tensor *all = mem_array(n, sizeof *all);
    s->format = all;
    s->readers = mem_array(n, sizeof *s->readers);
    if (all == NULL || s->readers == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        all[i] = random_tensor_init(&s->table.tensors[i], i, &s->config, seed);
        s->readers[i] =
            (struct tensor_reader){.read = read_random, .user = &all[i], .dtype = DTYPE_F32};
    }
    return 0;
}

static int fill_source(struct source *s, struct random_name *r)
{
    struct config *c = &s->config;
    int rc = 0;
    if (s->tokenizer != NULL) {
        if ((rc = fit_vocab(c, r->vocab, s->tokenizer)) != 0)
            return file_wrap(r->tokenizer);
        if ((rc = config_check(c)) != 0)
            return rc;
    } else if ((rc = config_check(c)) != 0 || /* before anything is made of its numbers */
               (rc = random_vocab_new(&s->tokenizer, c->n_vocab)) != 0) {
        return rc;
    }
    c->bos_token_id = c->eos_token_id = tokenizer_eos(s->tokenizer);
    if ((rc = params_describe(&s->table, c)) != 0)
        return rc;
    s->name = r->name;
    r->name = NULL;
    s->dtype = DTYPE_F32;
    return make_readers(s, r->seed);
}

int source_open_random(struct source *s, struct random_name *r, struct tokenizer *tokenizer)
{
    *s = (struct source){.config = r->config, .tokenizer = tokenizer, .close = mem_free};
    int rc = fill_source(s, r);
    if (rc != 0)
        source_close(s);
    return rc;
}
