/*
 * A model from a Hub on the loopback into the cache, whatever the server does on the way: the files
 * that come out are those that were put in, or there is one sentence and none that looks whole.
 */
#include "tests/lib/hub_fetch.h"
#include "weights/hub/environment.h"
#include "weights/hub/model_path.h"
#include "weights/open.h"

/* ---- what works ---- */

static void a_model_is_fetched_once(void **state)
{
    (void)state;
    char target[2 * PATH_MAX], *path;
    assert_null(hub_cached_path(FETCH_NAME));
    assert_ok(hub_model_path(&path, FETCH_NAME, false, NULL));
    mem_free(path);
    fetch_expect_whole();
    fetch_expect_file(FETCH_REPO "refs/main", HUB_COMMIT, 40);
    assert_true(file_exists(scratch_path(&fetch_scratch, FETCH_REPO ".no_exist/" HUB_COMMIT
                                                                    "/generation_config.json")));
    const ssize_t n = readlink(scratch_path(&fetch_scratch, FETCH_SNAPSHOT "model.safetensors"),
                               target, sizeof target);
    assert_int_equal(n, (int)strlen("../../blobs/") + 64);
    assert_memory_equal(target, "../../blobs/", 12);
    assert_true(hub_server_requests(fetch_server) > 0);
    assert_ok(hub_model_path(&path, FETCH_NAME, false, NULL));
    mem_free(path);
    assert_ok(hub_model_path(&path, FETCH_NAME "@" HUB_COMMIT, false, NULL));
    mem_free(path);
    hub_set_offline(true);
    assert_ok(hub_model_path(&path, FETCH_NAME "@main", false, NULL));
    mem_free(path);
    assert_int_equal(hub_server_requests(fetch_server), 0);
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
            snprintf(text, sizeof text, "%s/hf/hub/%s/%s", fetch_scratch.folder, ids[i],
                     folders[k]);
            assert_ok(file_make_folder(text));
        }
        snprintf(text, sizeof text, "hf/hub/%s/refs/main", ids[i]);
        scratch_write(&fetch_scratch, text, HUB_COMMIT, 40);
        for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
            char from[2 * PATH_MAX];
            snprintf(text, sizeof text, "hf/hub/%s/blobs/b%zu", ids[i], k);
            scratch_write(&fetch_scratch, text, "x", 1);
            snprintf(text, sizeof text, "../../blobs/b%zu", k);
            snprintf(from, sizeof from, "%s/hf/hub/%s/snapshots/" HUB_COMMIT "/%s",
                     fetch_scratch.folder, ids[i], files[k]);
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
    assert_int_equal(hub_server_requests(fetch_server), 0);
}

/* Weights that Python fetched: what else there is of the model is asked for, and not those again as
 * safetensors. */
static void weights_of_another_kind_are_not_fetched_again(void **state)
{
    (void)state;
    char snapshot[2 * PATH_MAX], *path;
    snprintf(snapshot, sizeof snapshot, "%s/%s", fetch_scratch.folder, FETCH_SNAPSHOT);
    assert_ok(file_make_folder(snapshot));
    snprintf(snapshot, sizeof snapshot, "%s/%srefs", fetch_scratch.folder, FETCH_REPO);
    assert_ok(file_make_folder(snapshot));
    scratch_write(&fetch_scratch, FETCH_REPO "refs/main", HUB_COMMIT, 40);
    scratch_write(&fetch_scratch, FETCH_SNAPSHOT "config.json", HF_CONFIG, strlen(HF_CONFIG));
    scratch_write(&fetch_scratch, FETCH_SNAPSHOT "pytorch_model.bin", "x", 1);
    assert_ok(hub_model_path(&path, FETCH_NAME, false, NULL));
    mem_free(path);
    fetch_expect_file(FETCH_SNAPSHOT "tokenizer.json", "{}", 2);
    assert_string_equal(hub_server_seen(fetch_server, "safetensors"), "");
}

static void old_names_are_redirected(void **state)
{
    (void)state;
    char *path;
    fetch_root_text("openai-community/gpt2", "config.json", HF_CONFIG);
    fetch_root_file("openai-community/gpt2", "model.safetensors", "weights", 7);
    assert_ok(hub_model_path(&path, "gpt2", false, NULL));
    assert_non_null(strstr(path, "/models--gpt2/"));
    mem_free(path);
    fetch_expect_file("hf/hub/models--gpt2/snapshots/" HUB_COMMIT "/model.safetensors", "weights",
                      7);
}

static void shards_are_fetched_as_the_index_says(void **state)
{
    (void)state;
    fetch_root_text("org/parts", "config.json", HF_CONFIG);
    fetch_root_text(
        "org/parts", "model.safetensors.index.json",
        "{\"weight_map\": {\"a\": \"m-1.safetensors\", \"b\": \"m-2.safetensors\", \"c\": "
        "\"m-1.safetensors\"}}");
    fetch_root_text("org/parts", "m-1.safetensors", "one");
    assert_fails(fetch_model("org/parts"), ERR_MISSING,
                 "no m-2.safetensors, which its index names");
    assert_null(hub_cached_path("org/parts"));
    fetch_root_text("org/parts", "m-2.safetensors", "two");
    fetch_root_text("org/parts", "pytorch_model.bin", "not asked for");
    /* That the file was lacking is remembered for the commit. */
    assert_int_equal(fetch_model("org/parts"), ERR_MISSING);
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "hf/hub/models--org--parts/.no_exist/%s/m-2.safetensors",
             HUB_COMMIT);
    assert_int_equal(unlink(scratch_path(&fetch_scratch, path)), 0);
    assert_ok(fetch_model("org/parts"));
    fetch_expect_file("hf/hub/models--org--parts/snapshots/" HUB_COMMIT "/m-2.safetensors", "two",
                      3);
    assert_string_equal(hub_server_seen(fetch_server, "pytorch_model"), "");
}

static void adapters_are_fetched(void **state)
{
    (void)state;
    char *path;
    fetch_root_text("org/adapter", "adapter_config.json", "{}");
    fetch_root_text("org/adapter", "adapter_model.safetensors", "weights");
    assert_ok(hub_model_path(&path, "org/adapter", false, NULL));
    mem_free(path);
    hub_server_requests(fetch_server);
    assert_ok(hub_model_path(&path, "org/adapter", false, NULL));
    mem_free(path);
    assert_int_equal(hub_server_requests(fetch_server), 0);
}

/* ---- faults that pass ---- */

static void broken_connections_are_resumed(void **state)
{
    (void)state;
    hub_server_fault(fetch_server, "GET " FETCH_CDN " 1 drop 100000");
    hub_server_fault(fetch_server, "GET " FETCH_CDN " 1 stall 50000");
    hub_server_fault(fetch_server, "GET " FETCH_CDN " 1 drop 0");
    hub_server_fault(fetch_server, "GET " FETCH_CDN " 1 drop 1");
    hub_server_fault(fetch_server, "HEAD config.json 2 drop 0");
    assert_ok(fetch_model(FETCH_NAME));
    fetch_expect_whole();
    assert_non_null(strstr(hub_server_seen(fetch_server, FETCH_CDN), " 150001- "));
}

static void the_hub_is_asked_again(void **state)
{
    (void)state;
    hub_server_fault(fetch_server, "HEAD config.json 1 status 503");
    hub_server_fault(fetch_server, "HEAD config.json 1 status 429 0");
    hub_server_fault(fetch_server, "GET config.json 1 status 500");
    hub_server_fault(fetch_server, "GET " FETCH_CDN " 1 status 502");
    hub_server_fault(fetch_server, "GET " FETCH_CDN " 1 status 408");
    assert_ok(fetch_model(FETCH_NAME));
    fetch_expect_whole();
}

static void a_part_goes_on_another_time(void **state)
{
    (void)state;
    hub_server_fault(fetch_server, "GET " FETCH_CDN " 1 drop 120000");
    hub_server_fault(fetch_server, "GET " FETCH_CDN " 0 status 503");
    assert_fails(fetch_model(FETCH_NAME), ERR_IO, "HTTP 503");
    fetch_expect_not_whole();
    assert_int_equal(fetch_part_bytes(), 120000);
    hub_server_fault(fetch_server, NULL);
    assert_ok(fetch_model(FETCH_NAME));
    fetch_expect_whole();
    assert_non_null(strstr(hub_server_seen(fetch_server, FETCH_CDN), " 120000- "));
}

/* Each part that cannot go on is given up, and all is asked for anew. */
static void parts_that_do_not_fit_are_given_up(void **state)
{
    (void)state;
    static const char *const rules[] = {"norange 0", "skew 5", "other 0", "swap 0", "status 416"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        char rule[128];
        hub_server_fault(fetch_server, NULL);
        hub_server_fault(fetch_server, "GET " FETCH_CDN " 1 drop 100000");
        snprintf(rule, sizeof rule, "GET " FETCH_CDN " 1 %s", rules[i]);
        hub_server_fault(fetch_server, rule);
        assert_ok(fetch_model(FETCH_NAME));
        fetch_expect_whole();
        fetch_forget("hf");
    }
}

/* Where the ETag is no hash, ranges and ETags alone tell. */
static void parts_without_a_hash_fit_too(void **state)
{
    (void)state;
    static const char *const rules[] = {"skew 5", "other 0", "norange 0"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        char rule[128];
        hub_server_fault(fetch_server, NULL);
        hub_server_fault(fetch_server, "HEAD model.safetensors 0 hash plain-etag");
        hub_server_fault(fetch_server, "GET " FETCH_CDN " 1 drop 100000");
        snprintf(rule, sizeof rule, "GET " FETCH_CDN " 1 %s", rules[i]);
        hub_server_fault(fetch_server, rule);
        assert_ok(fetch_model(FETCH_NAME));
        fetch_expect_whole();
        fetch_forget("hf");
    }
    char zeros[1000] = {0};
    assert_ok(file_make_folder(scratch_path(&fetch_scratch, FETCH_REPO "blobs")));
    scratch_write(&fetch_scratch, FETCH_REPO "blobs/plain-etag.incomplete", zeros, sizeof zeros);
    assert_ok(fetch_model(FETCH_NAME));
    fetch_expect_whole();
}

static void wrong_parts_on_disk_are_given_up(void **state)
{
    (void)state;
    char part[2 * PATH_MAX], blob[2 * PATH_MAX];
    assert_ok(fetch_model(FETCH_NAME));
    const ssize_t n = readlink(scratch_path(&fetch_scratch, FETCH_SNAPSHOT "model.safetensors"),
                               blob, sizeof blob - 1);
    blob[n] = '\0';
    snprintf(part, sizeof part, FETCH_REPO "blobs/%s.incomplete", strrchr(blob, '/') + 1);
    const size_t sizes[] = {1, 1000, FETCH_BYTES - 1, FETCH_BYTES, FETCH_BYTES + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char wrong[FETCH_BYTES + 1] = {0};
        unlink(scratch_path(&fetch_scratch, FETCH_SNAPSHOT "model.safetensors"));
        snprintf(blob, sizeof blob, "%.*s", (int)strlen(part) - 11, part);
        assert_int_equal(unlink(scratch_path(&fetch_scratch, blob)), 0);
        scratch_write(&fetch_scratch, part, wrong, sizes[i]);
        assert_ok(fetch_model(FETCH_NAME));
        fetch_expect_whole();
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fetch_begin, fetch_end)
    const struct CMUnitTest tests[] = {
        TEST(a_model_is_fetched_once),
        TEST(a_cache_of_python_needs_no_request),
        TEST(weights_of_another_kind_are_not_fetched_again),
        TEST(old_names_are_redirected),
        TEST(shards_are_fetched_as_the_index_says),
        TEST(adapters_are_fetched),
        TEST(broken_connections_are_resumed),
        TEST(the_hub_is_asked_again),
        TEST(a_part_goes_on_another_time),
        TEST(parts_that_do_not_fit_are_given_up),
        TEST(parts_without_a_hash_fit_too),
        TEST(wrong_parts_on_disk_are_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
