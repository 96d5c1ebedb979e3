/* A text in windows: every target is scored once, and has the context it was promised. */
#include "tests/lib/test.h"

#include "model/base/mem.h"
#include "train/eval/windows.h"

/* Each target is scored once, in order, by a window that is `length` long or reaches the end. */
static void check_windows(const struct windows *w, size_t first)
{
    static const token_id ids[64];
    struct eval_result result = {0};
    struct evaluation job = {.result = &result};
    struct passage *list;
    size_t next = first, n;
    assert_ok(windows_cut(&list, &n, w, ids, &job));
    assert_int_equal(n, result.total);
    for (size_t i = 0; i < n; i++) {
        struct passage p = list[i];
        size_t at = (size_t)(p.ids - ids), last = at + p.n - 1;
        assert_true(at == i * (size_t)w->step);
        assert_true(p.first >= 1 && p.first < p.n && p.n <= (size_t)w->length + 1);
        assert_true(p.n == (size_t)w->length + 1 || last == w->n_ids - 1);
        assert_true(at + p.first == next);
        /* All but the first have context for `length - step` tokens, and score `step`. */
        if (i > 0)
            assert_true(p.first == (size_t)(w->length - w->step) + 1);
        next = last + 1;
    }
    assert_true(next == (first < w->n_ids ? w->n_ids : first));
    mem_free(list);
}

static void every_target_is_scored_once(void **state)
{
    (void)state;
    for (size_t n_ids = 2; n_ids <= 40; n_ids++)
        for (int length = 1; length <= 20; length++)
            for (int step = 1; step <= length; step++) {
                check_windows(&(struct windows){n_ids, length, step, true}, 1);
                check_windows(&(struct windows){n_ids, length, step, false},
                              (size_t)(length - step) + 1);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_target_is_scored_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
