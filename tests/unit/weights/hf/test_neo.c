/* GPT-Neo folders: config.json's layers, tensors in parts and turned, what is refused, and what is
 * written. */
#include "tests/lib/hf_folder.h"

#include "kvcache/sequence.h"
#include "weights/hf/hf_config.h"
#include "weights/load.h"
#include "weights/open.h"
#include "weights/save.h"

#define NEO(more)                                                                                  \
    "{\"model_type\": \"gpt_neo\", \"num_layers\": 1, \"num_heads\": 2, \"hidden_size\": 4,"       \
    " \"max_position_embeddings\": 3, \"intermediate_size\": 6, \"vocab_size\": 5" more "}"
#define LOCAL ", \"attention_types\": [[[\"local\"], 1]]"

/* ---- config.json ---- */

static void missing_fields_are_transformers_defaults(void **state)
{
    (void)state;
    struct config c;
    static const char text[] = "{\"model_type\": \"gpt_neo\"}";
    assert_ok(hf_config_parse(&c, text, sizeof text - 1));
    assert_int_equal(c.type, MODEL_GPT_NEO);
    assert_int_equal(config_params(&c), 1315575808); /* GPT-Neo 1.3B */
    assert_false(c.scale_attn_weights);
    for (int i = 0; i < c.n_layer; i++)
        assert_int_equal(config_window(&c, i), i % 2 == 0 ? 0 : 256);
    assert_true(c.attn_pdrop == 0 && c.embd_pdrop == 0 && c.resid_pdrop == 0);
}

static const char *kinds_of(const struct config *c)
{
    static char out[CONFIG_MAX_LAYERS + 1];
    for (int i = 0; i < c->n_layer; i++)
        out[i] = config_window(c, i) > 0 ? 'l' : 'g';
    out[c->n_layer] = '\0';
    return out;
}

static void layers_are_as_listed(void **state)
{
    (void)state;
    static const struct {
        const char *text, *kinds, *written;
    } rows[] = {
        {"\"num_layers\": 4, \"attention_types\": [[[\"global\", \"local\"], 2]]", "glgl",
         "[[[\"global\", \"local\"], 2]]"},
        {"\"num_layers\": 5, \"attention_types\": [[[\"local\"], 3], [[\"global\"], 0],"
         " [[\"global\", \"local\"], 1]]",
         "lllgl", "[[[\"local\", \"local\", \"local\", \"global\", \"local\"], 1]]"},
        {"\"num_layers\": 3, \"attention_layers\": [\"local\", \"local\", \"local\"]", "lll",
         "[[[\"local\"], 3]]"},
        {"\"num_hidden_layers\": 2, \"attention_types\": [[[\"global\"], 2]],"
         " \"attention_layers\": [\"local\", \"local\"]",
         "gg", "[[[\"global\"], 2]]"},
        {"\"num_layers\": 3, \"attention_types\": null", "glg",
         "[[[\"global\", \"local\", \"global\"], 1]]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct config c, back;
        struct buf out = {0};
        char text[300];
        snprintf(text, sizeof text, "{\"model_type\": \"gpt_neo\", %s}", rows[i].text);
        assert_ok(hf_config_parse(&c, text, strlen(text)));
        assert_string_equal(kinds_of(&c), rows[i].kinds);
        assert_ok(hf_config_write(&out, &c, DTYPE_F32));
        assert_non_null(strstr(buf_text(&out), rows[i].written));
        assert_ok(hf_config_parse(&back, buf_text(&out), out.n));
        assert_string_equal(kinds_of(&back), rows[i].kinds);
        assert_true(config_same_shape(&back, &c) && back.window_size == c.window_size);
        buf_release(&out);
    }
}

static void wrong_layers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *more, *sentence;
    } rows[] = {
        {", \"attention_types\": [[[\"global\", \"local\"], 1]]",
         "attention_types lists more than the 1 of num_layers"},
        {", \"attention_types\": [[[\"global\"], 1000000000000000]]",
         "attention_types lists more than the 1 of num_layers"},
        {", \"attention_types\": [[[\"sliding\"], 1]]",
         "attention_types has \"sliding\", must be \"global\" or \"local\""},
        {", \"attention_types\": [[[7], 1]]",
         "attention_types has 7, must be \"global\" or \"local\""},
        {", \"attention_types\": [[[\"local\"], -1]]",
         "attention_types has a list, must be like [[\"global\", \"local\"], 12]"},
        {", \"attention_types\": [[[\"local\"], 1.0]]",
         "attention_types has a list, must be like [[\"global\", \"local\"], 12]"},
        {", \"attention_types\": [[[], 1]]",
         "attention_types has a list, must be like [[\"global\", \"local\"], 12]"},
        {", \"attention_types\": [\"local\"]",
         "attention_types has \"local\", must be like [[\"global\", \"local\"], 12]"},
        {", \"attention_types\": \"local\"", "attention_types is \"local\", must be a list"},
        {", \"attention_layers\": {}", "attention_layers is an object, must be a list"},
        {", \"attention_layers\": [\"local\", \"local\"]",
         "attention_types lists more than the 1 of num_layers"},
        {", \"window_size\": 0", "window_size is 0, must be a whole number 1 to 2147483647"},
        {LOCAL ", \"window_size\": 100000000", "window_size is 100000000, must be 1 to 16777216"},
        {", \"hidden_act\": 1, \"activation_function\": \"mish\"",
         "activation_function is \"mish\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct config c;
        char text[400];
        snprintf(text, sizeof text, NEO("%s"), rows[i].more);
        assert_says(hf_config_parse(&c, text, strlen(text)), rows[i].sentence);
    }
    struct config c;
    static const char many[] = "{\"model_type\": \"gpt_neo\", \"num_layers\": 1000000000,"
                               " \"attention_types\": [[[\"local\"], 1000000000]]}";
    assert_says(hf_config_parse(&c, many, sizeof many - 1),
                "n_layer is 1000000000, must be 1 to 4096");
    static const char few[] = "{\"model_type\": \"gpt_neo\", \"num_layers\": 9,"
                              " \"attention_types\": [[[\"local\"], 4]]}";
    assert_says(hf_config_parse(&c, few, sizeof few - 1),
                "attention_types lists 4 layers, num_layers is 9");
}

/* ---- tensors ---- */

static void list_tensors(struct hf_tensors *l, const char *dtype)
{
    static const struct {
        const char *name;
        int rank;
        uint64_t a, b;
    } rows[] = {{"wte.weight", 2, 5, 4},
                {"wpe.weight", 2, 3, 4},
                {"h.0.ln_1.weight", 1, 4, 0},
                {"h.0.ln_1.bias", 1, 4, 0},
                {"h.0.attn.attention.k_proj.weight", 2, 4, 4},
                {"h.0.attn.attention.v_proj.weight", 2, 4, 4},
                {"h.0.attn.attention.q_proj.weight", 2, 4, 4},
                {"h.0.attn.attention.out_proj.weight", 2, 4, 4},
                {"h.0.attn.attention.out_proj.bias", 1, 4, 0},
                {"h.0.ln_2.weight", 1, 4, 0},
                {"h.0.ln_2.bias", 1, 4, 0},
                {"h.0.mlp.c_fc.weight", 2, 6, 4},
                {"h.0.mlp.c_fc.bias", 1, 6, 0},
                {"h.0.mlp.c_proj.weight", 2, 4, 6},
                {"h.0.mlp.c_proj.bias", 1, 4, 0},
                {"ln_f.weight", 1, 4, 0},
                {"ln_f.bias", 1, 4, 0}};
    char name[64];
    l->n = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(name, sizeof name, "transformer.%s", rows[i].name);
        hf_add(l, name, dtype, rows[i].rank, rows[i].a, rows[i].b);
    }
}

static void write_folder(const struct scratch *s, struct hf_tensors *l)
{
    hf_write_text(s, "config.json", NEO(LOCAL ", \"window_size\": 2"));
    hf_write(s, "model.safetensors", l, 0, l->n);
}

static struct model *load(const char *path)
{
    struct model *m = NULL;
    struct load_config c = {.dtype = DTYPE_F32};
    assert_ok(model_load(&m, path, &c, NULL));
    return m;
}

/* Element [in,out] of a matrix of the table. */
static float element(const struct model *m, const char *name, int in, int out)
{
    const struct param_tensor *t = params_find(&m->params, name);
    float x;
    assert_non_null(t);
    params_read(t, &x, (uint64_t)in * (uint64_t)t->cols + (uint64_t)out, 1);
    return x;
}

static void assert_weights(const struct model *m)
{
    char name[64];
    for (int in = 0; in < 4; in++)
        for (int out = 0; out < 12; out++) {
            snprintf(name, sizeof name, "h.0.attn.attention.%c_proj.weight", "qkv"[out / 4]);
            assert_true(element(m, "h.0.attn.c_attn.weight", in, out) ==
                        hf_value(name, (uint64_t)(out % 4 * 4 + in)));
        }
    for (int in = 0; in < 4; in++)
        for (int out = 0; out < 6; out++)
            assert_true(element(m, "h.0.mlp.c_fc.weight", in, out) ==
                        hf_value("h.0.mlp.c_fc.weight", (uint64_t)(out * 4 + in)));
    assert_true(element(m, "h.0.attn.c_proj.weight", 1, 2) ==
                hf_value("h.0.attn.attention.out_proj.weight", 2 * 4 + 1));
    assert_true(element(m, "h.0.attn.c_proj.bias", 0, 3) ==
                hf_value("h.0.attn.attention.out_proj.bias", 3));
    assert_null(params_find(&m->params, "h.0.attn.c_attn.bias"));
    assert_null(m->params.layers[0].c_attn.bias);
}

/* Written again, from the file and from memory, in the same names and shapes, in any type. */
static void tensors_are_found_and_written_back(void **state)
{
    (void)state;
    static const char *const dtypes[] = {"F32", "F16", "BF16"};
    for (int i = 0; i < 4; i++) {
        struct scratch s;
        struct hf_tensors l;
        struct save_config how = {0};
        scratch_open(&s);
        list_tensors(&l, dtypes[i % 3]);
        if (i == 3) /* parts of different types */
            snprintf(hf_find(&l, "transformer.h.0.attn.attention.k_proj.weight")->dtype, 12, "F16");
        hf_add(&l, "transformer.h.0.attn.attention.bias", "BOOL", 3, 1, 3);
        l.all[l.n - 1].shape[2] = 3;
        hf_add(&l, "transformer.h.0.attn.attention.masked_bias", "F32", 0, 0, 0);
        write_folder(&s, &l);
        struct model *m = load(s.folder);
        assert_weights(m);
        assert_int_equal(config_window(&m->config, 0), 2);
        assert_ok(model_save(m, scratch_path(&s, "of-file"), &how, NULL));
        m->changed = true;
        assert_ok(model_save(m, scratch_path(&s, "of-memory"), &how, NULL));
        model_free(m);
        for (int k = 0; k < 2; k++) {
            m = load(scratch_path(&s, k == 0 ? "of-file" : "of-memory"));
            assert_weights(m);
            assert_int_equal(m->config.type, MODEL_GPT_NEO);
            model_free(m);
        }
        struct buf file = {0};
        assert_ok(file_read_all(&file, scratch_path(&s, "of-file/model.safetensors"), UINT64_MAX));
        for (int k = 0; k < l.n - 2; k++) {
            char entry[120];
            snprintf(entry, sizeof entry, "\"%s\":{", l.all[k].name);
            assert_non_null(memmem(file.data, file.n, entry, strlen(entry)));
        }
        buf_release(&file);
        scratch_close(&s);
    }
}

/* A layer whose window is 2 sees the last two positions, and none before them. */
static void a_window_ends_where_it_says(void **state)
{
    (void)state;
    enum { V = 5, N = 3 };
    struct scratch s;
    struct hf_tensors l;
    struct engine e;
    struct sequence text;
    float logits[V];
    scratch_open(&s);
    list_tensors(&l, "F32");
    write_folder(&s, &l);
    struct model *m = load(s.folder);
    assert_ok(engine_init(&e, m, 1));
    assert_ok(sequence_init(&text, &e));
    for (int changed = -1; changed < N; changed++) {
        token_id ids[N] = {1, 3, 2};
        if (changed >= 0)
            ids[changed] = 4;
        assert_ok(sequence_set(&text, ids, N, NULL));
        if (changed < 0)
            memcpy(logits, text.logits, sizeof logits);
        assert_int_equal(memcmp(logits, text.logits, sizeof logits) == 0, changed < 1);
    }
    sequence_release(&text);
    engine_release(&e);
    model_free(m);
    scratch_close(&s);
}

static void wrong_tensors_are_named_as_in_the_file(void **state)
{
    (void)state;
    static const struct {
        const char *name, *dtype;
        uint64_t a, b;
        const char *sentence;
    } rows[] = {
        {"transformer.h.0.attn.attention.k_proj.weight", NULL, 0, 0,
         "tensor h.0.attn.attention.k_proj.weight is missing"},
        {"transformer.h.0.attn.attention.v_proj.weight", "F32", 4, 12,
         "tensor h.0.attn.attention.v_proj.weight: shape [4,12], expected [4,4]"},
        {"transformer.h.0.mlp.c_fc.weight", "F32", 4, 6,
         "tensor h.0.mlp.c_fc.weight: shape [4,6], expected [6,4]: it is transposed, GPT-Neo keeps "
         "its matrices [out,in]"},
        {"transformer.h.0.attn.attention.q_proj.weight", "I32", 4, 4,
         "tensor h.0.attn.attention.q_proj.weight is I32, must be F32, F16 or BF16"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scratch s;
        struct hf_tensors l;
        struct source source;
        scratch_open(&s);
        list_tensors(&l, "F32");
        struct hf_tensor *t = hf_find(&l, rows[i].name);
        if (rows[i].dtype == NULL) {
            *t = l.all[--l.n];
        } else {
            snprintf(t->dtype, sizeof t->dtype, "%s", rows[i].dtype);
            t->shape[0] = rows[i].a;
            t->shape[1] = rows[i].b;
        }
        write_folder(&s, &l);
        assert_says(source_open(&source, s.folder, 0, true, NULL), rows[i].sentence);
        scratch_close(&s);
    }
}

/* GPT-2's tensors under GPT-Neo's configuration, and the reverse. */
static void another_type_is_refused(void **state)
{
    (void)state;
    struct scratch s;
    struct hf_tensors l;
    struct source source;
    scratch_open(&s);
    hf_write_folder(&s, "F32");
    hf_write_text(&s, "config.json", NEO(LOCAL));
    assert_says(source_open(&source, s.folder, 0, true, NULL),
                "tensor h.0.attn.attention.q_proj.weight is missing");
    list_tensors(&l, "F32");
    write_folder(&s, &l);
    hf_write_text(&s, "config.json", HF_CONFIG);
    assert_says(source_open(&source, s.folder, 0, true, NULL),
                "tensor h.0.attn.c_attn.weight is missing");
    scratch_close(&s);
}

static void gguf_is_refused(void **state)
{
    (void)state;
    struct scratch s;
    struct hf_tensors l;
    struct save_config how = {0};
    scratch_open(&s);
    list_tensors(&l, "F32");
    write_folder(&s, &l);
    struct model *m = load(s.folder);
    assert_fails(model_save(m, scratch_path(&s, "x.gguf"), &how, NULL), ERR_UNSUPPORTED,
                 "no program reads a GPT-Neo from GGUF: name a folder");
    assert_false(file_exists(scratch_path(&s, "x.gguf")));
    model_free(m);
    scratch_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_fields_are_transformers_defaults),
        cmocka_unit_test(layers_are_as_listed),
        cmocka_unit_test(wrong_layers_are_refused),
        cmocka_unit_test(tensors_are_found_and_written_back),
        cmocka_unit_test(a_window_ends_where_it_says),
        cmocka_unit_test(wrong_tensors_are_named_as_in_the_file),
        cmocka_unit_test(another_type_is_refused),
        cmocka_unit_test(gguf_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
