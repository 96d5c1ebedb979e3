/* Loss and gradients: against PyTorch's autograd (tests/golden/training_reference.py), against
 * central differences, and the bits that splits of the work must not change. */
#include "tests/lib/golden_floats.h"
#include "tests/lib/hashed.h"
#include "tests/lib/normal.h"
#include "tests/lib/test.h"
#include "tests/lib/thin.h"

#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/rng.h"
#include "model/kernels/kernels.h"
#include "model/kernels/kernels_tables.h"
#include "train/step/backward.h"
#include "train/step/weights.h"
#include "train/step/step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { B = 2, T = 70, ROWS = B * T, LOGITS = 8, SEQUENCES = 8 };

struct fixture {
    struct config c;
    struct weights w;
    token_id ids[SEQUENCES * T], labels[SEQUENCES * T];
};

static void open_shape(struct fixture *x, bool tied, enum activation activation, int n_head, int D)
{
    *x = (struct fixture){0};
    config_init(&x->c);
    x->c.n_layer = 2;
    x->c.n_head = n_head;
    x->c.n_embd = n_head * D;
    x->c.n_inner = 40;
    x->c.n_ctx = 72;
    x->c.n_vocab = 53;
    x->c.bos_token_id = x->c.eos_token_id = 0;
    x->c.tie_word_embeddings = tied;
    x->c.activation = activation;
    x->c.scale_attn_weights = tied || activation != ACTIVATION_GELU_TANH;
    x->c.scale_attn_by_inverse_layer_idx = tied && activation == ACTIVATION_GELU_ERF;
    hashed_weights(&x->w, &x->c);
    for (size_t i = 0; i < SEQUENCES * T; i++) {
        x->ids[i] = (token_id)(hashed(100, i) % 53);
        x->labels[i] = hashed(102, i) % 7 == 0 ? LABEL_NONE : (token_id)(hashed(101, i) % 53);
    }
}

static void open_heads(struct fixture *x, bool tied, enum activation activation, int n_head)
{
    open_shape(x, tied, activation, n_head, 24 / n_head);
}

static void open_fixture(struct fixture *x, bool tied, enum activation activation)
{
    open_heads(x, tied, activation, 2);
}

static void close_fixture(struct fixture *x)
{
    weights_release(&x->w);
}

static struct step_config plain(int batch)
{
    struct step_config s;
    step_config_init(&s);
    s.batch = batch;
    s.length = T;
    return s;
}

/* Forward and backward of the first `sequences`, in micro-batches of s->batch. */
static struct step_result run(struct fixture *x, const struct step_config *s, int sequences,
                              float scale, float *gradients)
{
    struct step *step;
    struct step_result all = {0};
    assert_ok(step_new(&step, &x->w, s));
    step_zero(step);
    for (int i = 0; i < sequences; i += s->batch) {
        int batch = sequences - i < s->batch ? sequences - i : s->batch;
        uint64_t before = mem_count();
        step_run(step, &all, x->ids + i * T, x->labels + i * T, batch, T, scale, (uint64_t)i,
                 gradients != NULL);
        assert_int_equal(mem_count(), before);
    }
    if (gradients != NULL)
        memcpy(gradients, step_gradients(step), x->w.n * sizeof *gradients);
    step_free(step);
    return all;
}

/* ---- against PyTorch ---- */

struct logits_job {
    struct forward f;
    struct forward_seq seq;
    float *logits;
};

static void read_logits(void *arg, int thread, int n_threads)
{
    struct logits_job *job = arg;
    int rows[LOGITS], n = forward_pass(&job->f, &job->seq, 1, thread, n_threads);
    for (int i = 0; i < LOGITS; i++)
        rows[i] = n - LOGITS + i;
    forward_head(&job->f, job->logits, 53, rows, LOGITS, thread, n_threads);
}

/* Of the last positions, by the forward pass on the weights. */
static void last_logits(struct fixture *x, float *logits)
{
    struct logits_job job = {.logits = logits};
    assert_ok(forward_init(&job.f, &x->w.view, T));
    char *pages[] = {mem_alloc(job.f.layout.page_bytes), mem_alloc(job.f.layout.page_bytes)};
    job.seq = (struct forward_seq){.ids = x->ids + (B - 1) * T, .n = T, .kv = {.pages = pages}};
    par_run(read_logits, &job);
    mem_free(pages[0]);
    mem_free(pages[1]);
    forward_release(&job.f);
}

/* The largest difference, as a share of the largest of expected. */
static double error_of(const float *got, const float *expected, size_t n)
{
    double worst = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)got[i] - (double)expected[i]);
        worst = d <= worst ? worst : d; /* NaN stays */
        largest = fmax(largest, fabs((double)expected[i]));
    }
    return worst / largest;
}

/* Tensors first .. last - 1 that are of one layer: where the next begins. */
static int layer_end(const struct params *p, int first)
{
    int last = first + 1;
    while (last < p->n_tensors && p->tensors[last].layer >= 0 &&
           p->tensors[last].layer == p->tensors[first].layer)
        last++;
    return last;
}

/* within: of what is largest, logits and gradients of a layer. */
static void compare_step(const char *name, struct fixture *fixture, struct step_config s,
                         const double within[2])
{
    struct fixture x = *fixture;
    struct buf golden = {0};
    char file[64];
    snprintf(file, sizeof file, "training/%s", name);
    const float *loss = golden_floats(&golden, file, 1 + LOGITS * 53 + x.w.n), *logits = loss + 1,
                *expected = logits + LOGITS * 53;
    float got[LOGITS * 53], *gradients = mem_array(x.w.n, sizeof *gradients);
    assert_ok(product_select(s.matrices, s.factors));
    last_logits(&x, got);
    assert_true(error_of(got, logits, LOGITS * 53) < within[0]);

    int64_t targets = run(&x, &s, B, 1, NULL).n_targets;
    struct step_result r = run(&x, &s, B, 1.0f / (float)targets, gradients);
    assert_int_equal(r.n_targets, targets);
    assert_true(fabs(r.loss_sum / (double)targets / (double)*loss - 1) < within[0] / 10);
    double worst = 0;
    for (int i = 0, end; i < x.w.view.n_tensors; i = end) {
        end = layer_end(&x.w.view, i);
        size_t at = x.w.offset[i], n = x.w.offset[end] - at;
        double error = error_of(gradients + at, expected + at, n);
        if (!(error < within[1]))
            fail_msg("%s: %s and what follows: %g", name, x.w.view.tensors[i].name, error);
        worst = worse(worst, error);
    }
    printf("# %s: gradients within %.2g of the layer's largest\n", name, worst);
    buf_release(&golden);
    mem_free(gradients);
    close_fixture(&x);
}

static void compare_fixture(const char *name, struct fixture *x)
{
    compare_step(name, x, plain(B), (double[]){1e-5, 1e-4});
}

static void compare_case(const char *name, bool tied, enum activation activation, int n_head)
{
    struct fixture x;
    open_heads(&x, tied, activation, n_head);
    compare_fixture(name, &x);
}

/* Heads whose width together is not that of the model. */
static void compare_heads(const char *name, int n_head, int head_size)
{
    struct fixture x;
    open_heads(&x, true, ACTIVATION_GELU_TANH, 2);
    weights_release(&x.w);
    x.c.n_head = n_head;
    x.c.head_size = head_size;
    hashed_weights(&x.w, &x.c);
    compare_fixture(name, &x);
}

static void gradients_are_pytorchs(void **state)
{
    (void)state;
    compare_case("tied-tanh", true, ACTIVATION_GELU_TANH, 2);
    compare_case("tied-erf", true, ACTIVATION_GELU_ERF, 2);
    compare_case("untied-tanh", false, ACTIVATION_GELU_TANH, 2);
    compare_case("untied-erf", false, ACTIVATION_GELU_ERF, 2);
    compare_case("relu", true, ACTIVATION_RELU, 8);
    compare_case("silu", true, ACTIVATION_SILU, 24);
    compare_case("quick-gelu", true, ACTIVATION_QUICK_GELU, 1);
    compare_case("tanh", true, ACTIVATION_TANH, 2);
    compare_heads("few-heads", 2, 5);
    compare_heads("more-heads", 3, 17);
}

/* A factor that float32 and float64 round differently is off by 2^-9; without rounding logits are
 * off by 5e-3 and gradients by as much. */
static void gradients_are_pytorchs_in_bfloat16(void **state)
{
    (void)state;
    struct fixture x;
    struct step_config s = plain(B);
    s.factors = FACTORS_BFLOAT16;
    for (int set = 0; kernels_nth_name(set) != NULL; set++) {
        assert_ok(kernels_select(kernels_nth_name(set)));
        open_fixture(&x, true, ACTIVATION_GELU_TANH);
        compare_step("bfloat16", &x, s, (double[]){2e-4, 2e-3});
    }
    assert_ok(kernels_select("auto"));
    assert_ok(product_select(PRODUCT_AUTO, FACTORS_FLOAT32));
}

/* ---- central differences ---- */

/* Of each tensor, along a direction made of its gradient and of chance. */
static void central_differences(struct fixture *x, const struct step_config *s)
{
    float *gradients = mem_array(x->w.n, sizeof *gradients), *other = mem_array(x->w.n, 4);
    float *direction = mem_array(x->w.n, sizeof *direction), *before = mem_array(x->w.n, 4);
    run(x, s, B, 1, gradients);
    memcpy(before, x->w.data, x->w.n * sizeof *before);
    for (int i = 0; i < x->w.view.n_tensors; i++) {
        size_t at = x->w.offset[i], n = weights_size(&x->w, i);
        double norm = 0, slope = 0, length = 0, loss[2];
        for (size_t j = 0; j < n; j++)
            norm += (double)gradients[at + j] * (double)gradients[at + j];
        for (size_t j = 0; j < n; j++) {
            direction[j] = gradients[at + j] / (float)sqrt(norm / (double)n) +
                           0.5f * normal_number(3, (uint64_t)i, j);
            length += (double)direction[j] * (double)direction[j];
        }
        for (size_t j = 0; j < n; j++) {
            direction[j] /= (float)sqrt(length);
            slope += (double)direction[j] * (double)gradients[at + j];
        }
        const float step = 0.001f;
        for (int side = 0; side < 2; side++) {
            for (size_t j = 0; j < n; j++)
                x->w.data[at + j] = before[at + j] + (side == 0 ? -step : step) * direction[j];
            loss[side] = run(x, s, B, 1, other).loss_sum;
        }
        memcpy(x->w.data + at, before + at, n * sizeof *before);
        double difference = (loss[1] - loss[0]) / (2 * (double)step);
        if (!(fabs(difference / slope - 1) < 0.01))
            fail_msg("%s: the loss rises by %g, its gradient says %g", x->w.view.tensors[i].name,
                     difference, slope);
    }
    mem_free(gradients);
    mem_free(other);
    mem_free(direction);
    mem_free(before);
}

static void gradients_are_central_differences(void **state)
{
    (void)state;
    for (int i = 0; i < 4 + N_ACTIVATIONS; i++) {
        struct fixture x;
        if (!thin_runs(i, 3))
            continue;
        enum activation activation = i < 4 ? i >= 2 : (enum activation)(i - 4);
        open_fixture(&x, i % 2 == 0, activation);
        struct step_config s = plain(B);
        if (i > 0)
            s.dropout = (struct dropout_config){
                .embd = i == 1 ? 0.2f : 0, .attn = i == 3 ? 0 : 0.3f, .resid = 0.1f, .seed = 4};
        central_differences(&x, &s);
        close_fixture(&x);
    }
}

/* ---- splits ---- */

static struct step_config dropping(int batch)
{
    struct step_config s = plain(batch);
    s.dropout = (struct dropout_config){.embd = 0.1f, .attn = 0.2f, .resid = 0.3f, .seed = 8};
    return s;
}

static void accumulation_is_one_batch(void **state)
{
    (void)state;
    struct fixture x;
    open_fixture(&x, true, ACTIVATION_GELU_TANH);
    float *whole = mem_array(x.w.n, sizeof *whole), *parts = mem_array(x.w.n, sizeof *parts);
    for (int dropout = 0; dropout < 2; dropout++)
        for (int batch = 1; batch <= 4; batch++) { /* 3 leaves a smaller one */
            struct step_config one = dropout ? dropping(8) : plain(8), s = one;
            s.batch = batch;
            struct step_result a = run(&x, &one, 8, 0.01f, whole);
            struct step_result b = run(&x, &s, 8, 0.01f, parts);
            assert_int_equal(a.n_targets, b.n_targets);
            assert_int_equal(a.n_correct, b.n_correct);
            assert_true(fabs(a.loss_sum / b.loss_sum - 1) < 1e-6);
            for (int i = 0, end; i < x.w.view.n_tensors; i = end) {
                end = layer_end(&x.w.view, i);
                size_t at = x.w.offset[i];
                assert_true(error_of(parts + at, whole + at, x.w.offset[end] - at) < 1e-5);
            }
        }
    mem_free(whole);
    mem_free(parts);
    close_fixture(&x);
}

static void any_team_recomputed(struct fixture *x, bool dropout)
{
    static const char *const lists[] = {"none", "layers", "1", "0,1-1", "all"};
    float *expected = mem_array(x->w.n, sizeof *expected), *got = mem_array(x->w.n, sizeof *got);
    struct step_config s = dropout ? dropping(5) : plain(5); /* products of 4 tiles */
    assert_ok(par_open(1, false));
    struct step_result first = run(x, &s, 8, 0.01f, expected);
    for (int threads = 1; threads <= 5; threads++)
        for (int recompute = 0; recompute < 5; recompute++) {
            if (!thin_runs(threads * 5 + recompute, 6))
                continue;
            assert_ok(par_open(threads, false));
            s.recompute = lists[recompute];
            struct step_result r = run(x, &s, 8, 0.01f, got);
            assert_memory_equal(&r, &first, sizeof r);
            assert_memory_equal(got, expected, x->w.n * sizeof *got);
        }
    par_close();
    mem_free(expected);
    mem_free(got);
}

static void same_bits_in_any_team_and_recomputed(void **state)
{
    (void)state;
    for (int i = 0; i < N_ACTIVATIONS; i++) {
        struct fixture x;
        open_fixture(&x, false, (enum activation)i);
        any_team_recomputed(&x, i % 2 == 1);
        if (i == 0)
            any_team_recomputed(&x, true);
        close_fixture(&x);
    }
}

static void any_slices_of_the_loss(void **state)
{
    (void)state;
    static const int slices[][2] = {{1, 0}, {7, 53}, {64, 10}, {1000, 1000}, {0, 52}, {3, 1}};
    struct fixture x;
    open_fixture(&x, true, ACTIVATION_GELU_TANH);
    float *expected = mem_array(x.w.n, sizeof *expected), *got = mem_array(x.w.n, sizeof *got);
    struct step_config s = plain(B);
    struct step_result first = run(&x, &s, B, 0.01f, expected);
    for (size_t i = 0; i < sizeof slices / sizeof *slices; i++) {
        s.loss_rows = slices[i][0];
        s.loss_columns = slices[i][1];
        struct step_result r = run(&x, &s, B, 0.01f, got);
        assert_int_equal(r.n_correct, first.n_correct);
        assert_true(fabs(r.loss_sum / first.loss_sum - 1) < 1e-6);
        for (int t = 0, end; t < x.w.view.n_tensors; t = end) {
            end = layer_end(&x.w.view, t);
            size_t at = x.w.offset[t];
            assert_true(error_of(got + at, expected + at, x.w.offset[end] - at) < 1e-5);
        }
    }
    mem_free(expected);
    mem_free(got);
    close_fixture(&x);
}

/* Central differences, and the same bits from a team that recomputes in pieces. */
static void any_head_size(void **state)
{
    (void)state;
    static const int shapes[][2] = {{5, 1}, {3, 3}, {1, 65}, {1, 200}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct fixture x;
        open_shape(&x, i % 2 == 0, ACTIVATION_GELU_TANH, shapes[i][0], shapes[i][1]);
        struct step_config s = plain(B);
        s.dropout.attn = 0.1f;
        if (thin_runs((int)i, 4))
            central_differences(&x, &s);
        float *expected = mem_array(x.w.n, sizeof *expected), *got = mem_array(x.w.n, sizeof *got);
        assert_ok(par_open(1, false));
        struct step_result first = run(&x, &s, B, 0.01f, expected);
        assert_ok(par_open(3, false));
        s.recompute = "layers";
        s.attention_pieces = 3;
        struct step_result r = run(&x, &s, B, 0.01f, got);
        par_close();
        assert_memory_equal(&r, &first, sizeof r);
        assert_memory_equal(got, expected, x.w.n * sizeof *got);
        mem_free(expected);
        mem_free(got);
        close_fixture(&x);
    }
}

/* However many pieces attention's queries go in, with dropout too. */
static void any_pieces_of_attention(void **state)
{
    (void)state;
    static const int pieces[] = {1, 2, 3, 7, 65536};
    struct fixture x;
    open_fixture(&x, true, ACTIVATION_GELU_TANH);
    float *expected = mem_array(x.w.n, sizeof *expected), *got = mem_array(x.w.n, sizeof *got);
    struct step_config s = plain(B);
    s.dropout.attn = 0.1f;
    struct step_result first = run(&x, &s, B, 0.01f, expected);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        s.attention_pieces = pieces[i];
        struct step_result r = run(&x, &s, B, 0.01f, got);
        assert_memory_equal(&r, &first, sizeof r);
        assert_memory_equal(got, expected, x.w.n * sizeof *got);
    }
    mem_free(expected);
    mem_free(got);
    close_fixture(&x);
}

/* A batch of nothing but masked labels has no loss and no gradient. */
static void labels_that_do_not_count(void **state)
{
    (void)state;
    struct fixture x;
    open_fixture(&x, true, ACTIVATION_GELU_TANH);
    for (int i = 0; i < ROWS; i++)
        x.labels[i] = LABEL_NONE;
    float *gradients = mem_array(x.w.n, sizeof *gradients);
    struct step_config s = plain(B);
    struct step_result r = run(&x, &s, B, 1, gradients);
    assert_true(r.loss_sum == 0 && r.n_targets == 0 && r.n_correct == 0);
    for (size_t i = 0; i < x.w.n; i++)
        assert_true(gradients[i] == 0);
    mem_free(gradients);
    close_fixture(&x);
}

/* ---- dropout ---- */

static void dropout_is_unbiased_and_by_place(void **state)
{
    (void)state;
    enum { N = 64 * 2000 };
    static float ones[N], y[N], again[N];
    for (int i = 0; i < N; i++)
        ones[i] = 1;
    static const double probabilities[] = {0.1, 0.5, 0.9};
    for (int i = 0; i < 3; i++) {
        struct dropout d = {.seed = 5, .keep = (uint32_t)((1 - probabilities[i]) * 0x1p32)};
        d.scale = (float)(0x1p32 / d.keep);
        kernels_active()->training.dropout(y, ones, N, &d, 7, 3);
        double sum = 0, kept = 0;
        for (int j = 0; j < N; j++) {
            assert_true(y[j] == 0 || y[j] == d.scale);
            sum += (double)y[j];
            kept += y[j] != 0;
        }
        double deviation = sqrt(probabilities[i] * (1 - probabilities[i]) / N);
        assert_true(fabs(kept / N - (1 - probabilities[i])) < 4 * deviation);
        assert_true(fabs(sum / N - 1) < 4 * deviation / (1 - probabilities[i]));
        for (int t = 0; kernels_nth(t) != NULL; t++)
            for (int n = 1; n < N; n = n * 3 + 1) {
                memset(again, 0xff, sizeof again);
                kernels_nth(t)->training.dropout(again, ones + 64 * 9, (size_t)n, &d, 7, 3 + 9);
                for (int j = 0; j < n && j + 64 * 9 < N; j++)
                    assert_true(again[j] == y[64 * 9 + j]);
            }
    }
    struct dropout d = {.seed = 5, .keep = 1u << 31, .scale = 2};
    uint32_t w[4];
    kernels_active()->training.dropout(y, ones, 64, &d, 7, 11);
    for (uint64_t i = 0; i < 64; i++) {
        rng_words(w, 5, 7, 16 * 11 + i % 16);
        assert_true((y[i] != 0) == (w[i / 16] < d.keep));
    }
}

/* How far a forward pass with this dropped is from one with nothing dropped. */
static double moved_by(struct fixture *x, struct dropout_config d, float *gradients)
{
    struct step_config s = plain(B);
    double none = run(x, &s, B, 1, gradients).loss_sum;
    s.dropout = d;
    s.dropout.seed = 4;
    /* What only measures drops nothing. */
    assert_true(run(x, &s, B, 1, NULL).loss_sum == none);
    return fabs(run(x, &s, B, 1, gradients).loss_sum - none);
}

static void make_zero(struct fixture *x, const char *ending)
{
    for (int i = 0; i < x->w.view.n_tensors; i++) {
        const char *name = x->w.view.tensors[i].name;
        size_t n = strlen(name), k = strlen(ending);
        if (n >= k && strcmp(name + n - k, ending) == 0)
            memset(x->w.data + x->w.offset[i], 0, weights_size(&x->w, i) * sizeof *x->w.data);
    }
}

/* Each probability is that of its own place, and of being dropped, not of being kept. */
static void dropout_is_where_it_should_be(void **state)
{
    (void)state;
    static const struct dropout_config little[] = {{.embd = 0.01f},
                                                   {.attn = 0.01f},
                                                   {.resid = 0.01f}},
                                       much[] = {{.embd = 0.9f}, {.attn = 0.9f}, {.resid = 0.9f}};
    struct fixture x;
    open_fixture(&x, true, ACTIVATION_GELU_TANH);
    float *g = mem_array(x.w.n, sizeof *g);
    for (int i = 0; i < 3; i++) {
        double a = moved_by(&x, little[i], g), b = moved_by(&x, much[i], g);
        assert_true(a > 0 && a < b);
    }
    /* Without the projections' weights nothing that attention drops is seen, what is dropped of
     * their biases is; without those too only the embedding is left. */
    make_zero(&x, "c_proj.weight");
    assert_true(moved_by(&x, much[1], g) == 0 && moved_by(&x, much[2], g) > 0);
    make_zero(&x, "c_proj.bias");
    assert_true(moved_by(&x, much[2], g) == 0 && moved_by(&x, much[0], g) > 0);
    mem_free(g);
    close_fixture(&x);
}

/* ---- refusals ---- */

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct fixture x;
    struct step *step;
    open_fixture(&x, true, ACTIVATION_GELU_TANH);
    struct step_config s = plain(0);
    assert_int_equal(step_new(&step, &x.w, &s), ERR_RANGE);
    assert_string_equal(err_text(), "the micro-batch must be 1 sequence or more, not 0");
    s = plain(1);
    s.length = 73;
    assert_int_equal(step_new(&step, &x.w, &s), ERR_RANGE);
    assert_string_equal(err_text(), "the sequence length is 73, the model's context holds 1 to 72");
    s = plain(1);
    s.dropout.attn = 1;
    assert_int_equal(step_new(&step, &x.w, &s), ERR_RANGE);
    assert_string_equal(err_text(), "dropout of attention must be at least 0 and below 1, not 1");
    static const char *const bad[] = {
        "", "some", "0,", "1-", "0 1", "-1", "2", "1-0", "0-99999999999999999999"};
    for (int i = 0; i < 9; i++) {
        s = plain(1);
        s.recompute = bad[i];
        assert_int_equal(step_new(&step, &x.w, &s), ERR_RANGE);
        assert_non_null(
            strstr(err_text(), i < 6 ? "must be none, all (or layers) or a list as 0,2,4-11"
                                     : "the model has layers 0 to 1"));
    }
    s = plain(INT32_MAX);
    assert_int_equal(step_new(&step, &x.w, &s), ERR_RANGE);
    assert_null(step);
    close_fixture(&x);
}

static void no_memory_leaks_nothing(void **state)
{
    (void)state;
    struct fixture x;
    open_fixture(&x, true, ACTIVATION_GELU_TANH);
    struct step_config s = plain(2);
    par_threads();
    int k = 1;
    for (int rc = ERR_NOMEM; rc != 0; k++) {
        struct step *step;
        mem_fail_at((uint64_t)k);
        rc = step_new(&step, &x.w, &s);
        mem_fail_at(0);
        assert_true(rc == 0 || (rc == ERR_NOMEM && step == NULL));
        step_free(step);
    }
    assert_true(k > 5);
    close_fixture(&x);
}

static void bytes_are_told_before(void **state)
{
    (void)state;
    struct config c;
    config_init(&c);
    assert_ok(config_check(&c));
    struct step_config s;
    step_config_init(&s);
    struct step_bytes none, all;
    assert_ok(step_bytes(&none, &c, DTYPE_F32, &s));
    s.recompute = "layers";
    assert_ok(step_bytes(&all, &c, DTYPE_F32, &s));
    assert_int_equal(none.gradients, config_params(&c) * sizeof(float));
    /* 10 C and H of each position and layer, and C of each layer's input. */
    size_t layer = 1024 * (10 * 768 - 768 + 12) * sizeof(float), x = 1024 * 768 * sizeof(float);
    assert_int_equal(none.activations, 12 * layer + 13 * x);
    assert_int_equal(all.activations, layer + 13 * x);
    assert_true(none.logits <= (size_t)256 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_pytorchs),
        cmocka_unit_test(gradients_are_pytorchs_in_bfloat16),
        cmocka_unit_test(gradients_are_central_differences),
        cmocka_unit_test(accumulation_is_one_batch),
        cmocka_unit_test(same_bits_in_any_team_and_recomputed),
        cmocka_unit_test(any_slices_of_the_loss),
        cmocka_unit_test(any_head_size),
        cmocka_unit_test(any_pieces_of_attention),
        cmocka_unit_test(labels_that_do_not_count),
        cmocka_unit_test(dropout_is_unbiased_and_by_place),
        cmocka_unit_test(dropout_is_where_it_should_be),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(no_memory_leaks_nothing),
        cmocka_unit_test(bytes_are_told_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
