/* A sequence's logits are those of its text, however it came to be. */
#include "tests/lib/tiny.h"

#include "kvcache/sequence.h"
#include "model/base/par.h"
#include "sampling/score.h"

enum { N = 150 };

struct fixture {
    struct model m;
    struct engine e;
    struct sequence s, fresh;
    token_id ids[2 * N];
    size_t bytes; /* of logits */
};

static void open_config(struct fixture *x, const struct config *c)
{
    assert_ok(par_open(2, false));
    tiny_init(&x->m, c, DTYPE_F16, 3);
    assert_ok(engine_init(&x->e, &x->m, 3));
    assert_ok(sequence_init(&x->s, &x->e));
    assert_ok(sequence_init(&x->fresh, &x->e));
    tiny_ids(x->ids, 2 * N, c, 4);
    x->bytes = (size_t)c->n_vocab * sizeof(float);
}

static void open_fixture(struct fixture *x)
{
    struct config c = tiny_config();
    open_config(x, &c);
}

static void close_fixture(struct fixture *x)
{
    sequence_release(&x->s);
    sequence_release(&x->fresh);
    assert_int_equal(kvcache_used_bytes(&x->e.cache), 0);
    engine_release(&x->e);
    tiny_release(&x->m);
    par_close();
}

/* s holds exactly these ids, and the logits a new sequence has after them. */
static void assert_is(struct fixture *x, struct sequence *s, const token_id *ids, size_t n)
{
    sequence_truncate(&x->fresh, 0);
    assert_ok(sequence_feed(&x->fresh, ids, n, NULL));
    assert_int_equal(s->ids.n, n);
    assert_int_equal(s->n_logits, n);
    assert_int_equal(s->kv.n, n);
    assert_memory_equal(s->ids.data, ids, n * sizeof *ids);
    assert_memory_equal(s->logits, x->fresh.logits, x->bytes);
    sequence_truncate(&x->fresh, 0);
}

static void feeds_in_parts(void **state)
{
    (void)state;
    struct fixture x;
    open_fixture(&x);
    uint64_t before = mem_count();
    static const size_t parts[] = {1, 2, 5, 12, 63, 67};
    for (size_t i = 0, at = 0; i < 6; at += parts[i++])
        assert_ok(sequence_feed(&x.s, x.ids + at, parts[i], NULL));
    assert_int_equal(mem_count(), before);
    assert_is(&x, &x.s, x.ids, N);
    close_fixture(&x);
}

static void truncates_and_sets(void **state)
{
    (void)state;
    struct fixture x;
    open_fixture(&x);
    assert_ok(sequence_feed(&x.s, x.ids, N, NULL));
    sequence_truncate(&x.s, 70);
    assert_int_equal(x.s.kv.n, 70);
    assert_ok(sequence_feed(&x.s, NULL, 0, NULL)); /* the logits after what is left */
    assert_is(&x, &x.s, x.ids, 70);
    assert_ok(sequence_feed(&x.s, x.ids + N, 20, NULL));
    token_id want[90];
    memcpy(want, x.ids, 70 * sizeof *want);
    memcpy(want + 70, x.ids + N, 20 * sizeof *want);
    assert_is(&x, &x.s, want, 90);
    assert_ok(sequence_set(&x.s, x.ids, 100, NULL));
    assert_is(&x, &x.s, x.ids, 100);
    assert_ok(sequence_set(&x.s, x.ids, 30, NULL));
    assert_is(&x, &x.s, x.ids, 30);
    assert_ok(sequence_set(&x.s, x.ids, 0, NULL));
    assert_int_equal(x.s.ids.n, 0);
    close_fixture(&x);
}

/* Whoever advances the cache itself, without logits, has none: those after the text before it was
 * cut are of other ids, though of as many. */
static void a_cut_text_has_no_logits(void **state)
{
    (void)state;
    struct fixture x;
    token_id want[100];
    open_fixture(&x);
    assert_ok(sequence_feed(&x.s, x.ids, 100, NULL));
    memcpy(want, x.ids, 70 * sizeof *want);
    memcpy(want + 70, x.ids + N, 30 * sizeof *want);
    sequence_truncate(&x.s, 70);
    assert_int_equal(x.s.n_logits, 0);
    const struct engine_feed more = {.seq = &x.s.kv, .ids = want + 70, .n = 30};
    assert_ok(engine_feed(&x.e, &more, 1, NULL, NULL));
    memcpy(x.s.ids.data + 70, want + 70, 30 * sizeof *want);
    x.s.ids.n = 100;
    assert_false(sequence_has_logits(&x.s));
    assert_ok(sequence_feed(&x.s, NULL, 0, NULL));
    assert_is(&x, &x.s, want, 100);
    close_fixture(&x);
}

static void only_what_is_new_is_read(void **state)
{
    (void)state;
    struct fixture x;
    open_fixture(&x);
    assert_ok(sequence_feed(&x.s, x.ids, N, NULL));
    char *page = x.s.kv.pages[0];
    char before = page[0];
    page[0] = (char)(before ^ 1); /* would be put right if it were read again */
    token_id other = (x.ids[100] + 1) % x.m.config.n_vocab;
    token_id *text = mem_array(N, sizeof *text);
    memcpy(text, x.ids, N * sizeof *text);
    text[100] = other;
    assert_ok(sequence_set(&x.s, text, N, NULL));
    assert_int_equal(x.s.kv.pages[0][0], (char)(before ^ 1));
    page[0] = before;
    assert_ok(sequence_set(&x.s, x.ids, N, NULL));
    assert_is(&x, &x.s, x.ids, N);
    mem_free(text);
    close_fixture(&x);
}

static void forks_leave_the_parent_alone(void **state)
{
    (void)state;
    struct fixture x;
    open_fixture(&x);
    struct sequence child;
    assert_ok(sequence_init(&child, &x.e));
    assert_ok(sequence_feed(&x.s, x.ids, 100, NULL));
    size_t used = kvcache_used_bytes(&x.e.cache);
    sequence_fork(&child, &x.s, 100);
    assert_int_equal(kvcache_used_bytes(&x.e.cache), used);
    assert_is(&x, &child, x.ids, 100);
    assert_ok(sequence_feed(&child, x.ids + N, 5, NULL));
    assert_ok(sequence_feed(&x.s, x.ids + 100, 50, NULL));
    assert_is(&x, &x.s, x.ids, N);
    token_id want[105];
    memcpy(want, x.ids, 100 * sizeof *want);
    memcpy(want + 100, x.ids + N, 5 * sizeof *want);
    assert_is(&x, &child, want, 105);
    sequence_fork(&child, &x.s, 40);
    assert_ok(sequence_feed(&child, NULL, 0, NULL));
    assert_is(&x, &child, x.ids, 40);
    sequence_release(&child);
    close_fixture(&x);
}

static void slides(void **state)
{
    (void)state;
    struct fixture x;
    open_fixture(&x);
    assert_ok(sequence_feed(&x.s, x.ids, 200, NULL));
    assert_int_equal(sequence_feed(&x.s, x.ids, 1, NULL), ERR_FULL);
    assert_string_equal(err_text(), "the text would be 201 tokens long, the context holds 200");
    assert_is(&x, &x.s, x.ids, 200);
    assert_ok(sequence_slide(&x.s, 100, NULL));
    assert_is(&x, &x.s, x.ids + 100, 100);
    close_fixture(&x);
}

/* One id more than the context: kept, not fed. */
static void keeps_an_unread_last_id(void **state)
{
    (void)state;
    struct fixture x;
    open_fixture(&x);
    uint64_t before = mem_count();
    assert_int_equal(sequence_set(&x.s, x.ids, 201, NULL), ERR_FULL);
    assert_int_equal(sequence_keep(&x.s, x.ids, 202, NULL), ERR_FULL);
    assert_int_equal(x.s.ids.n, 0);
    assert_ok(sequence_keep(&x.s, x.ids, 201, NULL));
    assert_int_equal(x.s.ids.n, 201);
    assert_memory_equal(x.s.ids.data, x.ids, 201 * sizeof *x.ids);
    assert_int_equal(sequence_cached(&x.s), 200);
    assert_false(sequence_has_logits(&x.s));
    assert_int_equal(sequence_feed(&x.s, NULL, 0, NULL), ERR_FULL);
    assert_ok(sequence_keep(&x.s, x.s.ids.data, 201, NULL));
    assert_int_equal(mem_count(), before);
    sequence_fork(&x.fresh, &x.s, 201);
    assert_int_equal(x.fresh.ids.n, 201);
    sequence_truncate(&x.s, 200);
    assert_is(&x, &x.s, x.ids, 200);
    x.ids[200] = -1;
    assert_int_equal(sequence_keep(&x.s, x.ids, 201, NULL), ERR_RANGE);
    assert_is(&x, &x.s, x.ids, 200);
    close_fixture(&x);
}

static void other_weights_are_read_again(void **state)
{
    (void)state;
    struct fixture x;
    open_fixture(&x);
    assert_ok(sequence_feed(&x.s, x.ids, 80, NULL));
    float *before = mem_alloc(x.bytes);
    memcpy(before, x.s.logits, x.bytes);
    struct param_tensor *t = params_find(&x.m.params, "h.0.ln_1.weight");
    t->data[0] += 1.0f;
    x.m.version++;
    assert_int_equal(sequence_cached(&x.s), 0);
    assert_ok(sequence_feed(&x.s, NULL, 0, NULL));
    assert_memory_not_equal(before, x.s.logits, x.bytes);
    sequence_truncate(&x.fresh, 0);
    assert_is(&x, &x.s, x.ids, 80);
    mem_free(before);
    close_fixture(&x);
}

static void bad_ids_change_nothing(void **state)
{
    (void)state;
    struct fixture x;
    open_fixture(&x);
    token_id bad[2] = {1, -1};
    assert_ok(sequence_feed(&x.s, x.ids, 10, NULL));
    assert_int_equal(sequence_feed(&x.s, bad, 2, NULL), ERR_RANGE);
    assert_string_equal(err_text(), "token id -1 is outside the model's vocabulary, 0 to 100");
    assert_is(&x, &x.s, x.ids, 10);
    close_fixture(&x);
}

/* Ctrl-C after so many calls. */
static void interrupt_later(void *user, const char *what, uint64_t done, uint64_t total)
{
    int *calls = user;
    assert_string_equal(what, "reading");
    assert_true(done <= total);
    if (--*calls == 0)
        interrupt_raise();
}

static void an_interrupted_feed_goes_on(void **state)
{
    (void)state;
    struct fixture x;
    struct config c = tiny_config();
    c.n_ctx = 1300; /* three passes */
    open_config(&x, &c);
    token_id *text = mem_array(1300, sizeof *text);
    tiny_ids(text, 1300, &c, 11);
    assert_ok(sequence_feed(&x.s, text, 10, NULL));

    int calls = 3;
    struct progress p = {.step = interrupt_later, .user = &calls};
    assert_int_equal(sequence_feed(&x.s, text + 10, 1290, &p), ERR_INTERRUPTED);
    interrupt_clear();
    assert_int_equal(x.s.ids.n, 10);
    assert_int_equal(x.s.kv.n, 10 + 2 * FORWARD_MAX_ROWS);
    assert_true(sequence_has_logits(&x.s));
    char *page = x.s.kv.pages[15];

    assert_ok(sequence_feed(&x.s, text + 10, 1290, NULL)); /* goes on */
    assert_ptr_equal(x.s.kv.pages[15], page);
    assert_is(&x, &x.s, text, 1300);

    sequence_truncate(&x.s, 10); /* or not: the text as it was */
    calls = 2;
    assert_int_equal(sequence_feed(&x.s, text + 10, 1290, &p), ERR_INTERRUPTED);
    interrupt_clear();
    assert_ok(sequence_feed(&x.s, NULL, 0, NULL));
    assert_is(&x, &x.s, text, 10);

    calls = 2; /* or another text */
    assert_int_equal(sequence_set(&x.s, text, 1200, &p), ERR_INTERRUPTED);
    interrupt_clear();
    assert_int_equal(x.s.ids.n, 10);
    assert_ok(sequence_set(&x.s, text, 600, NULL));
    assert_is(&x, &x.s, text, 600);
    mem_free(text);
    close_fixture(&x);
}

static void a_full_pool_changes_nothing(void **state)
{
    (void)state;
    struct fixture x;
    open_fixture(&x); /* (3 + 1) * 4 pages */
    struct sequence others[3];
    for (int i = 0; i < 3; i++) {
        assert_ok(sequence_init(&others[i], &x.e));
        assert_ok(sequence_feed(&others[i], x.ids, 200, NULL));
    }
    assert_ok(sequence_feed(&x.s, x.ids, 130, NULL));
    assert_ok(sequence_feed(&x.fresh, x.ids, 64, NULL));
    assert_int_equal(sequence_feed(&x.fresh, x.ids + 64, 1, NULL), ERR_FULL);
    assert_int_equal(x.fresh.ids.n, 64);
    assert_true(sequence_has_logits(&x.fresh));
    sequence_release(&others[0]);
    assert_ok(sequence_feed(&x.fresh, x.ids + 64, 66, NULL));
    assert_memory_equal(x.fresh.logits, x.s.logits, x.bytes);
    sequence_release(&others[1]);
    sequence_release(&others[2]);
    close_fixture(&x);
}

static void no_memory_leaks_nothing(void **state)
{
    (void)state;
    struct fixture x;
    open_fixture(&x);
    for (uint64_t k = 1; k <= 4; k++) {
        struct sequence s;
        mem_fail_at(k);
        assert_int_equal(sequence_init(&s, &x.e), ERR_NOMEM);
        mem_fail_at(0);
        sequence_release(&s);
    }
    close_fixture(&x);
}

/* ---- scoring ---- */

struct scored {
    struct fixture *x;
    struct sequence *s;
    size_t next, calls;
};

static void compare(void *user, size_t i, const float *logits)
{
    struct scored *c = user;
    assert_int_equal(i, c->next);
    assert_ok(sequence_set(c->s, c->x->ids, i, NULL));
    assert_memory_equal(logits, c->s->logits, c->x->bytes);
    c->next++;
    c->calls++;
}

static void scoring_is_reading_token_by_token(void **state)
{
    (void)state;
    struct fixture x;
    open_fixture(&x);
    static const size_t firsts[] = {1, 2, 70, 200};
    for (size_t i = 0; i < 4; i++) {
        struct scored c = {.x = &x, .s = &x.s, .next = firsts[i]};
        assert_ok(sequence_set(&x.s, x.ids, firsts[i], NULL));
        assert_ok(score_text(&x.e, x.ids, 201, firsts[i], compare, &c, NULL));
        assert_int_equal(c.calls, 201 - firsts[i]);
    }
    size_t used = kvcache_used_bytes(&x.e.cache);
    struct scored c = {.x = &x, .s = &x.s};
    assert_int_equal(score_text(&x.e, x.ids, 202, 1, compare, &c, NULL), ERR_FULL);
    assert_string_equal(err_text(), "cannot score 202 tokens at once, the context holds 200");
    interrupt_raise();
    assert_int_equal(score_text(&x.e, x.ids, 100, 1, compare, &c, NULL), ERR_INTERRUPTED);
    interrupt_clear();
    for (uint64_t k = 1; k <= 2; k++) {
        mem_fail_at(k);
        assert_int_equal(score_text(&x.e, x.ids, 100, 1, compare, &c, NULL), ERR_NOMEM);
        mem_fail_at(0);
    }
    assert_int_equal(c.calls, 0);
    assert_int_equal(kvcache_used_bytes(&x.e.cache), used);
    close_fixture(&x);
}

/* What counts what a feed has to read. */
static void count_total(void *user, const char *what, uint64_t done, uint64_t total)
{
    (void)what, (void)done;
    *(uint64_t *)user = total;
}

/* The text may change without being read; what the cache holds serves the next feed. */
static void an_assigned_text_is_read_when_needed(void **state)
{
    (void)state;
    struct fixture x;
    uint64_t total = 0;
    struct progress p = {.step = count_total, .user = &total};
    open_fixture(&x);
    assert_ok(sequence_feed(&x.s, x.ids, 100, NULL));
    uint64_t before = mem_count();
    assert_ok(sequence_assign(&x.s, x.ids + 7, 5));
    assert_ok(sequence_assign(&x.s, NULL, 0));
    assert_int_equal(mem_count(), before);
    assert_int_equal(x.s.ids.n, 0);
    assert_int_equal(sequence_cached(&x.s), 0);
    assert_int_equal(sequence_common(&x.s, x.ids, N), 100);
    assert_ok(sequence_assign(&x.s, x.ids, 120));
    assert_false(sequence_has_logits(&x.s));
    assert_int_equal(sequence_cached(&x.s), 100);
    assert_ok(sequence_feed(&x.s, x.ids + 120, 5, &p));
    assert_int_equal(total, 25);
    assert_is(&x, &x.s, x.ids, 125);
    assert_ok(sequence_replace(&x.s, 120, x.ids + 7, 2)); /* its end alone, or less of it */
    assert_int_equal(x.s.ids.n, 122);
    assert_memory_equal(x.s.ids.data, x.ids, 120 * sizeof *x.ids);
    assert_memory_equal(x.s.ids.data + 120, x.ids + 7, 2 * sizeof *x.ids);
    assert_int_equal(sequence_cached(&x.s), 120);
    assert_ok(sequence_assign(&x.s, x.s.ids.data, 60));
    assert_int_equal(sequence_common(&x.s, x.ids, N), 125);
    assert_ok(sequence_feed(&x.s, NULL, 0, NULL));
    assert_is(&x, &x.s, x.ids, 60);
    close_fixture(&x);
}

/* Of other weights there are no logits before all is read again, nor of a text that was cut short
 * while another was read. */
static void an_interrupt_leaves_no_stale_logits(void **state)
{
    (void)state;
    struct fixture x;
    struct config c = tiny_config();
    int calls = 1;
    struct progress p = {.step = interrupt_later, .user = &calls};
    c.n_ctx = 1300;
    open_config(&x, &c);
    token_id *text = mem_array(1300, sizeof *text);
    tiny_ids(text, 1300, &c, 11);
    assert_ok(sequence_feed(&x.s, x.ids, 30, NULL));
    calls = 2;
    assert_int_equal(sequence_set(&x.s, text, 1300, &p), ERR_INTERRUPTED);
    interrupt_clear();
    assert_true(sequence_has_logits(&x.s));
    assert_true(sequence_common(&x.s, text, 1300) >= 30);
    assert_ok(sequence_set(&x.s, text, 30, NULL)); /* as many ids, all of them cached */
    assert_is(&x, &x.s, text, 30);

    x.m.version++;
    calls = 1;
    assert_int_equal(sequence_feed(&x.s, NULL, 0, &p), ERR_INTERRUPTED);
    interrupt_clear();
    assert_false(sequence_has_logits(&x.s));
    assert_ok(sequence_feed(&x.s, NULL, 0, NULL));
    assert_is(&x, &x.s, text, 30);
    mem_free(text);
    close_fixture(&x);
}

/* A fork has of the cache what the text and the cache have in common, and no more. */
static void a_fork_of_an_unread_text_reads_the_rest(void **state)
{
    (void)state;
    struct fixture x;
    struct sequence child;
    open_fixture(&x);
    assert_ok(sequence_init(&child, &x.e));
    assert_ok(sequence_feed(&x.s, x.ids, 100, NULL));
    assert_ok(sequence_assign(&x.s, x.ids, N)); /* 50 of them unread */
    sequence_fork(&child, &x.s, 140);
    assert_int_equal(child.kv.n, 100);
    assert_ok(sequence_feed(&child, NULL, 0, NULL));
    assert_is(&x, &child, x.ids, 140);
    assert_ok(sequence_assign(&x.s, x.ids + 1, 80)); /* another text than the cache's */
    sequence_truncate(&x.s, 60);                     /* which stays as it is */
    assert_int_equal(sequence_common(&x.s, x.ids, N), 100);
    sequence_fork(&child, &x.s, 50);
    assert_int_equal(child.kv.n, sequence_cached(&x.s));
    assert_ok(sequence_feed(&child, NULL, 0, NULL));
    assert_is(&x, &child, x.ids + 1, 50);
    sequence_release(&child);
    close_fixture(&x);
}

/* The ids stay while an engine goes and another comes. */
static void a_parked_text_keeps_its_ids(void **state)
{
    (void)state;
    struct fixture x;
    open_fixture(&x);
    assert_ok(sequence_feed(&x.s, x.ids, 70, NULL));
    sequence_park(&x.s);
    sequence_park(&x.s);
    assert_int_equal(kvcache_used_bytes(&x.e.cache), 0);
    assert_int_equal(x.s.ids.n, 70);
    assert_ok(sequence_assign(&x.s, x.ids, 90));
    for (uint64_t k = 1; k <= 4; k++) {
        mem_fail_at(k);
        assert_int_equal(sequence_resume(&x.s, &x.e), ERR_NOMEM);
        mem_fail_at(0);
        assert_int_equal(x.s.ids.n, 90);
    }
    assert_ok(sequence_resume(&x.s, &x.e));
    assert_int_equal(sequence_cached(&x.s), 0);
    assert_ok(sequence_feed(&x.s, NULL, 0, NULL));
    assert_is(&x, &x.s, x.ids, 90);
    close_fixture(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(feeds_in_parts),
        cmocka_unit_test(truncates_and_sets),
        cmocka_unit_test(a_cut_text_has_no_logits),
        cmocka_unit_test(only_what_is_new_is_read),
        cmocka_unit_test(forks_leave_the_parent_alone),
        cmocka_unit_test(slides),
        cmocka_unit_test(keeps_an_unread_last_id),
        cmocka_unit_test(other_weights_are_read_again),
        cmocka_unit_test(bad_ids_change_nothing),
        cmocka_unit_test(an_interrupted_feed_goes_on),
        cmocka_unit_test(an_assigned_text_is_read_when_needed),
        cmocka_unit_test(an_interrupt_leaves_no_stale_logits),
        cmocka_unit_test(a_fork_of_an_unread_text_reads_the_rest),
        cmocka_unit_test(a_parked_text_keeps_its_ids),
        cmocka_unit_test(a_full_pool_changes_nothing),
        cmocka_unit_test(no_memory_leaks_nothing),
        cmocka_unit_test(scoring_is_reading_token_by_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
