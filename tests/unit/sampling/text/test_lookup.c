#include "sampling/text/lookup.h"

#include "model/base/mem.h"
#include "model/base/rng.h"
#include "tests/lib/test.h"

enum { MOST = 300 };

/* What the header says, by looking everywhere. */
static struct lookup_match naive_find(const token_id *text, size_t n)
{
    struct lookup_match m = {0};
    for (int t = 0; t < LOOKUP_SIZES && m.next == 0; t++) {
        const size_t size = (size_t)lookup_sizes[t];
        for (size_t end = n - 1; n > size && end >= size && m.next == 0; end--)
            if (memcmp(text + end - size, text + n - size, size * sizeof *text) == 0)
                m.next = end;
    }
    while (m.length < LOOKUP_REACH && (size_t)m.length < m.next &&
           text[m.next - 1 - (size_t)m.length] == text[n - 1 - (size_t)m.length])
        m.length++;
    return m;
}

/* Texts over few and many ids, of which some parts repeat what was before. */
static void random_text(token_id *text, size_t n, uint64_t seed)
{
    static const uint64_t VOCAB[] = {2, 3, 8, 50, 50000};
    const uint64_t n_vocab = VOCAB[seed % 5];
    for (size_t i = 0; i < n;) {
        uint32_t w[4];
        rng_words(w, seed, 0, i);
        size_t from = i > 0 ? w[1] % i : 0, copied = w[2] % 3 == 0 && i > 0 ? w[3] % 40 : 0;
        text[i++] = (token_id)(w[0] % n_vocab);
        for (; copied > 0 && i < n; copied--)
            text[i++] = text[from++];
    }
}

static void finds_what_a_search_finds(void **state)
{
    (void)state;
    struct lookup l;
    token_id text[MOST];
    int found = 0, absent = 0;
    assert_ok(lookup_init(&l, MOST));
    for (uint64_t seed = 1; seed <= 200; seed++) {
        random_text(text, MOST, seed);
        lookup_reset(&l);
        uint64_t before = mem_count();
        for (size_t n = 1; n <= MOST; n += 1 + seed % 3) { /* one at a time, or several */
            lookup_add(&l, text, n);
            struct lookup_match m = lookup_find(&l, text), expected = naive_find(text, n);
            assert_int_equal(m.next, expected.next);
            assert_int_equal(m.length, expected.length);
            found += m.next > 0;
            absent += m.next == 0;
        }
        assert_int_equal(mem_count(), before);
    }
    assert_true(found > 1000 && absent > 1000);
    lookup_release(&l);
}

static void an_empty_text_has_no_match(void **state)
{
    (void)state;
    struct lookup l;
    const token_id text[] = {7, 7, 7};
    assert_ok(lookup_init(&l, 1));
    assert_int_equal(lookup_find(&l, text).next, 0);
    lookup_add(&l, text, 2);
    assert_int_equal(lookup_find(&l, text).next, 0); /* the pair does not find itself */
    lookup_release(&l);
    lookup_release(NULL);
}

static void a_reset_forgets(void **state)
{
    (void)state;
    struct lookup l;
    const token_id text[] = {1, 2, 3, 1, 2};
    assert_ok(lookup_init(&l, 5));
    lookup_add(&l, text, 5);
    assert_int_equal(lookup_find(&l, text).next, 2);
    assert_int_equal(lookup_find(&l, text).length, 2);
    lookup_reset(&l);
    lookup_add(&l, text + 3, 2);
    assert_int_equal(lookup_find(&l, text + 3).next, 0);
    lookup_release(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_a_search_finds),
        cmocka_unit_test(an_empty_text_has_no_match),
        cmocka_unit_test(a_reset_forgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
