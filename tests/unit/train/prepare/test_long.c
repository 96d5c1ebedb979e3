/* Long lines, records, words and documents: in parts, or refused by a limit that has a name. */
#include "tests/lib/prepared.h"

#include "model/base/json.h"
#include "model/base/rng.h"
#include "train/data/text_reader.h"
#include "train/prepare/output.h"

enum { LONG = 3500000 };

static int prepare(struct prepare_report *r, const char *in, const char *out, const char *word)
{
    return prepare_with(r, in, out, WORDS(word), data_tokenizer, NULL);
}

/* Words and numbers; `bytes` of them. */
static void add_words(struct buf *text, size_t bytes)
{
    const size_t end = text->n + bytes;
    for (uint64_t i = 0; text->n < end; i++) {
        uint32_t w[4];
        rng_words(w, 9, 1, i);
        assert_ok(buf_printf(text, "%x caf\xc3\xa9 %u ", w[0], w[1] % 100));
    }
    text->n = end - 1;
    assert_ok(buf_char(text, '.'));
}

static void a_line_is_a_document_like_a_file(void **state)
{
    (void)state;
    struct prepare_report r;
    struct buf text = {0}, line = {0}, a = {0}, b = {0};
    add_words(&text, LONG);
    data_text("long.txt", buf_text(&text));
    assert_ok(buf_printf(&line, "{\"text\": \"%s\"}\n{\"text\": \"short\"}\n", buf_text(&text)));
    data_text("long.jsonl", buf_text(&line));
    line.n = 0;
    assert_ok(buf_printf(&line, "text,n\n\"%s\",1\nshort,2\n", buf_text(&text)));
    data_text("long.csv", buf_text(&line));
    assert_ok(prepare(&r, "long.txt", "plain", "record_limit=4"));
    assert_ok(prepare(&r, "long.jsonl", "lines", "record_limit=4"));
    assert_int_equal(r.documents, 2);
    assert_ok(prepare(&r, "long.csv", "csv", "record_limit=4"));
    data_read(&a, "plain.bin");
    data_read(&b, "lines.bin");
    assert_true(b.n > a.n && memcmp(a.data, b.data, a.n) == 0);
    data_same_file("lines.bin", "csv.bin");
    data_same_file("lines.idx", "csv.idx");
    assert_fails(prepare(&r, "long.jsonl", "o", "record_limit=3"), ERR_RANGE,
                 "long.jsonl line 1 has more than 3 MB; data prepare takes longer ones with "
                 "record_limit=MB");
    assert_fails(prepare(&r, "long.csv", "o", "record_limit=3"), ERR_RANGE,
                 "long.csv has a record of more than 3 MB behind byte 7; ");
    buf_release(&text);
    buf_release(&line);
    buf_release(&a);
    buf_release(&b);
}

/* Chunks of the reader, so that no document need be in memory whole. */
static void long_documents_come_in_parts(void **state)
{
    (void)state;
    struct data_sources sources;
    struct text_reader r;
    struct buf chunk = {0}, all = {0}, text = {0};
    size_t at = 0;
    bool ends;
    char *path = data_path("long.jsonl");
    assert_ok(data_sources_find(&sources, path));
    text_reader_init(&r, sources.list, sources.n, "");
    for (int i = 0; text_reader_next(&r, &chunk, &ends, &at) == 0 && at < sources.n; i++) {
        assert_true(chunk.n <= 2 << 20);
        assert_int_equal(ends, i >= 2);
        assert_ok(buf_add(&all, chunk.data, chunk.n));
    }
    data_read(&text, "long.txt");
    assert_int_equal(all.n, text.n + 5);
    assert_memory_equal(all.data, text.data, text.n);
    text_reader_release(&r);
    data_sources_release(&sources);
    buf_release(&chunk);
    buf_release(&all);
    buf_release(&text);
    mem_free(path);
}

/* No visible ASCII character stands before a line break, as in Chinese; and a word without end. */
static void texts_are_cut_behind_any_letter(void **state)
{
    (void)state;
    struct prepare_report r;
    struct buf text = {0};
    for (int i = 0; i < 60000; i++)
        assert_ok(buf_str(&text,
                          "\xe6\xb0\xb4\xe5\x9c\xa8\xe6\xb5\x81\xe3\x80\x82\n"
                          "\xe6\xb0\xb4\xe5\x9c\xa8\xe6\xb5\x81\xe5\x8a\xa8\n\xe3\x80\x80\n"));
    data_text("water.txt", buf_text(&text));
    assert_ok(prepare(&r, "water.txt", "water", "record_limit=1"));
    assert_int_equal(r.text_bytes, text.n);
    assert_int_equal(r.parts[0].tokens, text.n + 1); /* bytes are tokens here */
    text.n = 0;
    assert_ok(buf_str(&text, "word "));
    for (int i = 0; i < 1 << 21; i++)
        assert_ok(buf_char(&text, 'x'));
    data_text("word.txt", buf_text(&text));
    assert_fails(prepare(&r, "word.txt", "o", "record_limit=1"), ERR_RANGE,
                 "word.txt has a word of more than 1 MB behind byte ");
    buf_release(&text);
}

/* Nor within a special token that is read as one. */
static void special_tokens_are_not_cut(void **state)
{
    (void)state;
    enum { TIMES = 120000 };
    static const char *const tokens[] = {"<", "a", "\xc4\xa0", "b", ">", "<a b>", "<|endoftext|>"};
    const struct vocab v = {.n_tokens = 7,
                            .tokens = tokens,
                            .special = (const unsigned char[]){0, 0, 0, 0, 0, 1, 1},
                            .eos = 6};
    struct tokenizer *t;
    assert_ok(tokenizer_new(&t, &v));
    for (int before = 0; before < 9; before++) {
        struct prepare_report r;
        struct buf text = {0};
        assert_ok(buf_printf(&text, "%.*s", before, "aaaaaaaaa"));
        for (int i = 0; i < TIMES; i++)
            assert_ok(buf_str(&text, "b a<a b> "));
        data_text("marked.txt", buf_text(&text));
        assert_ok(prepare_with(&r, "marked.txt", "marked", WORDS("special=on"), t, NULL));
        assert_int_equal(r.parts[0].tokens, before + 5 * TIMES + 1);
        buf_release(&text);
    }
    tokenizer_free(t);
}

/* In parts too, which may end inside of a character: the line is that of the whole. */
static void lines_are_written_in_parts(void **state)
{
    (void)state;
    struct output o;
    struct buf text = {0}, line = {0};
    json_t *read = NULL;
    char *path = data_path("parts.jsonl");
    for (uint64_t i = 0; text.n < LONG / 4; i++) {
        static const char *const some[] = {
            "a",    "\"",       "\\", "\n",  "\x01", "\xc3\xa9", "\xe6\xb0\xb4", "\xf0\x9f\x98\x80",
            "\xff", "\xe6\xb0", "/",  "\x7f"};
        uint32_t w[4];
        rng_words(w, 2, 7, i);
        assert_ok(buf_str(&text, some[w[0] % (sizeof some / sizeof *some)]));
    }
    assert_ok(output_open(&o, OUTPUT_JSON_LINES, path, 0, TOKEN_NONE, true));
    for (size_t at = 0, n; at < text.n; at += n) {
        n = text.n - at < 777 ? text.n - at : 777;
        assert_ok(output_add_text(&o, text.data + at, n));
        assert_true(o.document.n < 1 << 20);
    }
    assert_ok(output_end(&o));
    assert_ok(output_end(&o)); /* an empty one */
    assert_ok(output_add_text(&o, "b", 1));
    assert_ok(output_end(&o));
    assert_ok(output_commit(&o));
    output_abandon(&o);
    data_read(&line, "parts.jsonl");
    const char *end = memchr(line.data, '\n', line.n);
    assert_string_equal(end + 1, "{\"text\":\"b\"}\n");
    assert_ok(json_read_line(&read, line.data, (size_t)(end - line.data)));
    json_t *whole = json_of_text(text.data, text.n);
    assert_true(json_equal(json_object_get(read, "text"), whole));
    json_decref(read);
    json_decref(whole);
    buf_release(&text);
    buf_release(&line);
    mem_free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_a_document_like_a_file),
        cmocka_unit_test(long_documents_come_in_parts),
        cmocka_unit_test(texts_are_cut_behind_any_letter),
        cmocka_unit_test(special_tokens_are_not_cut),
        cmocka_unit_test(lines_are_written_in_parts),
    };
    return cmocka_run_group_tests(tests, data_setup, data_teardown);
}
