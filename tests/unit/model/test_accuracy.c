/* Logits, hidden states and greedy text against PyTorch's (tests/golden/gpt2_reference.py and
 * neo_reference.py). */
#include "tests/lib/test.h"

#include "kvcache/sequence.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "sampling/score.h"
#include "weights/load.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *data_folder(void)
{
    const char *data = getenv("DATA");
    return data != NULL && data[0] != '\0' ? data : NULL;
}

static int *read_ints(json_t *list, size_t *n)
{
    *n = json_array_size(list);
    int *out = mem_array(*n, sizeof *out);
    for (size_t i = 0; i < *n; i++)
        out[i] = (int)json_integer_value(json_array_get(list, i));
    return out;
}

static float *read_floats(const char *folder, const char *name, size_t expected)
{
    struct buf b = {0};
    char *path = file_join(folder, name);
    assert_ok(file_read_all(&b, path, UINT64_MAX));
    assert_int_equal(b.n, expected * sizeof(float));
    mem_free(path);
    return (float *)(void *)b.data;
}

struct reference {
    json_t *root;
    token_id *ids, *prompt, *greedy;
    int *positions, *watched;
    size_t n_ids, n_prompt, n_greedy, n_positions, n_watched;
    float *logits, *hidden; /* [n_positions,V], [L+1,n_watched,C] */
    float largest;          /* magnitude of a logit */
};

static void read_reference(struct reference *r, const char *folder, const struct config *c)
{
    char *path = file_join(folder, "reference.json");
    r->root = json_load_file(path, 0, NULL);
    mem_free(path);
    assert_non_null(r->root);
    r->ids = read_ints(json_object_get(r->root, "ids"), &r->n_ids);
    r->prompt = read_ints(json_object_get(r->root, "prompt"), &r->n_prompt);
    r->greedy = read_ints(json_object_get(r->root, "greedy"), &r->n_greedy);
    r->positions = read_ints(json_object_get(r->root, "positions"), &r->n_positions);
    r->watched = read_ints(json_object_get(r->root, "hidden_positions"), &r->n_watched);
    size_t n = r->n_positions * (size_t)c->n_vocab;
    r->logits = read_floats(folder, "logits.f32", n);
    r->hidden = read_floats(folder, "hidden.f32",
                            (size_t)(c->n_layer + 1) * r->n_watched * (size_t)c->n_embd);
    r->largest = 0;
    for (size_t i = 0; i < n; i++)
        r->largest = fmaxf(r->largest, fabsf(r->logits[i]));
}

static void release_reference(struct reference *r)
{
    json_decref(r->root);
    mem_free(r->ids);
    mem_free(r->prompt);
    mem_free(r->greedy);
    mem_free(r->positions);
    mem_free(r->watched);
    mem_free(r->logits);
    mem_free(r->hidden);
}

struct compared {
    const struct reference *r;
    const struct config *c;
    double worst_logit, worst_hidden, largest_hidden;
    size_t n_logits;
};

static double distance(const float *a, const float *b, int n)
{
    double worst = 0;
    for (int i = 0; i < n; i++)
        worst = worse(worst, fabs((double)a[i] - (double)b[i]));
    return worst;
}

static void compare_logits(void *user, size_t target, const float *logits)
{
    struct compared *x = user;
    for (size_t i = 0; i < x->r->n_positions; i++)
        if ((size_t)x->r->positions[i] + 1 == target) {
            const float *expected = x->r->logits + i * (size_t)x->c->n_vocab;
            double d = distance(logits, expected, x->c->n_vocab);
            x->worst_logit = worse(x->worst_logit, d);
            x->n_logits++;
        }
}

static void compare_hidden(struct compared *x, const struct activations *layers)
{
    const int C = x->c->n_embd;
    const float *expected = x->r->hidden;
    for (int layer = 0; layer <= x->c->n_layer; layer++)
        for (size_t i = 0; i < x->r->n_watched; i++, expected += C) {
            double d = distance(layers[layer].x + (size_t)x->r->watched[i] * C, expected, C);
            x->worst_hidden = worse(x->worst_hidden, d);
            for (int j = 0; j < C; j++)
                x->largest_hidden = fmax(x->largest_hidden, fabs((double)expected[j]));
        }
}

/* Our greedy ids are PyTorch's up to the first whose top two are closer than the
 * tolerance allows to tell apart. */
static void compare_greedy(struct engine *e, const struct reference *r, double tolerance)
{
    struct sequence s;
    json_t *margins = json_object_get(r->root, "margins");
    size_t compared = 0;
    assert_int_equal(r->n_greedy, 64);
    assert_ok(sequence_init(&s, e));
    assert_ok(sequence_set(&s, r->prompt, r->n_prompt, NULL));
    for (; compared < r->n_greedy; compared++) {
        token_id best = 0;
        for (token_id v = 1; v < e->model->config.n_vocab; v++)
            if (s.logits[v] > s.logits[best])
                best = v;
        if (json_number_value(json_array_get(margins, compared)) <= tolerance &&
            best != r->greedy[compared])
            break;
        assert_int_equal(best, r->greedy[compared]);
        if (s.ids.n < (size_t)e->cache.n_ctx)
            assert_ok(sequence_feed(&s, &best, 1, NULL));
    }
    if (compared < r->n_greedy)
        printf("# greedy text compared up to token %zu of 64, where the top two are %.2g apart\n",
               compared, json_number_value(json_array_get(margins, compared)));
    assert_true(compared >= 8);
    sequence_release(&s);
}

static void compare_model(const char *model_path, const char *reference_folder, enum dtype kind)
{
    const double relative = kind == DTYPE_F32 ? 1e-4 : 5e-3;
    struct load_config load = {.dtype = kind};
    struct model *m = NULL;
    struct engine e;
    struct reference r;
    assert_ok(model_load(&m, model_path, &load, NULL));
    assert_ok(engine_init(&e, m, 1));
    read_reference(&r, reference_folder, &m->config);

    struct compared x = {.r = &r, .c = &m->config};
    struct activations *layers = mem_array((size_t)m->config.n_layer + 1, sizeof *layers);
    struct arena a = {0};
    activations_carve(NULL, &a, &m->config, FORWARD_MAX_ROWS, NULL);
    a = (struct arena){.base = mem_alloc(a.used)};
    activations_carve(layers, &a, &m->config, FORWARD_MAX_ROWS, NULL);
    /* The last id's own logits are those that predict one id more, whichever it is. */
    token_id *ids = mem_array(r.n_ids + 1, sizeof *ids);
    memcpy(ids, r.ids, r.n_ids * sizeof *ids);
    const struct activations *shared = e.forward.layers;
    assert_in_range(r.n_ids, 1, FORWARD_MAX_ROWS); /* one pass */
    e.forward.layers = layers;
    assert_ok(score_text(&e, ids, r.n_ids + 1, 1, compare_logits, &x, NULL));
    e.forward.layers = shared;
    compare_hidden(&x, layers);
    assert_int_equal(x.n_logits, r.n_positions);
    printf("# %s %s: logits within %.2g of the largest, hidden states %.2g\n", model_path,
           kind == DTYPE_F32 ? "fp32" : "fp16", x.worst_logit / (double)r.largest,
           x.worst_hidden / x.largest_hidden);
    assert_true(x.worst_logit <= relative * (double)r.largest);
    assert_true(x.worst_hidden <= relative * x.largest_hidden);
    compare_greedy(&e, &r, relative * (double)r.largest);

    mem_free(a.base);
    mem_free(layers);
    mem_free(ids);
    release_reference(&r);
    engine_release(&e);
    model_free(m);
}

static void tiny_models(void **state)
{
    (void)state;
    static const char *const names[] = {"tanh",       "erf",       "half",     "plain",
                                        "relu",       "silu",      "quick",    "hyperbolic",
                                        "neo-narrow", "neo-pages", "neo-heads"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int kind = DTYPE_F32; kind <= DTYPE_F16; kind++) {
            char *folder = mem_sprintf("tests/golden/tiny-%s", names[i]);
            compare_model(folder, folder, (enum dtype)kind);
            mem_free(folder);
        }
}

static void models_of_others(void **state)
{
    (void)state;
    static const char *const names[] = {"SLM_4096", "tiny-random-gpt2"};
    if (data_folder() == NULL) {
        printf("# left out: SLM_4096 and tiny-random-gpt2 against PyTorch (no DATA)\n");
        return;
    }
    for (size_t i = 0; i < 2; i++)
        for (int kind = DTYPE_F32; kind <= DTYPE_F16; kind++) {
            char *model = mem_sprintf("%s/weights/%s", data_folder(), names[i]);
            char *reference = mem_sprintf("tests/golden/%s", names[i]);
            compare_model(model, reference, (enum dtype)kind);
            mem_free(model);
            mem_free(reference);
        }
}

static json_t *load_json(const char *name)
{
    char *path = mem_sprintf("%s/weights/%s", data_folder(), name);
    json_t *root = json_load_file(path, 0, NULL);
    mem_free(path);
    assert_non_null(root);
    return root;
}

/* Greedy answers of onnxruntime-genai's tests. */
static void greedy_goldens(void **state)
{
    (void)state;
    if (data_folder() == NULL) {
        printf("# left out: greedy goldens of tiny-random-gpt2 (no DATA)\n");
        return;
    }
    json_t *root = load_json("tiny-random-gpt2/goldens.json"),
           *cases = json_object_get(root, "greedy");
    char *path = mem_sprintf("%s/weights/tiny-random-gpt2", data_folder());
    struct load_config load = {.dtype = DTYPE_F32};
    struct model *m = NULL;
    struct engine e;
    struct sequence s;
    assert_ok(model_load(&m, path, &load, NULL));
    assert_ok(engine_init(&e, m, 1));
    assert_ok(sequence_init(&s, &e));
    assert_int_equal(json_array_size(cases), 2);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        size_t n_input, n_expected;
        int *input = read_ints(json_object_get(json_array_get(cases, i), "input"), &n_input);
        int *expected =
            read_ints(json_object_get(json_array_get(cases, i), "expected"), &n_expected);
        assert_ok(sequence_set(&s, input, n_input, NULL));
        while (s.ids.n < n_expected) {
            token_id best = 0;
            for (token_id v = 1; v < m->config.n_vocab; v++)
                if (s.logits[v] > s.logits[best])
                    best = v;
            assert_ok(sequence_feed(&s, &best, 1, NULL));
        }
        assert_memory_equal(s.ids.data, expected, n_expected * sizeof *expected);
        mem_free(input);
        mem_free(expected);
    }
    sequence_release(&s);
    engine_release(&e);
    model_free(m);
    mem_free(path);
    json_decref(root);
}

struct listed {
    json_t *rows;
    int n_vocab;
    double worst;
};

static void compare_listed(void *user, size_t target, const float *logits)
{
    struct listed *x = user;
    json_t *row = json_array_get(x->rows, target - 1);
    assert_int_equal(json_array_size(row), x->n_vocab);
    for (int v = 0; v < x->n_vocab; v++)
        x->worst = worse(
            x->worst, fabs(json_number_value(json_array_get(row, (size_t)v)) - (double)logits[v]));
}

/* Logits of an independent pure-Python forward pass. */
static void listed_logits(void **state)
{
    (void)state;
    if (data_folder() == NULL) {
        printf("# left out: logits of neural-api's tiny_gpt2 (no DATA)\n");
        return;
    }
    json_t *root = load_json("neural-api-tiny_gpt2/tiny_gpt2_logits.json");
    char *path = mem_sprintf("%s/weights/neural-api-tiny_gpt2/hf", data_folder());
    struct load_config load = {.dtype = DTYPE_F32};
    struct model *m = NULL;
    struct engine e;
    assert_ok(model_load(&m, path, &load, NULL));
    assert_ok(engine_init(&e, m, 1));
    json_t *sequences = json_object_get(root, "sequences"),
           *logits = json_object_get(root, "logits");
    struct listed x = {.n_vocab = m->config.n_vocab};
    assert_int_equal(json_array_size(sequences), 3);
    for (size_t i = 0; i < json_array_size(sequences); i++) {
        size_t n;
        int *ids = read_ints(json_array_get(sequences, i), &n);
        x.rows = json_array_get(logits, i);
        assert_ok(score_text(&e, ids, n, 1, compare_listed, &x, NULL));
        mem_free(ids);
    }
    assert_true(x.worst < 1e-5);
    engine_release(&e);
    model_free(m);
    mem_free(path);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiny_models),
        cmocka_unit_test(models_of_others),
        cmocka_unit_test(greedy_goldens),
        cmocka_unit_test(listed_logits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
