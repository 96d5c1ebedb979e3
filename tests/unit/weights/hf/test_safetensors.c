/* safetensors and the Hugging Face folders made of them, where they are right. */
#include "model/base/par.h"
#include "tests/lib/hf_folder.h"
#include "tests/lib/notes.h"
#include "weights/load.h"
#include "weights/hf/safetensors.h"
#include "weights/model_source.h"
#include "weights/open.h"
#include "weights/save.h"

#include <jansson.h>

static const struct load_config fp16 = {.dtype = DTYPE_F16}, fp32 = {.dtype = DTYPE_F32};

static struct model *loaded(const struct scratch *s, const char *name, const struct load_config *c)
{
    struct model *m = NULL;
    assert_ok(model_load(&m, name[0] == '\0' ? s->folder : scratch_path(s, name), c, NULL));
    return m;
}

/* Each weight is where the file has it. */
static void assert_weights(const struct model *m)
{
    for (int i = 0; i < m->params.n_tensors; i++) {
        const struct param_tensor *t = &m->params.tensors[i];
        size_t n = (size_t)t->rows * (size_t)t->cols;
        for (size_t k = 0; k < n; k++) {
            float x, want = hf_value(t->name, k);
            params_read(t, &x, k, 1);
            if (x != want)
                fail_msg("%s[%zu] is %g, expected %g", t->name, k, (double)x, (double)want);
        }
    }
}

static void entries_say_what_the_header_says(void **state)
{
    (void)state;
    struct scratch s;
    struct tensor_file f;
    scratch_open(&s);
    /* Not in the order of their offsets; a number, an empty tensor, one of another type. */
    hf_write_raw(&s, "a.safetensors",
                 "{\"b\": {\"dtype\": \"BF16\", \"shape\": [2,3], \"data_offsets\": [4,16]},"
                 " \"__metadata__\": {\"format\": \"pt\", \"x\": \"y\"},"
                 " \"none\": {\"dtype\": \"F32\", \"shape\": [0,5], \"data_offsets\": [16,16]},"
                 " \"a\": {\"dtype\": \"F32\", \"shape\": [], \"data_offsets\": [0,4]},"
                 " \"mask\": {\"dtype\": \"BOOL\", \"shape\": [1,1,3], \"data_offsets\": [16,19]}}"
                 "     ",
                 "0123456789012345678", 19);
    assert_ok(tensor_file_open_as(&f, scratch_path(&s, "a.safetensors"), safetensors_open_file));
    assert_int_equal(f.n, 4);
    assert_string_equal(json_string_value(json_object_get(f.metadata, "x")), "y");
    const struct tensor_entry *b = tensor_file_find(&f, "b"), *a = tensor_file_find(&f, "a");
    const struct tensor_entry *none = tensor_file_find(&f, "none");
    const struct tensor_entry *mask = tensor_file_find(&f, "mask");
    char text[40];
    assert_true(b->dtype == DTYPE_BF16 && b->element_bytes == 2 && b->bytes == 12);
    assert_string_equal(tensor_shape_text(text, sizeof text, b), "[2,3]");
    assert_true(a->dtype == DTYPE_F32 && a->rank == 0 && a->bytes == 4);
    assert_int_equal(b->offset, a->offset + 4);
    assert_true(none->bytes == 0 && none->rank == 2);
    assert_true(mask->dtype == DTYPE_OTHER && mask->rank == 3);
    assert_string_equal(mask->dtype_name, "BOOL");
    assert_null(tensor_file_find(&f, "__metadata__"));
    char byte;
    assert_ok(file_read_at(&f.file, &byte, b->offset, 1));
    assert_int_equal(byte, '4');
    tensor_file_close(&f);
    scratch_close(&s);
}

/* The same weights in any type, under either prefix, in one file or several. */
static void all_spellings_are_the_same_model(void **state)
{
    (void)state;
    struct scratch s;
    struct hf_tensors l;
    scratch_open(&s);
    unsigned char first[32];
    const char *dtypes[] = {"F32", "F16", "BF16"};
    for (int i = 0; i < 3; i++) {
        hf_write_folder(&s, dtypes[i]);
        for (int by_name = 0; by_name < 2; by_name++) {
            struct model *m = loaded(&s, by_name ? "model.safetensors" : "", &fp16);
            assert_weights(m);
            assert_string_equal(m->file_types, dtypes[i]);
            assert_string_equal(m->name, strrchr(s.folder, '/') + 1);
            if (i == 0 && by_name == 0)
                memcpy(first, model_fingerprint(m), sizeof first);
            assert_memory_equal(model_fingerprint(m), first, sizeof first);
            model_free(m);
        }
        struct model *m = loaded(&s, "", &fp32);
        assert_weights(m);
        assert_memory_not_equal(model_fingerprint(m), first, sizeof first);
        model_free(m);
    }
    hf_list(&l, "F16");
    for (int i = 0; i < l.n; i++) {
        char name[64];
        snprintf(name, sizeof name, "transformer.%.50s", l.all[i].name);
        strcpy(l.all[i].name, name);
        strcpy(l.all[i].dtype, dtypes[i % 3]);
    }
    /* What torch writes of a tied head: under both names. */
    hf_add(&l, "lm_head.weight", l.all[0].dtype, 2, 5, 4);
    l.all[l.n - 1].values_of = "wte.weight";
    hf_write(&s, "model.safetensors", &l, 0, l.n);
    struct model *m = loaded(&s, "", &fp16);
    assert_memory_equal(model_fingerprint(m), first, sizeof first);
    model_free(m);

    assert_int_equal(unlink(scratch_path(&s, "model.safetensors")), 0);
    hf_write(&s, "part-1.safetensors", &l, 0, 7);
    hf_write(&s, "part-2.safetensors", &l, 7, l.n - 7);
    hf_write_text(&s, "model.safetensors.index.json",
                  "{\"metadata\": {\"total_size\": 1}, \"weight_map\": {"
                  "\"transformer.ln_f.bias\": \"part-2.safetensors\","
                  "\"transformer.wte.weight\": \"part-1.safetensors\"}}");
    m = loaded(&s, "", &fp16);
    assert_memory_equal(model_fingerprint(m), first, sizeof first);
    model_free(m);
    m = loaded(&s, "model.safetensors.index.json", &fp16);
    assert_memory_equal(model_fingerprint(m), first, sizeof first);
    model_free(m);
    scratch_close(&s);
}

static void note_nothing(void *user, const char *text)
{
    (void)user;
    fail_msg("noted: %s", text);
}

static void an_untied_head_is_read(void **state)
{
    (void)state;
    struct scratch s;
    struct hf_tensors l;
    scratch_open(&s);
    hf_list(&l, "F16");
    hf_add(&l, "lm_head.weight", "F16", 2, 5, 4);
    hf_write(&s, "model.safetensors", &l, 0, l.n);
    hf_write_text(&s, "config.json", HF_CONFIG_WITH(", \"tie_word_embeddings\": false"));
    struct progress p = {.note = note_nothing};
    struct model *m = NULL;
    assert_ok(model_load(&m, s.folder, &fp16, &p));
    assert_weights(m);
    assert_non_null(params_find(&m->params, "lm_head.weight"));
    assert_ptr_not_equal(m->params.lm_head.data, m->params.wte.data);
    model_free(m);
    /* Tied by the configuration, and equal: one of the two, in silence. */
    l.all[l.n - 1].values_of = "wte.weight";
    hf_write(&s, "model.safetensors", &l, 0, l.n);
    hf_write_text(&s, "config.json", HF_CONFIG);
    assert_ok(model_load(&m, s.folder, &fp16, &p));
    assert_weights(m);
    assert_ptr_equal(m->params.lm_head.data, m->params.wte.data);
    model_free(m);
    scratch_close(&s);
}

#define SIXTEEN "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
#define NO_CONTRASTIVE ", so there is no contrastive search: penalty_alpha is left out\n"

static const char *const generation_files[][3] = {
    {"{\"_from_model_config\": true, \"eos_token_id\": 4, \"max_length\": 20}", NULL, ""},
    {"{\"do_sample\": true, \"temperature\": 0.7, \"top_k\": 50, \"top_p\": null}",
     "temperature: 0.7\ntop_k: 50\ntop_p: 1\n", ""},
    {"{\"temperature\": 0.7, \"num_beams\": 3, \"early_stopping\": true}",
     "num_beams: 3\nearly_stopping: true\n", ""},
    {"{\"penalty_alpha\": 0.6, \"top_k\": 4, \"top_p\": 0.9}", "penalty_alpha: 0.6\ntop_k: 4\n",
     ""},
    {"{\"penalty_alpha\": 0.6}", "penalty_alpha: 0.6\ntop_k: 50\n", ""},
    {"{\"penalty_alpha\": 0.6, \"num_beams\": 4, \"top_k\": 4}", "num_beams: 4\n",
     "generation_config.json: num_beams is 4" NO_CONTRASTIVE},
    {"{\"penalty_alpha\": 0.6, \"do_sample\": true, \"top_k\": 4}",
     "temperature: 1\ntop_k: 4\ntop_p: 1\n",
     "generation_config.json: do_sample is true" NO_CONTRASTIVE},
    {"{\"penalty_alpha\": 0.6, \"top_k\": 1}", NULL,
     "generation_config.json: top_k is 1" NO_CONTRASTIVE},
    {"{\"early_stopping\": \"never\", \"eos_token_id\": 2}",
     "early_stopping: never\nstop_token: \"2\"\n", ""},
    {"{\"eos_token_id\": [3, 4]}", "stop_token: \"3,4\"\n", ""},
    {"{\"eos_token_id\": [4]}", NULL, ""},
    {"{\"eos_token_id\": -1, \"pad_token_id\": -1, \"bos_token_id\": -1}", NULL, ""},
    {"{\"eos_token_id\": [3, -1]}", "stop_token: \"3\"\n", ""},
    {"{\"eos_token_id\": [3, 5, \"a\"]}", "stop_token: \"3\"\n",
     "generation_config.json: eos_token_id is 5, left out\n"
     "generation_config.json: eos_token_id is \"a\", left out\n"},
    {"{\"eos_token_id\": 5, \"num_beams\": \"a\\nb: c\"}", NULL,
     "generation_config.json: num_beams is \"a\\nb: c\", left out\n"
     "generation_config.json: eos_token_id is 5, left out\n"},
    /* More than there is room for. */
    {"{\"eos_token_id\": [" SIXTEEN SIXTEEN SIXTEEN SIXTEEN "2]}",
     "stop_token: "
     "\"1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
     "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1\"\n",
     "generation_config.json: eos_token_id is 2, left out\n"},
    {"{\"do_sample\": 1, \"temperature\": 0.7, \"num_beams\": 2}", "num_beams: 2\n",
     "generation_config.json: do_sample is 1, left out\n"},
    {"{\"do_sample\": \"true\", \"penalty_alpha\": 0.6, \"top_k\": 4}",
     "penalty_alpha: 0.6\ntop_k: 4\n", "generation_config.json: do_sample is \"true\", left out\n"},
    {"{\"do_sample\": null, \"top_k\": 4}", NULL, ""},
    {"{\"suppress_tokens\": [3, -1, 2]}", "logit_bias: \"3:-inf,2:-inf\"\n",
     "generation_config.json: suppress_tokens is -1, left out\n"},
    {"{\"suppress_tokens\": 3}", NULL, "generation_config.json: suppress_tokens is 3, left out\n"},
    {"{\"bad_words_ids\": [[5, 6]], \"min_length\": 0, \"num_beam_groups\": 1, \"eta_cutoff\": "
     "1e-3, "
     "\"stop_strings\": [], \"sequence_bias\": null}",
     NULL,
     "generation_config.json: bad_words_ids is a list, left out\n"
     "generation_config.json: eta_cutoff is 0.001, left out\n"},
    {"{\"do_sample\": true}", "temperature: 1\ntop_k: 50\ntop_p: 1\n", ""},
    {"{\"bad_words_ids\": [[2], [4]], \"suppress_tokens\": [3], \"num_return_sequences\": 2, "
     "\"stop_strings\": [\"a,b\", \"it's\\n\", \"\"], \"max_length\": 50, \"max_new_tokens\": 7}",
     "max_new_tokens: 7\nnum_return_sequences: 2\nlogit_bias: \"3:-inf,2:-inf\"\n"
     "stop: 'a\\x2cb,it\\x27s\\x0a'\n",
     "generation_config.json: stop_strings is \"\", left out\n"},
    {"{\"max_length\": 50, \"max_time\": 1.5, \"watermarking_config\": {\"a\": 1}, "
     "\"force_words_ids\": [[3]], \"constraints\": [{}], \"dola_layers\": \"low\", "
     "\"token_healing\": true, \"stop_strings\": \".\"}",
     "stop: '.'\n",
     "generation_config.json: constraints is a list, left out\n"
     "generation_config.json: dola_layers is \"low\", left out\n"
     "generation_config.json: force_words_ids is a list, left out\n"
     "generation_config.json: max_length is 50, left out\n"
     "generation_config.json: max_time is 1.5, left out\n"
     "generation_config.json: token_healing is true, left out\n"
     "generation_config.json: watermarking_config is an object, left out\n"},
    /* A value that no number here can hold is left out, and no other. */
    {"{\"do_sample\": true, \"temperature\": 1e400, \"top_k\": -123456789012345678901234567890, "
     "\"typical_p\": 1e-400, \"_x\": [{\"1e999 \\\"\": 1E+999}], \"top_p\": 0.5}",
     "top_p: 0.5\ntypical_p: 0.0\n",
     "generation_config.json: temperature is 1e400, left out\n"
     "generation_config.json: top_k is -123456789012345678901234567890, left out\n"},
    {"{\"penalty_alpha\": 0.6, \"num_beams\": 1e400, \"top_k\": 4}",
     "penalty_alpha: 0.6\ntop_k: 4\n", "generation_config.json: num_beams is 1e400, left out\n"},
    {"{\"penalty_alpha\": 1e400, \"top_k\": 4}", NULL,
     "generation_config.json: penalty_alpha is 1e400, left out\n"},
    {"{\"eos_token_id\": [3, 12345678901234567890]}", "stop_token: \"3\"\n",
     "generation_config.json: eos_token_id is 12345678901234567890, left out\n"},
    {"{\"penalty_alpha\": 0.6, \"top_k\": 1e9}", NULL,
     "generation_config.json: top_k is 1000000000.0, more than 512" NO_CONTRASTIVE},
    /* As few and as many candidates as there may be, and one more. */
    {"{\"penalty_alpha\": 0.6, \"top_k\": 2}", "penalty_alpha: 0.6\ntop_k: 2\n", ""},
    {"{\"penalty_alpha\": 0.6, \"top_k\": 512}", "penalty_alpha: 0.6\ntop_k: 512\n", ""},
    {"{\"penalty_alpha\": 0.6, \"top_k\": 513}", NULL,
     "generation_config.json: top_k is 513, more than 512" NO_CONTRASTIVE},
    {"{\"suppress_tokens\": [5, 4]}", "logit_bias: \"4:-inf\"\n",
     "generation_config.json: suppress_tokens is 5, left out\n"},
    {"{\"penalty_alpha\": 0.6, \"top_k\": 1e400}", NULL,
     "generation_config.json: top_k is 1e400, more than 512" NO_CONTRASTIVE},
    {"{\"penalty_alpha\": 0.6, \"top_k\": 4.5}", NULL,
     "generation_config.json: top_k is 4.5" NO_CONTRASTIVE},
    {"{\"penalty_alpha\": 0.6, \"top_k\": \"4\"}", "penalty_alpha: 0.6\ntop_k: 50\n",
     "generation_config.json: top_k is \"4\", left out\n"},
    {"[]", NULL, "generation_config.json is left out: the file is not an object of settings\n"},
};

/* What generation_config.json says becomes the model's settings, unless prattle.yaml does. */
static void the_authors_settings_are_read(void **state)
{
    (void)state;
    struct scratch s;
    struct hf_tensors l;
    struct notes notes;
    struct progress p = {.note = notes_take, .user = &notes};
    scratch_open(&s);
    hf_list(&l, "F16");
    hf_write(&s, "model.safetensors", &l, 0, l.n);
    hf_write_text(&s, "config.json", HF_CONFIG_WITH(", \"eos_token_id\": 4"));
    for (size_t i = 0; i < sizeof generation_files / sizeof generation_files[0]; i++) {
        struct model *m;
        notes = (struct notes){0};
        hf_write_text(&s, "generation_config.json", generation_files[i][0]);
        assert_ok(model_load(&m, s.folder, &fp16, &p));
        if (generation_files[i][1] == NULL)
            assert_null(m->defaults);
        else
            assert_string_equal(m->defaults, generation_files[i][1]);
        assert_string_equal(notes.all, generation_files[i][2]);
        model_free(m);
    }
    assert_int_equal(unlink(scratch_path(&s, "generation_config.json")), 0);
    hf_write_text(&s, "config.json", HF_CONFIG_WITH(", \"eos_token_id\": [2, 4]"));
    struct model *m = loaded(&s, "", &fp16);
    assert_string_equal(m->defaults, "stop_token: \"2,4\"\n");
    assert_int_equal(m->config.eos_token_id, 2);
    model_free(m);
    hf_write_text(&s, "prattle.yaml", "top_k: 7\n");
    m = loaded(&s, "", &fp16);
    assert_string_equal(m->defaults, "top_k: 7\n");
    model_free(m);
    scratch_close(&s);
}

/* What source_open_model reads is what is in memory, bit for bit and in its own type. */
static void a_model_in_memory_is_a_source(void **state)
{
    (void)state;
    struct scratch s;
    scratch_open(&s);
    hf_write_folder(&s, "F32");
    hf_write_text(&s, "prattle.yaml", "top_k: 7\n");
    const struct load_config *kinds[] = {&fp16, &fp32};
    for (int i = 0; i < 2; i++) {
        struct model *m = loaded(&s, "", kinds[i]);
        struct source src;
        assert_string_equal(m->defaults, "top_k: 7\n");
        assert_ok(source_open_model(&src, m));
        assert_string_equal(src.defaults, m->defaults);
        assert_string_equal(src.name, m->name);
        assert_int_equal(src.dtype, i == 0 ? DTYPE_F16 : DTYPE_F32);
        struct params copy;
        assert_ok(params_init(&copy, &src.config, kinds[i]->dtype));
        for (int k = 0; k < copy.n_tensors; k++) {
            uint64_t n_bad;
            assert_string_equal(src.table.tensors[k].name, copy.tensors[k].name);
            assert_true((src.readers[k].dtype == DTYPE_F16) ==
                        (i == 0 && copy.tensors[k].linear != NULL));
            assert_ok(params_fill(&copy.tensors[k], &src.readers[k], 1, &n_bad, NULL));
        }
        assert_memory_equal(copy.block, m->params.block, copy.block_bytes);
        params_release(&copy);
        source_close(&src);
        model_free(m);
    }
    scratch_close(&s);
}

static const char vocab[] = "{\"a\": 0, \"b\": 1, \"ab\": 2, \"<|endoftext|>\": 4}";
static const char merges[] = "#version: 0.2\na b\n";

static void a_folder_of_a_tokenizer_alone(void **state)
{
    (void)state;
    struct scratch s;
    struct source src;
    scratch_open(&s);
    assert_int_equal(source_open(&src, s.folder, 0, false, NULL), ERR_MISSING);
    assert_string_equal(scratch_sentence(&s, err_text()),
                        "DIR has neither weights nor a tokenizer");
    hf_write_text(&s, "vocab.json", vocab);
    hf_write_text(&s, "merges.txt", merges);
    assert_ok(source_open(&src, s.folder, 0, false, NULL));
    assert_int_equal(src.table.n_tensors, 0);
    assert_int_equal(tokenizer_find(src.tokenizer, "ab", 2), 2);
    source_close(&src);
    assert_int_equal(source_open(&src, s.folder, 0, true, NULL), ERR_MISSING);
    scratch_close(&s);
}

static const struct {
    const char *name, *text;
} own_files[] = {
    {"generation_config.json", "{\"do_sample\":true,  \"temperature\": 0.5, \"x\": [1]}"},
    {"vocab.json", "{ \"a\": 0, \"b\": 1, \"<|endoftext|>\": 4 }"},
    {"merges.txt", "#version: 0.1\n"},
    {"tokenizer_config.json", "{\"pad_token\":\"a\"}"},
    {"special_tokens_map.json", "not even JSON"},
    {"chat_template.jinja", "{{ x }}"},
};
enum { N_OWN_FILES = sizeof own_files / sizeof *own_files };

/* A model in memory is written with the files that it came with, though they have gone since. */
static void a_models_own_files_are_kept(void **state)
{
    (void)state;
    struct scratch s, to;
    scratch_open(&s);
    scratch_open(&to);
    hf_write_folder(&s, "F16");
    for (int i = 0; i < N_OWN_FILES; i++)
        hf_write_text(&s, own_files[i].name, own_files[i].text);
    struct model *m = loaded(&s, "", &fp16);
    for (int i = 0; i < N_OWN_FILES; i++)
        assert_int_equal(unlink(scratch_path(&s, own_files[i].name)), 0);
    m->changed = true;
    const struct save_config force = {.force = true};
    for (int round = 0; round < 2; round++) {
        assert_ok(model_save(m, to.folder, &force, NULL));
        for (int i = 0; i < N_OWN_FILES; i++) {
            struct buf text = {0};
            assert_ok(file_read_all(&text, scratch_path(&to, own_files[i].name), 1000));
            assert_string_equal(buf_text(&text), own_files[i].text);
            buf_release(&text);
        }
        assert_false(file_exists(scratch_path(&to, "tokenizer.json")));
        assert_false(file_exists(scratch_path(&to, "prattle.yaml")));
        m->changed = true;
    }
    model_free(m);
    scratch_close(&to);
    scratch_close(&s);
}

/* Number k of the allocations fails, for every k: a sentence, no crash, nothing lost. */
static void every_failed_allocation_is_survived(void **state)
{
    (void)state;
    struct scratch s;
    struct hf_tensors l;
    scratch_open(&s);
    hf_list(&l, "F16");
    hf_write(&s, "1.safetensors", &l, 0, 6);
    hf_write(&s, "2.safetensors", &l, 6, l.n - 6);
    hf_write_text(&s, "model.safetensors.index.json",
                  "{\"weight_map\": {\"a\": \"1.safetensors\", \"b\": \"2.safetensors\"}}");
    hf_write_text(&s, "config.json", HF_CONFIG);
    hf_write_text(&s, "vocab.json", vocab);
    hf_write_text(&s, "merges.txt", merges);
    hf_write_text(&s, "generation_config.json", "{}");
    hf_write_text(&s, "prattle.yaml", "top_k: 7\n");
    par_threads();
    struct model *m = NULL;
    uint64_t k = 0;
    int rc;
    do {
        mem_fail_at(++k);
        rc = model_load(&m, s.folder, &fp16, NULL);
        mem_fail_at(0);
        if (rc != 0 && rc != ERR_NOMEM)
            fail_msg("allocation %d: %s", (int)k, err_text());
    } while (rc != 0);
    assert_true(k > 100);
    assert_weights(m);
    model_free(m);
    scratch_close(&s);
}

static void real_folders_load(void **state)
{
    (void)state;
    const char *data = getenv("DATA");
    if (data == NULL || data[0] == '\0') {
        print_message("# left out: real models, without DATA\n");
        return;
    }
    const struct {
        const char *name;
        uint64_t params;
        bool tokenizer;
    } rows[] = {{"weights/SLM_4096", 211712, true},
                {"weights/tiny-random-gpt2", 111968, false},
                {"weights/neural-api-tiny_gpt2/hf", 1976, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *path = file_join(data, rows[i].name);
        struct model *m = NULL;
        assert_ok(model_load(&m, path, &fp16, NULL));
        assert_int_equal(config_params(&m->config), rows[i].params);
        assert_true((m->tokenizer != NULL) == rows[i].tokenizer);
        model_free(m);
        mem_free(path);
    }
}

static void link_to(const struct scratch *s, const char *name, const char *data, const char *file)
{
    char target[PATH_MAX];
    snprintf(target, sizeof target, "%s/weights/neural-api-tiny_gpt2/%s", data, file);
    assert_int_equal(symlink(target, scratch_path(s, name)), 0);
}

/* One model, three ways: safetensors with mask buffers, a torch file, its two shards. */
static void torch_files_are_the_same_model(void **state)
{
    (void)state;
    const char *data = getenv("DATA");
    if (data == NULL || data[0] == '\0') {
        print_message("# left out: real torch files, without DATA\n");
        return;
    }
    static const char *const parts[] = {"tiny_gpt2-00001-of-00002.bin",
                                        "tiny_gpt2-00002-of-00002.bin"};
    struct scratch s;
    scratch_open(&s);
    link_to(&s, "config.json", data, "hf/config.json");
    link_to(&s, "model.safetensors", data, "hf/model.safetensors");
    link_to(&s, "torch.bin", data, "tiny_gpt2.bin");
    link_to(&s, "parts.bin.index.json", data, "tiny_gpt2.bin.index.json");
    link_to(&s, parts[0], data, parts[0]);
    link_to(&s, parts[1], data, parts[1]);
    struct model *one = loaded(&s, "", &fp16), *torch = loaded(&s, "torch.bin", &fp16);
    struct model *shards = loaded(&s, "parts.bin.index.json", &fp16);
    assert_memory_equal(model_fingerprint(one), model_fingerprint(torch), 32);
    assert_memory_equal(model_fingerprint(one), model_fingerprint(shards), 32);
    model_free(one);
    model_free(torch);
    model_free(shards);
    scratch_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_say_what_the_header_says),
        cmocka_unit_test(all_spellings_are_the_same_model),
        cmocka_unit_test(an_untied_head_is_read),
        cmocka_unit_test(the_authors_settings_are_read),
        cmocka_unit_test(a_model_in_memory_is_a_source),
        cmocka_unit_test(a_folder_of_a_tokenizer_alone),
        cmocka_unit_test(a_models_own_files_are_kept),
        cmocka_unit_test(every_failed_allocation_is_survived),
        cmocka_unit_test(real_folders_load),
        cmocka_unit_test(torch_files_are_the_same_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
