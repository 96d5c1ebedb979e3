/* Names of models, and addresses. */
#include "tests/lib/test.h"
#include "weights/hub/name.h"
#include "weights/hub/url.h"

static void names_have_an_id_and_a_revision(void **state)
{
    (void)state;
    static const struct {
        const char *text, *id, *revision;
    } rows[] = {{"gpt2", "gpt2", "main"},
                {"openai-community/gpt2", "openai-community/gpt2", "main"},
                {"a/b@v1.0", "a/b", "v1.0"},
                {"a/b@refs/pr/1", "a/b", "refs/pr/1"},
                {"A_b/c.d-e@607a30d783dfa663caf39e06633721c8d4cfcd7e", "A_b/c.d-e",
                 "607a30d783dfa663caf39e06633721c8d4cfcd7e"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hub_name n;
        assert_ok(hub_name_read(&n, rows[i].text));
        assert_string_equal(n.id, rows[i].id);
        assert_string_equal(n.revision, rows[i].revision);
        assert_int_equal(n.given, strchr(rows[i].text, '@') != NULL);
    }
}

static void names_may_have_a_file_or_a_quantization(void **state)
{
    (void)state;
    static const struct {
        const char *text, *id, *file, *quant, *revision;
    } rows[] = {{"a/b/x.gguf", "a/b", "x.gguf", "", "main"},
                {"a/b/x.Q8_0.gguf@v1", "a/b", "x.Q8_0.gguf", "", "v1"},
                {"a/b:Q8_0", "a/b", "", "Q8_0", "main"},
                {"a/b:f16@refs/pr/1", "a/b", "", "f16", "refs/pr/1"}};
    static const char *const wrong[] = {
        "a/b/x.bin", "a/b/c/x.gguf", "a/b/.x.gguf",  "a/b/../x.gguf", "a/b/",   "a/b:",
        "a/b:Q8/0",  "a/b:Q8_0:x",   "a/b/x.gguf:1", "a:Q8_0",        "a/b:..", "/b/x.gguf"};
    struct hub_name n;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_ok(hub_name_read(&n, rows[i].text));
        assert_string_equal(n.id, rows[i].id);
        assert_string_equal(n.file, rows[i].file);
        assert_string_equal(n.quant, rows[i].quant);
        assert_string_equal(n.revision, rows[i].revision);
        assert_true(hub_name_is(rows[i].text));
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (hub_name_read(&n, wrong[i]) != ERR_RANGE)
            fail_msg("%s is %s, %s, %s", wrong[i], n.id, n.file, n.quant);
        assert_false(hub_name_is(wrong[i]));
    }
}

/* What could lead out of the cache's folder, or stand for another model in it. */
static void names_that_could_be_paths_are_refused(void **state)
{
    (void)state;
    static const char *const ids[] = {
        "",        "/",     "a/",    "/a",   ".",      "..",     "../x", "a/..",      "a/../b",
        "a/b/c",   "~/a",   "a//b",  "a--b", "a/b--c", "-a/b",   "a/b-", ".a/b",      "a/.b",
        "a/b.git", "a b/c", "a/b\n", "a\\b", "a:b",    "a/b%2f", "a..b", "\xc3\xa4/b"};
    static const char *const revisions[] = {
        "",   "/",  "../x",   "a/../b", "a/..", ".hidden", "a//b", "a/.b", "a b", "-x",
        "a/", "a.", "x.lock", "a\n",    "a\\b", "@",       "a@b",  "a:b",  "%2e", "a^"};
    char text[256];
    struct hub_name n;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        assert_int_equal(hub_name_read(&n, ids[i]), ERR_RANGE);
    for (size_t i = 0; i < sizeof revisions / sizeof *revisions; i++) {
        snprintf(text, sizeof text, "a/b@%s", revisions[i]);
        assert_fails(hub_name_read(&n, text), ERR_RANGE, "the revision after @");
    }
    memset(text, 'a', sizeof text);
    text[HUB_ID_BYTES] = '\0';
    assert_int_equal(hub_name_read(&n, text), ERR_RANGE);
    memcpy(text, "a/b@", 4);
    text[HUB_ID_BYTES] = 'a';
    text[sizeof text - 1] = '\0';
    assert_int_equal(hub_name_read(&n, text), ERR_RANGE);
}

static void words_and_files_are_no_names(void **state)
{
    (void)state;
    static const char *const yes[] = {"gpt2",     "distilgpt2", "gpt2-xl",       "a/b",
                                      "a/b@main", "gpt2@main",  "some-word@main"};
    static const char *const no[] = {"gpt3",     "my-model", "./gpt2",          "/gpt2",  "a/b/c",
                                     "a/b.gguf", "a/b.bin",  "a/b.safetensors", "~/gpt2", "",
                                     "a/b.json", "bundled",  "random:gpt2@42",  "a/@b"};
    err_set(ERR_IO, "of before");
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        assert_true(hub_name_is(yes[i]));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        assert_false(hub_name_is(no[i]));
    assert_string_equal(err_text(), "of before");
    assert_string_equal(hub_name_other("gpt2"), "openai-community/gpt2");
    assert_string_equal(hub_name_other("distilbert/distilgpt2"), "distilgpt2");
    assert_null(hub_name_other("a/b"));
}

static void files_lie_in_the_folder(void **state)
{
    (void)state;
    assert_true(hub_is_file_name("model-00001-of-00002.safetensors"));
    assert_false(hub_is_file_name("../model.safetensors"));
    assert_false(hub_is_file_name("/etc/passwd"));
    assert_false(hub_is_file_name(".."));
    assert_false(hub_is_file_name(".hidden"));
    assert_false(hub_is_file_name(""));
}

static void addresses_are_joined(void **state)
{
    (void)state;
    static const struct {
        const char *base, *location, *joined; /* NULL: refused */
    } rows[] = {{"http://a/b/c", "/d", "http://a/d"},
                {"http://a:8/b/c?x=/y", "d?z", "http://a:8/b/d?z"},
                {"http://a", "d", "http://a/d"},
                {"https://a/b", "//e/f", "https://e/f"},
                {"https://a/b", "http://e:1/f", "http://e:1/f"},
                {"http://a/b?x", "?y", "http://a/b?y"},
                {"http://[::1]:80/b", "/c", "http://[::1]:80/c"},
                {"http://a/b", "file:///etc/passwd", NULL},
                {"http://a/b", "ftp://a/b", NULL},
                {"http://a/b", "javascript:x", NULL},
                {"http://a/b", "http://user@e/", NULL},
                {"http://a/b", "http://", NULL},
                {"http://a/b", "http://e:0/", NULL},
                {"http://a/b", "http://e:99999/", NULL},
                {"http://a/b", "/c d", NULL},
                {"http://a/b", "/c\x01", NULL},
                {"http://a/b", "http://e\\@f/", NULL},
                {"ftp://a/b", "/c", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buf out = {0};
        const int rc = url_join(&out, rows[i].base, rows[i].location);
        assert_int_equal(rc, rows[i].joined == NULL ? ERR_FORMAT : 0);
        assert_string_equal(buf_text(&out), rows[i].joined == NULL ? "" : rows[i].joined);
        buf_release(&out);
    }
}

/* Where a token may go. */
static void origins_are_told_apart(void **state)
{
    (void)state;
    assert_true(url_same_origin("https://Hub.co/a", "https://hub.co:443/b?c"));
    assert_true(url_same_origin("http://127.0.0.1:80", "http://127.0.0.1/x"));
    assert_false(url_same_origin("https://hub.co/a", "http://hub.co/a"));
    assert_false(url_same_origin("https://hub.co/a", "https://hub.co:8443/a"));
    assert_false(url_same_origin("https://hub.co/a", "https://hub.co.evil.com/a"));
    assert_false(url_same_origin("https://hub.co/a", "https://evil.com/hub.co"));
    assert_false(url_same_origin("https://hub.co/a", "https://hub.co@evil.com/a"));
    assert_false(url_same_origin("http://127.0.0.1:80", "http://127.0.0.2:80"));
}

static void parts_of_addresses_are_quoted(void **state)
{
    (void)state;
    struct buf out = {0};
    assert_ok(url_quote(&out, "refs/pr/1 #?%\n\xc3\xa4~"));
    assert_string_equal(buf_text(&out), "refs%2Fpr%2F1%20%23%3F%25%0A%C3%A4~");
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_an_id_and_a_revision),
        cmocka_unit_test(names_may_have_a_file_or_a_quantization),
        cmocka_unit_test(names_that_could_be_paths_are_refused),
        cmocka_unit_test(words_and_files_are_no_names),
        cmocka_unit_test(files_lie_in_the_folder),
        cmocka_unit_test(addresses_are_joined),
        cmocka_unit_test(origins_are_told_apart),
        cmocka_unit_test(parts_of_addresses_are_quoted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
