/* The dropout of LoRA branches: each has masks of its own, by sequence and position alone. */
#include "tests/lib/test.h"

#include "model/kernels/training_kernels.h"
#include "model/low_rank.h"

enum { K = 100, ROWS = 4, LAYERS = 3, SITES = 4 };

static const struct dropout half = {.seed = 9, .keep = 1u << 31, .scale = 2};

/* What is left of ones, in y [2 ROWS,K] itself, in the rows of these sequences, from a number in
 * the run on. */
static void drop_ones(float *y, int layer, int site, uint64_t sequence,
                      const struct forward_seq *seqs, int n_seqs, int n_threads)
{
    const struct low_rank w = {.layer = layer, .site = site, .K = K};
    const struct forward_dropout d = {.adapter = half, .sequence = sequence};
    for (int i = 0; i < 2 * ROWS * K; i++)
        y[i] = 1;
    for (int thread = 0; thread < n_threads; thread++)
        low_rank_drop(&w, &d, y, y, seqs, n_seqs, thread, n_threads);
}

static void no_two_masks_are_the_same(void **state)
{
    (void)state;
    enum { OWN = LAYERS * SITES * 2 * ROWS, ALL = 2 * OWN };
    static float masks[ALL][K];
    float ones[K];
    const struct forward_seq seqs[] = {{.n = ROWS}, {.n = ROWS}};
    int n = 0, kept = 0;
    for (int i = 0; i < K; i++)
        ones[i] = 1;
    for (int layer = 0; layer < LAYERS; layer++)
        for (int site = 0; site < SITES; site++, n += 2 * ROWS)
            drop_ones(masks[n], layer, site, 5, seqs, 2, 1);
    /* Nor one of those and one of the layers' other masks. */
    for (int layer = 0; layer < LAYERS; layer++)
        for (int point = 0; point < SITES; point++)
            for (int row = 0; row < 2 * ROWS; row++)
                training_kernels()->dropout(
                    masks[n++], ones, K, &half,
                    dropout_stream(5 + (uint64_t)(row / ROWS), layer, (enum dropout_point)point),
                    dropout_row(row % ROWS, K));
    assert_int_equal(n, ALL);
    for (int a = 0; a < ALL; a++)
        for (int b = 0; b < a; b++)
            assert_memory_not_equal(masks[a], masks[b], sizeof masks[a]);
    for (int a = 0; a < OWN; a++)
        for (int i = 0; i < K; i++) {
            assert_true(masks[a][i] == 0 || masks[a][i] == 2);
            kept += masks[a][i] == 2;
        }
    assert_in_range(kept, OWN * K * 48 / 100, OWN * K * 52 / 100);
}

static void masks_go_by_sequence_and_position(void **state)
{
    (void)state;
    float both[2 * ROWS * K], other[2 * ROWS * K];
    const struct forward_seq seqs[] = {{.n = ROWS}, {.n = ROWS}}, rest = {.kv.n_past = 1, .n = 3};
    drop_ones(both, 1, 2, 5, seqs, 2, 1);
    for (int threads = 2; threads <= 9; threads++) {
        drop_ones(other, 1, 2, 5, seqs, 2, threads);
        assert_memory_equal(both, other, sizeof both);
    }
    for (uint64_t s = 0; s < 2; s++) {
        drop_ones(other, 1, 2, 5 + s, seqs, 1, 1);
        assert_memory_equal(both + s * ROWS * K, other, ROWS * K * sizeof *both);
        drop_ones(other, 1, 2, 5 + s, &rest, 1, 2);
        assert_memory_equal(both + (s * ROWS + 1) * K, other, (ROWS - 1) * K * sizeof *both);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_two_masks_are_the_same),
        cmocka_unit_test(masks_go_by_sequence_and_position),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
