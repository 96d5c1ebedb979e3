/* JSON lines with prompt and completion: both are read, and the loss counts the completions. */
#include "tests/lib/data_set.h"

#include "model/base/buf.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/data/batches.h"
#include "train/data/text_reader.h"
#include "train/data/token_writer.h"

#include <string.h>

static const char pairs[] = "{\"prompt\": \"how are\", \"completion\": \" you\"}\n"
                            "{\"text\": \"a line of text\"}\n"
                            "\n"
                            "{\"completion\": \"yes\", \"more\": 1, \"prompt\": \"no\"}\n"
                            "{\"prompt\": \"\", \"completion\": \"alone\"}\n"
                            "{\"prompt\": \"\", \"completion\": \"\"}\n"
                            "{\"prompt\": \"unanswered\", \"completion\": \"\"}\n";

static void mark(void *user, size_t i)
{
    ((bool *)user)[i] = true;
}

/* The stream as text, what the loss does not count in brackets. */
static const char *marked(const struct dataset *d)
{
    static struct buf out;
    bool skipped[256] = {false};
    token_id ids[256];
    struct buf text = {0};
    assert_true(d->n_tokens <= 256);
    assert_ok(dataset_read(d, ids, 0, (size_t)d->n_tokens));
    dataset_prompts(d, 0, (size_t)d->n_tokens, mark, skipped);
    out.n = 0;
    for (size_t i = 0; i < d->n_tokens; i++) {
        if (skipped[i] && (i == 0 || !skipped[i - 1]))
            assert_ok(buf_char(&out, '['));
        text.n = 0;
        if (ids[i] == tokenizer_eos(data_tokenizer))
            assert_ok(buf_char(&text, '$'));
        else
            assert_ok(tokenizer_decode(data_tokenizer, &text, &ids[i], 1));
        assert_ok(buf_add(&out, text.data, text.n));
        if (skipped[i] && (i + 1 == d->n_tokens || !skipped[i + 1]))
            assert_ok(buf_char(&out, ']'));
    }
    buf_release(&text);
    return out.data;
}

static struct dataset open_pairs(bool completion_only)
{
    const char *name = "pairs.jsonl";
    data_text(name, pairs);
    struct data_config c = data_config_of(&name, 1);
    c.completion_only_loss = completion_only;
    struct dataset d = data_open(&c, false);
    data_config_release(&c);
    return d;
}

static void completions_count_alone(void **state)
{
    (void)state;
    struct dataset d = open_pairs(true);
    assert_string_equal(marked(&d), "[how are] you$a line of text$[no]yes$alone$[unanswered]$");
    assert_int_equal(d.n_documents, 5);
    assert_true(d.n_prompt > 0 && d.n_prompt < d.n_tokens);
    /* From any place on, as from the beginning. */
    bool whole[256] = {false};
    dataset_prompts(&d, 0, (size_t)d.n_tokens, mark, whole);
    for (size_t first = 0; first < d.n_tokens; first++)
        for (size_t n = 0; n <= d.n_tokens - first; n++) {
            bool part[256] = {false};
            dataset_prompts(&d, first, n, mark, part);
            assert_memory_equal(part, whole + first, n);
        }
    struct dataset all = open_pairs(false);
    assert_string_equal(marked(&all), "how are you$a line of text$noyes$alone$unanswered$");
    assert_int_equal(all.n_prompt, 0);
    assert_memory_not_equal(all.identity, d.identity, sizeof d.identity);
    dataset_close(&all);
    dataset_close(&d);
}

/* Encoded by itself, as where the model is given it: no token reaches across. */
static void prompts_are_encoded_alone(void **state)
{
    (void)state;
    const char *name = "across.jsonl";
    struct ids ids = {0};
    token_id got[8];
    data_text(name, "{\"prompt\": \"th\", \"completion\": \"e\"}\n");
    struct data_config c = data_config_of(&name, 1);
    struct dataset d = data_open(&c, false);
    assert_ok(tokenizer_encode(data_tokenizer, &ids, "th", 2, ENCODE_TEXT));
    assert_int_equal(d.n_prompt, ids.n);
    assert_ok(dataset_read(&d, got, 0, (size_t)d.n_tokens));
    assert_memory_equal(got, ids.data, ids.n * sizeof *got);
    ids_release(&ids);
    dataset_close(&d);
    data_config_release(&c);
}

/* Nor does a tokenizer put the space before a completion that it puts before a text. */
static void completions_go_on(void **state)
{
    (void)state;
    struct tokenizer *plain = data_tokenizer;
    struct dataset d;
    data_tokenizer = tiny_tokenizer_with(true);
    d = open_pairs(true);
    assert_string_equal(marked(&d),
                        "[ how are] you$ a line of text$[ no]yes$ alone$[ unanswered]$");
    dataset_close(&d);
    tokenizer_free(data_tokenizer);
    data_tokenizer = plain;
}

static void windows_have_no_labels_there(void **state)
{
    (void)state;
    struct dataset d = open_pairs(true);
    const struct data_config c = {.stride = 3};
    struct batches *b;
    bool skipped[256] = {false};
    token_id stream[256];
    const token_id *ids, *labels;
    assert_ok(dataset_read(&d, stream, 0, (size_t)d.n_tokens));
    dataset_prompts(&d, 0, (size_t)d.n_tokens, mark, skipped);
    assert_ok(batches_new(&b, &d, &c, 1, 5));
    for (uint64_t w = 0; w < batches_per_epoch(b); w++) {
        assert_ok(batches_next(b, &ids, &labels));
        for (uint64_t i = 0, at = 3 * w + 1; i < 5; i++, at++)
            assert_int_equal(labels[i], at >= d.n_tokens || skipped[at] ? LABEL_NONE : stream[at]);
    }
    batches_free(b);
    dataset_close(&d);
}

/* What is held out keeps its prompts, and a document that is divided its own part of one. */
static void held_out_documents_have_theirs(void **state)
{
    (void)state;
    const char *name = "pairs.jsonl";
    data_text(name, pairs);
    struct data_config c = data_config_of(&name, 1);
    struct dataset whole = open_pairs(true);
    const uint64_t all = whole.n_prompt;
    dataset_close(&whole);
    for (int k = 1; k < 20; k++) {
        struct dataset d, v;
        c.validation_fraction = k / 20.0;
        assert_ok(dataset_open(&d, &v, &c, data_tokenizer, 0, NULL));
        assert_int_equal(d.n_prompt + v.n_prompt, all);
        const bool text = strstr(marked(&d), "a line of text$") != NULL;
        assert_true(text != (strstr(marked(&v), "a line of text$") != NULL));
        dataset_close(&d);
        dataset_close(&v);
    }
    data_config_release(&c);
}

/* A long completion comes in chunks, whose document it remains. */
static void long_ones_are_read(void **state)
{
    (void)state;
    enum { WORDS = 1 << 20 };
    const char *name = "long.jsonl";
    struct buf line = {0};
    assert_ok(buf_str(&line, "{\"prompt\": \"now\", \"completion\": \""));
    for (int i = 0; i < WORDS; i++)
        assert_ok(buf_str(&line, " ab"));
    assert_ok(buf_str(&line, "\"}\n{\"prompt\": \"b\", \"completion\": \"c\"}\n"));
    data_text(name, line.data);
    buf_release(&line);
    struct data_config c = data_config_of(&name, 1);
    struct dataset d = data_open(&c, false);
    assert_int_equal(d.n_documents, 2);
    assert_int_equal(d.completions[0], d.n_prompt - (d.completions[1] - d.documents[1]));
    assert_true(d.documents[1] > WORDS);
    dataset_close(&d);
    data_config_release(&c);
}

/* Documents of several sequences in other programs' sets have no prompts. */
static void other_sets_have_none(void **state)
{
    (void)state;
    static const token_id ids[] = {1, 2, 3, 4, 5};
    const char *name = "cut";
    struct token_writer w;
    char *path = data_path(name);
    assert_ok(token_writer_open(&w, path, 10));
    assert_ok(token_writer_add(&w, ids, 2));
    assert_ok(token_writer_cut(&w));
    assert_ok(token_writer_add(&w, ids, 3));
    assert_ok(token_writer_end(&w));
    assert_ok(token_writer_add(&w, ids, 1));
    assert_ok(token_writer_cut(&w));
    assert_ok(token_writer_end(&w)); /* its second is empty */
    assert_ok(token_writer_add(&w, ids, 5));
    assert_ok(token_writer_commit(&w));
    struct token_file f;
    assert_ok(token_file_open(&f, TOKENS_MEGATRON, path, TOKEN_NONE, NULL));
    assert_int_equal(f.n_documents, 3);
    static const uint64_t begins[] = {0, 5, 6, 11}, seconds[] = {2, 6, 6};
    assert_memory_equal(f.documents, begins, sizeof begins);
    assert_memory_equal(f.seconds, seconds, sizeof seconds);
    assert_false(f.prompts);
    token_file_close(&f);
    struct data_config c = data_config_of(&name, 1);
    struct dataset d = data_open(&c, false);
    assert_int_equal(d.n_documents, 3);
    assert_null(d.completions);
    dataset_close(&d);
    data_config_release(&c);
    mem_free(path);
}

static void others_are_refused(void **state)
{
    (void)state;
    static const char *const lines[][2] = {
        {"{\"prompt\": \"a\"}", "line 1: expected a completion beside the prompt"},
        {"{\"completion\": \"a\"}", "line 1: expected a prompt beside the completion"},
        {"{\"prompt\": \"a\", \"completion\": 1}",
         "expected a completion that is a string, not a number"},
        {"{\"prompt\": null, \"completion\": \"a\"}",
         "expected a prompt that is a string, not null"},
        {"{\"prompt\": \"a\", \"response\": \"b\"}",
         "beside the prompt, it has prompt, response; settings data_prompt_template=\"{prompt}\" "
         "data_completion_template=\" {response}\" make prompts and completions"},
        {"{\"text\": 1, \"prompt\": \"a\"}",
         "expected an object whose field text is a string, not a number"}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct dataset d, v;
        const char *name = "half.jsonl";
        data_text(name, lines[i][0]);
        struct data_config c = data_config_of(&name, 1);
        assert_int_equal(dataset_open(&d, &v, &c, data_tokenizer, 0, NULL), ERR_FORMAT);
        assert_non_null(strstr(err_text(), lines[i][1]));
        data_config_release(&c);
    }
    /* Who asks for one text of a line is not given two. */
    struct text_reader r;
    char *path = data_path("pairs.jsonl");
    struct data_source s = {.path = path, .kind = DATA_JSON_LINES};
    struct buf out = {0};
    bool ends;
    size_t source;
    data_text("pairs.jsonl", pairs);
    text_reader_init(&r, &s, 1, "");
    assert_int_equal(text_reader_next(&r, &out, &ends, &source), ERR_FORMAT);
    text_reader_release(&r);
    buf_release(&out);
    mem_free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(completions_count_alone),
        cmocka_unit_test(prompts_are_encoded_alone),
        cmocka_unit_test(completions_go_on),
        cmocka_unit_test(windows_have_no_labels_there),
        cmocka_unit_test(held_out_documents_have_theirs),
        cmocka_unit_test(long_ones_are_read),
        cmocka_unit_test(other_sets_have_none),
        cmocka_unit_test(others_are_refused),
    };
    return cmocka_run_group_tests(tests, data_setup, data_teardown);
}
