/*
 * A model from a Hub on the loopback into the cache, whatever the server does on the way: the files
 * that come out are those that were put in, or there is one sentence and none that looks whole.
 */
#include "model/base/progress.h"
#include "tests/lib/hf_folder.h"
#include "tests/lib/hub_server.h"
#include "weights/hub/environment.h"
#include "weights/hub/fetch.h"
#include "weights/hub/model_path.h"
#include "weights/open.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define NAME "org/tiny"
#define CDN "/cdn/" NAME "/model.safetensors"
#define REPO "hf/hub/models--org--tiny/"
#define SNAPSHOT REPO "snapshots/" HUB_COMMIT "/"

enum { WEIGHT_BYTES = 300000 };

static struct scratch s;
static struct hub_server *server;

static void root_file(const char *id, const char *file, const void *bytes, size_t n)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/root/%s", s.folder, id);
    assert_ok(file_make_folder(path));
    snprintf(path, sizeof path, "root/%s/%s", id, file);
    scratch_write(&s, path, bytes, n);
}

static void root_text(const char *id, const char *file, const char *text)
{
    root_file(id, file, text, strlen(text));
}

/* Bytes that no two parts of are the same. */
static char *weight_bytes(void)
{
    static char bytes[WEIGHT_BYTES];
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof bytes; i++) {
        x = x * 1664525u + 1013904223u;
        bytes[i] = (char)(x >> 24);
    }
    return bytes;
}

static void forget(const char *name)
{
    char command[3 * PATH_MAX];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch_path(&s, name));
    assert_int_equal(system(command), 0);
}

static int begin(void **state)
{
    char endpoint[64];
    (void)state;
    scratch_open(&s);
    setenv("HF_HOME", scratch_path(&s, "hf"), 1);
    static const char *const none[] = {"HF_HUB_CACHE",   "HUGGINGFACE_HUB_CACHE",
                                       "HF_TOKEN",       "HF_TOKEN_PATH",
                                       "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE",
                                       "http_proxy",     "https_proxy",
                                       "all_proxy",      "ALL_PROXY"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        unsetenv(none[i]);
    setenv("HF_HUB_DOWNLOAD_TIMEOUT", "0.3", 1);
    root_text(NAME, "config.json", HF_CONFIG);
    root_text(NAME, "tokenizer.json", "{}");
    root_file(NAME, "model.safetensors", weight_bytes(), WEIGHT_BYTES);
    server = hub_server_open(scratch_path(&s, "root"), NULL);
    snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%d/", hub_server_port(server));
    setenv("HF_ENDPOINT", endpoint, 1);
    return 0;
}

static int end(void **state)
{
    (void)state;
    interrupt_clear();
    hub_set_offline(false);
    hub_server_close(server);
    scratch_close(&s);
    return 0;
}

/* hub_fetch without long waits. */
static int fetch(const char *name)
{
    struct hub_session session;
    struct hub_name n;
    char commit[HUB_COMMIT_BYTES], file[HUB_FILE_BYTES];
    int rc = hub_name_read(&n, name);
    if (rc == 0)
        rc = hub_session_open(&session, NULL);
    if (rc != 0)
        return rc;
    session.wait_s = 0.001;
    rc = hub_fetch(commit, file, &n, false, &session);
    hub_session_close(&session);
    return rc;
}

static void expect_file(const char *name, const void *bytes, size_t n)
{
    struct buf got = {0};
    assert_ok(file_read_all(&got, scratch_path(&s, name), 1 << 24));
    assert_int_equal(got.n, n);
    assert_memory_equal(buf_text(&got), bytes, n);
    buf_release(&got);
}

static void expect_whole(void)
{
    expect_file(SNAPSHOT "config.json", HF_CONFIG, strlen(HF_CONFIG));
    expect_file(SNAPSHOT "model.safetensors", weight_bytes(), WEIGHT_BYTES);
    char *path = hub_cached_path(NAME);
    assert_non_null(path);
    assert_string_equal(path + strlen(s.folder), "/" REPO "snapshots/" HUB_COMMIT);
    mem_free(path);
}

static void expect_not_whole(void)
{
    assert_false(file_exists(scratch_path(&s, SNAPSHOT "model.safetensors")));
    assert_null(hub_cached_path(NAME));
}

/* The size of the part of the weights; -1: there is none. No blob is there besides. */
static int64_t part_bytes(void)
{
    char path[2 * PATH_MAX];
    struct stat st;
    int64_t bytes = -1;
    DIR *d = opendir(scratch_path(&s, REPO "blobs"));
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        snprintf(path, sizeof path, REPO "blobs/%.200s", e->d_name);
        if (strstr(e->d_name, ".incomplete") == NULL)
            assert_true(e->d_name[0] == '.' || strlen(e->d_name) == 40);
        else if (stat(scratch_path(&s, path), &st) == 0)
            bytes = st.st_size;
    }
    if (d != NULL)
        closedir(d);
    return bytes;
}

/* ---- what works ---- */

static void a_model_is_fetched_once(void **state)
{
    (void)state;
    char target[2 * PATH_MAX], *path;
    assert_null(hub_cached_path(NAME));
    assert_ok(hub_model_path(&path, NAME, false, NULL));
    mem_free(path);
    expect_whole();
    expect_file(REPO "refs/main", HUB_COMMIT, 40);
    assert_true(
        file_exists(scratch_path(&s, REPO ".no_exist/" HUB_COMMIT "/generation_config.json")));
    const ssize_t n =
        readlink(scratch_path(&s, SNAPSHOT "model.safetensors"), target, sizeof target);
    assert_int_equal(n, (int)strlen("../../blobs/") + 64);
    assert_memory_equal(target, "../../blobs/", 12);
    assert_true(hub_server_requests(server) > 0);
    assert_ok(hub_model_path(&path, NAME, false, NULL));
    mem_free(path);
    assert_ok(hub_model_path(&path, NAME "@" HUB_COMMIT, false, NULL));
    mem_free(path);
    hub_set_offline(true);
    assert_ok(hub_model_path(&path, NAME "@main", false, NULL));
    mem_free(path);
    assert_int_equal(hub_server_requests(server), 0);
}

/* As huggingface_hub leaves it, made by hand. */
static void a_cache_of_python_needs_no_request(void **state)
{
    (void)state;
    static const char *const ids[] = {"models--gpt2", "models--distilbert--distilgpt2"};
    static const char *const names[][2] = {{"gpt2", "openai-community/gpt2"},
                                           {"distilgpt2", "distilbert/distilgpt2"}};
    char text[2 * PATH_MAX];
    for (int i = 0; i < 2; i++) {
        static const char *const files[] = {"config.json", "model.safetensors", "vocab.json",
                                            "merges.txt"};
        for (size_t k = 0; k < 5; k++) {
            static const char *const folders[] = {"blobs", "refs", "snapshots/" HUB_COMMIT,
                                                  ".no_exist/" HUB_COMMIT, "x"};
            snprintf(text, sizeof text, "%s/hf/hub/%s/%s", s.folder, ids[i], folders[k]);
            assert_ok(file_make_folder(text));
        }
        snprintf(text, sizeof text, "hf/hub/%s/refs/main", ids[i]);
        scratch_write(&s, text, HUB_COMMIT, 40);
        for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
            char from[2 * PATH_MAX];
            snprintf(text, sizeof text, "hf/hub/%s/blobs/b%zu", ids[i], k);
            scratch_write(&s, text, "x", 1);
            snprintf(text, sizeof text, "../../blobs/b%zu", k);
            snprintf(from, sizeof from, "%s/hf/hub/%s/snapshots/" HUB_COMMIT "/%s", s.folder,
                     ids[i], files[k]);
            assert_int_equal(symlink(text, from), 0);
        }
        for (int k = 0; k < 2; k++) {
            char *path = hub_cached_path(names[i][k]);
            assert_non_null(path);
            assert_non_null(strstr(path, ids[i]));
            mem_free(path);
            assert_ok(hub_model_path(&path, names[i][k], false, NULL));
            mem_free(path);
        }
    }
    assert_int_equal(hub_server_requests(server), 0);
}

static void old_names_are_redirected(void **state)
{
    (void)state;
    char *path;
    root_text("openai-community/gpt2", "config.json", HF_CONFIG);
    root_file("openai-community/gpt2", "model.safetensors", "weights", 7);
    assert_ok(hub_model_path(&path, "gpt2", false, NULL));
    assert_non_null(strstr(path, "/models--gpt2/"));
    mem_free(path);
    expect_file("hf/hub/models--gpt2/snapshots/" HUB_COMMIT "/model.safetensors", "weights", 7);
}

static void shards_are_fetched_as_the_index_says(void **state)
{
    (void)state;
    root_text("org/parts", "config.json", HF_CONFIG);
    root_text("org/parts", "model.safetensors.index.json",
              "{\"weight_map\": {\"a\": \"m-1.safetensors\", \"b\": \"m-2.safetensors\", \"c\": "
              "\"m-1.safetensors\"}}");
    root_text("org/parts", "m-1.safetensors", "one");
    assert_fails(fetch("org/parts"), ERR_MISSING, "no m-2.safetensors, which its index names");
    assert_null(hub_cached_path("org/parts"));
    root_text("org/parts", "m-2.safetensors", "two");
    root_text("org/parts", "pytorch_model.bin", "not asked for");
    /* That the file was lacking is remembered for the commit. */
    assert_int_equal(fetch("org/parts"), ERR_MISSING);
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "hf/hub/models--org--parts/.no_exist/%s/m-2.safetensors",
             HUB_COMMIT);
    assert_int_equal(unlink(scratch_path(&s, path)), 0);
    assert_ok(fetch("org/parts"));
    expect_file("hf/hub/models--org--parts/snapshots/" HUB_COMMIT "/m-2.safetensors", "two", 3);
    assert_string_equal(hub_server_seen(server, "pytorch_model"), "");
}

static void adapters_are_fetched(void **state)
{
    (void)state;
    char *path;
    root_text("org/adapter", "adapter_config.json", "{}");
    root_text("org/adapter", "adapter_model.safetensors", "weights");
    assert_ok(hub_model_path(&path, "org/adapter", false, NULL));
    mem_free(path);
    hub_server_requests(server);
    assert_ok(hub_model_path(&path, "org/adapter", false, NULL));
    mem_free(path);
    assert_int_equal(hub_server_requests(server), 0);
}

/* ---- faults that pass ---- */

static void broken_connections_are_resumed(void **state)
{
    (void)state;
    hub_server_fault(server, "GET " CDN " 1 drop 100000");
    hub_server_fault(server, "GET " CDN " 1 stall 50000");
    hub_server_fault(server, "GET " CDN " 1 drop 0");
    hub_server_fault(server, "GET " CDN " 1 drop 1");
    hub_server_fault(server, "HEAD config.json 2 drop 0");
    assert_ok(fetch(NAME));
    expect_whole();
    assert_non_null(strstr(hub_server_seen(server, CDN), " 150001- "));
}

static void the_hub_is_asked_again(void **state)
{
    (void)state;
    hub_server_fault(server, "HEAD config.json 1 status 503");
    hub_server_fault(server, "HEAD config.json 1 status 429 0");
    hub_server_fault(server, "GET config.json 1 status 500");
    hub_server_fault(server, "GET " CDN " 1 status 502");
    hub_server_fault(server, "GET " CDN " 1 status 408");
    assert_ok(fetch(NAME));
    expect_whole();
}

static void a_part_goes_on_another_time(void **state)
{
    (void)state;
    hub_server_fault(server, "GET " CDN " 1 drop 120000");
    hub_server_fault(server, "GET " CDN " 0 status 503");
    assert_fails(fetch(NAME), ERR_IO, "HTTP 503");
    expect_not_whole();
    assert_int_equal(part_bytes(), 120000);
    hub_server_fault(server, NULL);
    assert_ok(fetch(NAME));
    expect_whole();
    assert_non_null(strstr(hub_server_seen(server, CDN), " 120000- "));
}

/* Each part that cannot go on is given up, and all is asked for anew. */
static void parts_that_do_not_fit_are_given_up(void **state)
{
    (void)state;
    static const char *const rules[] = {"norange 0", "skew 5", "other 0", "swap 0", "status 416"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        char rule[128];
        hub_server_fault(server, NULL);
        hub_server_fault(server, "GET " CDN " 1 drop 100000");
        snprintf(rule, sizeof rule, "GET " CDN " 1 %s", rules[i]);
        hub_server_fault(server, rule);
        assert_ok(fetch(NAME));
        expect_whole();
        forget("hf");
    }
}

/* Where the ETag is no hash, ranges and ETags alone tell. */
static void parts_without_a_hash_fit_too(void **state)
{
    (void)state;
    static const char *const rules[] = {"skew 5", "other 0", "norange 0"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        char rule[128];
        hub_server_fault(server, NULL);
        hub_server_fault(server, "HEAD model.safetensors 0 hash plain-etag");
        hub_server_fault(server, "GET " CDN " 1 drop 100000");
        snprintf(rule, sizeof rule, "GET " CDN " 1 %s", rules[i]);
        hub_server_fault(server, rule);
        assert_ok(fetch(NAME));
        expect_whole();
        forget("hf");
    }
    char zeros[1000] = {0};
    assert_ok(file_make_folder(scratch_path(&s, REPO "blobs")));
    scratch_write(&s, REPO "blobs/plain-etag.incomplete", zeros, sizeof zeros);
    assert_ok(fetch(NAME));
    expect_whole();
}

static void wrong_parts_on_disk_are_given_up(void **state)
{
    (void)state;
    char part[2 * PATH_MAX], blob[2 * PATH_MAX];
    assert_ok(fetch(NAME));
    const ssize_t n =
        readlink(scratch_path(&s, SNAPSHOT "model.safetensors"), blob, sizeof blob - 1);
    blob[n] = '\0';
    snprintf(part, sizeof part, REPO "blobs/%s.incomplete", strrchr(blob, '/') + 1);
    const size_t sizes[] = {1, 1000, WEIGHT_BYTES - 1, WEIGHT_BYTES, WEIGHT_BYTES + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char wrong[WEIGHT_BYTES + 1] = {0};
        unlink(scratch_path(&s, SNAPSHOT "model.safetensors"));
        snprintf(blob, sizeof blob, "%.*s", (int)strlen(part) - 11, part);
        assert_int_equal(unlink(scratch_path(&s, blob)), 0);
        scratch_write(&s, part, wrong, sizes[i]);
        assert_ok(fetch(NAME));
        expect_whole();
    }
}

/* ---- faults that last ---- */

/* The fetch fails with this sentence, and the next one without the fault succeeds. */
static void expect_failure(const char *rule, int code, const char *sentence)
{
    hub_server_fault(server, NULL);
    hub_server_fault(server, rule);
    assert_fails(fetch(NAME), code, sentence);
    expect_not_whole();
    hub_server_fault(server, NULL);
    forget(REPO ".no_exist");
    assert_ok(fetch(NAME));
    expect_whole();
    forget("hf");
}

static void lies_are_not_believed(void **state)
{
    (void)state;
    char hash[128];
    snprintf(hash, sizeof hash, "HEAD model.safetensors 0 hash %064d", 1);
    expect_failure(hash, ERR_MISMATCH, "SHA-256");
    expect_failure("HEAD config.json 0 hash 0123456789012345678901234567890123456789", ERR_MISMATCH,
                   "git hash");
    expect_failure("GET " CDN " 0 other", ERR_MISMATCH, "SHA-256");
    expect_failure("HEAD model.safetensors 0 size 299999", ERR_MISMATCH,
                   "a file of 300000 bytes, expected 299999");
    expect_failure("HEAD model.safetensors 0 size 300001", ERR_MISMATCH,
                   "a file of 300000 bytes, expected 300001");
    expect_failure("GET " CDN " 0 length 299999", ERR_MISMATCH, "expected 300000");
    expect_failure("GET " CDN " 0 length 9999999999", ERR_MISMATCH, "expected 300000");
    expect_failure("GET " CDN " 0 encoded", ERR_MISMATCH, "compressed");
    expect_failure("HEAD tokenizer.json 0 commit 0123456789012345678901234567890123456789",
                   ERR_MISMATCH, "answers with commit 0123456789");
}

static void answers_of_no_hub_are_refused(void **state)
{
    (void)state;
    expect_failure("HEAD config.json 0 nocommit", ERR_FORMAT, "does not answer as the Hub does");
    expect_failure("HEAD config.json 0 hash ../../../x", ERR_FORMAT, "X-Repo-Commit or ETag");
    expect_failure("HEAD config.json 0 commit ../../../../x", ERR_FORMAT, "X-Repo-Commit or ETag");
    expect_failure("HEAD config.json 0 redirect file:///etc/passwd", ERR_FORMAT,
                   "no http or https");
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
    expect_failure("GET " CDN " 0 status 403", ERR_MISSING, "HTTP 403");
    expect_failure("GET " CDN " 0 status 404", ERR_MISSING, "HTTP 404");
    expect_failure("- config.json 0 status 429 301", ERR_IO, "asks to wait 301 s");
    expect_failure("- config.json 0 status 503", ERR_IO, "answers HTTP 503");
    expect_failure("GET " CDN " 0 stall 0", ERR_IO, "next to nothing, for 0.3 s");
    assert_fails(fetch("org/nobody"), ERR_MISSING, "has no model org/nobody");
    assert_fails(fetch(NAME "@v9"), ERR_MISSING, "no branch, tag or commit v9");
}

static void what_does_not_load_is_not_downloaded(void **state)
{
    (void)state;
    root_text("org/llama", "config.json", "{\"model_type\": \"llama\"}");
    root_text("org/llama", "model.safetensors", "weights");
    assert_fails(fetch("org/llama"), ERR_UNSUPPORTED, "org/llama is not downloaded");
    assert_string_equal(hub_server_seen(server, "safetensors"), "");
    root_text("org/none", "config.json", HF_CONFIG);
    assert_fails(fetch("org/none"), ERR_MISSING, "org/none has no weights that prattle reads");
}

static void there_is_room_for_it(void **state)
{
    (void)state;
    hub_server_fault(server, "HEAD model.safetensors 0 size 900000000000000000");
    assert_fails(fetch(NAME), ERR_IO, "MB free, the download needs 900000000001 MB");
    assert_int_equal(part_bytes(), -1);
}

static void interruption_keeps_the_part(void **state)
{
    (void)state;
    hub_server_fault(server, "GET " CDN " 1 drop 70000");
    hub_server_fault(server, "GET " CDN " 0 status 503");
    assert_int_equal(fetch(NAME), ERR_IO);
    hub_server_fault(server, NULL);
    interrupt_raise();
    assert_int_equal(fetch(NAME), ERR_INTERRUPTED);
    interrupt_clear();
    expect_not_whole();
    assert_int_equal(part_bytes(), 70000);
    assert_ok(fetch(NAME));
    expect_whole();
}

/* ---- who learns the token, and where files go ---- */

/* The ETag of a redirect within the host is not that of the file. */
static void a_detour_says_nothing_of_the_file(void **state)
{
    (void)state;
    hub_server_fault(server, "HEAD config.json 1 detour");
    hub_server_fault(server, "GET config.json 1 detour");
    hub_server_fault(server, "HEAD model.safetensors 1 detour");
    assert_ok(fetch(NAME));
    expect_whole();
    assert_false(file_exists(scratch_path(&s, REPO "blobs/detour")));
}

static void a_proxy_is_asked(void **state)
{
    (void)state;
    char proxy[64];
    snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", hub_server_port(server));
    setenv("http_proxy", proxy, 1);
    setenv("HF_ENDPOINT", "http://hub.invalid", 1);
    assert_ok(fetch(NAME));
    expect_whole();
    unsetenv("http_proxy");
    assert_non_null(strstr(hub_server_seen(server, "HEAD"), "http://hub.invalid/org/tiny"));
}

static void the_token_goes_to_the_endpoint_alone(void **state)
{
    (void)state;
    setenv("HF_TOKEN", "hf_secret", 1);
    assert_ok(fetch(NAME));
    assert_non_null(
        strstr(hub_server_seen(server, "HEAD /org/tiny/resolve/main/config.json"), " hf_secret"));
    assert_non_null(strstr(hub_server_seen(server, "GET /cdn/"), "127.0.0.2"));
    assert_non_null(strstr(hub_server_seen(server, "GET /cdn/"), " - -"));
    assert_string_equal(hub_server_seen(server, "127.0.0.2:0 - hf_secret"), "");
    unsetenv("HF_TOKEN");
    forget("hf/hub");
    scratch_write(&s, "hf/token", "hf_of_file \r\n\n", 14);
    assert_ok(fetch(NAME));
    assert_non_null(
        strstr(hub_server_seen(server, "HEAD /org/tiny/resolve/main/config.json"), " hf_of_file"));
    scratch_write(&s, "hf/token", "two\nlines\n", 10);
    assert_fails(fetch(NAME), ERR_FORMAT, "must be one word");
    setenv("HF_TOKEN_PATH", scratch_path(&s, "nowhere"), 1);
    assert_ok(fetch(NAME));
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
             hub_server_port(server));
    hub_server_fault(server, rule);
    assert_ok(fetch(NAME));
    assert_non_null(
        strstr(hub_server_seen(server, "HEAD /org/tiny/resolve/main/config.json 127.0.0.2"), " -"));
    assert_null(strstr(hub_server_seen(server, "HEAD /org/tiny/resolve/main/config.json 127.0.0.2"),
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
        root_text("org/out", "config.json", HF_CONFIG);
        root_text("org/out", "model.safetensors.index.json", index);
        hub_server_requests(server);
        assert_int_equal(fetch("org/out"), ERR_FORMAT);
        forget("hf");
    }
    assert_string_equal(hub_server_seen(server, "out"), hub_server_seen(server, "org/out"));
}

static void links_are_not_written_through(void **state)
{
    (void)state;
    char part[2 * PATH_MAX], blob[2 * PATH_MAX], victim[2 * PATH_MAX];
    snprintf(victim, sizeof victim, "%s", scratch_path(&s, "victim"));
    assert_ok(fetch(NAME));
    const ssize_t n =
        readlink(scratch_path(&s, SNAPSHOT "model.safetensors"), blob, sizeof blob - 1);
    blob[n] = '\0';
    snprintf(part, sizeof part, "%s/" REPO "blobs/%s", s.folder, strrchr(blob, '/') + 1);
    assert_int_equal(unlink(part), 0);
    assert_int_equal(unlink(scratch_path(&s, SNAPSHOT "model.safetensors")), 0);
    strcat(part, ".incomplete");
    scratch_write(&s, "victim", "mine", 4);
    assert_int_equal(symlink(victim, part), 0);
    assert_says(fetch(NAME), "symbolic links");
    expect_file("victim", "mine", 4);
    assert_int_equal(unlink(part), 0);
    /* A ref that is no commit, or a link to one that is not, is none. */
    scratch_write(&s, REPO "refs/main", "../../../../../out", 18);
    assert_null(hub_cached_path(NAME));
    assert_ok(fetch(NAME));
    expect_whole();
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_model_is_fetched_once),
        TEST(a_cache_of_python_needs_no_request),
        TEST(old_names_are_redirected),
        TEST(shards_are_fetched_as_the_index_says),
        TEST(adapters_are_fetched),
        TEST(broken_connections_are_resumed),
        TEST(the_hub_is_asked_again),
        TEST(a_part_goes_on_another_time),
        TEST(parts_that_do_not_fit_are_given_up),
        TEST(parts_without_a_hash_fit_too),
        TEST(wrong_parts_on_disk_are_given_up),
        TEST(lies_are_not_believed),
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
