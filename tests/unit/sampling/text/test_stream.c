#include "sampling/text/stream.h"

#include "model/base/rng.h"
#include "tests/lib/tiny_text.h"

static struct tokenizer *tokenizer;

/* The ids that are said to be shown have as many bytes as were. */
static void check_shown(const struct stream *s, const token_id *ids, size_t n, size_t n_text,
                        bool skip_space)
{
    size_t bytes = 0, of_one = 0, part, whole = stream_shown(s, ids, n, &part);
    assert_true(s->stopped || whole == n);
    for (size_t i = 0; i < whole; i++, bytes += of_one)
        tokenizer_bytes(tokenizer, ids[i], &of_one);
    if (part > 0)
        tokenizer_bytes(tokenizer, ids[whole], &of_one);
    assert_true(part == 0 || part < of_one);
    assert_int_equal(
        bytes + part - (skip_space && *tokenizer_bytes(tokenizer, *ids, &of_one) == ' '), n_text);
}

/* What is shown of a text whose ids are given one by one. */
static char *shown(const char *stops_text, const token_id *ids, size_t n, bool skip_space,
                   bool *stopped)
{
    struct stop_strings *stops;
    struct stream s;
    struct buf text = {0};
    assert_ok(stop_strings_new(&stops, stops_text));
    assert_ok(stream_init(&s, tokenizer, stops));
    char *out = mem_alloc(s.held_bytes);
    stream_reset(&s, skip_space);
    size_t n_pushed = 0;
    for (size_t i = 0; i < n; i++) {
        n_pushed += !s.stopped;
        assert_ok(buf_add(&text, out, stream_push(&s, ids[i], out)));
    }
    assert_ok(buf_add(&text, out, stream_finish(&s, out)));
    check_shown(&s, ids, n_pushed, text.n, skip_space);
    if (stopped != NULL)
        *stopped = s.stopped;
    mem_free(out);
    stream_release(&s);
    stop_strings_free(stops);
    assert_ok(buf_reserve(&text, 1));
    return text.data;
}

static char *shown_bytes(const char *stops, const char *bytes, bool skip_space, bool *stopped)
{
    token_id ids[256];
    size_t n = strlen(bytes);
    for (size_t i = 0; i < n; i++)
        ids[i] = 1 + (unsigned char)bytes[i];
    return shown(stops, ids, n, skip_space, stopped);
}

static void check_bytes(const char *stops, const char *bytes, const char *expected, bool stops_it)
{
    bool stopped;
    char *text = shown_bytes(stops, bytes, false, &stopped);
    assert_string_equal(text, expected);
    assert_int_equal(stopped, stops_it);
    mem_free(text);
}

static void stops_over_token_borders(void **state)
{
    (void)state;
    check_bytes("end", "the end is near", "the ", true);
    check_bytes("end", "the en", "the en", false);
    check_bytes("User:,\\n\\n", "a\nb\n\nc", "a\nb", true);
    check_bytes("a\\,b", "xa,b", "x", true);
    check_bytes("aab", "aaaab", "aa", true);
    check_bytes("abab,b", "aabab", "aa", true);
    check_bytes(NULL, "anything", "anything", false);
    check_bytes("", "anything", "anything", false);
}

/* The string that is complete first counts, and of those that are, the longest. */
static void takes_the_first_complete_stop(void **state)
{
    (void)state;
    check_bytes("xaby,ab", "xaby", "x", true);
    check_bytes("b,ab,xab", "yxab", "y", true);
    check_bytes("xab,ab,b", "yxab", "y", true);
}

static void skips_the_blank_of_the_prompt(void **state)
{
    (void)state;
    char *text = shown_bytes(NULL, " John Smith", true, NULL);
    assert_string_equal(text, "John Smith");
    mem_free(text);
    text = shown_bytes(NULL, "x y", true, NULL);
    assert_string_equal(text, "x y");
    mem_free(text);
    text = shown_bytes(" a", " a", true, NULL);
    assert_string_equal(text, "a");
    mem_free(text);
}

/* How many bytes of valid UTF-8 there are up to the last whole character. */
static size_t whole(const char *text, size_t n)
{
    size_t i = 0;
    while (i < n) {
        unsigned char c = (unsigned char)text[i];
        size_t length = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        if (i + length > n)
            break;
        i += length;
    }
    return i;
}

static void shows_whole_characters(void **state)
{
    (void)state;
    const char *text = "aé€😀ßz中";
    struct stream s;
    char out[512], all[64];
    size_t n_all = 0;
    assert_ok(stream_init(&s, tokenizer, NULL));
    assert_true(s.held_bytes <= sizeof out);
    for (size_t i = 0; i < strlen(text); i++) {
        size_t n = stream_push(&s, 1 + (unsigned char)text[i], out);
        memcpy(all + n_all, out, n);
        n_all += n;
        assert_int_equal(n_all, whole(text, i + 1));
    }
    assert_memory_equal(all, text, n_all);
    stream_release(&s);
}

/* Invalid bytes are shown at once, an unfinished character at the end of the text. */
static void shows_invalid_bytes_as_they_are(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t at_once; /* before stream_finish */
    } rows[] = {{"\x80", 1},         {"\xff", 1},         {"\xc0", 1},
                {"\xc1\xbf", 2},     {"\xe2\x82", 0},     {"\xe2x", 2},
                {"\xe0\x80", 2},     {"\xed\xa0", 2},     {"\xed\x9f", 0},
                {"\xf0\x9f\x98", 0}, {"\xf0\x80", 2},     {"\xf4\x90", 2},
                {"\xf5", 1},         {"\xf4\x8f\xbf", 0}, {"a\xe2\x82z", 4},
                {"\xc3\xc3", 1},     {"\xe2\x82\xe2", 2}, {"\xf0\x9f\xf0\x9f\x98", 2}};
    struct stream s;
    char out[512];
    assert_ok(stream_init(&s, tokenizer, NULL));
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        size_t n = 0, length = strlen(rows[r].bytes);
        char all[16];
        stream_reset(&s, false);
        for (size_t i = 0; i < length; i++) {
            size_t more = stream_push(&s, 1 + (unsigned char)rows[r].bytes[i], out);
            memcpy(all + n, out, more);
            n += more;
        }
        assert_int_equal(n, rows[r].at_once);
        size_t more = stream_finish(&s, out);
        memcpy(all + n, out, more);
        assert_int_equal(n + more, length);
        assert_memory_equal(all, rows[r].bytes, length);
    }
    stream_release(&s);
}

/* The definition: the text before the stop string that is complete first. */
static size_t cut_by_definition(const char *text, size_t n, const char *const *stops, int n_stops)
{
    for (size_t end = 1; end <= n; end++) {
        size_t longest = 0;
        for (int i = 0; i < n_stops; i++) {
            size_t length = strlen(stops[i]);
            if (length > longest && length <= end &&
                memcmp(text + end - length, stops[i], length) == 0)
                longest = length;
        }
        if (longest > 0)
            return end - longest;
    }
    return n;
}

/* Texts of few letters, so that everything overlaps, cut into tokens at random. */
static void equals_its_definition_however_cut(void **state)
{
    (void)state;
    static const char *const sets[][3] = {
        {"abc", "ba", "bbb"}, {"aab", "aaab", "b a"}, {" a", "ab", "éa"}, {"é", "abcabc", "  "}};
    static const char *const pieces[] = {"a", "b", "c", " ", "é"};
    uint64_t counter = 0;
    for (int round = 0; round < 400; round++) {
        const char *const *stops = sets[round % 4];
        struct buf text = {0};
        struct ids ids = {0};
        for (int i = 0; i < 12; i++)
            assert_ok(buf_str(&text, pieces[(int)(rng_uniform(1, 0, counter++) * 5)]));
        /* Greedy merges in some places, single bytes in others. */
        size_t at = 0;
        while (at < text.n) {
            size_t n = 1 + (size_t)(rng_uniform(1, 1, counter++) * 4);
            n = at + n > text.n ? text.n - at : n;
            assert_ok(tokenizer_encode(tokenizer, &ids, text.data + at, n, ENCODE_TEXT));
            at += n;
        }
        struct buf setting = {0};
        assert_ok(buf_printf(&setting, "%s,%s,%s", stops[0], stops[1], stops[2]));
        bool stopped;
        char *got = shown(setting.data, ids.data, ids.n, false, &stopped);
        size_t expected = cut_by_definition(text.data, text.n, stops, 3);
        assert_int_equal(strlen(got), expected);
        assert_memory_equal(got, text.data, expected);
        assert_int_equal(stopped, expected < text.n);
        mem_free(got);
        buf_release(&setting);
        buf_release(&text);
        ids_release(&ids);
    }
}

static void refuses_bad_stop_strings(void **state)
{
    (void)state;
    struct stop_strings *stops;
    assert_int_equal(stop_strings_new(&stops, "a,,b"), ERR_RANGE);
    assert_null(stops);
    assert_int_equal(stop_strings_new(&stops, "\\q"), ERR_RANGE);
    assert_null(stops);
}

static void pushes_without_allocating(void **state)
{
    (void)state;
    struct stop_strings *stops;
    struct stream s;
    char out[512];
    assert_ok(stop_strings_new(&stops, "abcabcabc,the end"));
    assert_ok(stream_init(&s, tokenizer, stops));
    uint64_t before = mem_count();
    for (token_id id = -1; id < TINY_V + 2; id++)
        assert_true(stream_push(&s, id, out) <= s.held_bytes);
    assert_int_equal(mem_count(), before);
    stream_release(&s);
    stop_strings_free(stops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops_over_token_borders),
        cmocka_unit_test(takes_the_first_complete_stop),
        cmocka_unit_test(skips_the_blank_of_the_prompt),
        cmocka_unit_test(shows_whole_characters),
        cmocka_unit_test(shows_invalid_bytes_as_they_are),
        cmocka_unit_test(equals_its_definition_however_cut),
        cmocka_unit_test(refuses_bad_stop_strings),
        cmocka_unit_test(pushes_without_allocating),
    };
    tokenizer = tiny_tokenizer();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tokenizer_free(tokenizer);
    return failed;
}
