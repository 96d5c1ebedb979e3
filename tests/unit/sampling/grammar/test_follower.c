/* Which tokens may come next, against a matcher that reads every token from the beginning. */
#include "tests/lib/tiny_text.h"

#include "model/base/rng.h"
#include "sampling/grammar/follower.h"
#include "sampling/grammar/matcher.h"
#include "sampling/grammar/source.h"

#include <math.h>

enum { N_CTX = 150, STOP = 0 };

static const char *const grammars[] = {
    "root ::= [a-z ]* \".\"",
    "root ::= \"the\" (\" the\" | \" \" [^a]+)* \"\\n\"?",
    "root ::= \"(\" root \")\" | \"a\" root | [\xc3\xa9\xe6\x97\xa5]{1,3}",
    "root ::= (\" \"* word \",\")+ word?\nword ::= .{1,5} | \"\"",
};

/* The state after a token's bytes. */
static int after_token(struct matcher *m, const struct tokenizer *t, int state, token_id id,
                       bool skip)
{
    size_t n;
    const char *bytes = tokenizer_bytes(t, id, &n);
    for (size_t i = skip && n > 0 && *bytes == ' '; i < n; i++)
        state = matcher_step(m, state, (unsigned char)bytes[i]);
    return n == 0 || tokenizer_is_special(t, id) ? MATCHER_DEAD : state;
}

/* Compare what f bans behind ids [n]; allowed [V] gets what is left. Returns how many. */
static int check_tokens(struct follower *f, struct matcher *m, const struct tokenizer *t,
                        const token_id *ids, size_t n, bool skip, token_id *allowed)
{
    float logit[TINY_V] = {0};
    int state = matcher_start(m), n_allowed = 0;
    for (size_t i = 0; i < n; i++)
        state = after_token(m, t, state, ids[i], skip && i == 0);
    assert_ok(follower_ban(f, logit, ids, n));
    assert_int_equal(follower_ends(f), matcher_ends(m, state));
    for (token_id id = 0; id < TINY_V; id++) {
        const bool may = id == STOP ? matcher_ends(m, state)
                                    : after_token(m, t, state, id, skip && n == 0) != MATCHER_DEAD;
        if ((logit[id] == -INFINITY) == may)
            fail_msg("token %d behind %zu: %s", (int)id, n, may ? "banned" : "not banned");
        if (may && id != STOP)
            allowed[n_allowed++] = id;
    }
    return n_allowed;
}

/* Random walks through each grammar, several texts in turns: none depends on those before. */
static void tokens_that_fit(void **state)
{
    (void)state;
    enum { TEXTS = 3, TOKENS = 25 };
    struct tokenizer *t = tiny_tokenizer();
    int walked = 0;
    /* In so little room that states are forgotten at every few steps, it is the same. */
    static const int rooms[] = {MATCHER_NODES, 1000, 500};
    for (size_t i = 0; i < sizeof grammars / sizeof *grammars; i++)
        for (int skip = 0, room = 0; room < 3; room += skip, skip = !skip) {
            struct grammar *g;
            struct matcher *m;
            struct follower *f;
            token_id texts[TEXTS][TOKENS], allowed[TINY_V];
            size_t n[TEXTS] = {0};
            assert_ok(grammar_load(&g, grammars[i]));
            assert_ok(matcher_new(&m, g, MATCHER_NODES));
            assert_ok(
                follower_new(&f, grammars[i], TINY_V, N_CTX, t, &(token_id){STOP}, 1, rooms[room]));
            follower_begin(f, skip != 0);
            for (uint64_t k = 0; k < TEXTS * TOKENS; k++) {
                uint32_t w[4];
                rng_words(w, 21, i, k);
                const int x = (int)(w[0] % TEXTS);
                const int left = check_tokens(f, m, t, texts[x], n[x], skip != 0, allowed);
                if (left > 0 && n[x] < TOKENS)
                    texts[x][n[x]++] = allowed[w[1] % (unsigned)left];
                walked += left > 0;
            }
            follower_free(f);
            matcher_free(m);
            grammar_free(g);
        }
    assert_true(walked > 300);
    tokenizer_free(t);
}

/* A text goes as deep as the matcher does, and from there it can come back. */
static void deep_texts(void **state)
{
    (void)state;
    enum { DEEP = 10000 };
    struct tokenizer *t = tiny_tokenizer();
    struct follower *f;
    static token_id ids[DEEP];
    static float logit[TINY_V];
    const token_id open = 1 + '(', close = 1 + ')', x = 1 + 'x';
    assert_ok(follower_new(&f, "root ::= \"(\" root \")\" | \"x\"", TINY_V, DEEP, t,
                           &(token_id){STOP}, 1, MATCHER_NODES));
    size_t n = 0;
    for (; n < DEEP; n++) {
        memset(logit, 0, sizeof logit);
        assert_ok(follower_ban(f, logit, ids, n));
        if (logit[open] == -INFINITY)
            break;
        assert_true(logit[x] == 0 && logit[close] == -INFINITY && logit[STOP] == -INFINITY);
        ids[n] = open;
    }
    assert_int_equal(n, MATCHER_DEPTH);
    const size_t depth = n;
    for (ids[n++] = x; n < 2 * depth + 1; n++) {
        memset(logit, 0, sizeof logit);
        assert_ok(follower_ban(f, logit, ids, n));
        if (logit[close] != 0 || logit[x] == 0 || logit[STOP] == 0)
            fail_msg("depth %zu, %zu tokens", depth, n);
        ids[n] = close;
    }
    memset(logit, 0, sizeof logit);
    assert_ok(follower_ban(f, logit, ids, n));
    assert_true(logit[STOP] == 0 && logit[close] == -INFINITY && follower_ends(f));
    follower_free(f);
    tokenizer_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_that_fit),
        cmocka_unit_test(deep_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
