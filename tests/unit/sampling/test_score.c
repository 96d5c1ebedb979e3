/* Scoring: passages that share a beginning. */
#include "tests/lib/test.h"

#include "model/base/par.h"
#include "sampling/score.h"
#include "tests/lib/tiny_text.h"

#include <string.h>

enum { N_PASSAGES = 9, LONGEST = 151, MAX_TARGETS = N_PASSAGES * LONGEST };

struct scored {
    struct score scores[MAX_TARGETS];
    size_t n;
    uint64_t read;
};

static void score_all(struct scored *out, struct model *m, int max_seqs, const struct passage *list)
{
    struct engine e = {0};
    struct scorer *s;
    const struct score_row *rows;
    const float *logits;
    int n;
    assert_ok(engine_init(&e, m, max_seqs));
    assert_ok(scorer_new(&s, &e));
    assert_ok(scorer_begin(s, list, N_PASSAGES));
    out->n = 0;
    do {
        assert_ok(scorer_next(s, &rows, &logits, &n, NULL));
        scorer_judge(s, out->scores + out->n);
        out->n += (size_t)n;
    } while (n > 0);
    struct scorer_place place = scorer_place(s);
    out->read = place.read;
    assert_int_equal(place.read, place.total);
    assert_int_equal(place.passage, N_PASSAGES);
    assert_true(place.at_end);
    scorer_free(s);
    engine_release(&e);
}

/* Every seventh pair of neighbours shares nothing, the others all lengths up to all they can. */
static void a_shared_beginning_changes_no_bit(void **state)
{
    (void)state;
    static token_id ids[N_PASSAGES][LONGEST];
    static const size_t lengths[N_PASSAGES] = {151, 140, 30, 151, 90, 90, 66, 2, 151};
    static const size_t shares[N_PASSAGES] = {0, 64, 3, 0, 65, 88, 63, 0, 1};
    struct passage list[N_PASSAGES], shared[N_PASSAGES];
    static struct scored apart, together;
    struct model m;
    tiny_speaker(&m, 5);
    for (size_t i = 0; i < N_PASSAGES; i++) {
        tiny_ids(ids[i], lengths[i], &m.config, 40 + i);
        if (i > 0)
            memcpy(ids[i], ids[i - 1], shares[i] * sizeof **ids);
        size_t first = shares[i] + 1 + i % 3;
        if (first >= lengths[i])
            first = lengths[i] - 1;
        list[i] = shared[i] = (struct passage){.ids = ids[i], .n = lengths[i], .first = first};
        shared[i].shared = shares[i];
    }
    par_open(1, false);
    score_all(&apart, &m, 1, list);
    for (int max_seqs = 1; max_seqs <= 5; max_seqs++) {
        par_open(1 + max_seqs % 3, false);
        score_all(&together, &m, max_seqs, shared);
        assert_int_equal(together.n, apart.n);
        assert_true(together.read == apart.read - 64 - 3 - 65 - 88 - 63 - 1);
        assert_memory_equal(together.scores, apart.scores, apart.n * sizeof *apart.scores);
    }
    tiny_speaker_release(&m);
}

static void what_is_not_shared_is_refused(void **state)
{
    (void)state;
    static const token_id a[] = {1, 2, 3, 4}, b[] = {1, 2, 9, 4};
    struct passage list[] = {{.ids = a, .n = 4, .first = 3}, {.ids = b, .n = 4, .first = 3}};
    struct engine e = {0};
    struct scorer *s;
    struct model m;
    tiny_speaker(&m, 5);
    assert_ok(engine_init(&e, &m, 2));
    assert_ok(scorer_new(&s, &e));
    list[1].shared = 2;
    assert_ok(scorer_begin(s, list, 2));
    list[1].shared = 3;
    assert_int_equal(scorer_begin(s, list, 2), ERR_RANGE);
    assert_string_equal(err_text(), "3 tokens are not those of the passage before");
    list[0].shared = 1;
    assert_int_equal(scorer_begin(s, list, 2), ERR_RANGE);
    assert_string_equal(err_text(), "there is no passage before the first");
    scorer_free(s);
    engine_release(&e);
    tiny_speaker_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shared_beginning_changes_no_bit),
        cmocka_unit_test(what_is_not_shared_is_refused),
    };
    return cmocka_run_group_tests_name("score", tests, NULL, NULL);
}
