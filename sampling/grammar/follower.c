#include "sampling/grammar/follower.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/progress.h"
#include "model/config.h"
#include "model/tokenizer/token_order.h"
#include "sampling/grammar/matcher.h"
#include "sampling/grammar/source.h"

#include <math.h>
#include <string.h>

enum { MASKS = 16 };

/* The tokens that may follow a state. */
struct mask {
    int state;
    uint64_t *bits; /* [words] by id */
};

struct follower {
    struct grammar *grammar;
    struct matcher *matcher;
    const struct tokenizer *tokenizer;
    const struct token_order *order;
    int n_vocab, n_ctx, most_nodes;
    token_id stop[CONFIG_STOP_TOKENS];
    int n_stop;
    bool skip_space;
    int start, state; /* of an empty answer (UNKNOWN: forgotten), and after ids */
    token_id *ids;    /* [n_ctx] the answer that the state is of */
    size_t n;
    struct mask masks[MASKS];
    int next_mask; /* the one to use next */
    int *along;    /* [longest + 1] the states along the bytes of a token */
    size_t words;
    void *block;
};

enum { UNKNOWN = -1 };

/* ---- setting up ---- */

static void carve(struct follower *f, struct arena *a)
{
    f->ids = arena_take(a, (size_t)f->n_ctx * sizeof *f->ids);
    f->along = arena_take(a, (f->order->longest + 1) * sizeof *f->along);
    for (int i = 0; i < MASKS; i++)
        f->masks[i] = (struct mask){UNKNOWN, arena_take(a, f->words * sizeof *f->masks[i].bits)};
}

static int init(struct follower *f, const char *text)
{
    struct arena size = {0};
    int rc = grammar_load(&f->grammar, text);
    if (rc != 0 || (rc = matcher_new(&f->matcher, f->grammar, f->most_nodes)) != 0 ||
        (rc = tokenizer_order(f->tokenizer, &f->order)) != 0)
        return rc;
    f->start = f->state = matcher_start(f->matcher);
    if (f->start == MATCHER_FULL)
        return err_set(ERR_RANGE, FOLLOWER_TOO_MANY);
    carve(f, &size);
    f->block = mem_alloc(size.used);
    if (f->block == NULL)
        return ERR_NOMEM;
    carve(f, &(struct arena){.base = f->block});
    return 0;
}

int follower_new(struct follower **out, const char *text, int n_vocab, int n_ctx,
                 const struct tokenizer *t, const token_id *stop, int n_stop, int most_nodes)
{
    struct follower *f = *out = mem_alloc(sizeof *f);
    if (f == NULL)
        return ERR_NOMEM;
    f->tokenizer = t;
    f->n_vocab = n_vocab;
    f->n_ctx = n_ctx;
    f->most_nodes = most_nodes;
    f->words = ((size_t)n_vocab + 63) / 64;
    for (int i = 0; i < n_stop && f->n_stop < CONFIG_STOP_TOKENS; i++)
        f->stop[f->n_stop++] = stop[i];
    int rc = init(f, text);
    if (rc != 0) {
        follower_free(f);
        *out = NULL;
    }
    return rc;
}

void follower_free(struct follower *f)
{
    if (f == NULL)
        return;
    matcher_free(f->matcher);
    grammar_free(f->grammar);
    mem_free(f->block);
    mem_free(f);
}

/* ---- the text ---- */

static void forget_masks(struct follower *f)
{
    for (int i = 0; i < MASKS; i++)
        f->masks[i].state = UNKNOWN;
}

/* Make room in the matcher: of its states only this one stays. */
static int keep(struct follower *f, int state)
{
    f->start = UNKNOWN;
    forget_masks(f);
    return matcher_keep(f->matcher, state);
}

static void restart(struct follower *f)
{
    f->n = 0;
    if (f->start == UNKNOWN) {
        forget_masks(f);
        f->start = matcher_start(f->matcher);
    }
    f->state = f->start;
}

void follower_begin(struct follower *f, bool skip_space)
{
    if (f->skip_space == skip_space)
        return;
    f->skip_space = skip_space;
    forget_masks(f);
    restart(f);
}

/* One more token. ERR_RANGE: there is no room for a state, even alone. */
static int follow(struct follower *f, token_id id)
{
    size_t n;
    const char *bytes = tokenizer_bytes(f->tokenizer, id, &n);
    for (size_t i = f->n == 0 && f->skip_space && n > 0 && *bytes == ' '; i < n; i++) {
        int to = matcher_step(f->matcher, f->state, (unsigned char)bytes[i]);
        if (to == MATCHER_FULL) {
            f->state = keep(f, f->state);
            to = matcher_step(f->matcher, f->state, (unsigned char)bytes[i]);
        }
        if (to == MATCHER_FULL) {
            restart(f);
            return err_set(ERR_RANGE, FOLLOWER_TOO_MANY);
        }
        f->state = to;
    }
    f->ids[f->n++] = id;
    return 0;
}

static int follow_answer(struct follower *f, const token_id *ids, size_t n)
{
    int rc = 0;
    if (f->n > n || (f->n > 0 && memcmp(f->ids, ids, f->n * sizeof *ids) != 0))
        restart(f);
    while (f->n < n && f->n < (size_t)f->n_ctx && rc == 0)
        rc = follow(f, ids[f->n]);
    return rc;
}

/* ---- the tokens ---- */

static void set_bit(uint64_t *bits, token_id id, bool on)
{
    const uint64_t bit = UINT64_C(1) << (id & 63);
    bits[id >> 6] = on ? bits[id >> 6] | bit : bits[id >> 6] & ~bit;
}

/* The state after byte i of a token of which the bytes before lead to along[i]. */
static int step_along(const struct follower *f, size_t i, char byte)
{
    if (i == 0 && f->n == 0 && f->skip_space && byte == ' ')
        return f->along[0];
    return matcher_step(f->matcher, f->along[i], (unsigned char)byte);
}

/* No text of a grammar that people write takes so many; a second or two. */
static const uint64_t MOST_LOOKS = 40000000;

static int refuse_ways(void)
{
    return err_set(ERR_RANGE, FOLLOWER_TOO_MANY);
}

/* A state more along the first n bytes of a token: where there is no room for it, all are forgotten
 * but the answer's, and these bytes read again. ERR_RANGE: they need all the room there is. */
static int walk_along(struct follower *f, const char *bytes, size_t *reached, size_t n)
{
    bool kept = false;
    while (*reached < n) {
        const int to = step_along(f, *reached, bytes[*reached]);
        if (to == MATCHER_DEAD)
            return 0;
        if (to == MATCHER_FULL && kept)
            return refuse_ways();
        if (to == MATCHER_FULL) {
            kept = true;
            f->along[0] = f->state = keep(f, f->state);
            *reached = 0;
            continue;
        }
        f->along[++*reached] = to;
    }
    return 0;
}

/* Fill bits by a walk through the vocabulary. ERR_RANGE, ERR_INTERRUPTED. */
static int walk_tokens(struct follower *f, uint64_t *bits)
{
    enum { ASK_EVERY = 256 };
    const struct token_order *o = f->order;
    const uint64_t most = matcher_looks(f->matcher) + MOST_LOOKS;
    size_t reached = 0; /* bytes of the token before that fit: along is known up to there */
    int rc = 0;
    memset(bits, 0, f->words * sizeof *bits);
    f->along[0] = f->state;
    for (int i = 0; i < o->n && rc == 0; i++) {
        size_t n;
        if (i % ASK_EVERY == 0 && interrupt_pending())
            return ERR_INTERRUPTED;
        if (o->common[i] > reached)
            continue; /* it begins with the byte that did not fit */
        const char *bytes = tokenizer_bytes(f->tokenizer, o->ids[i], &n);
        reached = o->common[i];
        rc = matcher_looks(f->matcher) > most ? refuse_ways() : walk_along(f, bytes, &reached, n);
        if (rc == 0 && reached == n && o->ids[i] < f->n_vocab)
            set_bit(bits, o->ids[i], true);
    }
    return rc;
}

/* *bits: the tokens that may follow the answer. */
static int find_mask(struct follower *f, const uint64_t **bits)
{
    const bool skips = f->n == 0 && f->skip_space;
    for (int i = 0; i < MASKS && !skips; i++)
        if (f->masks[i].state == f->state) {
            *bits = f->masks[i].bits;
            return 0;
        }
    struct mask *mask = &f->masks[f->next_mask];
    f->next_mask = (f->next_mask + 1) % MASKS;
    mask->state = UNKNOWN;
    int rc = walk_tokens(f, mask->bits);
    if (rc != 0)
        return rc;
    for (int i = 0; i < f->n_stop; i++)
        set_bit(mask->bits, f->stop[i], matcher_ends(f->matcher, f->state));
    if (!skips) /* a space that is skipped is one in the same state later */
        mask->state = f->state;
    *bits = mask->bits;
    return 0;
}

int follower_ban(struct follower *f, float *logit, const token_id *ids, size_t n)
{
    const uint64_t *bits;
    int rc = follow_answer(f, ids, n);
    if (rc == 0)
        rc = find_mask(f, &bits);
    for (size_t word = 0; word < f->words && rc == 0; word++) {
        const size_t first = word * 64, left = (size_t)f->n_vocab - first;
        for (size_t i = 0; bits[word] != UINT64_MAX && i < (left < 64 ? left : 64); i++)
            if ((bits[word] >> i & 1) == 0)
                logit[first + i] = -INFINITY;
    }
    return rc;
}

bool follower_ends(const struct follower *f)
{
    return matcher_ends(f->matcher, f->state);
}
