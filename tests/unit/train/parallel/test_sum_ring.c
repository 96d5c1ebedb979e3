/* Tensor parallelism: a step whose heads, feed-forward columns and vocabulary several ranks have
 * leaves the bits of one by one process. */
#include "tests/lib/crowd.h"
#include "tests/lib/hashed.h"
#include "tests/lib/test.h"

#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/shard_cursor.h"
#include "train/parallel/sum_ring.h"
#include "train/step/step.h"
#include "train/step/weights.h"

#include <string.h>

enum { B = 2, T = 37, SEQUENCES = 4, SCALE = 3 };

/* In children of the test, where a failed assertion would go nowhere. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            world_end_all(1);                                                                      \
    } while (0)

struct fixture {
    struct config c;
    struct weights w;
    struct step_config s;
    token_id ids[SEQUENCES * T], labels[SEQUENCES * T];
    float *gradients; /* [w.n], of one process */
    struct step_result sums, unlearned;
};

static void configure(struct fixture *x, int n_vocab, bool tied)
{
    *x = (struct fixture){0};
    config_init(&x->c);
    x->c.n_layer = 2;
    x->c.n_head = 5;
    x->c.n_embd = 40;
    x->c.n_inner = 72;
    x->c.n_ctx = 40;
    x->c.n_vocab = n_vocab;
    x->c.bos_token_id = x->c.eos_token_id = 0;
    x->c.tie_word_embeddings = tied;
    hashed_weights(&x->w, &x->c);
    for (size_t i = 0; i < SEQUENCES * T; i++) {
        x->ids[i] = (token_id)(hashed(100, i) % (uint32_t)n_vocab);
        x->labels[i] =
            hashed(102, i) % 7 == 0 ? LABEL_NONE : (token_id)(hashed(101, i) % (uint32_t)n_vocab);
    }
    step_config_init(&x->s);
    x->s.matrices = PRODUCT_OWN;
    x->s.batch = B;
    x->s.length = T;
    x->s.recompute = "1";
    x->s.dropout = (struct dropout_config){.embd = 0.1f, .attn = 0.1f, .resid = 0.1f, .seed = 4};
}

/* All sequences, and the loss of the first batch alone. */
static void run_steps(struct step *step, const struct fixture *x, struct step_result *sums,
                      struct step_result *unlearned)
{
    step_zero(step);
    for (int i = 0; i < SEQUENCES; i += B)
        step_run(step, sums, x->ids + i * T, x->labels + i * T, B, T, SCALE, (uint64_t)i, true);
    step_run(step, unlearned, x->ids, x->labels, B, T, SCALE, 0, false);
}

static void act_rank(void *arg)
{
    const struct fixture *x = arg;
    const struct rank_group all = group_world();
    struct shard shard;
    struct shard_cursor at;
    struct shard_run run;
    struct weights own = {.dtype = DTYPE_F32, .stage = stage_whole(2)};
    struct step_config s = x->s;
    struct step_result sums = {0}, unlearned = {0};
    struct sum_ring *ring;
    struct config shape;
    struct step *step;
    par_open(all.size == 2 ? 1 + all.own : 1, false);
    shard_init(&shard, &x->c, all.size, all.own);
    shard_config(&shape, &x->c, &shard);
    EXPECT(sum_ring_new(&ring, &all) == 0);
    shard.link = sum_ring_link(ring);
    EXPECT(weights_allocate(&own, &shape, NULL) == 0);
    EXPECT(own.n < x->w.n);
    shard_cursor_init(&at, &x->c, &shard);
    while (shard_cursor_next(&at, &run, 0, x->w.n, 100))
        memcpy(own.data + run.own, x->w.data + run.whole, run.n * sizeof(float));
    s.shard = &shard;
    s.loss_rows = 50;
    EXPECT(step_new(&step, &own, &s) == 0);
    run_steps(step, x, &sums, &unlearned);
    const float *gradients = step_gradients(step);
    shard_cursor_init(&at, &x->c, &shard);
    while (shard_cursor_next(&at, &run, 0, x->w.n, SIZE_MAX)) {
        EXPECT(memcmp(gradients + run.own, x->gradients + run.whole, run.n * sizeof(float)) == 0);
    }
    EXPECT(memcmp(&sums, &x->sums, sizeof sums) == 0);
    EXPECT(memcmp(&unlearned, &x->unlearned, sizeof unlearned) == 0);
    step_free(step);
    weights_release(&own);
    sum_ring_free(ring);
}

static void check_fixture(struct fixture *x)
{
    struct step *step;
    struct step_config of_ranks = x->s;
    x->s.loss_columns = 0;
    par_open(2, false);
    assert_ok(step_new(&step, &x->w, &x->s));
    run_steps(step, x, &x->sums, &x->unlearned);
    x->gradients = mem_array(x->w.n, sizeof *x->gradients);
    memcpy(x->gradients, step_gradients(step), x->w.n * sizeof *x->gradients);
    step_free(step);
    par_close(); /* no threads where processes are forked */
    x->s = of_ranks;
    for (int size = 2; size <= 5; size += size == 3 ? 2 : 1)
        assert_int_equal(crowd_run(size, act_rank, x), 0);
    mem_free(x->gradients);
    weights_release(&x->w);
}

static void check_ranks(int n_vocab, bool tied, int loss_columns)
{
    struct fixture x;
    configure(&x, n_vocab, tied);
    x.s.loss_columns = loss_columns;
    check_fixture(&x);
}

/* Inputs of recomputed layers in parts of 14 or 15 to 37 of 74 rows. */
static void inputs_in_parts_too(void **state)
{
    (void)state;
    static const char *const recompute[] = {"all", "0", "1"};
    for (size_t i = 0; i < sizeof recompute / sizeof *recompute; i++) {
        struct fixture x;
        configure(&x, 600, true);
        x.s.recompute = recompute[i];
        x.s.rts_activations = true;
        check_fixture(&x);
    }
}

/* A rank has its own rows of the inputs, and no more than that of anything. */
static void and_take_less_memory(void **state)
{
    (void)state;
    struct config c;
    struct step_config s;
    config_init(&c);
    assert_ok(config_check(&c));
    step_config_init(&s);
    s.recompute = "all";
    for (int half = 0; half < 2; half++)
        for (int size = 2; size <= 5; size++) {
            size_t rows = 0;
            for (int own = 0; own < size; own++) {
                struct shard shard;
                struct config shape;
                struct step_bytes whole, parts;
                shard_init(&shard, &c, size, own);
                shard_config(&shape, &c, &shard);
                s.shard = &shard;
                s.rts_activations = false;
                assert_ok(step_bytes(&whole, &shape, half ? DTYPE_F16 : DTYPE_F32, &s));
                s.rts_activations = true;
                assert_ok(step_bytes(&parts, &shape, half ? DTYPE_F16 : DTYPE_F32, &s));
                assert_int_equal(whole.scratch, parts.scratch);
                const size_t row = (half ? 2 : 4) * 768 * 12,
                             kept = row * 1024 + parts.activations - whole.activations;
                assert_true(kept % row < 256); /* pointers */
                rows += kept / row;
            }
            assert_int_equal(rows, 1024);
        }
}

static void ranks_have_the_bits_of_one(void **state)
{
    (void)state;
    check_ranks(1300, true, 0);
    check_ranks(600, false, 0);
}

static void slices_of_columns_too(void **state)
{
    (void)state;
    check_ranks(1300, true, 256);
}

/* Which only the first then has. */
static void a_small_vocabulary_too(void **state)
{
    (void)state;
    check_ranks(65, true, 0);
}

/* Every element of the whole is of one shard, or of all. */
static void shards_are_the_whole(void **state)
{
    (void)state;
    struct fixture x;
    configure(&x, 1300, false);
    for (int size = 1; size <= 5; size++) {
        unsigned char *seen = mem_array(x.w.n, 1);
        for (int own = 0; own < size; own++) {
            struct shard shard;
            struct shard_cursor at;
            struct shard_run run;
            size_t last = 0;
            shard_init(&shard, &x.c, size, own);
            shard_cursor_init(&at, &x.c, &shard);
            while (shard_cursor_next(&at, &run, 0, x.w.n, 33)) {
                assert_true(run.n <= 33 && run.whole >= last && run.whole + run.n <= x.w.n);
                last = run.whole + run.n;
                for (size_t i = 0; i < run.n; i++)
                    seen[run.whole + i] =
                        (unsigned char)(seen[run.whole + i] + (run.divided ? size : 1));
            }
        }
        for (size_t i = 0; i < x.w.n; i++)
            assert_int_equal(seen[i], size);
        mem_free(seen);
    }
    weights_release(&x.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_are_the_whole),  cmocka_unit_test(ranks_have_the_bits_of_one),
        cmocka_unit_test(slices_of_columns_too), cmocka_unit_test(a_small_vocabulary_too),
        cmocka_unit_test(inputs_in_parts_too),   cmocka_unit_test(and_take_less_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
