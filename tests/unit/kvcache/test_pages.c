/* Pages: sharing counted, copies on write, nothing changed by what does not fit. */
#include "tests/lib/tiny.h"

#include "kvcache/pages.h"

enum { PAGES = 8 };

static void fill(struct kv_seq *s, const struct kvcache *c, int from, char value)
{
    for (int i = from / KV_BLOCK; i < s->n_pages; i++)
        memset(s->pages[i], value, c->layout.page_bytes);
}

static int used(const struct kvcache *c)
{
    return c->n_pages - c->n_free;
}

static void init(struct kvcache *c, struct kv_seq *seqs, int n, enum dtype dtype)
{
    struct config config = tiny_config(); /* 200 positions: 4 pages a text */
    assert_ok(config_check(&config));
    assert_ok(kvcache_init(c, &config, dtype, PAGES));
    for (int i = 0; i < n; i++)
        assert_ok(kv_seq_init(&seqs[i], c));
}

static void grow(struct kv_seq *s, struct kvcache *c, int more)
{
    assert_ok(kv_seq_reserve(s, c, more));
    kv_seq_advance(s, more);
}

/* Keys and values of the first n positions of a page are those of another, and no others. */
static void expect_positions(const struct kvcache *c, const char *page, const char *as, int n)
{
    const struct kv_layout *l = &c->layout;
    for (int layer = 0; layer < c->n_layer; layer++)
        for (int h = 0; h < l->n_head; h++)
            for (int at = 0; at < KV_BLOCK; at++) {
                const size_t element = l->dtype == DTYPE_Q8 ? 1 : dtype_bytes(l->dtype);
                size_t key = kv_key_offset(l, layer, h), row = (size_t)l->head_size16 * element;
                size_t value = kv_value_offset(l, layer, h);
                if (l->dtype == DTYPE_Q8) { /* one block: its scales come first */
                    assert_true((memcmp(page + key + 2 * at, as + key + 2 * at, 2) == 0) ==
                                (at < n));
                    assert_true((memcmp(page + value + 2 * at, as + value + 2 * at, 2) == 0) ==
                                (at < n));
                    key += 2 * KV_BLOCK;
                    value += 2 * KV_BLOCK;
                }
                key += (size_t)at * element;
                value += (size_t)at * row;
                for (int d = 0; d < l->head_size; d++, key += KV_BLOCK * element)
                    assert_true((memcmp(page + key, as + key, element) == 0) == (at < n));
                assert_true((memcmp(page + value, as + value, row) == 0) == (at < n));
            }
}

static void layout_has_room_for_every_head(void **state)
{
    (void)state;
    struct config config = tiny_config(); /* D = 12 */
    struct kv_layout l;
    kv_layout_init(&l, &config, DTYPE_F16);
    assert_int_equal(l.head_size16, 16);
    assert_int_equal(l.key_bytes, 12 * 64 * 2);
    assert_int_equal(l.value_bytes, 64 * 16 * 2);
    assert_int_equal(kv_value_offset(&l, 2, 2) + l.value_bytes, l.page_bytes);
    assert_int_equal(l.page_bytes % MEM_ALIGN, 0);
    kv_layout_init(&l, &config, DTYPE_F32);
    assert_int_equal(l.page_bytes, 3 * 3 * (12 * 64 + 64 * 16) * 4);
    kv_layout_init(&l, &config, DTYPE_Q8);
    assert_int_equal(l.page_bytes, 3 * 3 * (12 * 64 + 64 * 16 + 2 * 64 * 2));
    assert_int_equal(l.page_bytes % MEM_ALIGN, 0);
}

static void check_forks(enum dtype dtype)
{
    struct kvcache c;
    struct kv_seq s[3];
    init(&c, s, 3, dtype);
    grow(&s[0], &c, 100);
    fill(&s[0], &c, 0, 1);
    assert_int_equal(used(&c), 2);
    assert_int_equal(kvcache_used_bytes(&c), 2 * c.layout.page_bytes);

    kv_seq_fork(&s[1], &s[0], &c, 100);
    kv_seq_fork(&s[2], &s[0], &c, 64); /* ends with a whole page */
    assert_int_equal(used(&c), 2);
    assert_ptr_equal(s[1].pages[1], s[0].pages[1]);
    assert_int_equal(s[2].n_pages, 1);

    grow(&s[2], &c, 1); /* writes into no page that is shared */
    assert_int_equal(used(&c), 3);
    assert_ptr_equal(s[2].pages[0], s[0].pages[0]);

    assert_ok(kv_seq_reserve(&s[1], &c, 1)); /* writes into a shared one */
    assert_int_equal(used(&c), 4);
    assert_ptr_not_equal(s[1].pages[1], s[0].pages[1]);
    expect_positions(&c, s[1].pages[1], s[0].pages[1], 100 - 64);
    fill(&s[1], &c, 64, 2);
    for (size_t i = 0; i < c.layout.page_bytes; i++)
        assert_int_equal(s[0].pages[1][i], 1);
    kv_seq_advance(&s[1], 1);

    char *own = s[0].pages[1];
    assert_ok(kv_seq_reserve(&s[0], &c, 1)); /* its own by now: no copy */
    assert_ptr_equal(s[0].pages[1], own);

    kv_seq_fork(&s[2], &s[1], &c, 30); /* into one that has pages, some of them the same */
    assert_int_equal(used(&c), 3);
    kv_seq_fork(&s[2], &s[2], &c, 10);
    assert_int_equal(s[2].n, 10);
    for (int i = 0; i < 3; i++)
        kv_seq_release(&s[i], &c);
    assert_int_equal(used(&c), 0);
    kvcache_release(&c);
}

static void forks_share_until_written(void **state)
{
    (void)state;
    static const enum dtype types[] = {DTYPE_F32, DTYPE_F16, DTYPE_Q8};
    for (int i = 0; i < 3; i++)
        check_forks(types[i]);
}

static void truncation_gives_pages_back(void **state)
{
    (void)state;
    struct kvcache c;
    struct kv_seq s;
    init(&c, &s, 1, DTYPE_F16);
    grow(&s, &c, 200);
    assert_int_equal(used(&c), 4);
    kv_seq_truncate(&s, &c, 300);
    assert_int_equal(s.n, 200);
    kv_seq_truncate(&s, &c, 129);
    assert_int_equal(used(&c), 3);
    kv_seq_truncate(&s, &c, 128);
    assert_int_equal(used(&c), 2);
    assert_ok(kv_seq_reserve(&s, &c, 60));
    kv_seq_truncate(&s, &c, s.n); /* room that was not used */
    assert_int_equal(used(&c), 2);
    kv_seq_truncate(&s, &c, 0);
    assert_int_equal(used(&c), 0);
    kv_seq_release(&s, &c);
    kvcache_release(&c);
}

static void what_does_not_fit_changes_nothing(void **state)
{
    (void)state;
    struct kvcache c;
    struct kv_seq s[3];
    init(&c, s, 3, DTYPE_F16);
    grow(&s[0], &c, 195);
    assert_int_equal(kv_seq_reserve(&s[0], &c, 6), ERR_FULL);
    assert_string_equal(err_text(), "the text would be 201 tokens long, the context holds 200");
    assert_int_equal(s[0].n, 195);
    assert_int_equal(used(&c), 4);
    grow(&s[1], &c, 195);
    kv_seq_fork(&s[2], &s[1], &c, 195);
    assert_int_equal(used(&c), PAGES);
    char *shared = s[2].pages[3];
    assert_int_equal(kv_seq_reserve(&s[2], &c, 1), ERR_FULL); /* no page for the copy */
    assert_string_equal(err_text(), "the cache is full: all 8 pages of 64 tokens are in use");
    assert_ptr_equal(s[2].pages[3], shared);
    assert_int_equal(s[2].n_pages, 4);
    for (int i = 0; i < 3; i++)
        kv_seq_release(&s[i], &c);
    kvcache_release(&c);
}

static void no_memory_leaks_nothing(void **state)
{
    (void)state;
    struct config config = tiny_config();
    struct kvcache c;
    assert_ok(config_check(&config));
    for (uint64_t k = 1; k <= 3; k++) {
        mem_fail_at(k);
        assert_int_equal(kvcache_init(&c, &config, DTYPE_F32, PAGES), ERR_NOMEM);
        mem_fail_at(0);
        kvcache_release(&c);
    }
    assert_ok(kvcache_init(&c, &config, DTYPE_F32, PAGES));
    uint64_t before = mem_count();
    struct kv_seq s;
    mem_fail_at(1);
    assert_int_equal(kv_seq_init(&s, &c), ERR_NOMEM);
    mem_fail_at(0);
    kv_seq_release(&s, &c);
    assert_ok(kv_seq_init(&s, &c));
    assert_int_equal(mem_count(), before + 2);
    grow(&s, &c, 150); /* and from here on nothing allocates */
    kv_seq_truncate(&s, &c, 10);
    assert_int_equal(mem_count(), before + 2);
    kv_seq_release(&s, &c);
    kvcache_release(&c);
}

/* Pages reserved and not yet filled are no free ones: a copy needs one. */
static void a_copy_needs_a_free_page(void **state)
{
    (void)state;
    struct kvcache c;
    struct kv_seq seqs[3];
    init(&c, seqs, 3, DTYPE_F16);
    grow(&seqs[0], &c, 70);
    assert_ok(kv_seq_reserve(&seqs[0], &c, 110)); /* three pages, of which two are filled */
    kv_seq_fork(&seqs[1], &seqs[0], &c, 70);
    grow(&seqs[2], &c, 199);
    assert_int_equal(c.n_free, 1);
    c.n_free = 0;
    assert_int_equal(kv_seq_reserve(&seqs[0], &c, 1), ERR_FULL);
    assert_ptr_equal(seqs[0].pages[1], seqs[1].pages[1]);
    c.n_free = 1;
    assert_ok(kv_seq_reserve(&seqs[0], &c, 1));
    assert_ptr_not_equal(seqs[0].pages[1], seqs[1].pages[1]);
    assert_int_equal(c.n_free, 0);
    for (int i = 0; i < 3; i++)
        kv_seq_release(&seqs[i], &c);
    assert_int_equal(used(&c), 0);
    kvcache_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_has_room_for_every_head),
        cmocka_unit_test(forks_share_until_written),
        cmocka_unit_test(truncation_gives_pages_back),
        cmocka_unit_test(what_does_not_fit_changes_nothing),
        cmocka_unit_test(a_copy_needs_a_free_page),
        cmocka_unit_test(no_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
