/* One order: a row's bits depend on its text alone, whatever is computed with it. */
#include "tests/lib/thin.h"
#include "tests/lib/tiny.h"

#include "kvcache/engine.h"
#include "model/base/par.h"
#include "model/kernels/kernels.h"
#include "model/kernels/kernels_tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 150, MAX_SEQS = 6 };

struct pass_job {
    struct engine *e;
    struct forward_seq seqs[MAX_SEQS];
    int n_seqs, rows;
    float *logits; /* of all rows that are not skipped */
};

static void run_pass(void *arg, int thread, int n_threads)
{
    struct pass_job *job = arg;
    int rows = forward_pass(&job->e->forward, job->seqs, job->n_seqs, thread, n_threads);
    forward_head(&job->e->forward, job->logits, (size_t)job->e->model->config.n_vocab, NULL, rows,
                 thread, n_threads);
    if (thread == 0)
        job->rows = rows;
}

/* Logits [n,V] of all positions, read in chunks of the given size. */
static void read_in_chunks(struct engine *e, const token_id *ids, int n, int chunk, float *logits)
{
    struct kv_seq seq;
    assert_ok(kv_seq_init(&seq, &e->cache));
    for (int at = 0; at < n; at += chunk) {
        int count = n - at < chunk ? n - at : chunk;
        assert_ok(kv_seq_reserve(&seq, &e->cache, count));
        struct pass_job job = {.e = e, .n_seqs = 1};
        job.seqs[0] = (struct forward_seq){.ids = ids + at, .n = count, .kv = kv_seq_view(&seq)};
        job.logits = logits + (size_t)at * (size_t)e->model->config.n_vocab;
        par_run(run_pass, &job);
        assert_int_equal(job.rows, count);
        kv_seq_advance(&seq, count);
    }
    kv_seq_release(&seq, &e->cache);
}

struct fixture {
    struct model m;
    struct engine e;
    token_id ids[N];
    float *expected; /* [N,V], read in one piece by one thread with the portable table */
    float *got;
    size_t V, bytes;
};

static void open_cache(struct fixture *x, const struct config *c, enum dtype kind, enum dtype cache)
{
    assert_ok(par_open(1, false));
    assert_ok(kernels_select("portable"));
    tiny_init(&x->m, c, kind, 5);
    assert_ok(engine_init_as(&x->e, &x->m, MAX_SEQS, cache));
    tiny_ids(x->ids, N, c, 9);
    x->V = (size_t)c->n_vocab;
    x->bytes = N * x->V * sizeof(float);
    x->expected = mem_alloc(x->bytes);
    x->got = mem_alloc(x->bytes);
    read_in_chunks(&x->e, x->ids, N, N, x->expected);
    for (size_t i = 0; i < N * x->V; i++)
        assert_true(isfinite(x->expected[i]));
    assert_ok(kernels_select(NULL));
}

static void open_fixture(struct fixture *x, const struct config *c, enum dtype kind)
{
    open_cache(x, c, kind, kv_dtype_of(kind));
}

static void close_fixture(struct fixture *x)
{
    engine_release(&x->e);
    tiny_release(&x->m);
    mem_free(x->expected);
    mem_free(x->got);
    assert_ok(kernels_select(NULL));
    par_close();
}

/* Read in any chunks, by any team, on any table: the bits of the portable one in one piece. */
static void same_bits_cached(const struct config *c, enum dtype kind, enum dtype cache,
                             int max_threads)
{
    static const int chunks[] = {1, 2, 3, 7, 16, 64, 65, N};
    static int n_cases; /* of all models, so that they differ in their chunks */
    /* Each of all settings with many of the others; these divide none of their numbers. */
    const int each = THIN ? 11 : 3;
    struct fixture x;
    open_cache(&x, c, kind, cache);
    for (int threads = 1; threads <= max_threads; threads++) {
        engine_release(&x.e);
        assert_ok(par_open(threads, false));
        assert_ok(engine_init_as(&x.e, &x.m, MAX_SEQS, cache));
        for (int t = 0; kernels_nth(t) != NULL; t++) {
            assert_ok(kernels_select(kernels_nth(t)->name));
            for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
                if (n_cases++ % each != 0)
                    continue;
                memset(x.got, 0xff, x.bytes);
                read_in_chunks(&x.e, x.ids, N, chunks[i], x.got);
                if (memcmp(x.got, x.expected, x.bytes) != 0)
                    fail_msg("%s, heads of %d, kind %d, cache %d, %d threads, %s, chunks of %d",
                             activation_name(c->activation), config_head_size(c), kind, cache,
                             threads, kernels_nth(t)->name, chunks[i]);
            }
        }
    }
    close_fixture(&x);
}

static void same_bits(const struct config *c, enum dtype kind, int max_threads)
{
    same_bits_cached(c, kind, kv_dtype_of(kind), max_threads);
}

static void same_bits_in_any_chunks_threads_and_tables(void **state)
{
    (void)state;
    for (int kind = DTYPE_F32; kind <= DTYPE_F16; kind++) {
        struct config c = tiny_config();
        c.activation = kind == DTYPE_F16 ? ACTIVATION_GELU_TANH : ACTIVATION_GELU_ERF;
        c.scale_attn_by_inverse_layer_idx = kind == DTYPE_F32;
        c.tie_word_embeddings = kind == DTYPE_F16;
        same_bits(&c, (enum dtype)kind, 4);
    }
}

static void same_bits_for_any_activation(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * N_ACTIVATIONS; i++) {
        struct config c = tiny_config();
        if (!thin_runs(i / 2 + i, 2)) /* one precision, each in its turn */
            continue;
        c.activation = (enum activation)(i / 2);
        same_bits(&c, i % 2 ? DTYPE_F16 : DTYPE_F32, 1);
    }
}

static void same_bits_for_any_head_size(void **state)
{
    (void)state;
    static const int shapes[][2] = {{5, 1}, {3, 3}, {1, 65}, {1, 200}};
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof *shapes; i++) {
        struct config c = tiny_config();
        if (!thin_runs((int)(i / 2 + i), 2))
            continue;
        c.n_layer = 2;
        c.n_head = shapes[i / 2][0];
        c.n_embd = c.n_head * shapes[i / 2][1];
        same_bits(&c, i % 2 ? DTYPE_F16 : DTYPE_F32, 1);
    }
}

/* Local layers whose window is a position, a part of a tile of rows, a page and more, and what is
 * never cut off. Neither does the width of the heads have to be the model's. */
static void same_bits_in_any_window(void **state)
{
    (void)state;
    static const int windows[] = {1, 5, 64, 65, 100};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        struct config c = tiny_config();
        c.type = MODEL_GPT_NEO;
        c.scale_attn_weights = false;
        c.window_size = windows[i];
        config_set_local(&c, 0);
        config_set_local(&c, 2);
        c.head_size = i % 3 == 2 ? 5 : 0;
        same_bits(&c, i % 2 ? DTYPE_F16 : DTYPE_F32, 1 + (int)i % 2);
    }
}

/* In Q8_0: all matrices, all but the one of 70 inputs, which stays binary16, and none. */
static void same_bits_in_q8(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct config c = tiny_config();
        c.n_layer = 2; /* the last is another than the first */
        c.n_embd = i < 2 ? 96 : 36;
        c.n_inner = i == 0 ? 160 : 70;
        c.tie_word_embeddings = i > 0;
        same_bits(&c, DTYPE_Q8, i == 0 ? 2 : 1);
    }
}

/* Keys and values in q8 under weights of any type: heads of any size, windows too. */
static void same_bits_with_a_q8_cache(void **state)
{
    (void)state;
    static const int shapes[][2] = {{3, 12}, {1, 65}, {3, 32}};
    static const enum dtype kinds[] = {DTYPE_F16, DTYPE_F32, DTYPE_Q8};
    for (int i = 0; i < 3; i++) {
        struct config c = tiny_config();
        c.n_layer = 2;
        c.n_head = shapes[i][0];
        c.n_embd = c.n_head * shapes[i][1];
        c.window_size = 5 + 65 * i;
        if (i % 2)
            config_set_local(&c, 1);
        same_bits_cached(&c, kinds[i], DTYPE_Q8, i == 0 ? 3 : 1);
    }
}

/* fp32 under binary16 weights, and binary16 under fp32 ones. */
static void same_bits_with_another_cache(void **state)
{
    (void)state;
    struct config c = tiny_config();
    same_bits_cached(&c, DTYPE_F16, DTYPE_F32, 1);
    same_bits_cached(&c, DTYPE_F32, DTYPE_F16, 1);
}

/* Texts of different lengths and pasts in one pass, some rows skipped, give the rows
 * they give alone. */
static void check_batches(const struct config *c, enum dtype kind, enum dtype cache)
{
    struct fixture x;
    open_cache(&x, c, kind, cache);
    engine_release(&x.e);
    assert_ok(par_open(3, false));
    assert_ok(engine_init_as(&x.e, &x.m, MAX_SEQS, cache));

    static const int past[MAX_SEQS] = {0, 63, 64, 100, 1, 130}, n[MAX_SEQS] = {70, 1, 20, 33, 2, 9},
                     skip[MAX_SEQS] = {69, 0, 20, 32, 1, 0};
    struct kv_seq seqs[MAX_SEQS];
    struct engine_feed feeds[MAX_SEQS];
    for (int i = 0; i < MAX_SEQS; i++) {
        assert_ok(kv_seq_init(&seqs[i], &x.e.cache));
        feeds[i] = (struct engine_feed){.seq = &seqs[i], .ids = x.ids, .n = past[i]};
        if (past[i] > 0)
            assert_ok(engine_feed(&x.e, &feeds[i], 1, NULL, NULL));
        assert_ok(kv_seq_reserve(&seqs[i], &x.e.cache, n[i]));
    }
    for (int skipping = 0; skipping < 2; skipping++) {
        struct pass_job job = {.e = &x.e, .n_seqs = MAX_SEQS, .logits = x.got};
        for (int i = 0; i < MAX_SEQS; i++)
            job.seqs[i] = (struct forward_seq){.ids = x.ids + past[i],
                                               .n = n[i],
                                               .skip = skipping ? skip[i] : 0,
                                               .kv = kv_seq_view(&seqs[i])};
        par_run(run_pass, &job);
        int row = 0;
        for (int i = 0; i < MAX_SEQS; i++)
            for (int j = job.seqs[i].skip; j < n[i]; j++, row++)
                if (memcmp(x.got + (size_t)row * x.V, x.expected + (size_t)(past[i] + j) * x.V,
                           x.V * sizeof(float)) != 0)
                    fail_msg("sequence %d, row %d of the pass", i, row);
        assert_int_equal(job.rows, row);
    }
    /* A pass whose rows are all skipped still leaves its keys and values. */
    struct pass_job job = {.e = &x.e, .n_seqs = 1, .logits = x.got};
    kv_seq_truncate(&seqs[0], &x.e.cache, 0);
    assert_ok(kv_seq_reserve(&seqs[0], &x.e.cache, 71));
    job.seqs[0] =
        (struct forward_seq){.ids = x.ids, .n = 70, .skip = 70, .kv = kv_seq_view(&seqs[0])};
    par_run(run_pass, &job);
    assert_int_equal(job.rows, 0);
    kv_seq_advance(&seqs[0], 70);
    job.seqs[0] = (struct forward_seq){.ids = x.ids + 70, .n = 1, .kv = kv_seq_view(&seqs[0])};
    par_run(run_pass, &job);
    assert_memory_equal(x.got, x.expected + 70 * x.V, x.V * sizeof(float));
    for (int i = 0; i < MAX_SEQS; i++)
        kv_seq_release(&seqs[i], &x.e.cache);
    close_fixture(&x);
}

static void same_bits_in_any_batch(void **state)
{
    (void)state;
    struct config c = tiny_config();
    check_batches(&c, DTYPE_F16, DTYPE_F16);
    check_batches(&c, DTYPE_F16, DTYPE_Q8);
    for (int window = 3; window <= 70; window += 67) {
        c.window_size = window;
        config_set_local(&c, 1);
        config_set_local(&c, 2);
        check_batches(&c, DTYPE_F16, window == 3 ? DTYPE_F16 : DTYPE_Q8);
    }
    c = tiny_config();
    c.n_embd = 96;
    c.n_inner = 160;
    check_batches(&c, DTYPE_Q8, DTYPE_F16);
    check_batches(&c, DTYPE_Q8, DTYPE_Q8);
}

/* engine_feed puts texts of any length together in passes, and its logits are those
 * after each one's last id. */
static void feeding_many_at_once(void **state)
{
    (void)state;
    struct config c = tiny_config();
    struct fixture x;
    open_fixture(&x, &c, DTYPE_F16);
    enum { MANY = 6 };
    static const int lengths[MANY] = {150, 1, 149, 150, 130, 64}; /* 644: more than one pass */
    struct kv_seq seqs[MANY];
    struct engine_feed feeds[MANY];
    for (int i = 0; i < MANY; i++) {
        assert_ok(kv_seq_init(&seqs[i], &x.e.cache));
        feeds[i] = (struct engine_feed){.seq = &seqs[i], .ids = x.ids, .n = lengths[i]};
    }
    uint64_t before = mem_count();
    assert_ok(engine_feed(&x.e, feeds, MANY, x.got, NULL));
    assert_int_equal(mem_count(), before);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(seqs[i].n, lengths[i]);
        assert_memory_equal(x.got + (size_t)i * x.V, x.expected + (size_t)(lengths[i] - 1) * x.V,
                            x.V * sizeof(float));
        kv_seq_truncate(&seqs[i], &x.e.cache, 0);
    }

    /* What cannot be fed leaves everything as it was. */
    size_t used = kvcache_used_bytes(&x.e.cache);
    token_id bad[] = {0, c.n_vocab};
    feeds[3] = (struct engine_feed){.seq = &seqs[3], .ids = bad, .n = 2};
    assert_int_equal(engine_feed(&x.e, feeds, MANY, NULL, NULL), ERR_RANGE);
    assert_string_equal(err_text(), "token id 101 is outside the model's vocabulary, 0 to 100");
    feeds[3] = (struct engine_feed){.seq = &seqs[3], .ids = x.ids, .n = 201};
    x.ids[0] = 0;
    token_id *long_ids = mem_array(201, sizeof *long_ids);
    feeds[3].ids = long_ids;
    assert_int_equal(engine_feed(&x.e, feeds, MANY, NULL, NULL), ERR_FULL);
    assert_string_equal(err_text(), "the text would be 201 tokens long, the context holds 200");
    mem_free(long_ids);
    assert_int_equal(kvcache_used_bytes(&x.e.cache), used);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(seqs[i].n, 0);
        kv_seq_release(&seqs[i], &x.e.cache);
    }
    close_fixture(&x);
}

/* Buffers of their own for each layer keep what it made, and change no bit. */
static void activations_are_kept_where_there_is_room(void **state)
{
    (void)state;
    struct config c = tiny_config();
    for (int kind = DTYPE_F32; kind <= DTYPE_F16; kind++) {
        struct fixture x;
        open_fixture(&x, &c, kind);
        engine_release(&x.e);
        assert_ok(par_open(2, false));
        assert_ok(engine_init(&x.e, &x.m, MAX_SEQS));
        const struct config *config = &x.m.config;
        size_t C = (size_t)config->n_embd;
        struct activations *layers = mem_array((size_t)config->n_layer + 1, sizeof *layers);
        struct arena a = {0};
        activations_carve(NULL, &a, config, N, NULL);
        a = (struct arena){.base = mem_alloc(a.used)};
        activations_carve(layers, &a, config, N, NULL);
        x.e.forward.layers = layers;
        read_in_chunks(&x.e, x.ids, N, N, x.got);
        assert_memory_equal(x.got, x.expected, x.bytes);

        float wte, wpe, normed[36], gelu[70];
        params_read(params_find(&x.m.params, "wte.weight"), &wte, (uint64_t)x.ids[0] * C, 1);
        params_read(params_find(&x.m.params, "wpe.weight"), &wpe, 0, 1);
        assert_true(layers[0].x[0] == wte + wpe);
        for (int l = 0; l <= config->n_layer; l++)
            for (int m = 0; m < l; m++)
                assert_memory_not_equal(layers[l].x, layers[m].x, N * C * sizeof(float));
        /* The last row of what is kept leads from one to the next. */
        const struct activations *last = &layers[config->n_layer - 1];
        const struct kernels *k = kernels_active();
        k->row.layernorm(normed, last[1].x + (N - 1) * C, x.m.params.ln_f_weight,
                         x.m.params.ln_f_bias, C, config->layer_norm_epsilon);
        assert_memory_equal(normed, x.e.forward.hidden + (N - 1) * C, C * sizeof(float));
        k->matrix.epilogue(gelu, 0, last->fc + (N - 1) * 70, 0, NULL, 1, 70,
                           epilogue_activation(config->activation));
        assert_memory_equal(gelu, x.e.forward.fc + (N - 1) * 70, sizeof gelu);
        assert_true(isfinite(last->lse[N * (size_t)config->n_head - 1]));
        mem_free(a.base);
        mem_free(layers);
        close_fixture(&x);
    }
}

static void no_memory_leaks_nothing(void **state)
{
    (void)state;
    struct config c = tiny_config();
    struct model m;
    tiny_init(&m, &c, DTYPE_F16, 1);
    par_threads();
    int k = 1;
    for (;; k++) {
        struct engine e;
        mem_fail_at((uint64_t)k);
        int rc = engine_init(&e, &m, 2);
        mem_fail_at(0);
        engine_release(&e);
        if (rc == 0)
            break;
        assert_int_equal(rc, ERR_NOMEM);
    }
    assert_true(k > 4);
    tiny_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits_in_any_chunks_threads_and_tables),
        cmocka_unit_test(same_bits_for_any_activation),
        cmocka_unit_test(same_bits_for_any_head_size),
        cmocka_unit_test(same_bits_in_any_window),
        cmocka_unit_test(same_bits_in_q8),
        cmocka_unit_test(same_bits_with_a_q8_cache),
        cmocka_unit_test(same_bits_with_another_cache),
        cmocka_unit_test(same_bits_in_any_batch),
        cmocka_unit_test(feeding_many_at_once),
        cmocka_unit_test(activations_are_kept_where_there_is_room),
        cmocka_unit_test(no_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
