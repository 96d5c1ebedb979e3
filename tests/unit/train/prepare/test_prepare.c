/* Texts become token files: the same bytes for any team, whole or not at all, and what training
 * reads from them is the text. */
#include "tests/lib/prepared.h"
#include "tests/lib/thin.h"

#include "model/base/par.h"
#include "train/prepare/convert.h"
#include "train/data/tfrecord.h"

#include <sys/stat.h>

enum { LINES = 3000 };

static int prepare(struct prepare_report *r, const char *in, const char *out,
                   const char *const *words, const struct progress *p)
{
    return prepare_with(r, in, out, words, data_tokenizer, p);
}

/* Documents of all lengths, some more than once but for case and spaces. */
static void write_texts(void)
{
    struct buf text = {0};
    for (int i = 0; i < LINES; i++) {
        const int word = i % 5 == 4 ? i - 4 : i;
        assert_ok(buf_printf(&text, i % 5 == 4 ? "DOCUMENT  %d has" : "document %d has", word));
        for (int k = 0; k < word % 97; k++)
            assert_ok(buf_printf(&text, " word%d", (word * 7 + k) % 1000));
        assert_ok(buf_str(&text, "\n<|endoftext|>\n"));
    }
    /* One of several chunks. */
    for (int i = 0; i < 400000; i++)
        assert_ok(buf_printf(&text, "long%d ", i % 10));
    data_text("many.txt", buf_text(&text));
    buf_release(&text);
}

static void teams_give_the_same_bytes(void **state)
{
    (void)state;
    struct prepare_report r;
    static const char *const formats[][3] = {
        {"format=megatron", "-train.bin", "-train.idx"},
        {"format=nanogpt", "-train.bin", "-test.bin"},
        {"format=llmc", "-train.bin", "-validation.bin"},
        {"format=tfrecord", "-train.tfrecord", "-test.tfrecord.index"},
        {"format=jsonl", "-train.jsonl", "-test.jsonl"}};
    write_texts();
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++)
        for (int threads = 1; threads <= 3; threads++) {
            char out[16], one[64], other[64];
            if (threads > 1 && !thin_runs((int)f + threads, 2))
                continue;
            snprintf(out, sizeof out, "t%d", threads);
            assert_ok(par_open(threads, false));
            assert_ok(prepare(&r, "many.txt", out,
                              WORDS(formats[f][0], "shuffle=on", "seed=7", "duplicates=near",
                                    "min_length=20", "split=0.8,0.1,0.1"),
                              NULL));
            assert_int_equal(r.short_ones, 32);
            for (int k = 1; k < 3; k++) {
                snprintf(one, sizeof one, "t1%s", formats[f][k]);
                snprintf(other, sizeof other, "%s%s", out, formats[f][k]);
                data_same_file(one, other);
            }
        }
    par_close();
}

/* What training reads is the text, document by document. */
static void training_reads_what_was_prepared(void **state)
{
    (void)state;
    struct prepare_report r;
    data_text("a.txt", "one day\n<|endoftext|>\na second");
    data_text("b.jsonl", "{\"text\": \"third\"}\n{\"text\": \"\"}\n{\"text\": \"4\\u0000!\"}\n");
    static const char *const formats[][2] = {{"format=megatron", "x"},
                                             {"format=nanogpt", "x.bin"},
                                             {"format=llmc", "x.bin"},
                                             {"format=tfrecord", "x.tfrecord"}};
    for (size_t i = 0; i < 4; i++) {
        char out[] = "in0/x";
        out[2] += (char)i;
        char folder[] = "in0";
        folder[2] = out[2];
        assert_ok(mkdir(scratch_path(&data_scratch, folder), 0700));
        assert_ok(prepare(&r, "a.txt", out, WORDS(formats[i][0]), NULL));
        assert_int_equal(r.documents, 2);
        assert_int_equal(r.parts[0].tokens, 15);
        char name[16];
        snprintf(name, sizeof name, "%s/%s", folder, formats[i][1]);
        data_expect(name, i == 2 ? "|$one day|$a second" : "|one day$|a second$");
    }
    assert_ok(prepare(&r, "b.jsonl", "b", NULL, NULL));
    assert_int_equal(r.documents, 2);
    assert_ok(prepare(&r, "b.jsonl", "c.jsonl", NULL, NULL));
    struct buf lines = {0};
    data_read(&lines, "c.jsonl");
    assert_string_equal(buf_text(&lines), "{\"text\":\"third\"}\n{\"text\":\"4\\u0000!\"}\n");
    buf_release(&lines);
    assert_ok(prepare(&r, "a.txt", "d.tfrecord", NULL, NULL));
    struct file f;
    struct ids ids = {0};
    struct buf scratch = {0}, text = {0};
    uint64_t at = 0;
    assert_ok(file_open(&f, scratch_path(&data_scratch, "d.tfrecord")));
    while (at < f.bytes) {
        assert_ok(tfrecord_read(&ids, &scratch, &f, &at));
        assert_ok(tokenizer_decode(data_tokenizer, &text, ids.data, ids.n - 1));
        assert_int_equal(ids.data[ids.n - 1], tokenizer_eos(data_tokenizer));
        assert_ok(buf_char(&text, '|'));
    }
    assert_string_equal(buf_text(&text), "one day|a second|");
    file_close(&f);
    ids_release(&ids);
    buf_release(&scratch);
    buf_release(&text);
}

static uint64_t documents_of(struct prepare_report *r, const char *split)
{
    assert_ok(prepare(r, "many.txt", "s", WORDS(split, "shuffle=on"), NULL));
    uint64_t all = 0;
    for (int i = 0; i < r->n_parts; i++)
        all += r->parts[i].documents;
    return all;
}

static void documents_are_split_and_repeated_ones_left_out(void **state)
{
    (void)state;
    struct prepare_report r;
    assert_int_equal(documents_of(&r, "split=0.95,0.025,0.025"), LINES + 1);
    assert_int_equal(r.n_parts, 3);
    assert_int_equal(r.parts[0].documents, 2851);
    assert_int_equal(r.parts[1].documents, 75);
    assert_ok(prepare(&r, "many.txt", "s", WORDS("duplicates=exact"), NULL));
    assert_int_equal(r.duplicates, LINES / 5);
    assert_int_equal(r.parts[0].documents, LINES + 1 - LINES / 5);
    /* Near: a word in a hundred is another; and not: half of them. */
    struct buf text = {0};
    for (int i = 0; i < 60; i++) {
        for (int k = 0; k < 100; k++)
            assert_ok(
                buf_printf(&text, "%d-%d ", k == i % 3 * 30 && i % 3 > 0 ? 1000 + i : i / 3, k));
        for (int k = 0; k < 100; k++)
            assert_ok(buf_printf(&text, i % 3 == 2 ? "other%d-%d " : "%d+%d ", i / 3, k));
        assert_ok(buf_str(&text, "<|endoftext|>"));
    }
    data_text("near.txt", buf_text(&text));
    buf_release(&text);
    assert_ok(prepare(&r, "near.txt", "s", WORDS("duplicates=exact"), NULL));
    assert_int_equal(r.duplicates, 0);
    assert_ok(prepare(&r, "near.txt", "s", WORDS("duplicates=near"), NULL));
    assert_int_equal(r.duplicates, 20);
    assert_ok(prepare(&r, "many.txt", "s", WORDS("duplicates=near"), NULL));
    assert_true(r.duplicates >= LINES / 5);
    /* Another seed is another order of the same tokens. */
    struct buf x = {0}, y = {0};
    assert_ok(prepare(&r, "many.txt", "one", WORDS("shuffle=on", "seed=1"), NULL));
    assert_ok(prepare(&r, "many.txt", "two", WORDS("shuffle=on", "seed=2"), NULL));
    data_read(&x, "one.bin");
    data_read(&y, "two.bin");
    assert_int_equal(x.n, y.n);
    assert_memory_not_equal(x.data, y.data, x.n);
    buf_release(&x);
    buf_release(&y);
}

/* From each format to each: the same documents. */
static void formats_convert_to_each_other(void **state)
{
    (void)state;
    static const char *const names[] = {"v0/x", "v1/x.bin", "v2/x.bin", "v3/x.tfrecord"};
    struct convert_report r;
    struct prepare_report first;
    struct buf text = {0}, lines = {0};
    for (int i = 0; i < 4; i++) {
        char folder[] = "v0";
        folder[1] = (char)('0' + i);
        assert_ok(mkdir(scratch_path(&data_scratch, folder), 0700));
    }
    data_text("a.txt", "one day\n<|endoftext|>\na s\xc3\xa9"
                       "cond text, cut\xc3");
    assert_ok(prepare(&first, "a.txt", "v", NULL, NULL));
    for (int from = -1; from < 4; from++)
        for (int to = 0; to < 4; to++) {
            char *in = data_path(from < 0 ? "v" : names[from]), *out = data_path(names[to]);
            if (to != from)
                assert_ok(
                    convert_run(&r, (enum output_format)to, in, out, data_tokenizer, true, NULL));
            assert_int_equal(r.documents, 2);
            assert_int_equal(r.tokens, first.parts[0].tokens);
            if (to != from)
                data_expect(names[to], to == 2 ? "|$one day|$a s\xc3\xa9"
                                                 "cond text, cut\xc3"
                                               : "|one day$|a s\xc3\xa9"
                                                 "cond text, cut\xc3$");
            mem_free(in);
            mem_free(out);
        }
    data_same_file("v.bin", "v0/x.bin");
    data_same_file("v.idx", "v0/x.idx");
    char *in = data_path("v3/x.tfrecord"), *out = data_path("v.jsonl"), *from = data_path("a.txt");
    assert_ok(convert_run(&r, OUTPUT_FORMATS, in, out, data_tokenizer, true, NULL));
    data_read(&lines, "v.jsonl");
    assert_string_equal(buf_text(&lines), "{\"text\":\"one day\"}\n{\"text\":\"a s\xc3\xa9"
                                          "cond text, cut\xef\xbf\xbd\"}\n");
    assert_fails(convert_run(&r, OUTPUT_FORMATS, from, out, data_tokenizer, true, NULL), ERR_FORMAT,
                 "is a text; data prepare makes tokens of it");
    assert_fails(convert_run(&r, OUTPUT_FORMATS, in, out, NULL, true, NULL), ERR_MISSING,
                 "JSON lines need the tokenizer");
    mem_free(in);
    mem_free(out);
    mem_free(from);
    buf_release(&text);
    buf_release(&lines);
}

/* Ctrl-C at the n-th report, n after n. */
struct stop {
    int at, now;
    bool went_on;
};
static void stop_then(void *user, const char *what, uint64_t done, uint64_t total)
{
    struct stop *s = user;
    (void)done;
    (void)total;
    s->went_on |= strcmp(what, "going on") == 0;
    if (++s->now == s->at)
        interrupt_raise();
}

static void interrupted_work_goes_on(void **state)
{
    (void)state;
    struct prepare_report r;
    static const char *const words[] = {"shuffle=on", "min_length=20", "duplicates=exact", NULL};
    assert_ok(prepare(&r, "many.txt", "whole", words, NULL));
    const struct prepare_report whole = r;
    int went_on = 0;
    for (int at = 1, rc = ERR_INTERRUPTED; rc != 0; at++) {
        struct stop stop = {.at = at};
        struct progress p = {.step = stop_then, .user = &stop};
        rc = prepare(&r, "many.txt", "part", words, &p);
        interrupt_clear();
        if (rc != 0) {
            assert_int_equal(rc, ERR_INTERRUPTED);
            assert_false(file_exists(scratch_path(&data_scratch, "part.bin")));
            assert_false(file_exists(scratch_path(&data_scratch, "part.idx")));
        }
        went_on += stop.went_on;
        assert_true(at < 1000);
    }
    assert_true(went_on > 2);
    data_same_file("whole.bin", "part.bin");
    data_same_file("whole.idx", "part.idx");
    assert_int_equal(r.short_ones, whole.short_ones);
    assert_int_equal(r.text_bytes, whole.text_bytes);
    assert_false(file_exists(scratch_path(&data_scratch, ".part.preparing")));
}

/* Of other texts or settings, or damaged: nothing of it counts. */
static void a_store_of_other_texts_does_not_count(void **state)
{
    (void)state;
    struct prepare_report r;
    struct buf text = {0};
    for (int damage = 0; damage < 3; damage++) {
        struct stop stop = {.at = 12};
        struct progress p = {.step = stop_then, .user = &stop};
        assert_int_equal(prepare(&r, "many.txt", "other", NULL, &p), ERR_INTERRUPTED);
        interrupt_clear();
        assert_true(file_exists(scratch_path(&data_scratch, ".other.preparing/state.json")));
        if (damage == 0)
            scratch_write(&data_scratch, ".other.preparing/data", "x", 1);
        if (damage == 1)
            scratch_write(&data_scratch, ".other.preparing/state.json", "{", 1);
        const char *const *words = damage == 2 ? WORDS("min_length=20") : NULL;
        assert_ok(prepare(&r, "many.txt", "other", words, NULL));
        assert_false(r.went_on);
        assert_ok(prepare(&r, "many.txt", "fresh", words, NULL));
        data_same_file("fresh.bin", "other.bin");
    }
    buf_release(&text);
}

static void columns_and_extracted_documents_are_read(void **state)
{
    (void)state;
    struct prepare_report r;
    struct buf lines = {0};
    data_text("c.csv", "id,text\r\n1,\"one, \"\"two\"\"\nthree\"\r\n2,\r\n3,four\r\n4,five");
    data_text("d.tsv", "body\tid\nsix, seven\t1\n");
    data_text("q.csv", "text,n\n6\" nails,1\nx\"\"y,2\n\"a\"b\"c,3\n\"\",4\n\"\"\"q\"\"\",5\n");
    data_text("s.csv", "id;text\n1;\"one; two\"\n2;three, four\n");
    data_text("bar.csv", "a;b|text\n1|x\n");
    data_text("tab.csv", "id\ttext\n1\ty;z\n");
    data_text("one.csv", "text\na;b;c\n");
    data_text("open.csv", "text,n\n1,2\n\"one, two\nthree,4\n");
    data_text("wiki_00", "<doc id=\"1\" url=\"u\" title=\"T\">\nT\n\nText one.\n</doc>\n"
                         "<doc id=\"2\" url=\"u\" title=\"E\">\n</doc>\n"
                         "<doc id=\"3\" url=\"u\" title=\"U\">\nU\n\nText two.\n</doc>\n");
    data_text("wiki_01",
              "{\"id\": \"1\", \"text\": \"json\"}\n{\"id\": \"2\", \"text\": \"more\"}\n");
    /* Whose line breaks at the end are of the file, in one form, and of the text in the other. */
    data_text("wiki_02", "<doc id=\"1\" url=\"u\" title=\"T\">\nT\n\nText.\n\n</doc>\n");
    data_text("wiki_03", "{\"id\": \"1\", \"title\": \"T\", \"text\": \"T\\n\\nText.\\n\"}\n");
    static const char *const rows[][3] = {
        {"c.csv", "field=text",
         "{\"text\":\"one, \\\"two\\\"\\nthree\"}\n{\"text\":\"four\"}\n{\"text\":\"five\"}\n"},
        {"c.csv", "column=2",
         "{\"text\":\"one, \\\"two\\\"\\nthree\"}\n{\"text\":\"four\"}\n{\"text\":\"five\"}\n"},
        {"d.tsv", "column=body", "{\"text\":\"six, seven\"}\n"},
        {"s.csv", "field=text", "{\"text\":\"one; two\"}\n{\"text\":\"three, four\"}\n"},
        {"s.csv", "field=2", "{\"text\":\"one; two\"}\n{\"text\":\"three, four\"}\n"},
        {"bar.csv", "field=text", "{\"text\":\"x\"}\n"},
        {"tab.csv", "field=text", "{\"text\":\"y;z\"}\n"},
        {"one.csv", "field=text", "{\"text\":\"a;b;c\"}\n"},
        {"q.csv", "field=text",
         "{\"text\":\"6\\\" nails\"}\n{\"text\":\"x\\\"\\\"y\"}\n{\"text\":\"ab\\\"c\"}\n"
         "{\"text\":\"\\\"q\\\"\"}\n"},
        {"wiki_00", "field=text",
         "{\"text\":\"T\\n\\nText one.\"}\n{\"text\":\"U\\n\\nText two.\"}\n"},
        {"wiki_01", "field=text", "{\"text\":\"json\"}\n{\"text\":\"more\"}\n"},
        {"wiki_02", "field=text", "{\"text\":\"T\\n\\nText.\"}\n"},
        {"wiki_03", "field=text", "{\"text\":\"T\\n\\nText.\\n\"}\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_ok(prepare(&r, rows[i][0], "o.jsonl", WORDS(rows[i][1]), NULL));
        data_read(&lines, "o.jsonl");
        assert_string_equal(buf_text(&lines), rows[i][2]);
    }
    data_text("wiki_04",
              "<doc id=\"1\" url=\"u\" title=\"T\">\nT\n\nText.\n</doc>\n<doc id=\"2\" ur");
    assert_int_equal(prepare(&r, "wiki_04", "o.jsonl", WORDS("field=text"), NULL), ERR_FORMAT);
    assert_string_equal(
        scratch_sentence(&data_scratch, err_text()),
        "DIR/wiki_04 ends inside a document, without </doc>: copy or extract it again");
    assert_int_equal(prepare(&r, "c.csv", "o.jsonl", WORDS("field=body"), NULL), ERR_MISSING);
    assert_string_equal(scratch_sentence(&data_scratch, err_text()),
                        "DIR/c.csv has no column body, it has id, text; field=NAME chooses one");
    assert_int_equal(prepare(&r, "s.csv", "o.jsonl", WORDS("field=body"), NULL), ERR_MISSING);
    assert_string_equal(scratch_sentence(&data_scratch, err_text()),
                        "DIR/s.csv has no column body, it has id, text; field=NAME chooses one");
    assert_int_equal(prepare(&r, "open.csv", "o.jsonl", NULL, NULL), ERR_FORMAT);
    assert_string_equal(scratch_sentence(&data_scratch, err_text()),
                        "DIR/open.csv record 3: its quotes are not closed");
    struct buf wide = {0}; /* as a matrix is; it is read once, not once for each column */
    for (int i = 0; i < 300000; i++)
        assert_ok(buf_str(&wide, "c,"));
    assert_ok(buf_str(&wide, ",text\n"));
    for (int i = 0; i < 300000; i++)
        assert_ok(buf_str(&wide, "1,"));
    assert_ok(buf_str(&wide, ",last\n"));
    data_text("wide.csv", buf_text(&wide));
    buf_release(&wide);
    assert_int_equal(prepare(&r, "wide.csv", "o.jsonl", WORDS("field=text"), NULL), 0);
    data_read(&lines, "o.jsonl");
    assert_string_equal(buf_text(&lines), "{\"text\":\"last\"}\n");
    data_text("short.csv", "id,text\n1,one\n2\n3,three\n");
    assert_int_equal(prepare(&r, "short.csv", "o.jsonl", WORDS("field=text"), NULL), ERR_FORMAT);
    assert_string_equal(
        scratch_sentence(&data_scratch, err_text()),
        "DIR/short.csv record 3 ends before its text, which is field 2 as the first "
        "record names them");
    data_text("ragged.csv", "id,text\n1,one,, \r\n\n3,\n4,\"two, three\"\n");
    assert_ok(prepare(&r, "ragged.csv", "o.jsonl", WORDS("field=text"), NULL));
    data_read(&lines, "o.jsonl");
    assert_string_equal(buf_text(&lines), "{\"text\":\"one\"}\n{\"text\":\"two, three\"}\n");
    data_text("wide.csv", "id,text\n1,fine\n2,Hello, world\n");
    assert_int_equal(prepare(&r, "wide.csv", "o.jsonl", WORDS("field=text"), NULL), ERR_FORMAT);
    assert_string_equal(scratch_sentence(&data_scratch, err_text()),
                        "DIR/wide.csv record 3 has 3 fields, and the first record names 2: a text "
                        "with a , in it must stand in quotes");
    buf_release(&lines);
}

static void what_cannot_be_is_said(void **state)
{
    (void)state;
    struct prepare_report r;
    struct prepare_config c;
    assert_ok(prepare_config_init(&c));
    assert_fails(prepare_config_set(&c, "splitt=1"), ERR_MISSING, "split");
    assert_ok(prepare_config_set(&c, "split=0.5,0.6"));
    prepare_config_release(&c);
    static const char *const splits[] = {
        "split=0.5,0.6", "split=0.5,0.5,", "split=x", "split=-1,2", "split=0.25,0.25,0.25,0.25",
        "split=nan"};
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++)
        assert_fails(prepare(&r, "a.txt", "o", WORDS(splits[i]), NULL), ERR_RANGE, "split must be");
    assert_fails(prepare(&r, "a.txt", "o", WORDS("min_length=100"), NULL), ERR_RANGE,
                 "all documents are shorter");
    data_text("empty.jsonl", "{\"text\": \"\"}\n");
    assert_fails(prepare(&r, "empty.jsonl", "o", NULL, NULL), ERR_RANGE,
                 "there is no text to prepare");
    assert_ok(prepare(&r, "a.txt", "o", NULL, NULL));
    char *in = data_path("a.txt"), *out = data_path("o");
    assert_ok(prepare_config_init(&c));
    assert_fails(prepare_run(&r, &c, in, out, data_tokenizer, false, NULL), ERR_EXISTS,
                 "exists already");
    assert_fails(prepare_run(&r, &c, in, out, NULL, true, NULL), ERR_MISSING, "no tokenizer");
    prepare_config_release(&c);
    mem_free(in);
    mem_free(out);
}

static void no_memory_is_survived(void **state)
{
    (void)state;
    assert_ok(mkdir(scratch_path(&data_scratch, "few"), 0700));
    data_text("few/a.txt", "one day <|endoftext|> another day with more words than five");
    data_text("few/b.csv", "text\n\"a, b\"\n");
    data_text("few/c.xml", "<mediawiki><page><title>T</title><ns>0</ns><revision><text>'''T''' of "
                           "{{convert|5|km|{{nowrap|mi}}}} [[a|b]]\n== H ==\n* item</text>"
                           "</revision></page></mediawiki>");
    prepare_without_memory("few", "memory", WORDS("split=0.5,0.5", "duplicates=near", "shuffle=on"),
                           "memory-train.idx", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(teams_give_the_same_bytes),
        cmocka_unit_test(training_reads_what_was_prepared),
        cmocka_unit_test(documents_are_split_and_repeated_ones_left_out),
        cmocka_unit_test(formats_convert_to_each_other),
        cmocka_unit_test(interrupted_work_goes_on),
        cmocka_unit_test(a_store_of_other_texts_does_not_count),
        cmocka_unit_test(columns_and_extracted_documents_are_read),
        cmocka_unit_test(what_cannot_be_is_said),
        cmocka_unit_test(no_memory_is_survived),
    };
    return cmocka_run_group_tests(tests, data_setup, data_teardown);
}
