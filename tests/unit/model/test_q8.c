/* A model in Q8_0: what its panels hold, and its logits in float64. */
#include "tests/lib/tiny.h"

#include "kvcache/engine.h"
#include "model/base/half.h"
#include "model/base/par.h"
#include "model/kernels/q8.h"

#include <math.h>

static struct config even_config(void)
{
    struct config c = config_of(2, 3, 96, 160, 200, 101);
    c.tie_word_embeddings = false;
    return c;
}

/* ---- filling ---- */

/* A tensor of a file: element i of [rows,cols] is a function of i. */
struct stored {
    enum dtype dtype;
    int rows, cols;
    bool out_major;
};

/* Exact in all three types of files. */
static float value_at(uint64_t row, uint64_t col)
{
    return (float)((int)((row * 31 + col * 7) % 251) - 125) / 64.0f;
}

static int read_stored(void *user, void *dst, uint64_t first, size_t n)
{
    const struct stored *s = user;
    const uint64_t rows = (uint64_t)s->rows, cols = (uint64_t)s->cols;
    for (size_t i = 0; i < n; i++) {
        const uint64_t at = first + i;
        float x = s->out_major ? value_at(at % rows, at / rows) : value_at(at / cols, at % cols);
        if (s->dtype == DTYPE_F32)
            ((float *)dst)[i] = x;
        else
            ((uint16_t *)dst)[i] = s->dtype == DTYPE_F16 ? half_from_f32(x) : bf16_from_f32(x);
    }
    return 0;
}

/* The blocks of the same numbers, in rows [out,in]. */
static int read_stored_q8(void *user, struct q8_block *dst, uint64_t first, size_t n)
{
    const struct stored *s = user;
    const uint64_t rows = (uint64_t)s->rows, cols = (uint64_t)s->cols;
    for (size_t b = 0; b < n; b++) {
        float x[32];
        for (uint64_t i = 0; i < 32; i++) {
            const uint64_t at = (first + b) * 32 + i;
            x[i] = s->out_major ? value_at(at % rows, at / rows) : value_at(at / cols, at % cols);
        }
        q8_quantize(&dst[b], x);
    }
    return 0;
}

static void fill_stored(struct param_tensor *t, enum dtype dtype, bool out_major, bool blocks)
{
    const bool linear = t->kind == PARAM_CONV1D || t->kind == PARAM_EMBEDDING;
    struct stored s = {dtype, t->rows, t->cols, (out_major || blocks) && t->kind == PARAM_CONV1D};
    struct tensor_reader r = {.read = read_stored,
                              .user = &s,
                              .dtype = dtype,
                              .out_major = s.out_major,
                              .read_q8 = blocks && linear ? read_stored_q8 : NULL};
    uint64_t n_bad = 99;
    assert_ok(params_fill(t, &r, 1, &n_bad, NULL));
    assert_int_equal(n_bad, 0);
}

/* Every element is that of its block, which runs along the inputs. */
static void check_elements(const struct param_tensor *t)
{
    const bool turned = t->kind == PARAM_EMBEDDING;
    const int K = t->linear->K, N = t->linear->N;
    float x[32], want[32], back;
    struct q8_block b;
    for (int n = 0; n < N; n++)
        for (int k = 0; k < K; k++) {
            for (int i = 0; i < 32 && k % 32 == 0; i++)
                x[i] = turned ? value_at((uint64_t)n, (uint64_t)(k + i))
                              : value_at((uint64_t)(k + i), (uint64_t)n);
            if (k % 32 == 0) {
                q8_quantize(&b, x);
                q8_dequantize(want, &b);
            }
            const int at = turned ? n * K + k : k * N + n;
            params_read(t, &back, (uint64_t)at, 1);
            assert_true(back == want[k % 32]);
        }
}

static void every_file_fills_the_same_blocks(void **state)
{
    (void)state;
    const struct config c = even_config();
    unsigned char first[32] = {0}, hash[32];
    for (int threads = 1; threads <= 3; threads += 2) {
        assert_ok(par_open(threads, false));
        for (int form = 0; form < 9; form++) { /* the last three are blocks already */
            struct params p;
            assert_ok(params_init(&p, &c, DTYPE_Q8));
            for (int i = 0; i < p.n_tensors; i++)
                fill_stored(&p.tensors[i], (enum dtype)(form % 3), form / 3 == 1, form / 3 == 2);
            for (int i = 0; i < p.n_tensors && threads == 1 && form == 0; i++)
                if (p.tensors[i].linear != NULL)
                    check_elements(&p.tensors[i]);
            params_hash(&p, hash);
            if (threads == 1 && form == 0)
                memcpy(first, hash, sizeof first);
            assert_memory_equal(hash, first, sizeof first);
            params_release(&p);
        }
    }
    par_close();
}

/* 34 bytes for 32 weights; a matrix of 70 inputs stays binary16. */
static void the_block_is_as_large_as_what_it_holds(void **state)
{
    (void)state;
    struct config c = even_config();
    struct params p;
    size_t panels = 0;
    assert_ok(params_init(&p, &c, DTYPE_Q8));
    for (int i = 0; i < p.n_tensors; i++)
        if (p.tensors[i].linear != NULL)
            panels += (size_t)linear_panels(p.tensors[i].linear->N) * 64 *
                      (size_t)p.tensors[i].linear->K / 32 * 34;
    assert_in_range(p.block_bytes, panels, panels + 120000); /* and vectors, and positions */
    assert_int_equal(params_matmul_bytes(&p), config_matmul_params(&c) / 32 * 34);
    params_release(&p);

    c.n_inner = 70;
    assert_ok(params_init(&p, &c, DTYPE_Q8));
    assert_int_equal(p.layers[1].mlp_proj.dtype, DTYPE_F16);
    assert_int_equal(p.layers[1].c_fc.dtype, DTYPE_Q8);
    assert_int_equal(p.wte.dtype, DTYPE_Q8);
    fill_stored(params_find(&p, "h.1.mlp.c_proj.weight"), DTYPE_F32, false, false);
    float back;
    params_read(params_find(&p, "h.1.mlp.c_proj.weight"), &back, 5 * 96 + 3, 1);
    assert_true(back == value_at(5, 3));
    params_release(&p);
}

static int read_bad(void *user, void *dst, uint64_t first, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((float *)dst)[i] = first + i == 100 ? *(const float *)user : 1;
    return 0;
}

static int read_bad_q8(void *user, struct q8_block *dst, uint64_t first, size_t n)
{
    (void)user;
    for (size_t i = 0; i < n; i++)
        dst[i] = (struct q8_block){.d = first + i == 7 ? 0x7c00 : 0x3c00, .q = {1}};
    return 0;
}

static void what_q8_cannot_hold_is_counted(void **state)
{
    (void)state;
    struct config c = even_config();
    struct params p;
    assert_ok(params_init(&p, &c, DTYPE_Q8));
    float bad[] = {NAN, INFINITY, Q8_LIMIT, nextafterf(Q8_LIMIT, 0)};
    for (int i = 0; i < 4; i++) {
        struct tensor_reader r = {.read = read_bad, .user = &bad[i], .dtype = DTYPE_F32};
        uint64_t n_bad = 99;
        assert_ok(params_fill(params_find(&p, "h.0.mlp.c_fc.weight"), &r, 1, &n_bad, NULL));
        assert_int_equal(n_bad, i < 3);
    }
    struct tensor_reader r = {.read = read_bad, .read_q8 = read_bad_q8, .dtype = DTYPE_F32};
    uint64_t n_bad = 99;
    assert_ok(params_fill(params_find(&p, "h.0.mlp.c_fc.weight"), &r, 1, &n_bad, NULL));
    assert_int_equal(n_bad, 32);
    params_release(&p);
}

/* ---- logits in float64 ---- */

enum { T = 40, MAX_C = 96, MAX_F = 160, V = 101 };

/* y [n_out] = x W + b, W and b as they lie in memory. */
static void multiply(double *y, const double *x, const struct linear *w)
{
    for (int n = 0; n < w->N; n++) {
        double sum = w->bias == NULL ? 0 : (double)w->bias[n];
        for (int k = 0; k < w->K; k++)
            sum += x[k] * (double)linear_element(w, k, n);
        y[n] = sum;
    }
}

static void normalize(double *y, const double *x, const float *weight, const float *bias, int C)
{
    double mean = 0, variance = 0;
    for (int i = 0; i < C; i++)
        mean += x[i] / C;
    for (int i = 0; i < C; i++)
        variance += (x[i] - mean) * (x[i] - mean) / C;
    for (int i = 0; i < C; i++)
        y[i] = (x[i] - mean) / sqrt(variance + 1e-5) * (double)weight[i] + (double)bias[i];
}

/* Keys and values are binary16 in memory. */
static void round_half(double *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = (double)half_to_f32(half_from_f32((float)x[i]));
}

static void attend(double *out, double (*qkv)[3 * MAX_C], int t, int C, int H)
{
    const int D = C / H;
    for (int h = 0; h < H; h++) {
        double score[T], sum = 0;
        for (int j = 0; j <= t; j++) {
            score[j] = 0;
            for (int d = 0; d < D; d++)
                score[j] += qkv[t][h * D + d] * qkv[j][C + h * D + d] / sqrt(D);
            sum += exp(score[j]);
        }
        for (int d = 0; d < D; d++) {
            out[h * D + d] = 0;
            for (int j = 0; j <= t; j++)
                out[h * D + d] += exp(score[j]) / sum * qkv[j][2 * C + h * D + d];
        }
    }
}

static double gelu(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

static void exact_logits(double (*logits)[V], const struct model *m, const token_id *ids)
{
    static double x[T][MAX_C], qkv[T][3 * MAX_C];
    const int C = m->config.n_embd, F = m->config.n_inner;
    double normed[MAX_C], out[MAX_C], inner[MAX_F];
    for (int t = 0; t < T; t++)
        for (int i = 0; i < C; i++)
            x[t][i] = (double)linear_element(&m->params.wte, i, ids[t]) +
                      (double)m->params.wpe[t * C + i];
    for (int l = 0; l < m->config.n_layer; l++) {
        const struct layer *w = &m->params.layers[l];
        for (int t = 0; t < T; t++) {
            normalize(normed, x[t], w->ln_1_weight, w->ln_1_bias, C);
            multiply(qkv[t], normed, &w->c_attn);
            round_half(qkv[t] + C, 2 * C);
        }
        for (int t = 0; t < T; t++) {
            attend(out, qkv, t, C, m->config.n_head);
            multiply(normed, out, &w->attn_proj);
            for (int i = 0; i < C; i++)
                x[t][i] += normed[i];
            normalize(normed, x[t], w->ln_2_weight, w->ln_2_bias, C);
            multiply(inner, normed, &w->c_fc);
            for (int i = 0; i < F; i++)
                inner[i] = gelu(inner[i]);
            multiply(out, inner, &w->mlp_proj);
            for (int i = 0; i < C; i++)
                x[t][i] += out[i];
        }
    }
    for (int t = 0; t < T; t++) {
        normalize(normed, x[t], m->params.ln_f_weight, m->params.ln_f_bias, C);
        multiply(logits[t], normed, &m->params.lm_head);
    }
}

static void logits_are_those_of_float64(void **state)
{
    (void)state;
    static double want[T][V];
    const struct config c = even_config();
    struct model m;
    struct engine e;
    struct kv_seq seq;
    token_id ids[T];
    tiny_init(&m, &c, DTYPE_Q8, 5);
    tiny_ids(ids, T, &c, 9);
    exact_logits(want, &m, ids);
    assert_ok(engine_init(&e, &m, 1));
    assert_ok(kv_seq_init(&seq, &e.cache));
    double worst = 0, largest = 0;
    for (int t = 0; t < T; t++) {
        struct engine_feed feed = {.seq = &seq, .ids = ids + t, .n = 1};
        assert_ok(engine_feed(&e, &feed, 1, e.logits, NULL));
        for (int v = 0; v < V; v++) {
            worst = worse(worst, fabs((double)e.logits[v] - want[t][v]));
            largest = fmax(largest, fabs(want[t][v]));
        }
    }
    printf("# q8: logits within %.2g of the largest\n", worst / largest);
    assert_true(worst <= 1e-4 * largest);
    kv_seq_release(&seq, &e.cache);
    engine_release(&e);
    tiny_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_fills_the_same_blocks),
        cmocka_unit_test(the_block_is_as_large_as_what_it_holds),
        cmocka_unit_test(what_q8_cannot_hold_is_counted),
        cmocka_unit_test(logits_are_those_of_float64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
