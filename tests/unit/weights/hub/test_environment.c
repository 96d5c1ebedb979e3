/* The environment variables of huggingface_hub, as Python reads them. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"
#include "weights/hub/environment.h"

static int begin(void **state)
{
    static const char *const names[] = {"HF_HOME",
                                        "HF_HUB_CACHE",
                                        "HUGGINGFACE_HUB_CACHE",
                                        "XDG_CACHE_HOME",
                                        "HF_TOKEN",
                                        "HUGGING_FACE_HUB_TOKEN",
                                        "HF_TOKEN_PATH",
                                        "HF_HUB_DISABLE_IMPLICIT_TOKEN",
                                        "HF_ENDPOINT"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    setenv("HOME", "/home/me", 1);
    setenv("DISK", "/mnt/big", 1);
    unsetenv("NOTHING");
    return 0;
}

static void assert_cache(const char *expected)
{
    char *path = hub_cache_path();
    assert_string_equal(path, expected);
    mem_free(path);
}

static void the_nearest_variable_names_the_cache(void **state)
{
    (void)state;
    assert_cache("/home/me/.cache/huggingface/hub");
    setenv("XDG_CACHE_HOME", "/x", 1);
    assert_cache("/x/huggingface/hub");
    setenv("HF_HOME", "~/hf", 1);
    assert_cache("/home/me/hf/hub");
    setenv("HUGGINGFACE_HUB_CACHE", "/old", 1);
    assert_cache("/old");
    setenv("HF_HUB_CACHE", "/new", 1);
    assert_cache("/new");
}

static void variables_in_them_are_expanded(void **state)
{
    (void)state;
    /* os.path.expandvars(os.path.expanduser(...)) */
    static const char *const rows[][2] = {{"$DISK/hf", "/mnt/big/hf"},
                                          {"${DISK}hf", "/mnt/bighf"},
                                          {"~/a$DISK$DISK", "/home/me/a/mnt/big/mnt/big"},
                                          {"$NOTHING/hf", "$NOTHING/hf"},
                                          {"${NOTHING}/hf", "${NOTHING}/hf"},
                                          {"/a/${DISK", "/a/${DISK"},
                                          {"/a/$", "/a/$"},
                                          {"/a/${}$$DISK", "/a/${}$/mnt/big"},
                                          {"$DISKS", "$DISKS"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        setenv("HF_HUB_CACHE", rows[i][0], 1);
        assert_cache(rows[i][1]);
    }
    unsetenv("HF_HUB_CACHE");
    setenv("HF_HOME", "$DISK/hf", 1);
    assert_cache("/mnt/big/hf/hub");
}

static void assert_token(const char *expected)
{
    char *token;
    assert_ok(hub_token(&token));
    if (expected == NULL)
        assert_null(token);
    else
        assert_string_equal(token, expected);
    mem_free(token);
}

static void a_token_has_three_places(void **state)
{
    (void)state;
    struct scratch s;
    scratch_open(&s);
    setenv("DISK", s.folder, 1);
    setenv("HF_HOME", "$DISK", 1);
    assert_token(NULL);
    scratch_write(&s, "token", "hf_file\n", 8);
    assert_token("hf_file");
    scratch_write(&s, "other", "hf_other", 8);
    setenv("HF_TOKEN_PATH", "${DISK}/other", 1);
    assert_token("hf_other");
    setenv("HUGGING_FACE_HUB_TOKEN", "hf_old", 1);
    assert_token("hf_old");
    setenv("HF_TOKEN", " hf_new ", 1);
    assert_token("hf_new");
    setenv("HF_TOKEN", "", 1);
    assert_token("hf_old");
    setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1", 1);
    assert_token(NULL);
    scratch_close(&s);
}

static void an_endpoint_is_an_address(void **state)
{
    (void)state;
    static const char *const wrong[] = {"ftp://hub", "hub.co", "http://me:word@hub", "http://a b"};
    char *endpoint = hub_endpoint();
    assert_string_equal(endpoint, "https://huggingface.co");
    mem_free(endpoint);
    setenv("HF_ENDPOINT", "http://mirror:8000/hub//", 1);
    endpoint = hub_endpoint();
    assert_string_equal(endpoint, "http://mirror:8000/hub");
    mem_free(endpoint);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("HF_ENDPOINT", wrong[i], 1);
        assert_null(hub_endpoint());
        assert_non_null(strstr(err_text(), "must be an address as https://huggingface.co is"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_nearest_variable_names_the_cache, begin),
        cmocka_unit_test_setup(variables_in_them_are_expanded, begin),
        cmocka_unit_test_setup(a_token_has_three_places, begin),
        cmocka_unit_test_setup(an_endpoint_is_an_address, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
