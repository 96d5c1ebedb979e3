/* Token files are split, shuffled and sifted as the texts are that they were made of. */
#include "tests/lib/prepared.h"

#include "model/base/par.h"
#include "train/prepare/convert.h"

#include <sys/stat.h>

enum { LINES = 700 };

static int prepare(struct prepare_report *r, const char *in, const char *out,
                   const char *const *words)
{
    return prepare_with(r, in, out, words, data_tokenizer, NULL);
}

/* Lists of the ids of texts, NULL behind the last, as a pickle of protocol 2. */
static void write_pickle(const char *name, const char *const *lists)
{
    struct buf out = {0};
    struct ids ids = {0};
    assert_ok(buf_add(&out, "\x80\x02](", 4));
    for (; *lists != NULL; lists++) {
        assert_ok(buf_add(&out, "](", 2));
        ids.n = 0;
        assert_ok(tokenizer_encode(data_tokenizer, &ids, *lists, strlen(*lists), ENCODE_TEXT));
        for (size_t i = 0; i < ids.n; i++) {
            const char int16[] = {'M', (char)(ids.data[i] & 0xff), (char)(ids.data[i] >> 8)};
            assert_ok(buf_add(&out, int16, sizeof int16));
        }
        assert_ok(buf_char(&out, 'e'));
    }
    assert_ok(buf_str(&out, "e."));
    scratch_write(&data_scratch, name, out.data, out.n);
    ids_release(&ids);
    buf_release(&out);
}

static const char *const shapes[][2] = {{"format=megatron", "all"},
                                        {"format=nanogpt", "nano/all.bin"},
                                        {"format=llmc", "llmc/all.bin"},
                                        {"format=tfrecord", "all.tfrecord"}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Documents of all lengths, every fifth one said before; one of several blocks of ids. */
static void write_texts(void)
{
    struct buf text = {0};
    struct prepare_report r;
    for (int i = 0; i < LINES; i++) {
        const int word = i % 5 == 4 ? i - 4 : i;
        assert_ok(buf_printf(&text, "%s%d has", i == 99 ? "" : "document ", word));
        for (int k = 0; k < word % 97; k++)
            assert_ok(buf_printf(&text, " word%d", (word * 7 + k) % 1000));
        for (int k = 0; i == 100 && k < 30000; k++)
            assert_ok(buf_printf(&text, " long%d", k));
        assert_ok(buf_str(&text, "\n<|endoftext|>\n"));
    }
    data_text("many.txt", buf_text(&text));
    buf_release(&text);
    assert_ok(mkdir(scratch_path(&data_scratch, "nano"), 0700));
    assert_ok(mkdir(scratch_path(&data_scratch, "llmc"), 0700));
    for (int i = 0; i < SHAPES; i++)
        assert_ok(prepare(&r, "many.txt", shapes[i][1], WORDS(shapes[i][0])));
}

static void tokens_give_what_their_texts_give(void **state)
{
    (void)state;
    struct prepare_report r, of_texts;
    static const char *const sets[][7] = {
        {"shuffle=on", "seed=3", "split=0.8,0.1,0.1"},
        {"duplicates=exact", "split=0.5,0.5"},
        {"duplicates=exact", "split=0.5,0.5", "shuffle=on", "seed=9"},
        {"format=jsonl", "shuffle=on", "split=0.5,0.5"}};
    write_texts();
    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        const char *const ending = k == 3 ? "-train.jsonl" : "-train.bin",
                          *const other = k == 3 ? "-validation.jsonl" : "-validation.idx";
        char names[4][40];
        snprintf(names[0], sizeof names[0], "t%s", ending);
        snprintf(names[1], sizeof names[1], "t%s", other);
        snprintf(names[2], sizeof names[2], "o%s", ending);
        snprintf(names[3], sizeof names[3], "o%s", other);
        assert_ok(prepare(&of_texts, "many.txt", "t", sets[k]));
        for (int i = 0; i < SHAPES; i++)
            for (int threads = 1; threads < 3; threads++) {
                assert_ok(par_open(threads, false));
                assert_ok(prepare(&r, shapes[i][1], "o", sets[k]));
                data_same_file(names[0], names[2]);
                data_same_file(names[1], names[3]);
                assert_int_equal(r.documents, of_texts.documents);
                assert_int_equal(r.duplicates, of_texts.duplicates);
                assert_false(r.joins || r.unmoved);
            }
        assert_true(k == 0 || k == 3 || of_texts.duplicates > 0);
    }
    par_close();
}

#define LONG "|0123456789abcdefghijklmnopqrstuvwxy"
/* By the tokens, whatever they stand for; without a tokenizer too. */
static void what_is_short_or_repeated_goes(void **state)
{
    (void)state;
    static const char *const lists[] = {"one two",
                                        "ONE TWO",
                                        "a",
                                        "one two",
                                        "one two!",
                                        "bcd",
                                        "0123456789abcdefghijklmnopqrstuvwxyz",
                                        "0123456789abcdefghijklmnopqrstuvwxyZ",
                                        NULL};
    static const struct {
        const char *words[4], *shown;
        uint64_t short_ones, duplicates;
    } rows[] = {
        {{"duplicates=exact"}, "|one two$|ONE TWO$|a$|one two!$|bcd$" LONG "z$" LONG "Z$", 0, 1},
        {{"duplicates=near"}, "|one two$|ONE TWO$|a$|one two!$|bcd$" LONG "z$", 0, 2},
        {{"min_length=3"}, "|one two$|ONE TWO$|one two$|one two!$|bcd$" LONG "z$" LONG "Z$", 1, 0},
        {{"min_length=4"}, "|one two$|ONE TWO$|one two$|one two!$" LONG "z$" LONG "Z$", 2, 0},
        {{"min_length=7", "duplicates=exact"}, "|ONE TWO$|one two!$" LONG "z$" LONG "Z$", 4, 0}};
    struct prepare_report r;
    write_pickle("lists.pkl", lists);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_ok(prepare(&r, "lists.pkl", "few", rows[i].words));
        data_expect("few", rows[i].shown);
        assert_int_equal(r.short_ones, rows[i].short_ones);
        assert_int_equal(r.duplicates, rows[i].duplicates);
        assert_ok(prepare_with(&r, "lists.pkl", "none", rows[i].words, NULL, NULL));
        assert_int_equal(r.short_ones, rows[i].short_ones);
        assert_int_equal(r.duplicates, rows[i].duplicates);
    }
    assert_ok(prepare_with(&r, "lists.pkl", "none.bin", WORDS("format=nanogpt", "shuffle=on"), NULL,
                           NULL));
    assert_true(r.joins && !r.unmoved);
    assert_ok(
        prepare_with(&r, "lists.pkl", "none.bin", WORDS("format=llmc", "shuffle=on"), NULL, NULL));
    assert_true(r.joins && r.unmoved);
    assert_fails(prepare(&r, "lists.pkl", "few", WORDS("min_length=34")), ERR_RANGE,
                 "all documents are shorter than min_length");
}

/* Documents of nothing but the end-of-text token, as empty texts become elsewhere. */
static void of_empty_documents_one_stays(void **state)
{
    (void)state;
    static const char *const words[] = {"duplicates=exact", "duplicates=near"};
    const token_id end = tokenizer_eos(data_tokenizer);
    const char empty[] = {']', '(', 'M', (char)(end & 0xff), (char)(end >> 8), 'e'};
    struct buf lists = {0};
    struct prepare_report r;
    assert_ok(buf_add(&lists, "\x80\x02](", 4));
    for (int i = 0; i < 3; i++)
        assert_ok(buf_add(&lists, empty, sizeof empty));
    assert_ok(buf_str(&lists, "e."));
    scratch_write(&data_scratch, "empty.pkl", lists.data, lists.n);
    buf_release(&lists);
    for (size_t i = 0; i < 2; i++) {
        assert_ok(prepare_with(&r, "empty.pkl", "few", WORDS(words[i]), NULL, NULL));
        data_expect("few", "|$");
        assert_int_equal(r.duplicates, 2);
    }
}

/* Ctrl-C at the n-th report, n after n. */
struct stop {
    int at, now;
};
static void stop_then(void *user, const char *what, uint64_t done, uint64_t total)
{
    struct stop *s = user;
    (void)what;
    (void)done;
    (void)total;
    if (++s->now == s->at)
        interrupt_raise();
}

static void interrupted_work_goes_on(void **state)
{
    (void)state;
    struct prepare_report r;
    int went_on = 0;
    static const char *const words[] = {"shuffle=on", "min_length=30", "duplicates=exact", NULL};
    assert_ok(prepare(&r, "llmc/all.bin", "whole", words));
    const struct prepare_report whole = r;
    for (int at = 1, rc = ERR_INTERRUPTED; rc != 0; at++) {
        struct stop stop = {.at = at};
        struct progress p = {.step = stop_then, .user = &stop};
        rc = prepare_with(&r, "llmc/all.bin", "part", words, data_tokenizer, &p);
        interrupt_clear();
        if (rc != 0) {
            assert_int_equal(rc, ERR_INTERRUPTED);
            assert_false(file_exists(scratch_path(&data_scratch, "part.idx")));
        }
        went_on += r.went_on;
        assert_true(at < 1000);
    }
    assert_true(went_on > 2);
    data_same_file("whole.bin", "part.bin");
    data_same_file("whole.idx", "part.idx");
    assert_int_equal(r.short_ones, whole.short_ones);
    assert_int_equal(r.tokens, whole.tokens);
    assert_false(file_exists(scratch_path(&data_scratch, ".part.preparing")));
}

static void what_cannot_be_is_said(void **state)
{
    (void)state;
    struct prepare_report r;
    struct prepare_config c;
    char *both = mem_sprintf("%s,%s", scratch_path(&data_scratch, "many.txt"),
                             scratch_path(&data_scratch, "lists.pkl"));
    char *out = data_path("o");
    assert_ok(prepare_config_init(&c));
    assert_int_equal(prepare_run(&r, &c, both, out, data_tokenizer, true, NULL), ERR_FORMAT);
    assert_string_equal(scratch_sentence(&data_scratch, err_text()),
                        "DIR/lists.pkl has tokens already, DIR/many.txt is a text: prepare each by "
                        "itself");
    mem_free(both);
    mem_free(out);
    assert_ok(prepare_config_check_tokens(&c));
    static const char *const words[] = {"field=body", "document_separator=file", "record_limit=5"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        assert_ok(prepare_config_set(&c, words[i]));
        assert_fails(prepare_config_check_tokens(&c), ERR_RANGE, "is a setting of texts");
        prepare_config_release(&c);
        assert_ok(prepare_config_init(&c));
    }
    prepare_config_release(&c);
    data_text("other.bin", "abcd");
    assert_fails(prepare_with(&r, "other.bin", "o", WORDS("shuffle=on"), NULL, NULL), ERR_MISSING,
                 "where the documents of these files end only the tokenizer of their ids says");
    assert_fails(prepare_with(&r, "lists.pkl", "o.jsonl", WORDS("shuffle=on"), NULL, NULL),
                 ERR_MISSING, "JSON lines need the tokenizer of the ids");
    assert_fails(prepare_with(&r, "many.txt", "o", NULL, NULL, NULL), ERR_MISSING,
                 "cannot encode the texts: there is no tokenizer");
    assert_fails(prepare(&r, "other.bin", "o", WORDS("shuffle=on")), ERR_RANGE,
                 "was it made with another tokenizer?");
}

static void no_memory_is_survived(void **state)
{
    (void)state;
    prepare_without_memory("lists.pkl", "memory.jsonl",
                           WORDS("split=0.5,0.5", "duplicates=near", "shuffle=on"),
                           "memory-train.jsonl", 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_give_what_their_texts_give),
        cmocka_unit_test(what_is_short_or_repeated_goes),
        cmocka_unit_test(of_empty_documents_one_stays),
        cmocka_unit_test(interrupted_work_goes_on),
        cmocka_unit_test(what_cannot_be_is_said),
        cmocka_unit_test(no_memory_is_survived),
    };
    return cmocka_run_group_tests(tests, data_setup, data_teardown);
}
