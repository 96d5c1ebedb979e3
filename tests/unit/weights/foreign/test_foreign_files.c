/* Checkpoints of other trainers that are wrong: each gets one sentence, and nothing leaks. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include "weights/open.h"

#define GOLDEN "tests/golden/foreign/"

static struct scratch scratch;

/* A copy of a golden file in the scratch folder, open to changes. */
static void copy_file(struct buf *b, const char *from, const char *name)
{
    b->n = 0;
    assert_ok(file_read_all(b, from, UINT64_MAX));
    scratch_write(&scratch, name, b->data, b->n);
}

/* The first opcode behind a key of a dict, after it was put into the memo. */
static char *value_of(struct buf *b, const char *key)
{
    char *at = memmem(b->data, b->n, key, strlen(key));
    assert_non_null(at);
    at += strlen(key);
    return *at == 'q' ? at + 2 : *at == 'r' ? at + 5 : at;
}

static void open_fails(const char *name, const char *sentence)
{
    struct source s;
    err_clear();
    const int rc = source_open(&s, scratch_path(&scratch, name), 0, true, NULL);
    if (rc == 0)
        source_close(&s);
    assert_string_equal(rc == 0 ? "(opened)" : scratch_sentence(&scratch, err_text()), sentence);
}

static void wrong_arguments_of_nanogpt(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        char value;
        const char *sentence;
    } rows[] = {
        {"n_layer", 3, "tensor h.2.ln_1.weight is missing"},
        {"n_layer", 0, "n_layer is 0, must be a whole number 1 to 2147483647"},
        {"n_layer", 127, "the checkpoint says 127 layers, its weights are 29 tensors"},
        {"n_head", 5, "n_head 5 does not divide n_embd 12"},
        {"n_embd", 14, "tensor wte.weight: shape [37,12], expected [37,14]"},
        {"block_size", 21, "tensor wpe.weight: shape [20,12], expected [21,12]"},
        {"vocab_size", 36, "tensor wte.weight: shape [37,12], expected [36,12]"},
    };
    struct buf b = {0};
    scratch_open(&scratch);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char sentence[200];
        copy_file(&b, GOLDEN "nanogpt/ckpt.pt", "ckpt.pt");
        char *at = value_of(&b, rows[i].key);
        assert_int_equal(*at, 'K');
        at[1] = rows[i].value;
        scratch_write(&scratch, "ckpt.pt", b.data, b.n);
        snprintf(sentence, sizeof sentence, "cannot load DIR/ckpt.pt: %s", rows[i].sentence);
        open_fails("ckpt.pt", sentence);
        open_fails("", sentence);
    }
    copy_file(&b, GOLDEN "nanogpt/ckpt.pt", "ckpt.pt");
    memcpy(memmem(b.data, b.n, "n_embd", 6), "n_xmbd", 6);
    scratch_write(&scratch, "ckpt.pt", b.data, b.n);
    open_fails("ckpt.pt", "cannot load DIR/ckpt.pt: the checkpoint does not say its n_embd");
    /* A trainer unknown here is taken for a file of Hugging Face. */
    memcpy(memmem(b.data, b.n, "model_args", 10), "model_xrgs", 10);
    scratch_write(&scratch, "ckpt.pt", b.data, b.n);
    open_fails("ckpt.pt", "cannot open DIR/config.json: No such file or directory; it says the "
                          "shape of the model");
    scratch_write(&scratch, "ckpt.pt", b.data, b.n / 2);
    open_fails("ckpt.pt", "cannot load DIR/ckpt.pt: it is not a zip archive, or a truncated one");
    scratch_write(&scratch, "ckpt.pt", "", 0);
    open_fails("ckpt.pt", "cannot load DIR/ckpt.pt: the file is empty");
    buf_release(&b);
    scratch_close(&scratch);
}

static void wrong_vocabularies_of_characters(void **state)
{
    (void)state;
    static const struct {
        const char *pickle;
        size_t n;
        const char *sentence;
    } rows[] = {
#define ROW(pickle, sentence) {pickle, sizeof pickle - 1, sentence}
        ROW("", "the pickle is broken at byte 0: it ends before its STOP"),
        ROW("}.", "it has no itos: a character for each id"),
        ROW("}X\4\0\0\0itosK\1s.", "it has no itos: a character for each id"),
        ROW("}X\4\0\0\0itos}K\1X\1\0\0\0bss.", "itos has no character 0"),
        ROW("}X\4\0\0\0itos}K\0K\1ss.", "itos has no character 0"),
        ROW("}X\4\0\0\0itos}K\0X\0\0\0\0ss.", "itos has no character 0"),
        ROW("}X\4\0\0\0itoscposix\nsystem\ns.",
            "the pickle asks for posix.system, which weights do not need: refused, and nothing of "
            "it was executed"),
        ROW("}X\4\0\0\0itos}(K\0X\1\0\0\0aK\1X\1\0\0\0aus.", NULL),
        ROW("}X\4\0\0\0itos}(K\0NK\1NK\2NK\3NK\4NK\5NK\6NK\7NK\10NK\11Nus.",
            "it has 10 characters, the model has 9 tokens"),
#undef ROW
    };
    struct buf b = {0};
    scratch_open(&scratch);
    copy_file(&b, GOLDEN "nanogpt-char/ckpt.pt", "ckpt.pt");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char sentence[300];
        struct source s;
        scratch_write(&scratch, "meta.pkl", rows[i].pickle, rows[i].n);
        snprintf(sentence, sizeof sentence, "cannot load DIR/meta.pkl: %s", rows[i].sentence);
        if (rows[i].sentence != NULL)
            open_fails("ckpt.pt", sentence);
        else /* two characters that are one */
            assert_says(source_open(&s, scratch_path(&scratch, "ckpt.pt"), 0, true, NULL),
                        "meta.pkl");
    }
    buf_release(&b);
    scratch_close(&scratch);
}

static bool has_tokenizer(const char *name)
{
    struct source s;
    assert_ok(source_open(&s, scratch_path(&scratch, name), 0, true, NULL));
    const bool has = s.tokenizer != NULL;
    source_close(&s);
    return has;
}

/* As nanoGPT has them: out/ckpt.pt says the dataset, whose characters are in data/DATASET. */
static void characters_are_found_with_the_data(void **state)
{
    (void)state;
    struct buf b = {0};
    scratch_open(&scratch);
    assert_ok(file_make_folder(scratch_path(&scratch, "out")));
    assert_ok(file_make_folder(scratch_path(&scratch, "data/out")));
    copy_file(&b, GOLDEN "nanogpt-char/meta.pkl", "data/out/meta.pkl");
    copy_file(&b, GOLDEN "nanogpt-char/meta.pkl", "meta.pkl");
    copy_file(&b, GOLDEN "nanogpt-char/ckpt.pt", "out/ckpt.pt");
    assert_false(has_tokenizer("out"));
    memcpy(memmem(b.data, b.n, "out_dir", 7), "dataset", 7);
    scratch_write(&scratch, "out/ckpt.pt", b.data, b.n);
    assert_true(has_tokenizer("out"));
    assert_true(has_tokenizer("out/ckpt.pt"));
    scratch_write(&scratch, "data/out/meta.pkl", "}.", 2);
    assert_false(has_tokenizer("out"));
    /* A name leads nowhere else, as to the meta.pkl above. */
    char *value = value_of(&b, "dataset");
    assert_memory_equal(value, "X\3\0\0\0out", 8);
    memcpy(value + 5, "../", 3);
    scratch_write(&scratch, "out/ckpt.pt", b.data, b.n);
    assert_false(has_tokenizer("out"));
    buf_release(&b);
    scratch_close(&scratch);
}

static void wrong_files_of_mingpt(void **state)
{
    (void)state;
    struct buf b = {0};
    struct source s;
    scratch_open(&scratch);
    copy_file(&b, GOLDEN "mingpt/model.pt", "model.pt");
    scratch_write(&scratch, "config.json", "{\"model\": {}}", 13);
    open_fails("model.pt",
               "cannot load DIR/model.pt: config.json beside the checkpoint says neither "
               "n_head nor a model_type of minGPT");
    scratch_write(&scratch, "config.json", "{\"model\": {\"n_head\": 7}}", 24);
    open_fails("", "cannot load DIR/model.pt: n_head 7 does not divide n_embd 12");
    scratch_write(&scratch, "config.json", "{\"model\": {\"model_type\": \"gpt-nano\"}}", 37);
    assert_ok(source_open(&s, scratch.folder, 0, true, NULL));
    assert_int_equal(s.config.n_head, 3);
    source_close(&s);
    scratch_write(&scratch, "config.json", "{\"model\":", 9);
    assert_says(source_open(&s, scratch.folder, 0, true, NULL), "config.json");
    buf_release(&b);
    scratch_close(&scratch);
}

static void wrong_settings_of_fairseq(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        char opcode, value;
        const char *sentence;
    } rows[] = {
        {"adaptive_input", '\x88', 0,
         "fairseq's adaptive_input is true, which GPT-2 does not have"},
        {"adaptive_softmax_cutoff", '\x88', 0,
         "fairseq's adaptive_softmax_cutoff is true, which GPT-2 does not have"},
        {"decoder_layers", 'K', 0, "decoder_layers is 0, must be a whole number 1 to 2147483647"},
        {"decoder_layers", 'K', 4,
         "tensor decoder.layers.2.self_attn_layer_norm.weight is missing"},
        {"decoder_attention_heads", 'K', 7, "n_head 7 does not divide n_embd 12"},
        {"decoder_ffn_embed_dim", 'K', 21,
         "tensor decoder.layers.0.fc1.weight: shape [20,12], expected [21,12]"},
        {"decoder_learned_pos", '\x88', 0, "n_positions is -2, must be 1 to 16777216"},
    };
    struct buf b = {0};
    scratch_open(&scratch);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char sentence[200];
        copy_file(&b, GOLDEN "fairseq/checkpoint_best.pt", "checkpoint_best.pt");
        char *at = value_of(&b, rows[i].key);
        *at = rows[i].opcode;
        if (*at == 'K')
            at[1] = rows[i].value;
        scratch_write(&scratch, "checkpoint_best.pt", b.data, b.n);
        snprintf(sentence, sizeof sentence, "cannot load DIR/checkpoint_best.pt: %s",
                 rows[i].sentence);
        open_fails("checkpoint_best.pt", sentence);
    }
    copy_file(&b, GOLDEN "fairseq/checkpoint_best.pt", "checkpoint_best.pt");
    memcpy(memmem(b.data, b.n, "cfg", 3), "cfx", 3);
    scratch_write(&scratch, "checkpoint_best.pt", b.data, b.n);
    open_fails("", "cannot load DIR/checkpoint_best.pt: it is a checkpoint of fairseq without the "
                   "model's settings (cfg or args)");
    buf_release(&b);
    scratch_close(&scratch);
}

/* Symbols are GPT-2's ids in the order of dict.txt, behind four of fairseq's own. */
static void dictionaries_of_fairseq(void **state)
{
    (void)state;
    static const char vocab[] = "{\"a\": 0, \"b\": 1, \"ab\": 2, \"c\": 3, \"bc\": 4}",
                      merges[] = "#version: 0.2\na b\nb c\n",
                      dict[] = "2 90\n1 80\n0 70\nmadeupword0000 0\n3 1";
    struct buf b = {0};
    struct source s;
    struct ids ids = {0};
    scratch_open(&scratch);
    copy_file(&b, GOLDEN "fairseq/checkpoint_best.pt", "checkpoint_best.pt");
    scratch_write(&scratch, "dict.txt", dict, sizeof dict - 1);
    assert_ok(source_open(&s, scratch.folder, 0, true, NULL));
    assert_null(s.tokenizer);
    source_close(&s);
    for (int i = 0; i < 2; i++) {
        scratch_write(&scratch, i ? "encoder.json" : "vocab.json", vocab, sizeof vocab - 1);
        scratch_write(&scratch, i ? "vocab.bpe" : "merges.txt", merges, sizeof merges - 1);
        assert_ok(source_open(&s, scratch.folder, 0, true, NULL));
        assert_int_equal(tokenizer_size(s.tokenizer), 9);
        assert_int_equal(tokenizer_eos(s.tokenizer), 2);
        assert_int_equal(tokenizer_merges(s.tokenizer), 1);
        assert_string_equal(tokenizer_text(s.tokenizer, 2), "</s>");
        ids.n = 0;
        assert_ok(tokenizer_encode(s.tokenizer, &ids, "abbc", 4, ENCODE_TEXT));
        const token_id expected[] = {4, 5, 8};
        assert_int_equal(ids.n, 3);
        assert_memory_equal(ids.data, expected, sizeof expected);
        source_close(&s);
        remove(scratch_path(&scratch, "vocab.json"));
        remove(scratch_path(&scratch, "merges.txt"));
    }
    b.n = 0;
    for (int i = 0; i < 34; i++)
        assert_ok(buf_str(&b, "1 1\n"));
    scratch_write(&scratch, "dict.txt", b.data, b.n);
    open_fails("", "cannot load dict.txt: it has more than 33 symbols, the model has 37 tokens");
    ids_release(&ids);
    buf_release(&b);
    scratch_close(&scratch);
}

static void wrong_files_of_languini(void **state)
{
    (void)state;
    struct buf b = {0}, config = {0};
    scratch_open(&scratch);
    copy_file(&b, GOLDEN "languini-few/checkpoints/model.pt", "model.pt");
    open_fails("model.pt", "cannot load DIR/model.pt: it is a checkpoint of Languini, whose "
                           "config.pickle, in its folder or the one above, says the shape of the "
                           "model");
    copy_file(&config, GOLDEN "languini-few/config.pickle", "config.pickle");
    char *at = memmem(config.data, config.n, "head_dim", 8);
    assert_non_null(at);
    at[10] = 4; /* MEMOIZE, BININT1 */
    scratch_write(&scratch, "config.pickle", config.data, config.n);
    open_fails("model.pt", "cannot load DIR/model.pt: tensor layers.0.attn.linear_Q.weight: shape "
                           "[9,12], expected [12,12]");
    scratch_write(&scratch, "config.pickle", config.data, config.n / 2);
    struct source s;
    assert_says(source_open(&s, scratch_path(&scratch, "model.pt"), 0, true, NULL),
                "config.pickle: the pickle is broken");
    scratch_write(&scratch, "config.pickle", "cposix\nsystem\nX\2\0\0\0ls\x85R.", 24);
    assert_says(source_open(&s, scratch_path(&scratch, "model.pt"), 0, true, NULL),
                "the pickle asks for posix.system");
    buf_release(&b);
    buf_release(&config);
    scratch_close(&scratch);
}

static void no_memory_leaks_nothing(void **state)
{
    (void)state;
    static const char *const models[] = {GOLDEN "nanogpt-char", GOLDEN "languini-more",
                                         GOLDEN "fairseq-old"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (int k = 1, rc = ERR_NOMEM; rc != 0; k++) {
            struct source s;
            mem_fail_at((uint64_t)k);
            rc = source_open(&s, models[i], 0, true, NULL);
            mem_fail_at(0);
            if (rc == 0)
                source_close(&s);
            else
                assert_int_equal(rc, ERR_NOMEM);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_arguments_of_nanogpt),
        cmocka_unit_test(wrong_vocabularies_of_characters),
        cmocka_unit_test(characters_are_found_with_the_data),
        cmocka_unit_test(wrong_files_of_mingpt),
        cmocka_unit_test(wrong_settings_of_fairseq),
        cmocka_unit_test(dictionaries_of_fairseq),
        cmocka_unit_test(wrong_files_of_languini),
        cmocka_unit_test(no_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
