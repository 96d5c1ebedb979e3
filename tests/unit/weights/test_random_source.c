#include "tests/lib/test.h"

#include "model/base/mem.h"
#include "model/base/par.h"
#include "tests/lib/scratch.h"
#include "weights/open.h"
#include "weights/hf/vocab.h"
#include "weights/hf/vocab_write.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct tensor_reader *reader(const struct source *s, const char *name)
{
    const struct param_tensor *t = params_find(&s->table, name);
    assert_non_null(t);
    return &s->readers[t - s->table.tensors];
}

static void open_random(struct source *s, const char *name, uint64_t seed)
{
    char path[256];
    snprintf(path, sizeof path, "%s%s", strncmp(name, "random:", 7) == 0 ? "" : "random:", name);
    assert_ok(source_open(s, path, seed, true, NULL));
}

static double deviation(const struct source *s, const char *name)
{
    enum { N = 4096 };
    static float x[N];
    const struct tensor_reader *r = reader(s, name);
    assert_int_equal(r->dtype, DTYPE_F32);
    assert_ok(r->read(r->user, x, 0, N));
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum / N);
}

static void each_tensor_begins_as_gpt2_says(void **state)
{
    (void)state;
    struct source s;
    open_random(&s, "random:gpt2-test", 9);
    const double tolerance = 0.02 * 5 / sqrt(2 * 4096);
    double residual = 0.02 / sqrt(2.0 * s.config.n_layer);
    assert_true(fabs(deviation(&s, "wte.weight") - 0.02) < tolerance);
    assert_true(fabs(deviation(&s, "wpe.weight") - 0.02) < tolerance);
    assert_true(fabs(deviation(&s, "h.1.attn.c_attn.weight") - 0.02) < tolerance);
    assert_true(fabs(deviation(&s, "h.1.mlp.c_fc.weight") - 0.02) < tolerance);
    assert_true(fabs(deviation(&s, "h.0.attn.c_proj.weight") - residual) < tolerance);
    assert_true(fabs(deviation(&s, "h.1.mlp.c_proj.weight") - residual) < tolerance);
    for (int i = 0; i < s.table.n_tensors; i++) {
        const struct param_tensor *t = &s.table.tensors[i];
        if (t->kind != PARAM_VECTOR)
            continue;
        float x[256];
        assert_true(t->cols <= 256);
        assert_ok(s.readers[i].read(s.readers[i].user, x, 0, (size_t)t->cols));
        for (int k = 0; k < t->cols; k++)
            assert_true(x[k] == (strstr(t->name, ".weight") != NULL ? 1.0f : 0.0f));
    }
    source_close(&s);
}

static void tensors_and_seeds_differ(void **state)
{
    (void)state;
    struct source s, other;
    float a[64], b[64];
    open_random(&s, "gpt2-test", 1);
    open_random(&other, "gpt2-test", 2);
    const struct tensor_reader *r = reader(&s, "wte.weight");
    assert_ok(r->read(r->user, a, 0, 64));
    r = reader(&s, "h.0.attn.c_attn.weight");
    assert_ok(r->read(r->user, b, 0, 64));
    assert_memory_not_equal(a, b, sizeof a);
    r = reader(&other, "wte.weight");
    assert_ok(r->read(r->user, b, 0, 64));
    assert_memory_not_equal(a, b, sizeof a);
    source_close(&other);
    /* The name says the seed, and makes the same model again. */
    assert_string_equal(s.name, "random:gpt2-test@1");
    open_random(&other, s.name, 77);
    r = reader(&other, "wte.weight");
    assert_ok(r->read(r->user, b, 0, 64));
    assert_memory_equal(a, b, sizeof a);
    assert_string_equal(other.name, s.name);
    source_close(&other);
    source_close(&s);
}

static void every_size_has_its_shape(void **state)
{
    (void)state;
    const struct {
        const char *name;
        int layers, heads, width;
        uint64_t params;
    } sizes[] = {{"random:gpt2", 12, 12, 768, 124439808},
                 {"random:gpt2-medium", 24, 16, 1024, 354823168},
                 {"random:gpt2-large", 36, 20, 1280, 774030080},
                 {"random:gpt2-xl", 48, 25, 1600, 1557611200}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct source s;
        open_random(&s, sizes[i].name, 0);
        assert_int_equal(s.config.n_layer, sizes[i].layers);
        assert_int_equal(s.config.n_head, sizes[i].heads);
        assert_int_equal(s.config.n_embd, sizes[i].width);
        assert_int_equal(config_params(&s.config), sizes[i].params);
        assert_int_equal(s.config.eos_token_id, 50256);
        source_close(&s);
    }
    struct source s;
    assert_int_equal(source_open(&s, "random:gpt3", 0, true, NULL), ERR_RANGE);
    assert_string_equal(err_text(), "no model size is called gpt3; there are gpt2-test, gpt2 "
                                    "(gpt2-small), gpt2-medium, gpt2-large and gpt2-xl");
    assert_int_equal(source_open(&s, "random:/no/such/config.json", 0, true, NULL), ERR_MISSING);
}

static void sizes_behind_a_name_replace_its_own(void **state)
{
    (void)state;
    struct source s;
    open_random(&s, "random:gpt2-test,n_layer=3,n_head=5,n_embd=40,vocab_size=257", 4);
    assert_int_equal(s.config.n_layer, 3);
    assert_int_equal(s.config.n_head, 5);
    assert_int_equal(s.config.n_inner, 160);
    assert_int_equal(s.config.n_ctx, 128);
    assert_int_equal(tokenizer_size(s.tokenizer), 257);
    assert_int_equal(s.config.eos_token_id, 256);
    char *again = mem_strdup(s.name);
    source_close(&s);
    open_random(&s, again, 9);
    assert_string_equal(s.name, again);
    assert_int_equal(s.config.n_embd, 40);
    mem_free(again);
    source_close(&s);
    open_random(&s, "random:gpt2-test,n_inner=7,n_embd=32,tie_word_embeddings=off", 4);
    assert_int_equal(s.config.n_inner, 7);
    assert_false(s.config.tie_word_embeddings);
    source_close(&s);
    open_random(&s, "random:gpt2-test,n_embd=40,n_head=3,head_dim=16,vocab_size=257", 4);
    assert_int_equal(s.config.n_head, 3);
    assert_int_equal(s.config.head_size, 16);
    source_close(&s);
    /* A vocabulary from elsewhere brings its size. */
    open_random(&s, "random:gpt2-test,n_layer=1,tokenizer=random:gpt2-test,vocab_size=300", 4);
    assert_int_equal(s.config.n_vocab, 300);
    assert_int_equal(tokenizer_size(s.tokenizer), 300);
    source_close(&s);
    /* What follows from the sizes is there before training settles by it. */
    open_random(&s, "random:gpt2-test,n_head=5,n_embd=40,tokenizer=random:gpt2-test", 4);
    assert_int_equal(s.config.n_inner, 160);
    source_close(&s);
    static const char *const bad[][2] = {
        {"gpt2,n_layer", "expected n_layer=N or the like, not n_layer"},
        {"gpt2,layers=3", "there is no layers; there are n_layer, n_head"},
        {"gpt2,n_layer=0", "n_layer must be a whole number from 1 on, not 0"},
        {"gpt2,n_layer=2x", "n_layer must be a whole number from 1 on, not 2x"},
        {"gpt2,n_head=5", "n_head 5 does not divide n_embd 768"},
        {"gpt2,head_dim=0", "head_dim must be a whole number from 1 on, not 0"},
        {"gpt2,vocab_size=2000000000", "vocab_size is 2000000000, must be 1 to"},
        {"gpt2,tie_word_embeddings=maybe", "must be on or off"},
        {"gpt2,tokenizer=/no/such", "/no/such"},
        {"gpt2,vocab_size=10,tokenizer=random:gpt2-test", "tokens, vocab_size is 10"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char path[128];
        snprintf(path, sizeof path, "random:%s", bad[i][0]);
        assert_true(source_open(&s, path, 0, true, NULL) != 0);
        if (strstr(err_text(), bad[i][1]) == NULL)
            fail_msg("%s: \"%s\" does not say \"%s\"", bad[i][0], err_text(), bad[i][1]);
    }
}

static void a_config_gives_any_shape(void **state)
{
    (void)state;
    static const char config[] =
        "{\"model_type\":\"gpt2\",\"n_layer\":3,\"n_head\":5,\"n_embd\":35,\"n_positions\":17,"
        "\"vocab_size\":54,\"n_inner\":77,\"tie_word_embeddings\":false,\"initializer_range\":0.5}";
    char *name = mem_sprintf("random:%s", scratch_file("random.json", config, sizeof config - 1));
    struct source s;
    open_random(&s, name, 5);
    assert_int_equal(s.config.n_inner, 77);
    assert_int_equal(s.table.n_tensors, 3 * 12 + 5);
    assert_non_null(params_find(&s.table, "lm_head.weight"));
    assert_int_equal(tokenizer_size(s.tokenizer), 54);
    assert_int_equal(s.config.eos_token_id, TOKEN_NONE);
    float x[1000];
    const struct tensor_reader *r = reader(&s, "lm_head.weight");
    assert_ok(r->read(r->user, x, 0, 1000));
    double sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += (double)x[i] * (double)x[i];
    assert_true(fabs(sqrt(sum / 1000) - 0.5) < 0.06);
    source_close(&s);
    mem_free(name);
}

static void all_bytes_can_be_typed_at_it(void **state)
{
    (void)state;
    struct source s;
    open_random(&s, "gpt2-test", 0);
    assert_int_equal(tokenizer_size(s.tokenizer), 50257);
    assert_int_equal(tokenizer_eos(s.tokenizer), 50256);
    char bytes[256];
    for (int i = 0; i < 256; i++)
        bytes[i] = (char)i;
    struct ids ids = {0};
    struct buf back = {0};
    assert_ok(tokenizer_encode(s.tokenizer, &ids, bytes, sizeof bytes, ENCODE_TEXT));
    assert_int_equal(ids.n, 256);
    /* GPT-2's own ids of single bytes. */
    assert_int_equal(ids.data['!'], 0);
    assert_int_equal(ids.data['A'], 32);
    assert_int_equal(ids.data['~'], 93);
    assert_int_equal(ids.data[0xa1], 94);
    assert_int_equal(ids.data[0xff], 187);
    assert_int_equal(ids.data[0], 188);
    assert_int_equal(ids.data['\n'], 198);
    assert_int_equal(ids.data[' '], 220);
    assert_int_equal(ids.data[0xad], 255);
    assert_ok(tokenizer_decode(s.tokenizer, &back, ids.data, ids.n));
    assert_int_equal(back.n, 256);
    assert_memory_equal(back.data, bytes, 256);
    assert_true(tokenizer_is_special(s.tokenizer, 50256));
    buf_release(&back);
    ids_release(&ids);
    source_close(&s);
}

/* Every other id is a word to be seen, which no text is encoded to, also once saved. */
static void what_it_says_can_be_read(void **state)
{
    (void)state;
    struct source s;
    open_random(&s, "gpt2-test", 0);
    struct ids ids = {0};
    struct buf text = {0};
    for (token_id id = 256; id < 50256; id++) {
        size_t n;
        const char *piece = tokenizer_bytes(s.tokenizer, id, &n);
        assert_true(n >= 3 && n <= 7 && piece[0] == ' ');
        for (size_t i = 1; i < n; i++)
            assert_true(piece[i] >= 'a' && piece[i] <= 'z');
        assert_false(tokenizer_is_special(s.tokenizer, id));
        assert_ok(buf_add(&text, piece, n));
    }
    assert_memory_equal(buf_text(&text), " ba be", 6);
    assert_ok(tokenizer_encode(s.tokenizer, &ids, buf_text(&text), text.n, ENCODE_SPECIAL));
    assert_int_equal(ids.n, text.n);

    struct scratch scratch;
    struct tokenizer *again = NULL;
    scratch_open(&scratch);
    assert_ok(vocab_write_folder(s.tokenizer, TOKEN_NONE, scratch.folder, false));
    assert_ok(vocab_open_folder(&again, scratch.folder, NULL, NULL));
    scratch_close(&scratch);
    for (token_id id = 0; id < 50257; id++)
        assert_string_equal(tokenizer_text(again, id), tokenizer_text(s.tokenizer, id));
    tokenizer_free(again);
    buf_release(&text);
    ids_release(&ids);
    source_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_tensor_begins_as_gpt2_says),
        cmocka_unit_test(tensors_and_seeds_differ),
        cmocka_unit_test(every_size_has_its_shape),
        cmocka_unit_test(sizes_behind_a_name_replace_its_own),
        cmocka_unit_test(a_config_gives_any_shape),
        cmocka_unit_test(all_bytes_can_be_typed_at_it),
        cmocka_unit_test(what_it_says_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
