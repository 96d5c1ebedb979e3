/* Adapters in memory: which matrices their targets name, and the sums they add to them. */
#include "tests/lib/random_adapter.h"
#include "tests/lib/tiny.h"

#include "model/adapter.h"

#include <math.h>

static void targets_match_as_pefts(void **state)
{
    (void)state;
    static const struct {
        const char *targets;
        int n; /* of 3 layers with 4 matrices each */
    } cases[] = {{"c_attn", 3},        {"c_proj", 6},
                 {"attn.c_proj", 3},   {"c_attn,c_proj,c_fc", 12},
                 {"all-linear", 12},   {"c_attn, c_attn", 3},
                 {"h.1.mlp.c_fc", 1},  {"transformer.h.2.attn.c_proj", 1},
                 {"1.attn.c_attn", 1}, {"c_fc,h.0.mlp.c_fc", 3}};
    struct config c = tiny_config();
    assert_ok(config_check(&c));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        struct adapter *a;
        size_t n;
        snprintf(text, sizeof text, "%s", cases[i].targets);
        const struct adapter_config k = {.rank = 2, .alpha = 1, .targets = text};
        assert_ok(adapter_count(&n, &k, &c));
        assert_ok(adapter_new(&a, &k, &c));
        assert_int_equal(a->n_branches, cases[i].n);
        assert_int_equal(a->n, n);
        adapter_free(a);
    }
}

/* A part of a name is none, nor is what would lie before it or in no layer. */
static void what_names_no_matrix_is_refused(void **state)
{
    (void)state;
    static const char *const targets[] = {"attn",
                                          "_attn",
                                          "proj",
                                          "c_att",
                                          "h.3.attn.c_attn",
                                          "h.0",
                                          "c_attn,c_fcc",
                                          "c_attn.weight",
                                          ".transformer.h.0.attn.c_attn",
                                          "x.transformer.h.0.attn.c_attn",
                                          "",
                                          ", "};
    struct config c = tiny_config();
    assert_ok(config_check(&c));
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        char text[64];
        size_t n;
        snprintf(text, sizeof text, "%s", targets[i]);
        const struct adapter_config k = {.rank = 2, .alpha = 1, .targets = text};
        if (adapter_count(&n, &k, &c) != ERR_RANGE)
            fail_msg("%s is a target", targets[i]);
    }
}

static void sizes_are_within_their_ranges(void **state)
{
    (void)state;
    static const struct {
        int rank;
        float alpha, dropout;
        bool good;
    } cases[] = {{1, 1, 0, true},    {ADAPTER_MAX_RANK, -3, 0.99f, true},
                 {0, 1, 0, false},   {ADAPTER_MAX_RANK + 1, 1, 0, false},
                 {2, NAN, 0, false}, {2, INFINITY, 0, false},
                 {2, 1, 1, false},   {2, 1, -0.1f, false},
                 {2, 1, NAN, false}};
    struct config c = tiny_config();
    char text[] = "c_fc";
    assert_ok(config_check(&c));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n;
        const struct adapter_config k = {.rank = cases[i].rank,
                                         .alpha = cases[i].alpha,
                                         .dropout = cases[i].dropout,
                                         .targets = text};
        assert_int_equal(adapter_count(&n, &k, &c), cases[i].good ? 0 : ERR_RANGE);
        if (cases[i].good)
            assert_int_equal(n, c.n_layer * cases[i].rank * (c.n_embd + c.n_inner));
    }
}

static void sums_are_right_in_any_parts(void **state)
{
    (void)state;
    struct config c = tiny_config();
    struct adapter *a = random_adapter(&c, "all-linear", 5, true);
    for (int i = 0; i < a->n_branches; i++) {
        const struct low_rank *t = &a->branches[i];
        size_t K = (size_t)t->K, N = (size_t)t->N, n = K * N;
        float *whole = mem_array(n, sizeof *whole), *turned = mem_array(n, sizeof *turned),
              *parts = mem_array(n, sizeof *parts);
        assert_true(whole != NULL && turned != NULL && parts != NULL);
        adapter_add(t, whole, false, 0, n);
        adapter_add(t, turned, true, 0, n);
        for (size_t at = 0, run = 1; at < n; at += run, run = run * 3 % 101 + 1)
            adapter_add(t, parts + at, false, at, run < n - at ? run : n - at);
        assert_memory_equal(whole, parts, n * sizeof *whole);
        for (size_t k = 0; k < K; k++)
            for (size_t j = 0; j < N; j++) {
                double sum = 0;
                for (size_t r = 0; r < 5; r++)
                    sum += (double)t->a[r * K + k] * (double)t->b[r * N + j];
                assert_true(fabs(sum * 3 / sqrt(5) - (double)whole[k * N + j]) < 1e-6);
                assert_memory_equal(&whole[k * N + j], &turned[j * K + k], sizeof *whole);
            }
        mem_free(whole);
        mem_free(turned);
        mem_free(parts);
    }
    adapter_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_match_as_pefts),
        cmocka_unit_test(what_names_no_matrix_is_refused),
        cmocka_unit_test(sizes_are_within_their_ranges),
        cmocka_unit_test(sums_are_right_in_any_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
