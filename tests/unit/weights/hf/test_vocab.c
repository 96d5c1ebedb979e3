/* Tokenizer files: what is read, what is refused with which sentence, what is written. */
#include "tests/lib/notes.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include "model/tokenizer/byte_text.h"
#include "tests/lib/tokenizer_golden.h"
#include "weights/hf/vocab_write.h"

#include <stdio.h>
#include <unistd.h>

#define BOM "\xef\xbb\xbf"
#define ABC "{\"a\": 0, \"b\": 1, \"ab\": 2, \"<|endoftext|>\": 3}"

static struct vocab_text files(const char *vocab, const char *merges)
{
    return (struct vocab_text){
        .vocab = vocab, .n_vocab = strlen(vocab), .merges = merges, .n_merges = strlen(merges)};
}

static struct vocab_text whole(const char *tokenizer)
{
    return (struct vocab_text){.tokenizer = tokenizer, .n_tokenizer = strlen(tokenizer)};
}

static struct tokenizer *parse(struct vocab_text text, const struct config *c)
{
    struct tokenizer *t = NULL;
    assert_ok(vocab_parse(&t, &text, c, NULL));
    return t;
}

static void expect_encoding(const struct tokenizer *t, const char *text, const char *expected)
{
    struct ids ids = {0};
    struct buf b = {0};
    assert_ok(tokenizer_encode(t, &ids, text, strlen(text), ENCODE_SPECIAL));
    for (size_t i = 0; i < ids.n; i++)
        assert_ok(buf_printf(&b, "%s%d", i == 0 ? "" : " ", ids.data[i]));
    assert_string_equal(buf_text(&b), expected);
    ids_release(&ids);
    buf_release(&b);
}

static void reads_what_editors_leave(void **state)
{
    (void)state;
    static const char *const merges[] = {
        "#version: 0.2\na b\n", "#version: 0.2\r\na b\r\n",   BOM "#version: 0.2\r\na b", "a b",
        "\n\na b\n\n",          "#version: 0.2\n\na b\na b\n"};
    for (size_t i = 0; i < sizeof merges / sizeof *merges; i++) {
        struct tokenizer *t = parse(files(i % 2 ? BOM ABC "\r\n" : ABC, merges[i]), NULL);
        expect_encoding(t, "abba<|endoftext|>", "2 1 0 3");
        assert_int_equal(tokenizer_eos(t), 3);
        tokenizer_free(t);
    }
    /* Only the first line can be the version: "# #" is a merge like any other. */
    struct tokenizer *t = parse(files("{\"#\": 0, \"##\": 1}", "# #\n"), NULL);
    expect_encoding(t, "###", "1 0");
    assert_int_equal(tokenizer_eos(t), TOKEN_NONE);
    tokenizer_free(t);
}

static void holes_and_added_tokens_are_legal(void **state)
{
    (void)state;
    struct notes notes = {0};
    struct progress p = {.note = notes_take, .user = &notes};
    struct config c;
    config_init(&c);
    c.n_vocab = 12;
    c.bos_token_id = TOKEN_NONE;
    c.eos_token_id = 9;
    struct vocab_text text = files("{\"a\": 0, \"b\": 1, \"ab\": 5}", "a b\n");
    text.added = "{\"<pad here>\": 9, \"a\": 0}";
    text.n_added = strlen(text.added);
    struct tokenizer *t = NULL;
    assert_ok(vocab_parse(&t, &text, &c, &p));
    assert_int_equal(tokenizer_size(t), 10);
    assert_int_equal(tokenizer_eos(t), 9);
    assert_string_equal(notes.last,
                        "the tokenizer has 10 tokens, the model 12: ids from 10 on have "
                        "no text");
    expect_encoding(t, "b<pad here>ab", "1 9 5");
    tokenizer_free(t);
    assert_ok(vocab_parse(&t, &text, NULL, &p));
    assert_string_equal(notes.last, "the tokenizer has no text for 6 of its ids, the first is 2");
    tokenizer_free(t);
}

/* All bytes, and pairs of an A and a byte, of which so many have merges. */
static void note_of_pairs(struct notes *notes, int pairs, int merges)
{
    const struct progress p = {.note = notes_take, .user = notes};
    struct buf tokens = {0}, lines = {0};
    struct tokenizer *t = NULL;
    for (int i = 0; i < 256 + pairs; i++) {
        char sign[BYTE_SIGN_BYTES], safe[BYTE_SIGN_BYTES + 1];
        byte_text_sign(sign, i % 256);
        snprintf(safe, sizeof safe, "%s%s", strchr("\"\\", *sign) != NULL ? "\\" : "", sign);
        assert_ok(buf_printf(&tokens, "%s\"%s%s\": %d", i == 0 ? "{" : ", ", i < 256 ? "" : "A",
                             safe, i));
        if (i >= 256 && i < 256 + merges)
            assert_ok(buf_printf(&lines, "A %s\n", sign));
    }
    assert_ok(buf_str(&tokens, "}"));
    const struct vocab_text text = files(buf_text(&tokens), buf_text(&lines));
    assert_ok(vocab_parse(&t, &text, NULL, &p));
    tokenizer_free(t);
    buf_release(&tokens);
    buf_release(&lines);
}

static void a_file_of_merges_cut_short_is_noted(void **state)
{
    struct notes notes = {0};
    (void)state;
    note_of_pairs(&notes, 200, 200);
    note_of_pairs(&notes, 200, 198);
    assert_int_equal(notes.n, 0);
    note_of_pairs(&notes, 200, 197);
    assert_string_equal(notes.last, "the tokenizer has 197 merges for 200 tokens of several "
                                    "bytes: is its file whole?");
    note_of_pairs(&notes, 200, 0); /* as random: models have it */
    assert_int_equal(notes.n, 1);
}

#define HEAD "{\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false}, "
#define MODEL "\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, "

static void reads_tokenizer_json(void **state)
{
    (void)state;
    static const char *const texts[] = {
        HEAD MODEL "\"merges\": [\"a b\"]}, \"added_tokens\": [{\"id\": 3, \"content\": "
                   "\"<|endoftext|>\"}]}",
        HEAD MODEL "\"merges\": [[\"a\", \"b\"]]}, \"added_tokens\": [{\"id\": 3, \"content\": "
                   "\"<|endoftext|>\", \"special\": false}]}",
        BOM
        "{\"normalizer\": null, \"pre_tokenizer\": {\"type\": \"Sequence\", "
        "\"pretokenizers\": [{\"type\": \"ByteLevel\", \"use_regex\": true}]}, " MODEL
        "\"dropout\": null, \"byte_fallback\": false, \"continuing_subword_prefix\": \"\", "
        "\"merges\": [\"a b\"]}, \"added_tokens\": [{\"id\": 3, \"content\": "
        "\"<|endoftext|>\"}, {\"id\": 0, \"content\": \"a\"}, {\"id\": 2, \"content\": \"ab\"}]}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct tokenizer *t = parse(whole(texts[i]), NULL);
        expect_encoding(t, i == 2 ? "<|endoftext|>b" : "ab<|endoftext|>b",
                        i == 2 ? "3 1" : "2 3 1");
        assert_int_equal(tokenizer_eos(t), 3);
        tokenizer_free(t);
    }
}

#define SPACED "{\"a\": 0, \"b\": 1, \"\u0120\": 2, \"\u0120a\": 3, \"<|endoftext|>\": 4}"
#define SPACED_JSON(prefix)                                                                        \
    "{\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": " prefix                  \
    "}, \"model\": {\"type\": \"BPE\", \"vocab\": " SPACED ", \"merges\": [\"\u0120 a\"]}}"

static struct vocab_text with_config(struct vocab_text text, const char *config)
{
    text.config = config;
    text.n_config = strlen(config);
    return text;
}

/* As ByteLevel of the tokenizers library does it: before the text and behind special tokens,
 * where no space is. */
static void expect_prefixed(const struct tokenizer *t)
{
    assert_true(tokenizer_adds_prefix_space(t));
    expect_encoding(t, "a", "3");
    expect_encoding(t, " a", "3");
    expect_encoding(t, "  a", "2 3");
    expect_encoding(t, "aa", "3 0");
    expect_encoding(t, "b", "2 1");
    expect_encoding(t, "", "");
    expect_encoding(t, "<|endoftext|>", "4");
    expect_encoding(t, "a<|endoftext|>a", "3 4 3");
    expect_encoding(t, "<|endoftext|><|endoftext|> a", "4 4 3");
    struct ids ids = {0};
    const char text[] = "a<|endoftext|>a";
    assert_ok(tokenizer_encode(t, &ids, text, sizeof text - 1, ENCODE_SPECIAL | ENCODE_GOES_ON));
    assert_memory_equal(ids.data, ((token_id[]){0, 4, 3}), ids.n * sizeof *ids.data);
    ids_release(&ids);
}

static void a_prefix_space_is_put_where_it_is_asked_for(void **state)
{
    (void)state;
    const struct vocab_text plain = files(SPACED, "\xc4\xa0 a\n");
    const struct vocab_text asked[] = {
        whole(SPACED_JSON("true")), with_config(plain, "{\"add_prefix_space\": true}"),
        with_config(whole(SPACED_JSON("false")), "{\"add_prefix_space\": true}"),
        with_config(whole(SPACED_JSON("true")), "{\"model_max_length\": 1024}")};
    const struct vocab_text not_asked[] = {
        plain, whole(SPACED_JSON("false")), with_config(plain, "{\"add_prefix_space\": null}"),
        with_config(whole(SPACED_JSON("true")), "{\"add_prefix_space\": false}")};
    for (int i = 0; i < 4; i++) {
        struct tokenizer *t = parse(asked[i], NULL);
        expect_prefixed(t);
        tokenizer_free(t);
        t = parse(not_asked[i], NULL);
        assert_false(tokenizer_adds_prefix_space(t));
        expect_encoding(t, "a<|endoftext|>a", "0 4 0");
        tokenizer_free(t);
    }
    /* Without a space to put there is none. */
    struct tokenizer *t = parse(with_config(files(ABC, ""), "{\"add_prefix_space\": true}"), NULL);
    expect_encoding(t, "a", "0");
    tokenizer_free(t);
}

static void added_tokens_of_the_settings_count(void **state)
{
    (void)state;
    static const char config[] = "{\"added_tokens_decoder\": {\"3\": {\"content\": "
                                 "\"<|endoftext|>\", \"special\": true}, \"4\": {\"content\": "
                                 "\"<pad>\", \"special\": true}, \"6\": {\"content\": "
                                 "\"<user>\", \"special\": false}}}";
    struct tokenizer *t = parse(with_config(files(ABC, "a b\n"), config), NULL);
    assert_int_equal(tokenizer_size(t), 7);
    expect_encoding(t, "ab<pad>a<user><|endoftext|>", "2 4 0 6 3");
    tokenizer_free(t);
    /* What tokenizer.json lacks is added, and what it has stays. */
    struct notes notes = {0};
    struct progress p = {.note = notes_take, .user = &notes};
    struct vocab_text both = with_config(whole(SPACED_JSON("false")), config);
    assert_ok(vocab_parse(&t, &both, NULL, &p));
    assert_int_equal(tokenizer_size(t), 7);
    expect_encoding(t, "a<user>b<|endoftext|>", "0 6 1 4");
    assert_string_equal(notes.first, "tokenizer_config.json: 2 of the added tokens left out, the "
                                     "first with id 3: its id has another text");
    tokenizer_free(t);
    both = with_config(whole(SPACED_JSON("false")), "{\"added_tokens_decoder\": {\"4\": "
                                                    "{\"content\": \"<|endoftext|>\"}}}");
    notes = (struct notes){0};
    assert_ok(vocab_parse(&t, &both, NULL, &p));
    assert_string_equal(notes.all, "");
    tokenizer_free(t);

    static const struct {
        const char *config, *note;
    } rows[] = {
#define LEFT_OUT(n, id)                                                                            \
    "tokenizer_config.json: " n " of the added tokens left out, the first with id " id
        {"{\"added_tokens_decoder\": {\"9\": {\"content\": \"<x>\"}, \"5\": {\"content\": "
         "\"<y>\"}}}",
         LEFT_OUT("1", "9: its id is none of the model's")},
        {"{\"added_tokens_decoder\": {\"5\": {\"content\": \"<y>\"}, \"1\": {\"content\": "
         "\"<x>\"}, \"-1\": {}}}",
         LEFT_OUT("2", "1: its id has another text")},
        {"{\"added_tokens_decoder\": {\"4\": {\"content\": \"a\"}, \"5\": {\"content\": "
         "\"<y>\"}}}",
         LEFT_OUT("1", "4: its text has another id")},
        {"{\"added_tokens_decoder\": {\"5\": {\"content\": \"<y>\"}, \"4x\": {\"content\": "
         "\"b\"}}}",
         LEFT_OUT("1", "4x: it is not a text with an id")},
        /* The first of two ids with one text has it. */
        {"{\"added_tokens_decoder\": {\"5\": {\"content\": \"<y>\"}, \"4\": {\"content\": "
         "\"<y>\"}}}",
         LEFT_OUT("1", "4: its text has another id")},
        {"{\"add_prefix_space\": \"false\", \"added_tokens_decoder\": {\"5\": {\"content\": "
         "\"<y>\"}}}",
         "tokenizer_config.json: add_prefix_space is \"false\", left out"},
        {"{\"add_prefix_space\": 0, \"added_tokens_decoder\": {\"5\": {\"content\": \"<y>\"}}}",
         "tokenizer_config.json: add_prefix_space is 0, left out"},
    };
    struct config c;
    config_init(&c);
    c.n_vocab = 6;
    c.bos_token_id = c.eos_token_id = 3;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct vocab_text text = with_config(files(ABC, "a b\n"), rows[i].config);
        notes = (struct notes){0};
        assert_ok(vocab_parse(&t, &text, &c, &p));
        assert_string_equal(notes.first, rows[i].note);
        expect_encoding(t, "a<y>b", "0 5 1");
        tokenizer_free(t);
    }
    struct vocab_text list =
        with_config(files(ABC, "a b\n"), "{\"added_tokens_decoder\": [\"<y>\"]}");
    notes = (struct notes){0};
    assert_ok(vocab_parse(&t, &list, NULL, &p));
    tokenizer_free(t);
    assert_string_equal(notes.first,
                        "tokenizer_config.json: added_tokens_decoder is a list, left out");
    struct vocab_text broken = with_config(files(ABC, "a b\n"), "{");
    assert_ok(vocab_parse(&t, &broken, NULL, &p));
    tokenizer_free(t);
    assert_non_null(strstr(notes.last, "tokenizer_config.json is not JSON: line 1"));
}

static const struct {
    const char *vocab, *merges; /* merges NULL: vocab is a tokenizer.json */
    int code;
    const char *sentence;
} hostile_files[] = {
    {"", "", ERR_FORMAT, "vocab.json is not JSON: line 1: "},
    {"[1]", "", ERR_FORMAT, "vocab.json is not a JSON object"},
    {"{}", "", ERR_FORMAT, "the tokenizer has no tokens"},
    {"{\"a\": 0,", "", ERR_FORMAT, "vocab.json is not JSON: line 1: "},
    {"{\"\xff\": 0}", "", ERR_FORMAT, "vocab.json is not JSON: line 1: "},
    {"{\"a\": 0, \"a\": 1}", "", ERR_FORMAT, "vocab.json is not JSON: line 1: "},
    {"{\"a\": 0, \"b\": 0}", "", ERR_FORMAT, "vocab.json: tokens \"a\" and \"b\" both have id 0"},
    {"{\"a\": -1}", "", ERR_FORMAT, "vocab.json: token \"a\" has id -1, out of the range 0..1025"},
    {"{\"a\": 1000000000000}", "", ERR_FORMAT,
     "vocab.json: token \"a\" has id 1000000000000, out of the range 0..1025"},
    {"{\"a\": 1.5}", "", ERR_FORMAT, "vocab.json: the id of token \"a\" is not a whole number"},
    {"{\"a\": \"0\"}", "", ERR_FORMAT, "vocab.json: the id of token \"a\" is not a whole number"},
    {"{\"a\": 1e3}", "", ERR_FORMAT, "vocab.json: the id of token \"a\" is not a whole number"},
    {"{\"a\\u001b[2J\": -1}", "", ERR_FORMAT,
     "vocab.json: token \"a\\x1b[2J\" has id -1, out of the range 0..1025"},
    {"{\"a b\": 0}", "", ERR_FORMAT, "token 0 \"a b\" is not in GPT-2's byte alphabet"},
    {ABC, "a b c\n", ERR_FORMAT, "merge 0 \"a b c\" is not two texts with a space between"},
    {ABC, "#version: 0.2\nb a\n", ERR_FORMAT, "merge 0 \"b a\" makes what is not a token"},
    {ABC, "a b\nab c\n", ERR_FORMAT, "merge 1 \"ab c\" joins what is not a token"},
    {"{\"pre_tokenizer\": {\"type\": \"Metaspace\"}}", NULL, ERR_UNSUPPORTED,
     "tokenizer.json is not GPT-2's byte-level BPE: its pre_tokenizer is not ByteLevel alone"},
    {"{\"model\": {\"type\": \"Unigram\"}}", NULL, ERR_UNSUPPORTED,
     "tokenizer.json is not GPT-2's byte-level BPE: its model is not BPE"},
    {"{\"model\": {\"type\": \"BPE\"}, \"pre_tokenizer\": {\"type\": \"ByteLevel\", "
     "\"use_regex\": false}}",
     NULL, ERR_UNSUPPORTED, "tokenizer.json is not GPT-2's byte-level BPE: it has use_regex false"},
    {"{\"normalizer\": {\"type\": \"NFC\"}, \"pre_tokenizer\": {\"type\": \"ByteLevel\"}}", NULL,
     ERR_UNSUPPORTED, "tokenizer.json is not GPT-2's byte-level BPE: it has a normalizer"},
    {HEAD "\"model\": {\"byte_fallback\": true}}", NULL, ERR_UNSUPPORTED,
     "tokenizer.json is not GPT-2's byte-level BPE: it has byte_fallback"},
    {HEAD "\"model\": {}}", NULL, ERR_FORMAT,
     "tokenizer.json: model.vocab is missing or not an object"},
    {HEAD "\"model\": {\"vocab\": {\"a\": 0}}}", NULL, ERR_FORMAT,
     "tokenizer.json: model.merges is missing or not a list"},
    {HEAD MODEL "\"merges\": [7]}}", NULL, ERR_FORMAT,
     "tokenizer.json: merge 0 is neither \"a b\" nor a pair"},
    {HEAD MODEL "\"merges\": [[\"a\"]]}}", NULL, ERR_FORMAT,
     "tokenizer.json: merge 0 is neither \"a b\" nor a pair"},
    {HEAD MODEL "\"merges\": []}, \"added_tokens\": [{}]}", NULL, ERR_FORMAT,
     "tokenizer.json: added token 0 has no content"},
    {HEAD MODEL "\"merges\": []}, \"added_tokens\": [{\"content\": \"x\"}]}", NULL, ERR_FORMAT,
     "tokenizer.json: the id of token \"x\" is not a whole number"},
    {HEAD MODEL "\"merges\": []}, \"added_tokens\": [{\"content\": \"x\", \"id\": 1}]}", NULL,
     ERR_FORMAT, "tokenizer.json: tokens \"b\" and \"x\" both have id 1"}};

static void hostile_files_get_a_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hostile_files / sizeof *hostile_files; i++) {
        struct tokenizer *t = NULL;
        struct vocab_text text = hostile_files[i].merges == NULL
                                     ? whole(hostile_files[i].vocab)
                                     : files(hostile_files[i].vocab, hostile_files[i].merges);
        int rc = vocab_parse(&t, &text, NULL, NULL);
        /* What jansson adds to a sentence may change with its version. */
        if (rc != hostile_files[i].code ||
            strncmp(err_text(), hostile_files[i].sentence, strlen(hostile_files[i].sentence)) != 0)
            fail_msg("%s: %d %s, expected %s", hostile_files[i].vocab, rc, err_text(),
                     hostile_files[i].sentence);
        assert_null(t);
    }
    struct config c;
    struct tokenizer *t = NULL;
    struct vocab_text text = files(ABC, "a b\n");
    config_init(&c);
    c.n_vocab = 3;
    assert_int_equal(vocab_parse(&t, &text, &c, NULL), ERR_MISMATCH);
    assert_string_equal(err_text(),
                        "vocab.json: token \"<|endoftext|>\" has id 3, but the model has only 3 "
                        "tokens: the tokenizer belongs to another model");
    text =
        (struct vocab_text){.vocab = ABC, .n_vocab = strlen(ABC), .merges = "a\0b", .n_merges = 3};
    assert_int_equal(vocab_parse(&t, &text, NULL, NULL), ERR_FORMAT);
    assert_string_equal(err_text(), "merges.txt is not text: it has a NUL byte");
}

/* A folder of our own, with one file in it or none. */
static void folder_with(struct scratch *s, const char *name, const char *text)
{
    scratch_open(s);
    if (name != NULL)
        scratch_write(s, name, text, strlen(text));
}

/* Nothing else may be left in it. */
static void remove_folder(const struct scratch *s)
{
    static const char *const names[] = {"vocab.json", "merges.txt", "tokenizer.json",
                                        "tokenizer_config.json"};
    for (int i = 0; i < 4; i++)
        unlink(scratch_path(s, names[i]));
    assert_int_equal(rmdir(s->folder), 0);
}

static void folders_may_have_none_but_not_half(void **state)
{
    (void)state;
    struct tokenizer *t = NULL;
    struct scratch s;
    folder_with(&s, NULL, NULL);
    assert_ok(vocab_open_folder(&t, s.folder, NULL, NULL));
    assert_null(t);
    remove_folder(&s);
    folder_with(&s, "vocab.json", ABC);
    assert_int_equal(vocab_open_folder(&t, s.folder, NULL, NULL), ERR_MISSING);
    assert_non_null(strstr(err_text(), " has vocab.json but no merges.txt"));
    remove_folder(&s);
    folder_with(&s, "merges.txt", "a b\n");
    assert_int_equal(vocab_open_folder(&t, s.folder, NULL, NULL), ERR_MISSING);
    assert_non_null(strstr(err_text(), " has merges.txt but no vocab.json"));
    remove_folder(&s);
    folder_with(&s, "tokenizer.json", "{");
    assert_int_equal(vocab_open_folder(&t, s.folder, NULL, NULL), ERR_FORMAT);
    assert_non_null(strstr(err_text(), "cannot load the tokenizer of "));
    remove_folder(&s);
}

static void expect_same(const struct tokenizer *a, const struct tokenizer *b)
{
    assert_int_equal(tokenizer_size(a), tokenizer_size(b));
    assert_int_equal(tokenizer_merges(a), tokenizer_merges(b));
    for (int id = 0; id < tokenizer_size(a); id++) {
        const char *x = tokenizer_text(a, id), *y = tokenizer_text(b, id);
        assert_int_equal(x == NULL, y == NULL);
        if (x != NULL)
            assert_string_equal(x, y);
        assert_int_equal(tokenizer_is_special(a, id), tokenizer_is_special(b, id));
    }
    for (int i = 0; i < tokenizer_merges(a); i++)
        assert_string_equal(tokenizer_merge(a, i), tokenizer_merge(b, i));
    assert_int_equal(tokenizer_eos(a), tokenizer_eos(b));
}

/* Written, and read back from tokenizer.json, then from the two older files. */
static void written_files_say_the_same(void **state)
{
    (void)state;
    struct tokenizer *rows[] = {
        golden_tokenizer(GOLDEN "merges.txt"),
        parse(files("{\"\\\"\": 0, \"\\\\\": 1, \"<|endoftext|>\": 4, \"\\u0100\": 2}", ""), NULL)};
    for (int i = 0; i < 2; i++) {
        struct tokenizer *back = NULL;
        struct scratch s;
        folder_with(&s, NULL, NULL);
        assert_ok(vocab_write_folder(rows[i], TOKEN_NONE, s.folder, false));
        assert_int_equal(vocab_write_folder(rows[i], TOKEN_NONE, s.folder, false), ERR_EXISTS);
        assert_ok(vocab_write_folder(rows[i], TOKEN_NONE, s.folder, true));
        assert_ok(vocab_open_folder(&back, s.folder, NULL, NULL));
        expect_same(rows[i], back);
        tokenizer_free(back);
        assert_int_equal(unlink(scratch_path(&s, "tokenizer.json")), 0);
        assert_ok(vocab_open_folder(&back, s.folder, NULL, NULL));
        expect_same(rows[i], back);
        tokenizer_free(back);
        remove_folder(&s);
        tokenizer_free(rows[i]);
    }
}

static void a_prefix_space_is_written(void **state)
{
    (void)state;
    struct tokenizer *t = parse(whole(SPACED_JSON("true")), NULL), *back;
    struct tokenizer *plain = parse(whole(SPACED_JSON("false")), NULL);
    struct scratch s;
    folder_with(&s, NULL, NULL);
    assert_ok(vocab_write_folder(t, TOKEN_NONE, s.folder, false));
    assert_ok(vocab_open_folder(&back, s.folder, NULL, NULL));
    expect_prefixed(back);
    tokenizer_free(back);
    assert_int_equal(unlink(scratch_path(&s, "tokenizer.json")), 0);
    assert_ok(vocab_open_folder(&back, s.folder, NULL, NULL));
    expect_prefixed(back);
    tokenizer_free(back);
    /* Another in its place is not misread by what is left of it. */
    assert_ok(vocab_write_folder(plain, TOKEN_NONE, s.folder, true));
    assert_ok(vocab_open_folder(&back, s.folder, NULL, NULL));
    expect_same(plain, back);
    assert_false(tokenizer_adds_prefix_space(back));
    tokenizer_free(back);
    remove_folder(&s);
    tokenizer_free(t);
    tokenizer_free(plain);
}

/* A token before each text: by a template, alone or beside ByteLevel, or by add_bos_token. */
static void a_token_before_each_text(void **state)
{
    (void)state;
#define TEMPLATE(single)                                                                           \
    "{\"type\": \"TemplateProcessing\", \"single\": [" single "], \"special_tokens\": "            \
    "{\"<|endoftext|>\": {\"ids\": [1]}, \"a\": {\"ids\": [0]}}}"
#define POST(post)                                                                                 \
    "{\"pre_tokenizer\": {\"type\": \"ByteLevel\"}, \"post_processor\": " post                     \
    ", \"model\": {\"vocab\": {\"a\": 0, \"<|endoftext|>\": 1}, \"merges\": []}}"
#define BEGIN "{\"SpecialToken\": {\"id\": \"<|endoftext|>\"}}"
#define TEXT "{\"Sequence\": {\"id\": \"A\"}}"
    static const struct {
        const char *tokenizer, *config, *notes;
        bool begins;
    } rows[] = {
        {POST("{\"type\": \"ByteLevel\"}"), NULL, "", false},
        {POST("null"), "{\"add_bos_token\": false}", "", false},
        {POST("null"), "{\"add_bos_token\": true}", "", true},
        {POST("null"), "{\"add_bos_token\": true, \"bos_token\": {\"content\": \"a\"}}",
         "the tokenizer puts a before a text, which is not the model's begin-of-text token: left "
         "out\n",
         false},
        {POST(TEMPLATE(BEGIN ", " TEXT)), NULL, "", true},
        {POST(TEMPLATE(TEXT)), NULL, "", false},
        {POST("{\"type\": \"Sequence\", \"processors\": [{\"type\": \"ByteLevel\"}, " TEMPLATE(
             BEGIN ", " TEXT) "]}"),
         NULL, "", true},
        {POST(TEMPLATE(TEXT ", " BEGIN)), NULL,
         "tokenizer.json: post_processor TemplateProcessing adds other tokens than one before the "
         "text: left out\n",
         false},
        {POST("{\"type\": \"RobertaProcessing\"}"), NULL,
         "tokenizer.json: post_processor RobertaProcessing adds other tokens than one before the "
         "text: left out\n",
         false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct notes notes = {0};
        struct progress p = {.note = notes_take, .user = &notes};
        struct vocab_text text = whole(rows[i].tokenizer);
        struct tokenizer *t = NULL;
        text.config = rows[i].config;
        text.n_config = text.config == NULL ? 0 : strlen(text.config);
        assert_ok(vocab_parse(&t, &text, NULL, &p));
        assert_string_equal(notes.all, rows[i].notes);
        assert_int_equal(tokenizer_begins(t), rows[i].begins);
        struct tokenizer *back;
        struct scratch s;
        folder_with(&s, NULL, NULL);
        assert_ok(vocab_write_folder(t, rows[i].begins ? 1 : TOKEN_NONE, s.folder, false));
        assert_ok(vocab_open_folder(&back, s.folder, NULL, NULL));
        assert_int_equal(tokenizer_begins(back), rows[i].begins);
        tokenizer_free(back);
        assert_int_equal(unlink(scratch_path(&s, "tokenizer.json")), 0);
        assert_ok(vocab_open_folder(&back, s.folder, NULL, NULL));
        assert_int_equal(tokenizer_begins(back), rows[i].begins);
        tokenizer_free(back);
        remove_folder(&s);
        tokenizer_free(t);
    }
}

static void added_tokens_that_take_spaces_are_noted(void **state)
{
    (void)state;
    struct notes notes = {0};
    struct progress p = {.note = notes_take, .user = &notes};
    struct vocab_text text =
        whole("{\"pre_tokenizer\": {\"type\": \"ByteLevel\"}, \"added_tokens\": ["
              "{\"id\": 1, \"content\": \"<x>\", \"lstrip\": false, \"rstrip\": false}, "
              "{\"id\": 2, \"content\": \"<y>\", \"rstrip\": true}, "
              "{\"id\": 3, \"content\": \"<z>\", \"lstrip\": true}], "
              "\"model\": {\"vocab\": {\"a\": 0}, \"merges\": []}}");
    struct tokenizer *t = NULL;
    assert_ok(vocab_parse(&t, &text, NULL, &p));
    assert_string_equal(
        notes.all, "tokenizer.json: lstrip, rstrip and single_word of added tokens, as of <y>, "
                   "are left out: with special on, spaces beside them stay\n");
    tokenizer_free(t);
}

static void survives_without_memory(void **state)
{
    (void)state;
    struct vocab_text text = with_config(
        files(ABC, "a b\n"), "{\"added_tokens_decoder\": {\"9\": {\"content\": \"<x>\"}}}");
    uint64_t k = 1;
    for (;; k++) {
        struct tokenizer *t = NULL;
        mem_fail_at(k);
        int rc = vocab_parse(&t, &text, NULL, NULL);
        mem_fail_at(0);
        assert_int_equal(t == NULL, rc != 0);
        tokenizer_free(t);
        if (rc == 0)
            break;
        assert_true(k < 1000);
    }
    assert_true(k > 10);
}

static void reads_real_files_with_data(void **state)
{
    (void)state;
    const char *data = golden_data("tokenizer files of GPT-2, SLM_4096 and Megatron");
    if (data == NULL)
        return;
    char path[4096];
    struct buf vocab = {0}, merges = {0};
    struct tokenizer *t = NULL;
    snprintf(path, sizeof path, "%s/weights/SLM_4096", data);
    assert_ok(vocab_open_folder(&t, path, NULL, NULL));
    assert_int_equal(tokenizer_size(t), 54);
    assert_int_equal(tokenizer_merges(t), 0);
    expect_encoding(t, "Q: What", "23 8 1 27 35 28 47");
    tokenizer_free(t);
    snprintf(path, sizeof path, "%s/tokenizer", data);
    assert_ok(vocab_open_folder(&t, path, NULL, NULL));
    assert_int_equal(tokenizer_size(t), 50257);
    assert_int_equal(tokenizer_merges(t), 50000);
    expect_encoding(t, "My name is<|endoftext|>", "3666 1438 318 50256");
    tokenizer_free(t);
    snprintf(path, sizeof path, "%s/megatron/gpt2-tiny-vocab.json", data);
    assert_ok(file_read_all(&vocab, path, 1 << 24));
    snprintf(path, sizeof path, "%s/megatron/gpt2-tiny-merges.txt", data);
    assert_ok(file_read_all(&merges, path, 1 << 24));
    struct vocab_text text = {
        .vocab = vocab.data, .n_vocab = vocab.n, .merges = merges.data, .n_merges = merges.n};
    t = parse(text, NULL);
    assert_int_equal(tokenizer_size(t), 5000);
    tokenizer_free(t);
    buf_release(&vocab);
    buf_release(&merges);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_editors_leave),
        cmocka_unit_test(holes_and_added_tokens_are_legal),
        cmocka_unit_test(a_file_of_merges_cut_short_is_noted),
        cmocka_unit_test(reads_tokenizer_json),
        cmocka_unit_test(a_prefix_space_is_put_where_it_is_asked_for),
        cmocka_unit_test(a_prefix_space_is_written),
        cmocka_unit_test(added_tokens_of_the_settings_count),
        cmocka_unit_test(hostile_files_get_a_sentence),
        cmocka_unit_test(folders_may_have_none_but_not_half),
        cmocka_unit_test(written_files_say_the_same),
        cmocka_unit_test(a_token_before_each_text),
        cmocka_unit_test(added_tokens_that_take_spaces_are_noted),
        cmocka_unit_test(survives_without_memory),
        cmocka_unit_test(reads_real_files_with_data)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
