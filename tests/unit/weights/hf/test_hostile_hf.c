/* Hugging Face folders that are not what they should be: a bad file a line, and the
 * sentence it must give ("DIR" is the folder). */
#include "model/base/par.h"
#include "tests/lib/hf_folder.h"
#include "weights/load.h"

#include <math.h>
#include <sys/stat.h>

enum { NOTES = 1024 };

static void take_note(void *user, const char *text)
{
    char *notes = user;
    size_t n = strlen(notes);
    snprintf(notes + n, NOTES - n, "%s%s", n > 0 ? " | " : "", text);
}

/* Loads DIR/name; notes may be NULL. */
static int load(const struct scratch *s, const char *name, char *notes)
{
    struct model *m = NULL;
    struct load_config c = {.dtype = DTYPE_F16};
    struct progress p = {.note = take_note, .user = notes};
    const char *path = name[0] == '\0' ? s->folder : scratch_path(s, name);
    err_clear();
    int rc = model_load(&m, path, &c, notes == NULL ? NULL : &p);
    model_free(m);
    return rc;
}

static int n_wrong;

/* All rows are tried before the test fails. */
static void expect(const char *row, const struct scratch *s, int rc, const char *sentence)
{
    const char *said = rc == 0 ? "(loaded)" : scratch_sentence(s, err_text());
    if (strcmp(said, sentence) == 0)
        return;
    print_message("# %s:\n#   said     %s\n#   expected %s\n", row, said, sentence);
    n_wrong++;
}

static void all_expected(void)
{
    int n = n_wrong;
    n_wrong = 0;
    if (n > 0)
        fail_msg("%d sentences differ", n);
}

/* ---- the whole file ---- */

#define BYTES(text) text, sizeof text - 1
#define ST "cannot load DIR/model.safetensors: "

static void files_that_are_none(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *sentence;
    } rows[] = {
        {BYTES(""), ST "the file is empty"},
        {BYTES("1234567"), ST "the file has 7 bytes, a safetensors file at least 8"},
        {BYTES("\0\0\0\0\0\0\0\0"), ST "the header's length is 0"},
        {BYTES("\x40\0\0\0\0\0\0\0{}"),
         ST "the header's length is 64 bytes, the file has 2 after it"},
        {BYTES("\0\0\0\0\0\0\0\x80{}"),
         ST "the header's length is 9223372036854775808 bytes, at most 8388608 are read"},
        {BYTES("\x01\xe1\xf5\x05\0\0\0\0{}"),
         ST "the header's length is 100000001 bytes, at most 8388608 are read"},
        {BYTES("\xff\xff\xff\xff\xff\xff\xff\xff{}"),
         ST "the header's length is 18446744073709551615 bytes, at most 8388608 are read"},
        {BYTES("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 548105171\n"),
         ST "the file is a git-lfs pointer, not what it points to; `git lfs pull` fetches that"},
        {BYTES("\n<!DOCTYPE html><html>"), ST "the file is an HTML page; download it again"},
        {BYTES("<html><body>Entry not found"), ST "the file is an HTML page; download it again"},
        {BYTES("\x1f\x8b\x08\0\0\0\0\0\0\0"),
         ST "the file is compressed with gzip; unpack it with gunzip"},
        {BYTES("\x7f"
               "ELF\x02\x01\x01"),
         ST "the file is a program, not a model"},
        {BYTES("\x89PNG\r\n\x1a\n"), ST "the file is a picture, not a model"},
        {BYTES("\xff\xd8\xff\xe0"), ST "the file is a picture, not a model"},
        {BYTES("%PDF-1.7\n"), ST "the file is a PDF document, not a model"},
    };
    struct scratch s;
    scratch_open(&s);
    hf_write_text(&s, "config.json", HF_CONFIG);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        scratch_write(&s, "model.safetensors", rows[i].bytes, rows[i].n);
        expect("file", &s, load(&s, "", NULL), rows[i].sentence);
        expect("file by name", &s, load(&s, "model.safetensors", NULL), rows[i].sentence);
    }
    scratch_close(&s);
    all_expected();
}

/* ---- the header ---- */

#define ONE(dtype, shape, ends)                                                                    \
    "{\"a\": {\"dtype\": " dtype ", \"shape\": " shape ", \"data_offsets\": " ends "}}"
#define TWO(first, second)                                                                         \
    "{\"a\": {\"dtype\": \"F16\", \"shape\": [4], \"data_offsets\": " first "}, "                  \
    "\"b\": {\"dtype\": \"F16\", \"shape\": [4], \"data_offsets\": " second "}}"

static const struct {
    const char *header;
    size_t n_data;
    const char *sentence;
} bad_headers[] = {
    {"[]", 0, ST "the header is no JSON object"},
    {"7", 0, ST "the header is no JSON object"},
    {"{", 0, ST "the header is wrong: not JSON: line 1: string or '}' expected near end of file"},
    {"{\"\xff\": 1}", 0,
     ST "the header is wrong: not JSON: line 1: unable to decode byte 0xff near '\"'"},
    {"{\"a\": 1, \"a\": 2}", 0,
     ST "the header is wrong: not JSON: line 1: duplicate object key near '\"a\"'"},
    {"{\"__metadata__\": 3}", 0, ST "__metadata__ is not an object"},
    {"{\"__metadata__\": {\"format\": 3}}", 0, ST "format is 3, must be a text"},
    {"{\"a\": 3}", 0, ST "tensor a: the header has no object for it"},
    {"{\"a\": {}}", 0,
     ST "tensor a: dtype is missing, must be a type of safetensors, as F32, F16 or BF16"},
    {ONE("\"F17\"", "[4]", "[0,8]"), 8,
     ST "tensor a: dtype is \"F17\", must be a type of safetensors, as F32, F16 or BF16"},
    {ONE("16", "[4]", "[0,8]"), 8,
     ST "tensor a: dtype is 16, must be a type of safetensors, as F32, F16 or BF16"},
    {"{\"a\": {\"dtype\": \"F16\", \"data_offsets\": [0,8]}}", 8,
     ST "tensor a: shape is missing, must be a list"},
    {ONE("\"F16\"", "4", "[0,8]"), 8, ST "tensor a: shape is 4, must be a list"},
    {ONE("\"F16\"", "[1e3]", "[0,8]"), 8,
     ST "tensor a: shape has 1000.0, must be whole numbers from 0 on"},
    {ONE("\"F16\"", "[4.0]", "[0,8]"), 8,
     ST "tensor a: shape has 4.0, must be whole numbers from 0 on"},
    {ONE("\"F16\"", "[-1]", "[0,8]"), 8,
     ST "tensor a: shape has -1, must be whole numbers from 0 on"},
    {ONE("\"F16\"", "[18446744073709551616]", "[0,8]"), 8,
     ST "the header is wrong: not JSON: line 1: too big integer near '18446744073709551616'"},
    {ONE("\"F16\"", "[\"4\"]", "[0,8]"), 8,
     ST "tensor a: shape has \"4\", must be whole numbers from 0 on"},
    {ONE("\"F16\"", "[1,1,1,1,1,1,1,1,4]", "[0,8]"), 8,
     ST "tensor a: shape has 9 numbers, at most 8 are possible"},
    {ONE("\"F16\"", "[4294967296,4294967296]", "[0,8]"), 8,
     ST "tensor a: shape [4294967296,4294967296] of F16 is not a number of bytes below 2^61"},
    {ONE("\"F4\"", "[3]", "[0,1]"), 1,
     ST "tensor a: shape [3] of F4 is not a number of bytes below 2^61"},
    {ONE("\"F16\"", "[5]", "[0,8]"), 8,
     ST "tensor a: shape [5] of F16 needs 10 bytes, data_offsets give it 8"},
    {ONE("\"F16\"", "[4]", "[0]"), 8, ST "tensor a: data_offsets has 1 numbers, must have 2"},
    {ONE("\"F16\"", "[4]", "[0,4,8]"), 8,
     ST "tensor a: data_offsets has 3 numbers, at most 2 are possible"},
    {ONE("\"F16\"", "[4]", "[8,0]"), 8, ST "tensor a: data_offsets run backwards, from 8 to 0"},
    {ONE("\"F16\"", "[4]", "[0,8]"), 7,
     ST "tensor a: data_offsets end at 8, the file has 7 bytes of data"},
    {ONE("\"F16\"", "[4]", "[9223372036854775800,9223372036854775807]"), 8,
     ST "tensor a: data_offsets end at 9223372036854775807, the file has 8 bytes of data"},
    {ONE("\"F16\"", "[4]", "[0,8]"), 9, ST "the tensors end at byte 76, the file has 77"},
    {TWO("[0,8]", "[4,12]"), 12,
     ST "tensor b: data_offsets begin at 4, within another tensor that ends at 8"},
    {TWO("[0,8]", "[0,8]"), 8,
     ST "tensor b: data_offsets begin at 0, within another tensor that ends at 8"},
    {TWO("[0,8]", "[10,18]"), 18, ST "tensor b: data_offsets begin at 10, after a gap from 8"},
    {TWO("[9,17]", "[0,8]"), 17, ST "tensor a: data_offsets begin at 9, after a gap from 8"},
    {"{\"\\u001b[31m\": {}}", 0,
     ST "tensor \\x1b[31m: dtype is missing, must be a type of safetensors, as F32, F16 or "
        "BF16"},
    /* Right as far as they go: no tensors, an empty one, a single number. */
    {"{}", 0, ST "config.json says n_layer 1, the weights are 0 tensors"},
    {ONE("\"F16\"", "[0,7]", "[0,0]"), 0, ST "tensor wte.weight is missing"},
    {ONE("\"F64\"", "[]", "[0,8]"), 8, ST "tensor wte.weight is missing"},
    {TWO("[8,16]", "[0,8]"), 16, ST "tensor wte.weight is missing"},
};

static void headers_that_lie(void **state)
{
    (void)state;
    static const char data[64];
    struct scratch s;
    scratch_open(&s);
    hf_write_text(&s, "config.json", HF_CONFIG);
    for (size_t i = 0; i < sizeof bad_headers / sizeof *bad_headers; i++) {
        hf_write_raw(&s, "model.safetensors", bad_headers[i].header, data, bad_headers[i].n_data);
        expect(bad_headers[i].header, &s, load(&s, "", NULL), bad_headers[i].sentence);
    }
    enum { DEEP = 100000 };
    char *deep = mem_alloc(DEEP + 1);
    memset(deep, '[', DEEP);
    hf_write_raw(&s, "model.safetensors", deep, NULL, 0);
    expect("deep", &s, load(&s, "", NULL),
           ST "the header is wrong: not JSON: line 1: maximum parsing depth reached near '['");
    mem_free(deep);
    scratch_close(&s);
    all_expected();
}

/* ---- config.json ---- */

#define CF "cannot load DIR/config.json: "

static const struct {
    const char *config, *sentence;
} bad_configurations[] = {
    {"", CF "the file is empty"},
    {"[1]", CF "the file holds a list, must be an object of a model's settings"},
    {"{\"model_type\": \"llama\"}", CF "model_type is \"llama\", must be \"gpt2\" or \"gpt_neo\""},
    {"{\"model_type\": 2}", CF "model_type is 2, must be a text"},
    {"{\"n_layer\": 1, \"n_layer\": 2}",
     CF "not JSON: line 1: duplicate object key near '\"n_layer\"'"},
    {"{\"n_layer\": 1e3}", CF "n_layer is 1000.0, must be a whole number 1 to 2147483647"},
    {"{\"n_layer\": 12.0}", CF "n_layer is 12.0, must be a whole number 1 to 2147483647"},
    {"{\"n_layer\": \"12\"}", CF "n_layer is \"12\", must be a whole number 1 to 2147483647"},
    {"{\"n_layer\": 0}", CF "n_layer is 0, must be a whole number 1 to 2147483647"},
    {"{\"n_layer\": 1000000000}", CF "n_layer is 1000000000, must be 1 to 4096"},
    {"{\"n_layer\": 18446744073709551616}",
     CF "n_layer is \"18446744073709551616\", must be a whole number 1 to 2147483647"},
    {"{\"n_positions\": 0}", CF "n_positions is 0, must be a whole number 1 to 2147483647"},
    {"{\"n_positions\": 2147483647}", CF "n_positions is 2147483647, must be 1 to 16777216"},
    {"{\"vocab_size\": -1}", CF "vocab_size is -1, must be a whole number 1 to 2147483647"},
    {"{\"n_inner\": -4}", CF "n_inner is -4, must be a whole number 0 to 2147483647"},
    {"{\"n_head\": 7}", CF "n_head 7 does not divide n_embd 768"},
    {"{\"n_head\": 0}", CF "n_head is 0, must be a whole number 1 to 2147483647"},
    {"{\"n_head\": 1000}", CF "n_head is 1000, must be 1 to 768"},
    {"{\"activation_function\": \"mish\"}",
     CF "activation_function is \"mish\", must be gelu_new, gelu_pytorch_tanh, gelu_fast, "
        "gelu_accurate, gelu_python_tanh, gelu, gelu_python, relu, silu, swish, quick_gelu or "
        "tanh"},
    {"{\"activation_function\": true}", CF "activation_function is true, must be a text"},
    {"{\"layer_norm_epsilon\": 0}", CF "layer_norm_epsilon is 0, must be positive and finite"},
    {"{\"layer_norm_epsilon\": -1e-5}", CF "layer_norm_epsilon is -1e-5, must be a number 0 to 1"},
    {"{\"tie_word_embeddings\": 1}", CF "tie_word_embeddings is 1, must be true or false"},
    {"{\"scale_attn_weights\": \"yes\"}",
     CF "scale_attn_weights is \"yes\", must be true or false"},
    {"{\"add_cross_attention\": true}",
     CF "add_cross_attention is true, must be false: a GPT-2 with an encoder is not read"},
    {"{\"eos_token_id\": []}",
     CF "eos_token_id is a list, must be a whole number -1 to 2147483647"},
    {"{\"eos_token_id\": -2}", CF "eos_token_id is -2, must be a whole number -1 to 2147483647"},
    {"{\"attn_pdrop\": 2}", CF "attn_pdrop is 2, must be a number 0 to 1"},
    /* At odds with the tensors. */
    {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 665\n",
     CF "the file is a git-lfs pointer, not what it points to; `git lfs pull` fetches that"},
    {"<!doctype html><html>Entry not found", CF "the file is an HTML page; download it again"},
    {HF_CONFIG_WITH(", \"n_embd\": 8"),
     CF "not JSON: line 1: duplicate object key near '\"n_embd\"'"},
    {"{\"n_layer\": 1, \"n_head\": 2, \"n_embd\": 8, \"n_positions\": 3, \"vocab_size\": 5}",
     ST "tensor wte.weight: shape [5,4], expected [5,8]"},
    {"{\"n_layer\": 1, \"n_head\": 2, \"n_embd\": 4, \"n_positions\": 3, \"vocab_size\": 5}",
     ST "tensor h.0.mlp.c_fc.weight: shape [4,6], expected [4,16]"},
    {"{\"n_layer\": 2, \"n_head\": 2, \"n_embd\": 4, \"n_positions\": 3, \"vocab_size\": 5,"
     " \"n_inner\": 6}",
     ST "tensor h.1.ln_1.weight is missing"},
    {"{\"n_layer\": 4000, \"n_head\": 2, \"n_embd\": 4, \"n_positions\": 3, \"vocab_size\": 5}",
     ST "config.json says n_layer 4000, the weights are 16 tensors"},
    {HF_CONFIG_WITH(", \"tie_word_embeddings\": false"),
     ST "tensor lm_head.weight is missing, and config.json says tie_word_embeddings false"},
};

static void configurations_that_cannot_be(void **state)
{
    (void)state;
    struct scratch s;
    scratch_open(&s);
    hf_write_folder(&s, "F16");
    for (size_t i = 0; i < sizeof bad_configurations / sizeof *bad_configurations; i++) {
        hf_write_text(&s, "config.json", bad_configurations[i].config);
        expect(bad_configurations[i].config, &s, load(&s, "", NULL),
               bad_configurations[i].sentence);
    }
    assert_int_equal(unlink(scratch_path(&s, "config.json")), 0);
    expect("no config.json", &s, load(&s, "", NULL),
           "cannot open DIR/config.json: No such file or directory; it says the shape of the "
           "model");
    scratch_close(&s);
    all_expected();
}

/* ---- the tensors ---- */

/* A change to the right list: another name, type or shape; to "" drops the tensor; from
 * "" adds one. */
struct edit {
    const char *from, *to, *dtype;
    int rank;
    uint64_t a, b;
};

static void apply(struct hf_tensors *l, const struct edit *e)
{
    if (e->from == NULL)
        return;
    if (e->from[0] == '\0') {
        hf_add(l, e->to, e->dtype, e->rank, e->a, e->b);
        return;
    }
    struct hf_tensor *t = hf_find(l, e->from);
    if (e->to != NULL && e->to[0] == '\0') {
        *t = l->all[--l->n];
        return;
    }
    if (e->to != NULL)
        snprintf(t->name, sizeof t->name, "%s", e->to);
    if (e->dtype != NULL)
        snprintf(t->dtype, sizeof t->dtype, "%s", e->dtype);
    if (e->rank > 0) {
        t->rank = e->rank;
        t->shape[0] = e->a;
        t->shape[1] = e->b;
    }
}

static const struct {
    struct edit edits[2];
    const char *config; /* NULL: HF_CONFIG */
    const char *sentence, *notes;
} tensor_lists[] = {
    {{{"wte.weight", "", NULL, 0, 0, 0}}, NULL, ST "tensor wte.weight is missing", ""},
    {{{"h.0.ln_2.bias", "h.0.ln_2.beta", NULL, 0, 0, 0}},
     NULL,
     ST "tensor h.0.ln_2.bias is missing",
     ""},
    {{{"wte.weight", NULL, NULL, 2, 5, 3}},
     NULL,
     ST "tensor wte.weight: shape [5,3], expected [5,4]",
     ""},
    {{{"wpe.weight", NULL, NULL, 1, 12, 0}},
     NULL,
     ST "tensor wpe.weight: shape [12], expected [3,4]",
     ""},
    {{{"ln_f.bias", NULL, NULL, 2, 1, 4}},
     NULL,
     ST "tensor ln_f.bias: shape [1,4], expected [4]",
     ""},
    {{{"h.0.attn.c_attn.weight", NULL, NULL, 2, 12, 4}},
     NULL,
     ST "tensor h.0.attn.c_attn.weight: shape [12,4], expected [4,12]: it is transposed, "
        "GPT-2 keeps its matrices [in,out]",
     ""},
    {{{"h.0.attn.c_attn.weight", NULL, NULL, 2, 4, 11}},
     NULL,
     ST "tensor h.0.attn.c_attn.weight: shape [4,11], expected [4,12]",
     ""},
    {{{"wpe.weight", NULL, "I32", 0, 0, 0}},
     NULL,
     ST "tensor wpe.weight is I32, must be F32, F16 or BF16",
     ""},
    {{{"", "transformer.wte.weight", "F16", 2, 5, 4}},
     NULL,
     ST "tensor wte.weight is there twice, with and without \"transformer.\"",
     ""},
    {{{"", "lm_head.weight", "F16", 2, 5, 3}},
     HF_CONFIG_WITH(", \"tie_word_embeddings\": false"),
     ST "tensor lm_head.weight: shape [5,3], expected [5,4]",
     ""},
    /* Legal, in silence: mixed types, mask buffers. */
    {{{"wte.weight", NULL, "F32", 0, 0, 0}, {"wpe.weight", NULL, "BF16", 0, 0, 0}},
     NULL,
     "(loaded)",
     ""},
    {{{"", "h.0.attn.bias", "BOOL", 2, 3, 3}, {"", "h.0.attn.masked_bias", "F32", 0, 0, 0}},
     NULL,
     "(loaded)",
     ""},
    {{{"", "lm_head.weight", "F16", 2, 5, 4}},
     HF_CONFIG_WITH(", \"tie_word_embeddings\": false"),
     "(loaded)",
     ""},
    /* Legal, with a note. */
    {{{"", "lm_head.weight", "F16", 2, 5, 4}},
     NULL,
     "(loaded)",
     "lm_head.weight differs from wte.weight though config.json ties them: wte.weight is used "
     "for both"},
    {{{"", "h.1.ln_1.weight", "F16", 1, 4, 0}},
     NULL,
     "(loaded)",
     "1 tensor is no part of a GPT-2 with 1 layer and left out: h.1.ln_1.weight"},
    {{{"", "score.weight", "F16", 1, 4, 0}, {"", "a\\u001b[2J", "F16", 1, 4, 0}},
     NULL,
     "(loaded)",
     "2 tensors are no part of a GPT-2 with 1 layer and left out: a\\x1b[2J, ..."},
};

static void tensors_that_do_not_fit(void **state)
{
    (void)state;
    struct scratch s;
    scratch_open(&s);
    for (size_t i = 0; i < sizeof tensor_lists / sizeof *tensor_lists; i++) {
        struct hf_tensors l;
        hf_list(&l, "F16");
        apply(&l, &tensor_lists[i].edits[0]);
        apply(&l, &tensor_lists[i].edits[1]);
        hf_write_text(&s, "config.json",
                      tensor_lists[i].config == NULL ? HF_CONFIG : tensor_lists[i].config);
        hf_write(&s, "model.safetensors", &l, 0, l.n);
        char notes[NOTES] = "", row[20];
        snprintf(row, sizeof row, "row %zu", i);
        expect(row, &s, load(&s, "", notes), tensor_lists[i].sentence);
        if (strcmp(notes, tensor_lists[i].notes) != 0) {
            print_message("# %s: noted \"%s\", expected \"%s\"\n", row, notes,
                          tensor_lists[i].notes);
            n_wrong++;
        }
    }
    scratch_close(&s);
    all_expected();
}

/* ---- shards ---- */

#define IX "cannot load DIR/model.safetensors.index.json: "

static const struct {
    const char *index, *sentence;
} bad_indexes[] = {
    {"{}", IX "weight_map is missing: it says which file has which tensor"},
    {"{\"weight_map\": []}", IX "weight_map is missing: it says which file has which tensor"},
    {"{\"weight_map\": {}}", IX "weight_map is missing: it says which file has which tensor"},
    {"{\"weight_map\": {\"a\": 3}}", IX "the shard of tensor a is 3, must be a file name"},
    {"{\"weight_map\": {\"a\": \"\"}}",
     IX "the shard of tensor a is \"\", must be a file in the index's folder"},
    {"{\"weight_map\": {\"a\": \"../a.safetensors\"}}",
     IX "the shard of tensor a is \"../a.safetensors\", must be a file in the index's folder"},
    {"{\"weight_map\": {\"a\": \"/etc/passwd\"}}",
     IX "the shard of tensor a is \"/etc/passwd\", must be a file in the index's folder"},
    {"{\"weight_map\": {\"a\": \"..\"}}",
     IX "the shard of tensor a is \"..\", must be a file in the index's folder"},
    {"{\"weight_map\": {\"a\": \"none.safetensors\"}}",
     "cannot open DIR/none.safetensors: No such file or directory"},
    {"{\"weight_map\": {\"a\": \"1.safetensors\"}}",
     "cannot load DIR/1.safetensors: tensor h.0.mlp.c_fc.weight is missing"},
    {"{\"weight_map\": {\"a\": \"1.safetensors\", \"b\": \"1.safetensors\","
     " \"c\": \"twice.safetensors\"}}",
     "cannot load DIR: tensor h.0.attn.c_attn.bias is there twice, in two shards"},
    {"{\"weight_map\": {\"a\": \"1.safetensors\", \"b\": \"2.safetensors\"}}", "(loaded)"},
};

static void indexes_that_lead_astray(void **state)
{
    (void)state;
    struct scratch s;
    struct hf_tensors l;
    scratch_open(&s);
    hf_list(&l, "F16");
    hf_write_text(&s, "config.json", HF_CONFIG);
    hf_write(&s, "1.safetensors", &l, 0, 10);
    hf_write(&s, "2.safetensors", &l, 10, l.n - 10);
    hf_write(&s, "twice.safetensors", &l, 0, l.n);
    for (size_t i = 0; i < sizeof bad_indexes / sizeof *bad_indexes; i++) {
        hf_write_text(&s, "model.safetensors.index.json", bad_indexes[i].index);
        expect(bad_indexes[i].index, &s, load(&s, "", NULL), bad_indexes[i].sentence);
        expect("by name", &s, load(&s, "model.safetensors.index.json", NULL),
               bad_indexes[i].sentence);
    }
    scratch_close(&s);
    all_expected();
}

/* ---- what is no file ---- */

static void paths_that_are_no_files(void **state)
{
    (void)state;
    struct scratch s;
    scratch_open(&s);
    hf_write_text(&s, "config.json", HF_CONFIG);
    expect("empty folder", &s, load(&s, "", NULL),
           "DIR has no weights: no model.safetensors or pytorch_model.bin, nor either's index");
    expect("nothing", &s, load(&s, "nothing", NULL),
           "cannot open DIR/nothing: No such file or directory");
    const char *weights = scratch_path(&s, "model.safetensors");

    assert_int_equal(mkdir(weights, 0700), 0);
    expect("folder", &s, load(&s, "", NULL), "DIR/model.safetensors is a folder, not a file");
    assert_int_equal(rmdir(weights), 0);

    assert_int_equal(mkfifo(weights, 0600), 0);
    expect("pipe", &s, load(&s, "", NULL), "DIR/model.safetensors is a pipe, not a regular file");
    assert_int_equal(unlink(weights), 0);

    assert_int_equal(symlink("/dev/zero", weights), 0);
    expect("device", &s, load(&s, "", NULL),
           "DIR/model.safetensors is a device, not a regular file");
    assert_int_equal(unlink(weights), 0);

    assert_int_equal(symlink("model.safetensors", weights), 0);
    expect("loop", &s, load(&s, "", NULL),
           "cannot open DIR/model.safetensors: Too many levels of symbolic links");
    assert_int_equal(unlink(weights), 0);

    assert_int_equal(symlink("gone", weights), 0);
    expect("dangling link", &s, load(&s, "", NULL),
           "cannot open DIR/model.safetensors: No such file or directory (it is a link that leads "
           "nowhere)");
    assert_int_equal(unlink(weights), 0);

    hf_write_folder(&s, "F16");
    assert_int_equal(chmod(weights, 0), 0);
    if (access(weights, R_OK) == 0)
        print_message("# left out: an unreadable file (this user reads everything)\n");
    else
        expect("unreadable", &s, load(&s, "", NULL),
               "cannot open DIR/model.safetensors: Permission denied");
    scratch_close(&s);
    all_expected();
}

/* ---- files that change, weights that are no numbers ---- */

struct cut {
    const char *path;
    off_t to;
};

static void cut_file(void *user, const char *what, uint64_t done, uint64_t total)
{
    (void)what;
    (void)total;
    struct cut *c = user;
    if (done == 0)
        assert_int_equal(truncate(c->path, c->to), 0);
}

static void a_file_cut_while_it_is_read(void **state)
{
    (void)state;
    struct scratch s;
    scratch_open(&s);
    hf_write_folder(&s, "F16");
    /* All the data is 388 bytes; wte.weight, the first 40. */
    struct stat st;
    struct cut c = {.path = scratch_path(&s, "model.safetensors")};
    assert_int_equal(stat(c.path, &st), 0);
    c.to = st.st_size - 388 + 42;
    struct progress p = {.step = cut_file, .user = &c};
    struct load_config config = {.dtype = DTYPE_F16};
    struct model *m = NULL;
    assert_ok(par_open(1, false)); /* the sentence tells how far the one read was to go */
    assert_int_equal(model_load(&m, s.folder, &config, &p), ERR_FORMAT);
    par_close();
    assert_null(m);
    const char *said = scratch_sentence(&s, err_text());
    char expected[200];
    snprintf(expected, sizeof expected,
             "cannot load tensor wpe.weight: DIR/model.safetensors ends at byte %d, expected %d: "
             "the file is truncated",
             (int)c.to, (int)c.to + 22);
    assert_string_equal(said, expected);
    scratch_close(&s);
}

static void interrupt_half_way(void *user, const char *what, uint64_t done, uint64_t total)
{
    (void)user;
    (void)what;
    if (done > total / 2)
        interrupt_raise();
}

static void loading_is_interrupted(void **state)
{
    (void)state;
    struct scratch s;
    scratch_open(&s);
    hf_write_folder(&s, "F32");
    struct progress p = {.step = interrupt_half_way};
    struct load_config config = {.dtype = DTYPE_F16};
    struct model *m = NULL;
    assert_int_equal(model_load(&m, s.folder, &config, &p), ERR_INTERRUPTED);
    assert_null(m);
    interrupt_clear();
    scratch_close(&s);
}

static void weights_that_are_no_numbers_are_named(void **state)
{
    (void)state;
    struct scratch s;
    scratch_open(&s);
    hf_write_folder(&s, "F32");
    /* The last tensor but one is ln_f.weight, 16 bytes; before it mlp.c_proj.bias. */
    const float bad[] = {NAN, 70000, INFINITY};
    FILE *f = fopen(scratch_path(&s, "model.safetensors"), "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, -48, SEEK_END), 0);
    assert_int_equal(fwrite(&bad[0], 4, 1, f), 1);
    assert_int_equal(fseek(f, -32, SEEK_END), 0);
    assert_int_equal(fwrite(&bad[1], 4, 2, f), 2);
    assert_int_equal(fclose(f), 0);
    char notes[NOTES] = "";
    assert_ok(load(&s, "", notes));
    assert_string_equal(notes, "2 weights are NaN or infinite (or beyond fp16's 65504; --dtype "
                               "fp32 keeps those), the first in h.0.mlp.c_proj.bias: what the "
                               "model says may be nonsense");
    scratch_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_are_none),
        cmocka_unit_test(headers_that_lie),
        cmocka_unit_test(configurations_that_cannot_be),
        cmocka_unit_test(tensors_that_do_not_fit),
        cmocka_unit_test(indexes_that_lead_astray),
        cmocka_unit_test(paths_that_are_no_files),
        cmocka_unit_test(a_file_cut_while_it_is_read),
        cmocka_unit_test(loading_is_interrupted),
        cmocka_unit_test(weights_that_are_no_numbers_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
