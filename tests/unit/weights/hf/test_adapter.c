/* Adapters: in PEFT's files, refused when they are wrong, merged, switched on and off. */
#include "model/adapter_switch.h"
#include "model/base/err.h"
#include "model/base/par.h"
#include "tests/lib/normal.h"
#include "tests/lib/notes.h"
#include "tests/lib/scratch.h"
#include "tests/lib/tiny.h"
#include "train/step/weights.h"
#include "weights/hf/adapter_file.h"
#include "weights/load.h"
#include "weights/adapter_base.h"
#include "weights/hf/safetensors.h"
#include "weights/open.h"

#include <math.h>

static char targets[] = "c_attn,c_fc", some[] = "mlp.c_proj,h.1.attn.c_attn", all[] = "all-linear";

struct made {
    struct scratch scratch;
    struct config c;
    struct adapter *a;
};

static struct adapter *random_adapter(const struct config *c, char *names, int rank, bool rslora)
{
    struct adapter *a;
    const struct adapter_config k = {
        .rank = rank, .alpha = 3, .dropout = 0.05f, .rslora = rslora, .targets = names};
    assert_ok(adapter_new(&a, &k, c));
    for (size_t i = 0; i < a->n; i++)
        a->data[i] = 0.1f * normal_number(4, 2, i);
    return a;
}

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

/* ---- which matrices ---- */

static void targets_match_as_pefts(void **state)
{
    (void)state;
    static const struct {
        const char *targets;
        int n; /* of 3 layers with 4 matrices each */
    } cases[] = {{"c_attn", 3},        {"c_proj", 6},
                 {"attn.c_proj", 3},   {"c_attn,c_proj,c_fc", 12},
                 {"all-linear", 12},   {"c_attn, c_attn", 3},
                 {"h.1.mlp.c_fc", 1},  {"transformer.h.2.attn.c_proj", 1},
                 {"1.attn.c_attn", 1}, {"c_fc,h.0.mlp.c_fc", 3}};
    struct config c = tiny_config();
    assert_ok(config_check(&c));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        struct adapter *a;
        size_t n;
        snprintf(text, sizeof text, "%s", cases[i].targets);
        const struct adapter_config k = {.rank = 2, .alpha = 1, .targets = text};
        assert_ok(adapter_count(&n, &k, &c));
        assert_ok(adapter_new(&a, &k, &c));
        assert_int_equal(a->n_branches, cases[i].n);
        assert_int_equal(a->n, n);
        adapter_free(a);
    }
}

/* ---- files ---- */

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
    assert_ok(safetensors_open(&f, scratch_path(&t.scratch, "ad/adapter_model.safetensors")));
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
     "adapter_config.json: target_modules has c_atn, which is no matrix of the 3 layers: c_attn, "
     "c_proj, c_fc, attn.c_proj, mlp.c_proj and all-linear are possible"},
    {"\"c_attn\"", "\"lm_head\"", NULL, NULL, "target_modules has lm_head, which is no matrix"},
    {"\"c_attn\"", "\"\\u001b[2J\"", NULL, NULL, "target_modules has \\x1b[2J, which is no matrix"},
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
        "is no number");
    remove(scratch_path(&t.scratch, model));
    expect_refusal(&t, &t.c, "cannot open DIR/ad/adapter_model.safetensors");
    scratch_write(&t.scratch, config, "", 0);
    expect_refusal(&t, &t.c, "not JSON");
    remove(scratch_path(&t.scratch, config));
    expect_refusal(&t, &t.c, "cannot open DIR/ad/adapter_config.json");
    buf_release(&b);
    close_made(&t);
}

static void bases_are_found(void **state)
{
    (void)state;
    struct made t;
    struct source s;
    char *base = NULL;
    open_made(&t);
    const char *ad = scratch_path(&t.scratch, "ad");
    assert_ok(adapter_base(&base, ad));
    assert_string_equal(base, "random:gpt2");
    mem_free(base);
    assert_ok(adapter_save(t.a, scratch_path(&t.scratch, "ad"), "gpt2-nowhere", true));
    assert_int_equal(adapter_base(&base, scratch_path(&t.scratch, "ad")), ERR_MISSING);
    assert_non_null(strstr(err_text(), "is for the model gpt2-nowhere, which is not here"));
    assert_int_equal(source_open(&s, scratch_path(&t.scratch, "ad"), 0, true, NULL), ERR_MISSING);
    assert_ok(
        adapter_save(t.a, scratch_path(&t.scratch, "ad"), scratch_path(&t.scratch, "ad"), true));
    assert_int_equal(adapter_base(&base, scratch_path(&t.scratch, "ad")), ERR_UNSUPPORTED);
    assert_non_null(strstr(err_text(), "is an adapter itself"));
    replace(&t.scratch, "ad/adapter_config.json", "\"base_model_name_or_path\"", "\"other\"",
            false);
    assert_int_equal(adapter_base(&base, scratch_path(&t.scratch, "ad")), ERR_MISSING);
    assert_non_null(strstr(err_text(), "names no base model"));
    close_made(&t);
}

/* ---- merged ---- */

static void sums_are_right_in_any_parts(void **state)
{
    (void)state;
    struct config c = tiny_config();
    struct adapter *a = random_adapter(&c, all, 5, true);
    for (int i = 0; i < a->n_branches; i++) {
        const struct low_rank *t = &a->branches[i];
        size_t K = (size_t)t->K, N = (size_t)t->N, n = K * N;
        float *whole = mem_array(n, sizeof *whole), *turned = mem_array(n, sizeof *turned),
              *parts = mem_array(n, sizeof *parts);
        assert_true(whole != NULL && turned != NULL && parts != NULL);
        adapter_add(t, whole, false, 0, n);
        adapter_add(t, turned, true, 0, n);
        for (size_t at = 0, run = 1; at < n; at += run, run = run * 3 % 101 + 1)
            adapter_add(t, parts + at, false, at, run < n - at ? run : n - at);
        assert_memory_equal(whole, parts, n * sizeof *whole);
        for (size_t k = 0; k < K; k++)
            for (size_t j = 0; j < N; j++) {
                double sum = 0;
                for (size_t r = 0; r < 5; r++)
                    sum += (double)t->a[r * K + k] * (double)t->b[r * N + j];
                assert_true(fabs(sum * 3 / sqrt(5) - (double)whole[k * N + j]) < 1e-6);
                assert_memory_equal(&whole[k * N + j], &turned[j * K + k], sizeof *whole);
            }
        mem_free(whole);
        mem_free(turned);
        mem_free(parts);
    }
    adapter_free(a);
}

static void expect_hash(const struct model *m, const unsigned char hash[32], bool same)
{
    unsigned char now[32];
    params_hash(&m->params, now);
    assert_int_equal(memcmp(now, hash, sizeof now) == 0, same);
}

static void switching_is_exact(void **state)
{
    (void)state;
    const enum dtype kinds[] = {DTYPE_F16, DTYPE_F32};
    for (int threads = 1; threads <= 3; threads++)
        for (size_t i = 0; i < 2; i++) {
            struct config c = tiny_config();
            struct model m;
            unsigned char off[32], on[32];
            assert_ok(par_open(threads, false));
            tiny_init(&m, &c, kinds[i], 1);
            char name[] = "tiny";
            m.name = name;
            params_hash(&m.params, off);
            struct adapter *a = random_adapter(&m.config, some, 3, false);
            assert_ok(adapter_load(a, &m, NULL));
            assert_true(m.adapter == a && a->on && m.version > 1 && !m.changed);
            params_hash(&m.params, on);
            expect_hash(&m, off, false);
            uint64_t version = m.version;
            adapter_switch(&m, true);
            assert_int_equal(m.version, version);
            for (int k = 0; k < 2; k++) {
                adapter_switch(&m, false);
                expect_hash(&m, off, true);
                adapter_switch(&m, true);
                expect_hash(&m, on, true);
            }
            assert_true(m.version > version);
            /* Another in its place is beside the model's own weights, not beside the first. */
            struct adapter *same = random_adapter(&m.config, some, 3, false);
            assert_ok(adapter_load(same, &m, NULL));
            expect_hash(&m, on, true);
            adapter_drop(&m);
            expect_hash(&m, off, true);
            assert_null(m.adapter);
            same = random_adapter(&m.config, some, 3, false);
            assert_ok(adapter_load(same, &m, NULL));
            adapter_switch(&m, false);
            adapter_merge(&m);
            expect_hash(&m, on, true);
            assert_true(m.changed && m.adapter == NULL);
            tiny_release(&m);
        }
    par_close();
}

/* One that makes a finite weight too great for fp16 is not said to be spoilt. */
static void weights_beyond_fp16_are_named(void **state)
{
    (void)state;
    static const char *const expected[] = {
        [DTYPE_F16] = "with the adapter 1 weights of h.0.attn.c_attn are NaN or infinite (or "
                      "beyond fp16's 65504; --dtype fp32 keeps those): what the model says may "
                      "be nonsense",
        [DTYPE_F32] = ""};
    for (enum dtype kind = DTYPE_F32; kind <= DTYPE_F16; kind++) {
        struct config c = tiny_config();
        struct model m;
        char name[] = "tiny";
        struct notes notes = {0};
        const struct progress p = {.note = notes_take, .user = &notes};
        tiny_init(&m, &c, kind, 1);
        m.name = name;
        struct adapter *a = random_adapter(&m.config, targets, 2, false);
        memset(a->data, 0, a->n * sizeof *a->data);
        a->branches[0].a[5] = 1e5f;
        a->branches[0].b[3] = 1;
        assert_ok(adapter_load(a, &m, &p));
        assert_string_equal(notes.last, expected[kind]);
        adapter_drop(&m);
        tiny_release(&m);
    }
}

/* What training shows is what its file is when it is loaded, in float16 too. */
static void published_as_loaded(void **state)
{
    (void)state;
    const enum dtype dtypes[] = {DTYPE_F32, DTYPE_F16};
    for (size_t i = 0; i < 2; i++) {
        struct config c = tiny_config();
        struct model m, other;
        struct weights w;
        unsigned char off[32], on[32];
        char name[] = "tiny";
        tiny_init(&m, &c, DTYPE_F16, 1);
        tiny_init(&other, &c, DTYPE_F16, 1);
        m.name = other.name = name;
        params_hash(&m.params, off);
        assert_ok(weights_init(&w, &m, dtypes[i], NULL));
        struct adapter *learning = random_adapter(&m.config, targets, 2, false),
                       *shown = random_adapter(&m.config, targets, 2, false),
                       *loaded = random_adapter(&m.config, targets, 2, false);
        weights_freeze(&w, learning);
        assert_ok(adapter_reserve(shown, &m));
        learning->data[0] = 9; /* a state before */
        weights_publish_adapter(&w, shown, &m);
        learning->data[0] = loaded->data[0];
        adapter_switch(&m, i == 0); /* on or off: it is on afterwards */
        weights_publish_adapter(&w, shown, &m);
        assert_true(shown->on && m.adapter == shown && shown->changed && !m.changed);
        params_hash(&m.params, on);
        assert_ok(adapter_load(loaded, &other, NULL));
        expect_hash(&other, on, true);
        adapter_switch(&m, false);
        expect_hash(&m, off, true);
        weights_release(&w);
        adapter_free(learning);
        adapter_drop(&m);
        adapter_drop(&other);
        tiny_release(&m);
        tiny_release(&other);
    }
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
    par_threads();
    do {
        mem_fail_at(++k);
        rc = model_load(&m, path, &c, NULL);
        mem_fail_at(0);
        if (rc != 0 && rc != ERR_NOMEM)
            fail_msg("allocation %d: %s", (int)k, err_text());
    } while (rc != 0);
    assert_true(k > 60);
    assert_true(m->adapter != NULL && m->adapter->on);
    model_free(m);
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
        cmocka_unit_test(targets_match_as_pefts),
        cmocka_unit_test(files_come_back),
        cmocka_unit_test(wrong_ones_are_refused),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(bases_are_found),
        cmocka_unit_test(sums_are_right_in_any_parts),
        cmocka_unit_test(switching_is_exact),
        cmocka_unit_test(weights_beyond_fp16_are_named),
        cmocka_unit_test(published_as_loaded),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
