/* config.json as transformers has it: its defaults, its activations, and what we write. */
#include "tests/lib/test.h"

#include "weights/hf/config_kept.h"
#include "weights/hf/hf_config.h"

#include <stdio.h>
#include <string.h>

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

/* Heads whose width together is not the model's are ours alone. */
static void heads_of_another_width(void **state)
{
    (void)state;
    struct config c = parsed("{\"n_embd\": 7, \"n_head\": 3, \"head_dim\": 5}");
    struct buf out = {0};
    assert_int_equal(config_head_size(&c), 5);
    assert_int_equal(config_heads_width(&c), 15);
    assert_ok(hf_config_write(&out, &c, DTYPE_F32));
    assert_non_null(strstr(buf_text(&out), "\"head_dim\": 5,"));
    out.n = 0;
    c = parsed("{\"n_embd\": 128, \"n_head\": 2, \"head_dim\": 64}");
    assert_ok(hf_config_write(&out, &c, DTYPE_F32));
    assert_null(strstr(buf_text(&out), "head_dim"));
    buf_release(&out);
    static const char *const wrong[] = {"{\"head_dim\": 0}", "{\"head_dim\": -1}",
                                        "{\"head_dim\": 131073}",
                                        "{\"n_head\": 768, \"head_dim\": 1000}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(hf_config_parse(&c, wrong[i], strlen(wrong[i])), ERR_RANGE);
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

/* Another program's members, and null where it means a default, stay as they were. */
static void what_came_with_a_model_is_kept(void **state)
{
    (void)state;
    static const char text[] =
        "{\"architectures\":[\"GPT2LMHeadModel\"],  \"model_type\": \"gpt2\", \"n_inner\": null,"
        " \"layer_norm_epsilon\": 1e-05, \"eos_token_id\": [3, 5], \"_x\": {\"y\": [1.50, 2]},"
        " \"num_hidden_layers\": 3, \"dtype\": \"float32\"}";
    struct config c = parsed(text);
    struct buf out = {0};
    assert_ok(hf_config_write_kept(&out, &c, DTYPE_F32, text, strlen(text)));
    assert_string_equal(buf_text(&out), text);
    out.n = 0;
    assert_ok(hf_config_write_kept(&out, &c, DTYPE_F16, text, strlen(text)));
    assert_non_null(strstr(buf_text(&out), "\"dtype\": \"float16\""));
    assert_non_null(strstr(buf_text(&out), "\"n_inner\": null"));
    assert_non_null(strstr(buf_text(&out), "\"layer_norm_epsilon\": 1e-0"));
    assert_non_null(strstr(buf_text(&out), "1.5"));
    assert_null(strstr(buf_text(&out), "n_head"));
    assert_null(strstr(buf_text(&out), "torch_dtype"));

    /* Where the model is not what the file says, all of it is said, and other members stay. */
    c.eos_token_id = 7;
    out.n = 0;
    assert_ok(hf_config_write_kept(&out, &c, DTYPE_F32, text, strlen(text)));
    struct config back = parsed(buf_text(&out));
    assert_int_equal(back.eos_token_id, 7);
    assert_int_equal(back.n_layer, 3);
    assert_non_null(strstr(buf_text(&out), "\"_x\": {"));
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_fields_are_transformers_defaults),
        cmocka_unit_test(minus_one_is_no_token),
        cmocka_unit_test(activations_are_told_apart),
        cmocka_unit_test(other_activations_are_refused),
        cmocka_unit_test(heads_of_another_width),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(what_came_with_a_model_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
