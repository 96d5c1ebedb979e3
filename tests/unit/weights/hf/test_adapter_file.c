/* Adapters in PEFT's files: they come back, and what is wrong with one is said. */
#include "tests/lib/random_adapter.h"
#include "tests/lib/scratch.h"
#include "tests/lib/tiny.h"

#include "model/base/par.h"
#include "weights/adapter_base.h"
#include "weights/hf/adapter_file.h"
#include "weights/hf/safetensors.h"
#include "weights/load.h"
#include "weights/open.h"

#include <math.h>

static const char targets[] = "c_attn,c_fc";

struct made {
    struct scratch scratch;
    struct config c;
    struct adapter *a;
};

static void open_made(struct made *t)
{
    scratch_open(&t->scratch);
    t->c = tiny_config();
    assert_ok(config_check(&t->c));
    t->a = random_adapter(&t->c, targets, 2, false);
    assert_ok(adapter_save(t->a, scratch_path(&t->scratch, "ad"), "random:gpt2", false));
}

static void close_made(struct made *t)
{
    adapter_free(t->a);
    scratch_close(&t->scratch);
}

static void files_come_back(void **state)
{
    (void)state;
    struct made t;
    struct adapter *b;
    struct tensor_file f;
    open_made(&t);
    assert_ok(adapter_read(&b, scratch_path(&t.scratch, "ad"), &t.c));
    assert_int_equal(b->n, t.a->n);
    assert_memory_equal(b->data, t.a->data, b->n * sizeof *b->data);
    assert_int_equal(b->config.rank, 2);
    assert_true(b->config.dropout == 0.05f && b->config.alpha == 3 && !b->config.rslora);
    assert_string_equal(b->config.targets, targets);
    adapter_free(b);
    struct buf text = {0};
    assert_ok(file_read_all(&text, scratch_path(&t.scratch, "ad/adapter_config.json"), 4096));
    assert_non_null(strstr(buf_text(&text), "\"lora_dropout\": 0.05,"));
    buf_release(&text);
    assert_ok(tensor_file_open_as(&f, scratch_path(&t.scratch, "ad/adapter_model.safetensors"),
                                  safetensors_open_file));
    assert_int_equal(f.n, 12);
    const struct tensor_entry *e =
        tensor_file_find(&f, "base_model.model.transformer.h.2.mlp.c_fc.lora_B.weight");
    assert_non_null(e);
    assert_true(e->rank == 2 && e->shape[0] == 70 && e->shape[1] == 2);
    float at;
    assert_ok(file_read_at(&f.file, &at, e->offset + 4 * (2 * 5 + 1), sizeof at));
    assert_true(at == t.a->branches[5].b[70 + 5]); /* lora_B[5][1] */
    tensor_file_close(&f);
    assert_int_equal(adapter_save(t.a, scratch_path(&t.scratch, "ad"), "x", false), ERR_EXISTS);
    assert_ok(adapter_save(t.a, scratch_path(&t.scratch, "ad"), "x", true));
    close_made(&t);
}

/* Of GPT-Neo's modules: ours, whose A is that of three of them, and PEFT's. */
static void adapters_of_neo_come_back(void **state)
{
    (void)state;
    static const struct {
        const char *targets, *listed;
    } rows[] = {{"c_attn", "\"q_proj\",\"k_proj\",\"v_proj\""},
                {"c_proj", "\"out_proj\",\"c_proj\""},
                {"attn.c_proj,mlp.c_fc", "\"out_proj\",\"c_fc\""}};
    struct scratch s;
    struct config c = tiny_config();
    c.type = MODEL_GPT_NEO;
    assert_ok(config_check(&c));
    scratch_open(&s);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct adapter *a = random_adapter(&c, rows[i].targets, 2, false), *b;
        struct buf text = {0};
        assert_ok(adapter_save(a, scratch_path(&s, "ad"), "random:gpt2", true));
        assert_ok(adapter_read(&b, scratch_path(&s, "ad"), &c));
        assert_int_equal(b->config.qkv, 0);
        assert_int_equal(b->n_branches, a->n_branches);
        assert_memory_equal(b->data, a->data, a->n * sizeof *a->data);
        assert_ok(file_read_all(&text, scratch_path(&s, "ad/adapter_config.json"), 4096));
        char *to = text.data; /* without spaces */
        for (const char *from = text.data; *from != '\0'; from++)
            if (strchr(" \n", *from) == NULL)
                *to++ = *from;
        *to = '\0';
        assert_non_null(strstr(text.data, rows[i].listed));
        assert_non_null(strstr(text.data, "\"fan_in_fan_out\":false"));
        buf_release(&text);
        adapter_free(a);
        adapter_free(b);
    }
    static const char *const peft[] = {"tests/golden/foreign/neo-adapter",
                                       "tests/golden/foreign/neo-adapter-all"};
    for (int i = 0; i < 2; i++) {
        struct adapter *a, *b;
        struct source base;
        assert_ok(source_open(&base, "tests/golden/tiny-neo-narrow", 0, true, NULL));
        assert_ok(adapter_read(&a, peft[i], &base.config));
        assert_int_equal(a->config.qkv, i == 0 ? 5 : 7);
        assert_int_equal(a->branches[0].rank, 3 * a->config.rank);
        assert_ok(adapter_save(a, scratch_path(&s, "again"), "x", true));
        assert_ok(adapter_read(&b, scratch_path(&s, "again"), &base.config));
        assert_int_equal(b->config.qkv, a->config.qkv);
        assert_int_equal(b->n, a->n);
        assert_memory_equal(b->data, a->data, a->n * sizeof *a->data);
        adapter_free(a);
        adapter_free(b);
        source_close(&base);
    }
    scratch_close(&s);
}

/* What goes wrong: a piece of adapter_config.json or of the tensors' header is another. */
struct wrong {
    const char *config, *instead;
    const char *header, *becomes; /* as long, or filled up with blanks */
    const char *sentence;
};
#define TENSOR "base_model.model.transformer.h.0.attn.c_attn.lora_A.weight"
static const struct wrong wrongs[] = {
    {"\"LORA\"", "\"IA3\"", NULL, NULL, "adapter_config.json: peft_type is IA3, only LORA is read"},
    {"\"LORA\"", "7", NULL, NULL, "adapter_config.json: peft_type is 7, must be a text"},
    {"\"r\": 2", "\"r\": 0", NULL, NULL,
     "adapter_config.json: r is 0, must be a whole number 1 to 4096"},
    {"\"r\": 2", "\"r\": 1000000000", NULL, NULL,
     "adapter_config.json: r is 1000000000, must be a whole number 1 to 4096"},
    {"\"r\": 2", "\"r\": 2.5", NULL, NULL, "adapter_config.json: r is 2.5, must be a whole number"},
    {"\"r\": 2,", "", NULL, NULL, "adapter_config.json: r, the adapter's rank, is missing"},
    {"\"r\": 2", "\"r\": 3", NULL, NULL,
     "tensor " TENSOR ": shape [2,36], expected [3,36], r being 3 and the model's matrix [36,108]"},
    {"\"lora_alpha\": 3", "\"lora_alpha\": \"x\"", NULL, NULL,
     "adapter_config.json: lora_alpha is \"x\", must be a number"},
    {"\"lora_dropout\": 0.0", "\"lora_dropout\": 1.0", NULL, NULL,
     "adapter_config.json: lora_dropout is 1.05"},
    {"\"c_attn\"", "\"c_atn\"", NULL, NULL,
     "adapter_config.json: target_modules has c_atn, which is not a matrix of the 3 layers: "
     "c_attn, "
     "c_proj, c_fc, attn.c_proj, mlp.c_proj and all-linear are possible"},
    {"\"c_attn\"", "\"lm_head\"", NULL, NULL, "target_modules has lm_head, which is not a matrix"},
    {"\"c_attn\"", "\"\\u001b[2J\"", NULL, NULL,
     "target_modules has \\x1b[2J, which is not a matrix"},
    {"\"c_attn\"", "17", NULL, NULL, "target_modules has 17, must be names"},
    {"\"target_modules\": [", "\"target_modules\": \".*attn\", \"was\": [", NULL, NULL,
     "target_modules is \".*attn\": only a list of names or all-linear is read"},
    {"\"target_modules\": [", "\"target_modules\": [], \"was\": [", NULL, NULL,
     "adapter_config.json: target_modules is empty"},
    {"\"target_modules\": [", "\"was\": [", NULL, NULL, "target_modules is missing"},
    {"\"bias\": \"none\"", "\"bias\": \"all\"", NULL, NULL, "bias is all, only none is read"},
    {"{", "{\"use_dora\": true,", NULL, NULL, "use_dora is true, which is not read"},
    {"{", "{\"rank_pattern\": {\"c_fc\": 4},", NULL, NULL,
     "rank_pattern is an object, which is not read"},
    {"{", "{\"modules_to_save\": [\"wte\"],", NULL, NULL,
     "modules_to_save is a list, which is not read"},
    {"{", "{\"layers_to_transform\": 1,", NULL, NULL, "layers_to_transform is 1"},
    {"\"init_lora_weights\": true", "\"init_lora_weights\": \"pissa_niter_4\"", NULL, NULL,
     "init_lora_weights is pissa: it is for a base whose own weights were changed"},
    {"\"use_rslora\": false", "\"use_rslora\": 1", NULL, NULL, "use_rslora is 1, must be true or"},
    {"{", "", NULL, NULL, "not JSON"},
    {",\n    \"c_fc\"", "", NULL, NULL,
     "tensor base_model.model.transformer.h.0.mlp.c_fc.lora_A.weight belongs to no matrix that "
     "target_modules names in this model"},
    {NULL, NULL, "[2,36]", "[36,2]", "tensor " TENSOR ": shape [36,2], expected [2,36]"},
    {NULL, NULL, "[2,36]", "[72]", "tensor " TENSOR ": shape [72], expected [2,36]"},
    {NULL, NULL, "h.0.attn.c_attn.lora_A", "h.9.attn.c_attn.lora_A",
     "tensor " TENSOR " is missing"},
    {NULL, NULL, "h.2.mlp.c_fc.lora_B", "h.2.mlp.c_fc.lora_C",
     "tensor base_model.model.transformer.h.2.mlp.c_fc.lora_B.weight is missing"},
    {NULL, NULL, "\"F32\"", "\"I32\"", "tensor " TENSOR " is I32, must be F32, F16 or BF16"},
    {NULL, NULL, "{\"__metadata__", "[\"__metadata__", "the header is wrong: not JSON"},
};

static void replace(const struct scratch *s, const char *file, const char *from, const char *to,
                    bool fill)
{
    struct buf b = {0};
    char out[20000];
    if (from == NULL)
        return;
    assert_ok(file_read_all(&b, scratch_path(s, file), sizeof out / 2));
    char *at = memmem(b.data, b.n, from, strlen(from));
    assert_non_null(at);
    size_t before = (size_t)(at - b.data), n = before;
    memcpy(out, b.data, before);
    memcpy(out + n, to, strlen(to));
    n += strlen(to);
    for (; fill && n < before + strlen(from); n++)
        out[n] = ' ';
    memcpy(out + n, at + strlen(from), b.n - before - strlen(from));
    scratch_write(s, file, out, n + b.n - before - strlen(from));
    buf_release(&b);
}

static void expect_refusal(const struct made *t, const struct config *c, const char *sentence)
{
    struct adapter *b = t->a;
    err_clear();
    assert_true(adapter_read(&b, scratch_path(&t->scratch, "ad"), c) < 0);
    assert_ptr_equal(b, t->a);
    const char *said = scratch_sentence(&t->scratch, err_text());
    if (strstr(said, sentence) == NULL ||
        strncmp(said, "cannot load the adapter DIR/ad: ", 32) != 0)
        fail_msg("\"%s\" instead of \"%s\"", said, sentence);
}

static void wrong_ones_are_refused(void **state)
{
    (void)state;
    struct made t;
    open_made(&t);
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        const struct wrong *w = &wrongs[i];
        assert_ok(adapter_save(t.a, scratch_path(&t.scratch, "ad"), "base", true));
        replace(&t.scratch, "ad/adapter_config.json", w->config, w->instead, false);
        replace(&t.scratch, "ad/adapter_model.safetensors", w->header, w->becomes, true);
        expect_refusal(&t, &t.c, w->sentence);
    }
    /* Another model: wider, or of fewer layers. */
    assert_ok(adapter_save(t.a, scratch_path(&t.scratch, "ad"), "base", true));
    struct config other = t.c;
    other.n_embd = 48;
    expect_refusal(&t, &other,
                   "tensor " TENSOR ": shape [2,36], expected [2,48], r being 2 and the model's "
                   "matrix [48,144]");
    other = t.c;
    other.n_layer = 2;
    expect_refusal(&t, &other,
                   "tensor base_model.model.transformer.h.2.attn.c_attn.lora_A.weight belongs to "
                   "no matrix");
    close_made(&t);
}

static void damaged_files_are_refused(void **state)
{
    (void)state;
    struct made t;
    struct buf b = {0};
    static const char model[] = "ad/adapter_model.safetensors", config[] = "ad/adapter_config.json";
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\n";
    open_made(&t);
    assert_ok(file_read_all(&b, scratch_path(&t.scratch, model), 1 << 20));
    scratch_write(&t.scratch, model, b.data, b.n - 4);
    expect_refusal(&t, &t.c, "data_offsets end at");
    scratch_write(&t.scratch, model, b.data, 7);
    expect_refusal(&t, &t.c, "the file has 7 bytes");
    scratch_write(&t.scratch, model, pointer, sizeof pointer - 1);
    expect_refusal(&t, &t.c, "git-lfs");
    const float nan = NAN;
    memcpy(b.data + b.n - 4, &nan, sizeof nan);
    scratch_write(&t.scratch, model, b.data, b.n);
    expect_refusal(
        &t, &t.c,
        "tensor base_model.model.transformer.h.2.mlp.c_fc.lora_B.weight has a value that "
        "is NaN or infinite");
    remove(scratch_path(&t.scratch, model));
    expect_refusal(&t, &t.c, "cannot open DIR/ad/adapter_model.safetensors");
    scratch_write(&t.scratch, config, "", 0);
    expect_refusal(&t, &t.c, "not JSON");
    remove(scratch_path(&t.scratch, config));
    expect_refusal(&t, &t.c, "cannot open DIR/ad/adapter_config.json");
    buf_release(&b);
    close_made(&t);
}

static int base_of(char **base, const char *path)
{
    struct adapter_folder f;
    int rc = adapter_open(&f, path, NULL);
    if (rc == 0)
        rc = adapter_base(base, &f, NULL);
    adapter_close(&f);
    return rc;
}

static void bases_are_found(void **state)
{
    (void)state;
    struct made t;
    struct source s;
    char *base = NULL;
    open_made(&t);
    const char *ad = scratch_path(&t.scratch, "ad");
    assert_ok(base_of(&base, ad));
    assert_string_equal(base, "random:gpt2");
    mem_free(base);
    assert_ok(adapter_save(t.a, scratch_path(&t.scratch, "ad"), "gpt2-nowhere", true));
    assert_int_equal(base_of(&base, scratch_path(&t.scratch, "ad")), ERR_MISSING);
    assert_non_null(strstr(err_text(), "is for the model gpt2-nowhere, which is not here"));
    assert_int_equal(source_open(&s, scratch_path(&t.scratch, "ad"), 0, true, NULL), ERR_MISSING);
    assert_fails(
        adapter_save(t.a, scratch_path(&t.scratch, "ad"), scratch_path(&t.scratch, "ad"), true),
        ERR_EXISTS, "is the base of the adapter");
    replace(&t.scratch, "ad/adapter_config.json", "gpt2-nowhere", scratch_path(&t.scratch, "ad"),
            false);
    assert_int_equal(base_of(&base, scratch_path(&t.scratch, "ad")), ERR_UNSUPPORTED);
    assert_non_null(strstr(err_text(), "is an adapter itself"));
    replace(&t.scratch, "ad/adapter_config.json", "\"base_model_name_or_path\"", "\"other\"",
            false);
    assert_int_equal(base_of(&base, scratch_path(&t.scratch, "ad")), ERR_MISSING);
    assert_non_null(strstr(err_text(), "names no base model"));
    close_made(&t);
}

static void every_failed_allocation_is_survived(void **state)
{
    (void)state;
    struct made t;
    struct model *m = NULL;
    const struct load_config c = {.dtype = DTYPE_F16, .seed = 1};
    uint64_t k = 0;
    int rc;
    open_made(&t);
    assert_ok(model_load(&m, "random:tests/cli/data/config.json", &c, NULL));
    struct adapter *a = random_adapter(&m->config, targets, 2, false);
    assert_ok(adapter_save(a, scratch_path(&t.scratch, "other"), m->source, false));
    adapter_free(a);
    model_free(m);
    m = NULL;
    const char *path = scratch_path(&t.scratch, "other");
    uint64_t before = mem_count();
    assert_ok(model_load(&m, path, &c, NULL));
    const uint64_t n_allocations = mem_count() - before;
    assert_true(m->adapter != NULL && m->adapter->on);
    model_free(m);
    for (k = 1; k <= n_allocations; k++) {
        mem_fail_at(k);
        rc = model_load(&m, path, &c, NULL);
        mem_fail_at(0);
        if (rc != ERR_NOMEM)
            fail_msg("allocation %d: %d: %s", (int)k, rc, err_text());
    }
    k = 0;
    a = random_adapter(&t.c, targets, 2, false);
    do {
        mem_fail_at(++k);
        rc = adapter_save(a, scratch_path(&t.scratch, "new"), "base", true);
        mem_fail_at(0);
        assert_true(rc == 0 || rc == ERR_NOMEM);
    } while (rc != 0);
    assert_true(k > 15);
    adapter_free(a);
    close_made(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_come_back),
        cmocka_unit_test(adapters_of_neo_come_back),
        cmocka_unit_test(wrong_ones_are_refused),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(bases_are_found),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
