/* Beam and contrastive search against transformers', written out by hand. */
#include "tests/lib/test.h"

#include "model/base/mem.h"
#include "sampling/search/beam.h"
#include "sampling/search/contrastive.h"
#include "weights/load.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BEAMS = 8 };

static json_t *load(const char *path)
{
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    if (!root)
        fail_msg("%s: %s", path, error.text);
    return root;
}

static size_t read_ids(const json_t *list, token_id *out)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        out[i] = (token_id)json_integer_value(json_array_get(list, i));
    return json_array_size(list);
}

static void read_settings(json_t *entry, struct generate_config *g, struct sampler_config *c)
{
    const char *key;
    json_t *v;
    generate_config_init(g);
    sampler_config_init(c);
    json_object_foreach(json_object_get(entry, "settings"), key, v)
    {
        float x = (float)json_number_value(v);
        if (strcmp(key, "num_beams") == 0)
            g->num_beams = g->num_return_sequences = (int)x;
        else if (strcmp(key, "max_new_tokens") == 0)
            g->max_new_tokens = (int)x;
        else if (strcmp(key, "length_penalty") == 0)
            g->length_penalty = x;
        else if (strcmp(key, "early_stopping") == 0)
            g->early_stopping = json_is_true(v) ? EARLY_STOPPING_TRUE : EARLY_STOPPING_NEVER;
        else if (strcmp(key, "repetition_penalty") == 0)
            c->repetition_penalty = x;
        else if (strcmp(key, "no_repeat_ngram_size") == 0)
            c->no_repeat_ngram_size = (int)x;
        else if (strcmp(key, "min_new_tokens") == 0)
            c->min_new_tokens = (int)x;
        else if (strcmp(key, "top_k") == 0)
            c->top_k = (int)x;
        else if (strcmp(key, "penalty_alpha") == 0)
            g->penalty_alpha = x;
        else
            fail_msg("setting %s of a golden case is not known here", key);
    }
}

static void compare(const struct answer *a, const json_t *found, size_t which)
{
    token_id want[64];
    size_t n = read_ids(json_object_get(found, "ids"), want);
    if (a->finish == FINISH_STOP_TOKEN && n < a->ids.n)
        fail_msg("case %zu: %zu ids, expected %zu", which, a->ids.n, n);
    assert_int_equal(a->ids.n, n);
    for (size_t i = 0; i < n; i++)
        if (a->ids.data[i] != want[i])
            fail_msg("case %zu: id %zu is %d, expected %d", which, i, a->ids.data[i], want[i]);
}

static void run_beams(struct sequence *s, json_t *entry, size_t which)
{
    struct generate_config g;
    struct sampler_config c;
    struct answer answers[MAX_BEAMS] = {0};
    struct generate_callbacks callbacks = {.want_logprobs = true};
    read_settings(entry, &g, &c);
    struct stop_tokens stop = {{(token_id)json_integer_value(json_object_get(entry, "stop"))}, 1};
    json_t *found = json_object_get(entry, "found");
    size_t n_prompt = s->ids.n, n_pages = (size_t)s->engine->cache.n_free;
    assert_ok(beam_search(s, &g, &c, &stop, false, &callbacks, answers));
    assert_int_equal(s->engine->cache.n_free, n_pages);
    for (size_t k = 0; k < json_array_size(found); k++) {
        const json_t *want = json_array_get(found, k);
        double score = json_number_value(json_object_get(want, "score"));
        compare(&answers[k], want, which);
        assert_true(fabs(answers[k].score - score) < 1e-4 * (1 + fabs(score)));
        for (size_t i = 0; i < answers[k].ids.n; i++)
            assert_true(answers[k].logprobs[i] <= 0);
        if (k == 0) {
            assert_int_equal(s->ids.n, n_prompt + answers[k].ids.n);
            assert_memory_equal(s->ids.data + n_prompt, answers[k].ids.data,
                                answers[k].ids.n * sizeof(token_id));
        }
        answer_release(&answers[k]);
    }
}

static void run_contrastive(struct sequence *s, json_t *entry, size_t which)
{
    struct generate_config g;
    struct sampler_config c;
    struct contrastive *k;
    struct answer a = {0};
    struct sampled got;
    read_settings(entry, &g, &c);
    assert_ok(contrastive_new(&k, s, &g, &c, NULL, 0, false, NULL));
    uint64_t before = mem_count();
    token_id ids[64];
    for (int i = 0; i < g.max_new_tokens; i++) {
        assert_ok(contrastive_next(k, &got));
        ids[i] = got.id;
    }
    assert_int_equal(mem_count(), before);
    assert_ok(ids_add(&a.ids, ids, (size_t)g.max_new_tokens));
    compare(&a, json_array_get(json_object_get(entry, "found"), 0), which);
    answer_release(&a);
    contrastive_free(k);
}

/* n_ctx: a context that ends where the beams do; 0: the model's. */
static void run_goldens(int n_ctx)
{
    json_t *root = load("tests/golden/search.json"), *entry;
    struct model *m = NULL;
    struct engine e;
    struct sequence s;
    const char *loaded = "";
    size_t i;
    json_array_foreach(root, i, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "model"));
        if (strcmp(name, loaded) != 0) {
            char path[128];
            if (m) {
                sequence_release(&s);
                engine_release(&e);
                model_free(m);
            }
            snprintf(path, sizeof path, "tests/golden/%s", name);
            assert_ok(model_load(&m, path, &(struct load_config){.dtype = DTYPE_F32}, NULL));
            if (n_ctx > 0)
                m->config.n_ctx = n_ctx;
            assert_ok(engine_init(&e, m, MAX_BEAMS));
            assert_ok(sequence_init(&s, &e));
            loaded = name;
        }
        token_id prompt[64];
        size_t n = read_ids(json_object_get(entry, "prompt"), prompt);
        assert_ok(sequence_set(&s, prompt, n, NULL));
        if (strcmp(json_string_value(json_object_get(entry, "kind")), "beam") == 0)
            run_beams(&s, entry, i);
        else if (n_ctx == 0)
            run_contrastive(&s, entry, i);
    }
    assert_true(i > 40);
    sequence_release(&s);
    engine_release(&e);
    model_free(m);
    json_decref(root);
}

static void test_goldens(void **state)
{
    (void)state;
    run_goldens(0);
}

/* transformers stops at its max_length and feeds all but the last token before that. */
static void test_beams_fill_the_context(void **state)
{
    (void)state;
    run_goldens(11 + 14 - 1);
}

/* Every text of the same score: one is no better than those that finished before, and stays out. */
static void test_equal_scores(void **state)
{
    (void)state;
    struct model *m;
    struct engine e;
    struct sequence s;
    struct generate_config g;
    struct sampler_config c;
    struct answer answers[2] = {0};
    const struct stop_tokens stop = {{0}, 1};
    assert_ok(
        model_load(&m, "tests/golden/tiny-plain", &(struct load_config){.dtype = DTYPE_F32}, NULL));
    memset(m->params.block, 0, m->params.block_bytes); /* all tokens are equally likely */
    assert_ok(engine_init(&e, m, 2));
    assert_ok(sequence_init(&s, &e));
    assert_ok(sequence_set(&s, (token_id[]){1, 2}, 2, NULL));
    generate_config_init(&g);
    sampler_config_init(&c);
    g.num_beams = g.num_return_sequences = 2;
    g.max_new_tokens = 4;
    g.early_stopping = EARLY_STOPPING_NEVER;
    assert_ok(beam_search(&s, &g, &c, &stop, false, NULL, answers));
    assert_true(answers[0].score == answers[1].score);
    assert_int_equal(answers[0].ids.n, 1); /* the latest first */
    assert_int_equal(answers[0].ids.data[0], 1);
    assert_int_equal(answers[1].ids.n, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(answers[i].finish, FINISH_STOP_TOKEN);
        answer_release(&answers[i]);
    }
    sequence_release(&s);
    engine_release(&e);
    model_free(m);
}

/* The next n ids of contrastive search after the first n_text ids, of which n_new are the answer's.
 */
static void next_ids(token_id *out, int n, struct sequence *s, const token_id *text, size_t n_text,
                     int n_new, int min_new_tokens, token_id stop)
{
    struct generate_config g;
    struct sampler_config c;
    struct contrastive *k;
    struct sampled got;
    generate_config_init(&g);
    sampler_config_init(&c);
    g.penalty_alpha = 0.5f;
    c.top_k = 4;
    c.min_new_tokens = min_new_tokens;
    assert_ok(sequence_set(s, text, n_text, NULL));
    assert_ok(contrastive_new(&k, s, &g, &c, &(struct stop_tokens){{stop}, 1}, n_new, false, NULL));
    for (int i = 0; i < n; i++) {
        assert_ok(contrastive_next(k, &got));
        out[i] = got.id;
    }
    contrastive_free(k);
}

/* Stop tokens are banned from so many tokens of the answer, of which some may be in the text, and
 * from no more. */
static void contrastive_search_bans_early_stops(void **state)
{
    (void)state;
    enum { N_PROMPT = 5, AT_LEAST = 3, STOP = 7 };
    struct model *m;
    struct engine e;
    struct sequence s;
    token_id text[N_PROMPT + AT_LEAST + 1] = {5, 15, 39, 11, 63}, id;
    assert_ok(
        model_load(&m, "tests/golden/tiny-plain", &(struct load_config){.dtype = DTYPE_F32}, NULL));
    assert_ok(engine_init(&e, m, 4));
    assert_ok(sequence_init(&s, &e));
    for (int n_new = 0; n_new <= AT_LEAST; n_new++) {
        const size_t n_text = N_PROMPT + (size_t)n_new;
        token_id free, banned[AT_LEAST + 1];
        next_ids(&free, 1, &s, text, n_text, n_new, 0, STOP);
        next_ids(&id, 1, &s, text, n_text, n_new, AT_LEAST, free);
        if (n_new < AT_LEAST)
            assert_int_not_equal(id, free);
        else
            assert_int_equal(id, free);
        /* The same within one search: all but the last are no stop token. */
        next_ids(banned, AT_LEAST + 1 - n_new, &s, text, n_text, n_new, AT_LEAST, free);
        for (int i = 0; i < AT_LEAST - n_new; i++)
            assert_int_not_equal(banned[i], free);
        memcpy(text + n_text, banned, (size_t)(AT_LEAST - n_new) * sizeof *text);
        next_ids(&id, 1, &s, text, N_PROMPT + AT_LEAST, AT_LEAST, 0, free);
        assert_int_equal(banned[AT_LEAST - n_new], id);
        text[n_text] = banned[0];
    }
    sequence_release(&s);
    engine_release(&e);
    model_free(m);
}

/* onnxruntime-genai's, 4 beams over a random model. */
static void test_data(void **state)
{
    (void)state;
    const char *data = getenv("DATA");
    char path[1024];
    if (!data || !*data) {
        printf("# left out: the beams of tiny-random-gpt2/goldens.json (no DATA)\n");
        return;
    }
    struct model *m;
    struct engine e;
    struct sequence s;
    snprintf(path, sizeof path, "%s/weights/tiny-random-gpt2/goldens.json", data);
    json_t *root = load(path), *entry;
    *strrchr(path, '/') = '\0';
    assert_ok(model_load(&m, path, &(struct load_config){.dtype = DTYPE_F32}, NULL));
    assert_ok(engine_init(&e, m, 4));
    assert_ok(sequence_init(&s, &e));
    size_t i;
    json_array_foreach(json_object_get(json_object_get(root, "beam"), "cases"), i, entry)
    {
        struct generate_config g;
        struct sampler_config c;
        struct answer a = {0};
        token_id prompt[64], want[64];
        size_t n = read_ids(json_object_get(entry, "input"), prompt);
        size_t n_want = read_ids(json_object_get(entry, "expected"), want);
        generate_config_init(&g);
        sampler_config_init(&c);
        g.num_beams = 4;
        g.max_new_tokens = (int)(n_want - n);
        assert_ok(sequence_set(&s, prompt, n, NULL));
        assert_ok(beam_search(&s, &g, &c, &(struct stop_tokens){{98}, 1}, false, NULL, &a));
        assert_int_equal(a.ids.n, n_want - n);
        assert_memory_equal(a.ids.data, want + n, a.ids.n * sizeof *want);
        answer_release(&a);
    }
    assert_true(i == 3);
    sequence_release(&s);
    engine_release(&e);
    model_free(m);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens),      cmocka_unit_test(test_beams_fill_the_context),
        cmocka_unit_test(test_equal_scores), cmocka_unit_test(contrastive_search_bans_early_stops),
        cmocka_unit_test(test_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
