#include "model/config.h"

#include "tests/lib/test.h"
#include "weights/hf/hf_config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void named_sizes_have_the_published_parameters(void **state)
{
    (void)state;
    const struct {
        const char *name;
        uint64_t params;
    } sizes[] = {{"gpt2", 124439808},
                 {"gpt2-small", 124439808},
                 {"gpt2-medium", 354823168},
                 {"gpt2-large", 774030080},
                 {"gpt2-xl", 1557611200}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct config c;
        assert_ok(config_named(&c, sizes[i].name));
        assert_int_equal(config_params(&c), sizes[i].params);
        assert_int_equal(c.n_inner, 4 * c.n_embd);
        assert_int_equal(config_head_size(&c), 64);
    }
    struct config c;
    assert_ok(config_named(&c, "gpt2"));
    /* evaluation.md: 85.0M in the layers, 38.6M in the head. */
    assert_int_equal(config_matmul_params(&c), 84934656 + 38597376);
    c.tie_word_embeddings = false;
    assert_int_equal(config_params(&c), 124439808 + 38597376);
    assert_int_equal(config_named(&c, "gpt3"), ERR_RANGE);
    assert_string_equal(err_text(), "no model size is called gpt3; there are gpt2-test, gpt2 "
                                    "(gpt2-small), gpt2-medium, gpt2-large and gpt2-xl");
}

static void a_size_out_of_range_is_named(void **state)
{
    (void)state;
    const struct {
        size_t field;
        int value;
        const char *sentence;
    } rows[] = {
#define FIELD(f) offsetof(struct config, f)
        {FIELD(n_layer), 0, "n_layer is 0, must be 1 to 4096"},
        {FIELD(n_layer), 1000000000, "n_layer is 1000000000, must be 1 to 4096"},
        {FIELD(n_embd), -768, "n_embd is -768, must be 1 to 131072"},
        {FIELD(n_head), 0, "n_head is 0, must be 1 to 768"},
        {FIELD(n_head), 769, "n_head is 769, must be 1 to 768"},
        {FIELD(n_head), 7, "n_head 7 does not divide n_embd 768"},
        {FIELD(n_ctx), 0, "n_positions is 0, must be 1 to 16777216"},
        {FIELD(n_vocab), 0, "vocab_size is 0, must be 1 to 16777216"},
        {FIELD(n_inner), -1, "n_inner is -1, must be 0 to 1048576"},
        {FIELD(eos_token_id), 50257, "eos_token_id is 50257, must be below vocab_size 50257"},
        {FIELD(bos_token_id), -2, "bos_token_id is -2, must be below vocab_size 50257"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct config c;
        config_init(&c);
        memcpy((char *)&c + rows[i].field, &rows[i].value, sizeof(int));
        assert_int_equal(config_check(&c), ERR_RANGE);
        assert_string_equal(err_text(), rows[i].sentence);
    }
    const float epsilons[] = {0, -1e-5f, NAN, INFINITY};
    for (size_t i = 0; i < sizeof epsilons / sizeof *epsilons; i++) {
        struct config c;
        config_init(&c);
        c.layer_norm_epsilon = epsilons[i];
        assert_int_equal(config_check(&c), ERR_RANGE);
        assert_non_null(strstr(err_text(), "layer_norm_epsilon is "));
    }
    /* Each in its range, together more than can be counted on. */
    struct config c;
    config_init(&c);
    c.n_layer = 4096;
    c.n_embd = 1 << 17;
    c.n_head = 1;
    assert_int_equal(config_check(&c), ERR_RANGE);
    assert_non_null(strstr(err_text(), "parameters, at most 17592186044416 are possible"));
}

static struct config parsed(const char *text)
{
    struct config c;
    assert_ok(hf_config_parse(&c, text, strlen(text)));
    return c;
}

static void missing_fields_are_transformers_defaults(void **state)
{
    (void)state;
    struct config c = parsed("{}");
    assert_int_equal(config_params(&c), 124439808);
    assert_int_equal(c.activation, ACTIVATION_GELU_TANH);
    assert_true(c.tie_word_embeddings && c.scale_attn_weights);
    assert_false(c.scale_attn_by_inverse_layer_idx || c.reorder_and_upcast_attn);
    assert_int_equal(c.eos_token_id, 50256);
    assert_int_equal(c.pad_token_id, TOKEN_NONE);
    assert_float_equal(c.layer_norm_epsilon, 1e-5f, 0);

    /* transformers' attribute_map; the default end token lies outside this vocabulary. */
    c = parsed("{\"num_hidden_layers\": 3, \"hidden_size\": 8, \"num_attention_heads\": 2,"
               " \"max_position_embeddings\": 9, \"vocab_size\": 11, \"n_inner\": null}");
    assert_int_equal(c.n_layer, 3);
    assert_int_equal(c.n_head, 2);
    assert_int_equal(c.n_ctx, 9);
    assert_int_equal(c.n_inner, 32);
    assert_int_equal(c.eos_token_id, TOKEN_NONE);
}

/* As some trainers write them: -1 is no token, and no reason to refuse the model. */
static void minus_one_is_no_token(void **state)
{
    (void)state;
    struct config c = parsed("{\"bos_token_id\": -1, \"eos_token_id\": -1, \"pad_token_id\": -1}");
    assert_int_equal(c.bos_token_id, TOKEN_NONE);
    assert_int_equal(c.eos_token_id, TOKEN_NONE);
    assert_int_equal(c.pad_token_id, TOKEN_NONE);
    c = parsed("{\"eos_token_id\": [-1, 7, 8], \"pad_token_id\": [-1]}");
    assert_int_equal(c.eos_token_id, 7);
    assert_int_equal(c.pad_token_id, TOKEN_NONE);
    static const char wrong[] = "{\"eos_token_id\": -2}";
    assert_int_equal(hf_config_parse(&c, wrong, sizeof wrong - 1), ERR_RANGE);
}

static void activations_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum activation is;
        const char *written;
    } rows[] = {{"gelu_new", ACTIVATION_GELU_TANH, "gelu_new"},
                {"gelu_pytorch_tanh", ACTIVATION_GELU_TANH, "gelu_new"},
                {"gelu_fast", ACTIVATION_GELU_TANH, "gelu_new"},
                {"gelu_accurate", ACTIVATION_GELU_TANH, "gelu_new"},
                {"gelu_python_tanh", ACTIVATION_GELU_TANH, "gelu_new"},
                {"gelu", ACTIVATION_GELU_ERF, "gelu"},
                {"gelu_python", ACTIVATION_GELU_ERF, "gelu"},
                {"relu", ACTIVATION_RELU, "relu"},
                {"silu", ACTIVATION_SILU, "silu"},
                {"swish", ACTIVATION_SILU, "silu"},
                {"quick_gelu", ACTIVATION_QUICK_GELU, "quick_gelu"},
                {"tanh", ACTIVATION_TANH, "tanh"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[80], written[80];
        snprintf(text, sizeof text, "{\"activation_function\": \"%s\"}", rows[i].name);
        struct config c = parsed(text);
        assert_int_equal(c.activation, rows[i].is);
        struct buf out = {0};
        assert_ok(hf_config_write(&out, &c, DTYPE_F32));
        snprintf(written, sizeof written, "\"activation_function\": \"%s\"", rows[i].written);
        assert_non_null(strstr(buf_text(&out), written));
        buf_release(&out);
    }
}

/* transformers has these too, and they are other functions. */
static void other_activations_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"mish",       "gelu_10", "linear",  "sigmoid",
                                        "relu2",      "relu6",   "laplace", "prelu",
                                        "leaky_relu", "GELU",    "relu ",   ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[80], sentence[300];
        struct config c;
        snprintf(text, sizeof text, "{\"activation_function\": \"%s\"}", names[i]);
        assert_int_equal(hf_config_parse(&c, text, strlen(text)), ERR_UNSUPPORTED);
        snprintf(
            sentence, sizeof sentence,
            "activation_function is \"%s\", must be gelu_new, gelu_pytorch_tanh, gelu_fast, "
            "gelu_accurate, gelu_python_tanh, gelu, gelu_python, relu, silu, swish, quick_gelu "
            "or tanh",
            names[i]);
        assert_string_equal(err_text(), sentence);
    }
}

static void what_is_written_reads_back(void **state)
{
    (void)state;
    struct config c;
    config_init(&c);
    c.n_layer = 2;
    c.n_head = 5;
    c.n_embd = 35;
    c.n_ctx = 77;
    c.n_vocab = 301;
    c.n_inner = 13;
    c.activation = ACTIVATION_GELU_ERF;
    c.layer_norm_epsilon = 3.14159274e-6f;
    c.initializer_range = 0.1f;
    c.embd_pdrop = 0;
    c.tie_word_embeddings = false;
    c.scale_attn_weights = false;
    c.scale_attn_by_inverse_layer_idx = true;
    c.reorder_and_upcast_attn = true;
    c.bos_token_id = TOKEN_NONE;
    c.eos_token_id = 300;
    c.pad_token_id = 0;
    struct buf text = {0};
    assert_ok(hf_config_write(&text, &c, DTYPE_BF16));
    struct config back = parsed(buf_text(&text));
    struct buf again = {0};
    assert_ok(hf_config_write(&again, &back, DTYPE_BF16));
    assert_string_equal(buf_text(&again), buf_text(&text));
    assert_float_equal(back.layer_norm_epsilon, c.layer_norm_epsilon, 0);
    assert_int_equal(back.eos_token_id, 300);
    assert_int_equal(back.bos_token_id, TOKEN_NONE);
    assert_int_equal(back.activation, ACTIVATION_GELU_ERF);
    assert_true(back.scale_attn_by_inverse_layer_idx && !back.tie_word_embeddings);
    assert_non_null(strstr(buf_text(&text), "\"torch_dtype\": \"bfloat16\""));
    assert_non_null(strstr(buf_text(&text), "\"initializer_range\": 0.1,"));
    buf_release(&text);
    buf_release(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_sizes_have_the_published_parameters),
        cmocka_unit_test(a_size_out_of_range_is_named),
        cmocka_unit_test(missing_fields_are_transformers_defaults),
        cmocka_unit_test(minus_one_is_no_token),
        cmocka_unit_test(activations_are_told_apart),
        cmocka_unit_test(other_activations_are_refused),
        cmocka_unit_test(what_is_written_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
