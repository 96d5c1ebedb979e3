#include "train/step/weights_init.h"

#include "model/base/half.h"
#include "model/base/par.h"
#include "tests/lib/notes.h"
#include "tests/lib/scratch.h"
#include "tests/lib/tiny.h"
#include "weights/load.h"
#include "weights/model_source.h"
#include "weights/open.h"
#include "weights/save.h"

#include <math.h>

/* ---- models ---- */

/* Widths of several panels, the last in part; a tied and an untied head. */
static struct config shape(bool tied)
{
    struct config c = tiny_config();
    c.n_layer = 2;
    c.n_embd = 132;
    c.n_vocab = 203;
    c.tie_word_embeddings = tied;
    return c;
}

static struct model *load(const char *path, enum dtype kind)
{
    struct model *m = NULL;
    assert_ok(model_load(&m, path, &(struct load_config){.dtype = kind}, NULL));
    return m;
}

/* A model of weights that fp16 cannot hold, in a file. */
static void store(const char *path, bool tied, enum dtype dtype)
{
    struct config c = shape(tied);
    struct model m;
    struct source s;
    tiny_init(&m, &c, DTYPE_F32, 3);
    char name[] = "stored";
    m.name = name;
    assert_ok(source_open_model(&s, &m));
    assert_ok(source_save(
        &s, path, &(struct save_config){.convert = true, .dtype = dtype, .force = true}, NULL));
    source_close(&s);
    tiny_release(&m);
}

/* Element k of tensor i of the parameters is f(element k of the weights). */
static void expect(const struct params *p, const struct weights *w, float (*f)(float))
{
    for (int i = 0; i < p->n_tensors; i++) {
        const struct param_tensor *t = &p->tensors[i];
        size_t n = weights_size(w, i);
        float *there = mem_array(n, sizeof *there);
        params_read(t, there, 0, n);
        for (size_t k = 0; k < n; k++) {
            float x = w->data[w->offset[i] + k];
            if (t->linear != NULL)
                x = f(x);
            if (there[k] != x)
                fail_msg("%s: element %zu is %a, expected %a", t->name, k, (double)there[k],
                         (double)x);
        }
        mem_free(there);
    }
}

static float same(float x)
{
    return x;
}

static float rounded(float x)
{
    return half_to_f32(half_from_f32(x));
}

/* ---- from the model ---- */

/* Whatever the panels hold and wherever the file keeps a matrix's columns. */
static void weights_have_the_files_precision(void **state)
{
    (void)state;
    struct scratch s;
    scratch_open(&s);
    static const char *const names[] = {"hf", "file.gguf"};
    for (int tied = 0; tied < 2; tied++)
        for (int dtype = DTYPE_F32; dtype <= DTYPE_BF16; dtype++)
            for (int format = 0; format < 2; format++) {
                const char *path = scratch_path(&s, names[format]);
                store(path, tied != 0, (enum dtype)dtype);
                struct model *exact = load(path, DTYPE_F32);
                for (int kind = DTYPE_F32; kind <= DTYPE_F16; kind++) {
                    struct model *m = load(path, (enum dtype)kind);
                    struct weights w;
                    assert_ok(weights_init(&w, m, NULL, DTYPE_F32, NULL));
                    assert_int_equal(w.n, config_params(&m->config));
                    expect(&exact->params, &w, same);
                    weights_release(&w);
                    model_free(m);
                }
                model_free(exact);
            }
    scratch_close(&s);
}

static void the_view_points_into_the_block(void **state)
{
    (void)state;
    for (int tied = 0; tied < 2; tied++) {
        struct config c = shape(tied != 0);
        struct model m;
        struct weights w;
        tiny_init(&m, &c, DTYPE_F32, 3);
        char name[] = "tiny";
        m.name = name;
        assert_ok(weights_init(&w, &m, NULL, DTYPE_F32, NULL));
        const struct params *a = &m.params, *b = &w.view;
        float ours[512], theirs[512];
#define SAME_LINEAR(x)                                                                             \
    do {                                                                                           \
        assert_int_equal((x(a)).K, (x(b)).K);                                                      \
        assert_int_equal((x(a)).N, (x(b)).N);                                                      \
        for (int n_ = 0; n_ < (x(a)).N; n_++) {                                                    \
            linear_column(&x(a), n_, theirs);                                                      \
            linear_column(&x(b), n_, ours);                                                        \
            assert_memory_equal(ours, theirs, (size_t)(x(a)).K * sizeof *ours);                    \
        }                                                                                          \
        if ((x(a)).bias != NULL)                                                                   \
            assert_memory_equal((x(a)).bias, (x(b)).bias, (size_t)(x(a)).N * sizeof *ours);        \
        assert_int_equal((x(a)).bias == NULL, (x(b)).bias == NULL);                                \
    } while (0)
#define WTE(p) (p)->wte
#define HEAD(p) (p)->lm_head
#define C_ATTN(p) (p)->layers[i].c_attn
#define ATTN_PROJ(p) (p)->layers[i].attn_proj
#define C_FC(p) (p)->layers[i].c_fc
#define MLP_PROJ(p) (p)->layers[i].mlp_proj
#define SAME_VECTOR(x) assert_memory_equal(a->x, b->x, (size_t)c.n_embd * sizeof(float))
        SAME_LINEAR(WTE);
        SAME_LINEAR(HEAD);
        assert_int_equal(b->wte.data == b->lm_head.data, tied != 0);
        assert_memory_equal(a->wpe, b->wpe, (size_t)(c.n_ctx * c.n_embd) * sizeof(float));
        for (int i = 0; i < c.n_layer; i++) {
            SAME_LINEAR(C_ATTN);
            SAME_LINEAR(ATTN_PROJ);
            SAME_LINEAR(C_FC);
            SAME_LINEAR(MLP_PROJ);
            SAME_VECTOR(layers[i].ln_1_weight);
            SAME_VECTOR(layers[i].ln_1_bias);
            SAME_VECTOR(layers[i].ln_2_weight);
            SAME_VECTOR(layers[i].ln_2_bias);
        }
        SAME_VECTOR(ln_f_weight);
        SAME_VECTOR(ln_f_bias);
        weights_release(&w);
        tiny_release(&m);
    }
}

static void changed_weights_come_from_memory(void **state)
{
    (void)state;
    struct scratch s;
    scratch_open(&s);
    const char *path = scratch_path(&s, "hf");
    store(path, true, DTYPE_F32);
    for (int kind = DTYPE_F32; kind <= DTYPE_F16; kind++) {
        struct model *m = load(path, (enum dtype)kind);
        struct weights w, again;
        struct notes notes = {0};
        struct progress progress = {.note = notes_take, .user = &notes};
        assert_ok(weights_init(&w, m, NULL, DTYPE_F32, &progress));
        assert_int_equal(notes.n, 0);
        for (size_t i = 0; i < w.n; i++)
            w.data[i] += 0.01f;
        weights_publish(&w, m);
        assert_ok(weights_init(&again, m, NULL, DTYPE_F32, &progress));
        expect(&m->params, &again, same);
        assert_int_equal(notes.n, kind == DTYPE_F16);
        if (notes.n > 0)
            assert_non_null(strstr(notes.last, "fp16"));
        weights_release(&again);
        weights_release(&w);
        model_free(m);
    }
    scratch_close(&s);
}

static void what_cannot_be_read_is_said(void **state)
{
    (void)state;
    struct scratch s;
    struct weights w;
    scratch_open(&s);
    const char *path = scratch_path(&s, "hf");
    store(path, true, DTYPE_F32);
    struct model *m = load(path, DTYPE_F16);
    /* Replaced by one of another shape. */
    store(path, false, DTYPE_F32);
    assert_int_equal(weights_init(&w, m, NULL, DTYPE_F32, NULL), ERR_MISMATCH);
    assert_string_equal(scratch_sentence(&s, err_text()),
                        "cannot read the weights to train from DIR/hf: it has other shapes than "
                        "the model in memory: it was replaced since, :load it again");
    weights_release(&w);
    /* By one of the same shape, in another precision. */
    store(path, true, DTYPE_BF16);
    assert_int_equal(weights_init(&w, m, NULL, DTYPE_F32, NULL), ERR_MISMATCH);
    assert_string_equal(scratch_sentence(&s, err_text()),
                        "cannot read the weights to train from DIR/hf: it was written to since it "
                        "was loaded: :load it again");
    /* Gone. */
    assert_int_equal(remove(scratch_path(&s, "hf/model.safetensors")), 0);
    assert_int_not_equal(weights_init(&w, m, NULL, DTYPE_F32, NULL), 0);
    assert_non_null(strstr(err_text(), "cannot read the weights to train from "));
    assert_null(w.data);
    /* Not a number. */
    m->changed = true;
    m->params.ln_f_bias[3] = NAN;
    m->params.ln_f_bias[5] = INFINITY;
    assert_int_equal(weights_init(&w, m, NULL, DTYPE_F32, NULL), ERR_RANGE);
    assert_string_equal(err_text(), "cannot read the weights to train: tensor ln_f.bias: 2 of 132 "
                                    "weights are NaN or infinite");
    /* Or one that float16 has not. */
    m->params.ln_f_bias[3] = 1e5f;
    m->params.ln_f_bias[5] = 0;
    assert_int_equal(weights_init(&w, m, NULL, DTYPE_F16, NULL), ERR_RANGE);
    assert_string_equal(err_text(), "cannot read the weights to train: tensor ln_f.bias: 1 of 132 "
                                    "weights are NaN or infinite (or beyond float16's 65504; "
                                    "precision=float32 keeps those)");
    assert_ok(weights_init(&w, m, NULL, DTYPE_F32, NULL));
    weights_release(&w);
    m->params.ln_f_bias[3] = 0;
    interrupt_raise();
    assert_int_equal(weights_init(&w, m, NULL, DTYPE_F32, NULL), ERR_INTERRUPTED);
    interrupt_clear();
    /* Every allocation may fail. */
    for (int dtype = DTYPE_F32; dtype <= DTYPE_F16; dtype++) {
        int rc = ERR_NOMEM;
        for (uint64_t k = 1; rc != 0; k++) {
            mem_fail_at(k);
            rc = weights_init(&w, m, NULL, (enum dtype)dtype, NULL);
            mem_fail_at(0);
            assert_true(k < 100 && (rc == ERR_NOMEM || k > 8));
            weights_release(&w);
        }
    }
    model_free(m);
    scratch_close(&s);
}

/* ---- to the model ---- */

static void publishing_rounds_each_weight_into_its_place(void **state)
{
    (void)state;
    for (int tied = 0; tied < 2; tied++)
        for (int kind = DTYPE_F32; kind <= DTYPE_F16; kind++) {
            struct config c = shape(tied != 0);
            struct model m;
            struct weights w;
            unsigned char hash[32];
            tiny_init(&m, &c, (enum dtype)kind, 3);
            char name[] = "tiny";
            m.name = name;
            memcpy(hash, model_fingerprint(&m), sizeof hash);
            assert_ok(weights_init(&w, &m, NULL, DTYPE_F32, NULL));
            for (int threads = 1; threads <= 5; threads++) {
                assert_ok(par_open(threads, false));
                /* Nothing but the weights: what pads the panels stays zero. */
                weights_publish(&w, &m);
                assert_memory_equal(model_fingerprint(&m), hash, sizeof hash);
                assert_int_equal(m.version, 2 * threads);
                assert_true(m.changed);
                for (size_t i = 0; i < w.n; i++)
                    w.data[i] *= 1.0009765f;
                uint64_t before = mem_count();
                interrupt_raise();
                weights_publish(&w, &m);
                interrupt_clear();
                assert_int_equal(mem_count(), before);
                expect(&m.params, &w, kind == DTYPE_F16 ? rounded : same);
                memcpy(hash, model_fingerprint(&m), sizeof hash);
            }
            par_close();
            weights_release(&w);
            tiny_release(&m);
        }
}

static void weights_are_a_source(void **state)
{
    (void)state;
    struct scratch s;
    scratch_open(&s);
    const char *path = scratch_path(&s, "hf"), *out = scratch_path(&s, "out");
    store(path, false, DTYPE_F16);
    struct model *m = load(path, DTYPE_F16);
    struct weights w;
    assert_ok(weights_init(&w, m, NULL, DTYPE_F32, NULL));
    for (size_t i = 0; i < w.n; i++)
        w.data[i] *= 1.0009765f;
    struct source source;
    assert_ok(source_open_params(&source, &w.view, m));
    assert_int_equal(source.dtype, DTYPE_F32);
    assert_ok(source_save(&source, out, &(struct save_config){.convert = false}, NULL));
    source_close(&source);
    struct model *back = load(out, DTYPE_F32);
    expect(&back->params, &w, same);
    model_free(back);
    weights_release(&w);
    weights_release(&w);
    weights_release(NULL);
    model_free(m);
    scratch_close(&s);
}

/* ---- float16 ---- */

/* Element k of the half block is element k of the others, rounded. */
static void expect_half(const struct weights *w, const struct weights *whole)
{
    assert_int_equal(w->n, whole->n);
    for (size_t i = 0; i < w->n; i++)
        if (w->half[i] != half_from_f32(whole->data[i]))
            fail_msg("element %zu is %#x, expected %#x", i, w->half[i],
                     half_from_f32(whole->data[i]));
}

/* From panels of either kind, and from files whichever way their matrices lie. */
static void half_weights_are_the_weights_rounded(void **state)
{
    (void)state;
    struct scratch s;
    scratch_open(&s);
    static const char *const names[] = {"hf", "file.gguf"};
    for (int tied = 0; tied < 2; tied++)
        for (int kind = DTYPE_F32; kind <= DTYPE_F16; kind++)
            for (int format = 0; format < 2; format++) {
                const char *path = scratch_path(&s, names[format]);
                struct weights w, whole;
                struct source source;
                uint64_t bad[64];
                store(path, tied != 0, DTYPE_F32);
                struct model *m = load(path, (enum dtype)kind);
                assert_ok(weights_init(&w, m, NULL, DTYPE_F16, NULL));
                assert_ok(weights_init(&whole, m, NULL, DTYPE_F32, NULL));
                expect_half(&w, &whole);
                memset(w.half, 0, w.n * sizeof *w.half);
                assert_ok(source_open(&source, path, 0, true, NULL));
                assert_ok(params_fill(w.view.tensors, source.readers, w.view.n_tensors, bad, NULL));
                source_close(&source);
                expect_half(&w, &whole);
                weights_release(&whole);
                weights_release(&w);
                model_free(m);
            }
    scratch_close(&s);
}

/* What the view shows of each layer in its turn, and of the rest; and the way back. */
static void a_window_has_each_layer_in_its_turn(void **state)
{
    (void)state;
    struct config c = shape(false);
    struct model m;
    struct weights w, whole;
    tiny_init(&m, &c, DTYPE_F16, 3);
    char name[] = "tiny";
    m.name = name;
    assert_ok(weights_init(&w, &m, NULL, DTYPE_F16, NULL));
    assert_ok(weights_init(&whole, &m, NULL, DTYPE_F32, NULL));
    assert_int_equal(w.n_window, weights_window(&m.config, DTYPE_F16));
    assert_true(w.n_window < w.n);
    uint16_t *back = mem_array(w.n, sizeof *back);
    float column[512], expected[512];
    for (int threads = 1; threads <= 3; threads++) {
        memset(w.window, 0, w.n_window * sizeof *w.window);
        memset(back, 0, w.n * sizeof *back);
        for (int t = 0; t < threads; t++)
            weights_load_window(&w, w.window, w.half, -1, t, threads);
        for (int layer = 0; layer < c.n_layer; layer++) {
            const struct layer *l = &w.view.layers[layer], *e = &whole.view.layers[layer];
            for (int t = 0; t < threads; t++)
                weights_load_window(&w, w.window, w.half, layer, t, threads);
            for (int n = 0; n < l->mlp_proj.N; n++) {
                linear_column(&l->mlp_proj, n, column);
                linear_column(&e->mlp_proj, n, expected);
                for (int k = 0; k < l->mlp_proj.K; k++)
                    assert_true(column[k] == rounded(expected[k]));
            }
            assert_true(l->ln_1_weight[7] == rounded(e->ln_1_weight[7]));
            for (int t = 0; t < threads; t++)
                weights_store_window(&w, back, w.window, layer, t, threads);
        }
        assert_true(w.view.ln_f_bias[5] == rounded(whole.view.ln_f_bias[5]));
        linear_column(&w.view.lm_head, 9, column);
        linear_column(&whole.view.lm_head, 9, expected);
        assert_true(column[3] == rounded(expected[3]));
        for (int t = 0; t < threads; t++)
            weights_store_window(&w, back, w.window, -1, t, threads);
        assert_memory_equal(back, w.half, w.n * sizeof *back);
    }
    mem_free(back);
    weights_release(&whole);
    weights_release(&w);
    tiny_release(&m);
}

/* Panels of fp16 are copies of them; files too. */
static void half_weights_come_back_bit_for_bit(void **state)
{
    (void)state;
    for (int kind = DTYPE_F32; kind <= DTYPE_F16; kind++) {
        struct config c = shape(true);
        struct model m;
        struct weights w, again;
        struct source source;
        char name[] = "tiny";
        tiny_init(&m, &c, (enum dtype)kind, 3);
        m.name = name;
        assert_ok(weights_init(&w, &m, NULL, DTYPE_F16, NULL));
        for (size_t i = 0; i < w.n; i++)
            w.half[i] ^= 3;
        weights_publish(&w, &m);
        assert_ok(weights_init(&again, &m, NULL, DTYPE_F16, NULL));
        assert_memory_equal(again.half, w.half, w.n * sizeof *w.half);
        assert_ok(source_open_params(&source, &w.view, &m));
        assert_int_equal(source.dtype, DTYPE_F16);
        memset(again.half, 0, again.n * sizeof *again.half);
        uint64_t bad[64];
        assert_ok(params_fill(again.view.tensors, source.readers, again.view.n_tensors, bad, NULL));
        assert_memory_equal(again.half, w.half, w.n * sizeof *w.half);
        source_close(&source);
        weights_release(&again);
        weights_release(&w);
        tiny_release(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_have_the_files_precision),
        cmocka_unit_test(the_view_points_into_the_block),
        cmocka_unit_test(changed_weights_come_from_memory),
        cmocka_unit_test(what_cannot_be_read_is_said),
        cmocka_unit_test(publishing_rounds_each_weight_into_its_place),
        cmocka_unit_test(weights_are_a_source),
        cmocka_unit_test(half_weights_are_the_weights_rounded),
        cmocka_unit_test(a_window_has_each_layer_in_its_turn),
        cmocka_unit_test(half_weights_come_back_bit_for_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
