#include "model/base/sha256.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

static void test_digests_of_the_standard(void **state)
{
    static const struct {
        const char *text, *hex;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sha256 h;
        char hex[SHA256_HEX];
        assert_ok(sha256_init(&h));
        for (const char *p = cases[i].text; *p != '\0'; p++)
            sha256_add(&h, p, 1);
        sha256_end_hex(&h, hex);
        assert_string_equal(hex, cases[i].hex);
        sha256_release(&h);
    }
}

/* A file of several parts, of which the last is short, has the digest of its bytes. */
static void test_file(void **state)
{
    enum { N = (2 << 20) + 17 };
    struct sha256 whole, of_file;
    struct file f;
    char hex[2][SHA256_HEX], *bytes = calloc(N, 1);
    struct sha256_progress p = {.what = "reading", .total = 2 * N};
    (void)state;
    assert_non_null(bytes);
    for (size_t i = 0; i < N; i++)
        bytes[i] = (char)(i * i % 251);
    assert_ok(file_open(&f, scratch_file("bytes", bytes, N)));
    assert_ok(sha256_init(&whole));
    assert_ok(sha256_init(&of_file));
    sha256_add(&whole, bytes, N);
    sha256_end_hex(&whole, hex[0]);
    assert_ok(sha256_add_file(&of_file, &f, &p));
    sha256_end_hex(&of_file, hex[1]);
    assert_string_equal(hex[0], hex[1]);
    assert_int_equal(p.done, N);

    interrupt_raise();
    assert_int_equal(sha256_add_file(&whole, &f, &p), ERR_INTERRUPTED);
    p.ignores_interrupt = true;
    assert_ok(sha256_add_file(&whole, &f, &p));
    interrupt_clear();
    sha256_release(&whole);
    sha256_release(&of_file);
    file_close(&f);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digests_of_the_standard),
        cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
