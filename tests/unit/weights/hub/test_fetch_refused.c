/*
 * A Hub that lies, refuses, redirects, or names places outside of the cache: one sentence, and no
 * file that looks whole.
 */
#include "model/base/progress.h"
#include "tests/lib/hub_fetch.h"
#include "weights/hub/environment.h"
#include "weights/hub/model_path.h"
#include "weights/open.h"

/* ---- faults that last ---- */

/* The fetch fails with this sentence, and the next one without the fault succeeds. */
static void expect_failure(const char *rule, int code, const char *sentence)
{
    hub_server_fault(fetch_server, NULL);
    hub_server_fault(fetch_server, rule);
    assert_fails(fetch_model(FETCH_NAME), code, sentence);
    fetch_expect_not_whole();
    hub_server_fault(fetch_server, NULL);
    fetch_forget(FETCH_REPO ".no_exist");
    assert_ok(fetch_model(FETCH_NAME));
    fetch_expect_whole();
    fetch_forget("hf");
}

static void lies_are_not_believed(void **state)
{
    (void)state;
    char hash[128];
    snprintf(hash, sizeof hash, "HEAD model.safetensors 0 hash %064d", 1);
    expect_failure(hash, ERR_MISMATCH, "SHA-256");
    expect_failure("HEAD config.json 0 hash 0123456789012345678901234567890123456789", ERR_MISMATCH,
                   "git hash");
    expect_failure("GET " FETCH_CDN " 0 other", ERR_MISMATCH, "SHA-256");
    expect_failure("HEAD model.safetensors 0 size 299999", ERR_MISMATCH,
                   "a file of 300000 bytes, expected 299999");
    expect_failure("HEAD model.safetensors 0 size 300001", ERR_MISMATCH,
                   "a file of 300000 bytes, expected 300001");
    expect_failure("GET " FETCH_CDN " 0 length 299999", ERR_MISMATCH, "expected 300000");
    expect_failure("GET " FETCH_CDN " 0 length 9999999999", ERR_MISMATCH, "expected 300000");
    expect_failure("GET " FETCH_CDN " 0 encoded", ERR_MISMATCH, "compressed");
    expect_failure("HEAD tokenizer.json 0 commit 0123456789012345678901234567890123456789",
                   ERR_MISMATCH, "answers with commit 0123456789");
}

/* What never comes to an end: bytes that were there before, and those of a file without a size. */
static void more_of_the_same_is_no_progress(void **state)
{
    (void)state;
    expect_failure("GET " FETCH_CDN " 0 cut 150000", ERR_IO,
                   "Transferred a partial file");
    expect_failure("- config.json 0 endless 200", ERR_MISMATCH,
                   "how many bytes the file has, and sends more than 100 MB");
    expect_failure("HEAD config.json 0 redirect http://a:b:c/", ERR_FORMAT, "");
}

static void answers_of_no_hub_are_refused(void **state)
{
    (void)state;
    expect_failure("HEAD config.json 0 nocommit", ERR_FORMAT, "does not answer as the Hub does");
    expect_failure("HEAD config.json 0 hash ../../../x", ERR_FORMAT, "X-Repo-Commit or ETag");
    expect_failure("HEAD config.json 0 commit ../../../../x", ERR_FORMAT, "X-Repo-Commit or ETag");
    expect_failure("HEAD config.json 0 redirect file:///etc/passwd", ERR_FORMAT,
                   "not an http or https");
    expect_failure("HEAD config.json 0 redirect /org/tiny/resolve/main/config.json", ERR_FORMAT,
                   "redirects without end");
}

static void refusals_say_what_to_do(void **state)
{
    (void)state;
    expect_failure("HEAD config.json 0 status 401", ERR_MISSING,
                   "has no model org/tiny, or it is private");
    expect_failure("HEAD config.json 0 error 403:GatedRepo", ERR_MISSING,
                   "accept its terms at http://");
    expect_failure("HEAD config.json 0 error 404:RepoNotFound", ERR_MISSING, "check the name");
    expect_failure("HEAD config.json 0 error 404:RevisionNotFound", ERR_MISSING,
                   "no branch, tag or commit main");
    expect_failure("HEAD config.json 0 error 404:EntryNotFound", ERR_MISSING, "has no config.json");
    expect_failure("GET " FETCH_CDN " 0 status 403", ERR_MISSING, "HTTP 403");
    expect_failure("GET " FETCH_CDN " 0 status 404", ERR_MISSING, "HTTP 404");
    expect_failure("- config.json 0 status 429 301", ERR_IO, "asks to wait 301 s");
    expect_failure("- config.json 0 status 503", ERR_IO, "answers HTTP 503");
    expect_failure("GET " FETCH_CDN " 0 stall 0", ERR_IO, "next to nothing, for 0.3 s");
    expect_failure("GET " FETCH_CDN " 0 endless 403", ERR_MISSING, "HTTP 403");
    assert_fails(fetch_model("org/nobody"), ERR_MISSING, "has no model org/nobody");
    assert_fails(fetch_model(FETCH_NAME "@v9"), ERR_MISSING, "no branch, tag or commit v9");
}

static void what_does_not_load_is_not_downloaded(void **state)
{
    (void)state;
    fetch_root_text("org/llama", "config.json", "{\"model_type\": \"llama\"}");
    fetch_root_text("org/llama", "model.safetensors", "weights");
    assert_fails(fetch_model("org/llama"), ERR_UNSUPPORTED, "org/llama is not downloaded");
    assert_string_equal(hub_server_seen(fetch_server, "safetensors"), "");
    fetch_root_text("org/none", "config.json", HF_CONFIG);
    assert_fails(fetch_model("org/none"), ERR_MISSING,
                 "org/none has no weights that prattle reads");
}

static void there_is_room_for_it(void **state)
{
    (void)state;
    hub_server_fault(fetch_server, "HEAD model.safetensors 0 size 900000000000000000");
    assert_fails(fetch_model(FETCH_NAME), ERR_IO, "MB free, the download needs 900000000001 MB");
    assert_int_equal(fetch_part_bytes(), -1);
    /* Files from elsewhere are for who has no network, not for who has no room. */
    char *path;
    assert_fails(hub_model_path(&path, FETCH_NAME, false, NULL), ERR_IO, "MB free, the download");
    assert_null(strstr(err_text(), "without a network"));
}

static void interruption_keeps_the_part(void **state)
{
    (void)state;
    hub_server_fault(fetch_server, "GET " FETCH_CDN " 1 drop 70000");
    hub_server_fault(fetch_server, "GET " FETCH_CDN " 0 status 503");
    assert_int_equal(fetch_model(FETCH_NAME), ERR_IO);
    hub_server_fault(fetch_server, NULL);
    interrupt_raise();
    assert_int_equal(fetch_model(FETCH_NAME), ERR_INTERRUPTED);
    interrupt_clear();
    fetch_expect_not_whole();
    assert_int_equal(fetch_part_bytes(), 70000);
    assert_ok(fetch_model(FETCH_NAME));
    fetch_expect_whole();
}

/* ---- who learns the token, and where files go ---- */

/* The ETag of a redirect within the host is not that of the file. */
static void a_detour_says_nothing_of_the_file(void **state)
{
    (void)state;
    hub_server_fault(fetch_server, "HEAD config.json 1 detour");
    hub_server_fault(fetch_server, "GET config.json 1 detour");
    hub_server_fault(fetch_server, "HEAD model.safetensors 1 detour");
    assert_ok(fetch_model(FETCH_NAME));
    fetch_expect_whole();
    assert_false(file_exists(scratch_path(&fetch_scratch, FETCH_REPO "blobs/detour")));
}

static void a_proxy_is_asked(void **state)
{
    (void)state;
    char proxy[64];
    snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", hub_server_port(fetch_server));
    setenv("http_proxy", proxy, 1);
    setenv("HF_ENDPOINT", "http://hub.invalid", 1);
    assert_ok(fetch_model(FETCH_NAME));
    fetch_expect_whole();
    unsetenv("http_proxy");
    assert_non_null(strstr(hub_server_seen(fetch_server, "HEAD"), "http://hub.invalid/org/tiny"));
}

static void the_token_goes_to_the_endpoint_alone(void **state)
{
    (void)state;
    setenv("HF_TOKEN", "hf_secret", 1);
    assert_ok(fetch_model(FETCH_NAME));
    assert_non_null(strstr(hub_server_seen(fetch_server, "HEAD /org/tiny/resolve/main/config.json"),
                           " hf_secret"));
    assert_non_null(strstr(hub_server_seen(fetch_server, "GET /cdn/"), "127.0.0.2"));
    assert_non_null(strstr(hub_server_seen(fetch_server, "GET /cdn/"), " - -"));
    assert_string_equal(hub_server_seen(fetch_server, "127.0.0.2:0 - hf_secret"), "");
    unsetenv("HF_TOKEN");
    fetch_forget("hf/hub");
    scratch_write(&fetch_scratch, "hf/token", "hf_of_file \r\n\n", 14);
    assert_ok(fetch_model(FETCH_NAME));
    assert_non_null(strstr(hub_server_seen(fetch_server, "HEAD /org/tiny/resolve/main/config.json"),
                           " hf_of_file"));
    scratch_write(&fetch_scratch, "hf/token", "two\nlines\n", 10);
    assert_fails(fetch_model(FETCH_NAME), ERR_FORMAT, "must be one word");
    setenv("HF_TOKEN_PATH", scratch_path(&fetch_scratch, "nowhere"), 1);
    assert_ok(fetch_model(FETCH_NAME));
    unsetenv("HF_TOKEN_PATH");
}

static void a_redirect_to_another_host_gets_no_token(void **state)
{
    (void)state;
    char rule[256];
    setenv("HF_TOKEN", "hf_secret", 1);
    snprintf(rule, sizeof rule,
             "HEAD /org/tiny/resolve/main/config.json 1 redirect "
             "http://127.0.0.2:%d/org/tiny/resolve/main/config.json",
             hub_server_port(fetch_server));
    hub_server_fault(fetch_server, rule);
    assert_ok(fetch_model(FETCH_NAME));
    assert_non_null(strstr(
        hub_server_seen(fetch_server, "HEAD /org/tiny/resolve/main/config.json 127.0.0.2"), " -"));
    assert_null(
        strstr(hub_server_seen(fetch_server, "HEAD /org/tiny/resolve/main/config.json 127.0.0.2"),
               "secret"));
    unsetenv("HF_TOKEN");
}

/* The number of files anywhere but in the cache. */
static void nothing_leads_out_of_the_cache(void **state)
{
    (void)state;
    static const char *const shards[] = {"../../../../out", "/tmp/out", "..", ".hidden", "a/b", ""};
    for (size_t i = 0; i < sizeof shards / sizeof *shards; i++) {
        char index[256];
        snprintf(index, sizeof index, "{\"weight_map\": {\"a\": \"%s\"}}", shards[i]);
        fetch_root_text("org/out", "config.json", HF_CONFIG);
        fetch_root_text("org/out", "model.safetensors.index.json", index);
        hub_server_requests(fetch_server);
        assert_int_equal(fetch_model("org/out"), ERR_FORMAT);
        fetch_forget("hf");
    }
    assert_string_equal(hub_server_seen(fetch_server, "out"),
                        hub_server_seen(fetch_server, "org/out"));
}

static void links_are_not_written_through(void **state)
{
    (void)state;
    char part[2 * PATH_MAX], blob[2 * PATH_MAX], victim[2 * PATH_MAX];
    snprintf(victim, sizeof victim, "%s", scratch_path(&fetch_scratch, "victim"));
    assert_ok(fetch_model(FETCH_NAME));
    const ssize_t n = readlink(scratch_path(&fetch_scratch, FETCH_SNAPSHOT "model.safetensors"),
                               blob, sizeof blob - 1);
    blob[n] = '\0';
    snprintf(part, sizeof part, "%s/" FETCH_REPO "blobs/%s", fetch_scratch.folder,
             strrchr(blob, '/') + 1);
    assert_int_equal(unlink(part), 0);
    assert_int_equal(unlink(scratch_path(&fetch_scratch, FETCH_SNAPSHOT "model.safetensors")), 0);
    strcat(part, ".incomplete");
    scratch_write(&fetch_scratch, "victim", "mine", 4);
    assert_int_equal(symlink(victim, part), 0);
    assert_says(fetch_model(FETCH_NAME), "symbolic links");
    fetch_expect_file("victim", "mine", 4);
    assert_int_equal(unlink(part), 0);
    /* A ref that is no commit, or a link to one that is not, is none. */
    scratch_write(&fetch_scratch, FETCH_REPO "refs/main", "../../../../../out", 18);
    assert_null(hub_cached_path(FETCH_NAME));
    assert_ok(fetch_model(FETCH_NAME));
    fetch_expect_whole();
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fetch_begin, fetch_end)
    const struct CMUnitTest tests[] = {
        TEST(lies_are_not_believed),
        TEST(more_of_the_same_is_no_progress),
        TEST(answers_of_no_hub_are_refused),
        TEST(refusals_say_what_to_do),
        TEST(what_does_not_load_is_not_downloaded),
        TEST(there_is_room_for_it),
        TEST(interruption_keeps_the_part),
        TEST(a_detour_says_nothing_of_the_file),
        TEST(a_proxy_is_asked),
        TEST(the_token_goes_to_the_endpoint_alone),
        TEST(a_redirect_to_another_host_gets_no_token),
        TEST(nothing_leads_out_of_the_cache),
        TEST(links_are_not_written_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
