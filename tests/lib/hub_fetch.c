#include "tests/lib/hub_fetch.h"

#include "model/base/progress.h"
#include "weights/hub/environment.h"
#include "weights/hub/fetch.h"
#include "weights/hub/model_path.h"

#include <dirent.h>
#include <sys/stat.h>

struct scratch fetch_scratch;
struct hub_server *fetch_server;

void fetch_root_file(const char *id, const char *file, const void *bytes, size_t n)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/root/%s", fetch_scratch.folder, id);
    assert_ok(file_make_folder(path));
    snprintf(path, sizeof path, "root/%s/%s", id, file);
    scratch_write(&fetch_scratch, path, bytes, n);
}

void fetch_root_text(const char *id, const char *file, const char *text)
{
    fetch_root_file(id, file, text, strlen(text));
}

/* Bytes that no two parts of are the same. */
char *fetch_weights(void)
{
    static char bytes[FETCH_BYTES];
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof bytes; i++) {
        x = x * 1664525u + 1013904223u;
        bytes[i] = (char)(x >> 24);
    }
    return bytes;
}

void fetch_forget(const char *name)
{
    char command[3 * PATH_MAX];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch_path(&fetch_scratch, name));
    assert_int_equal(system(command), 0);
}

int fetch_begin(void **state)
{
    char endpoint[64];
    (void)state;
    scratch_open(&fetch_scratch);
    setenv("HF_HOME", scratch_path(&fetch_scratch, "hf"), 1);
    static const char *const none[] = {"HF_HUB_CACHE",   "HUGGINGFACE_HUB_CACHE",
                                       "HF_TOKEN",       "HF_TOKEN_PATH",
                                       "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE",
                                       "http_proxy",     "https_proxy",
                                       "all_proxy",      "ALL_PROXY"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        unsetenv(none[i]);
    setenv("HF_HUB_DOWNLOAD_TIMEOUT", "0.3", 1);
    fetch_root_text(FETCH_NAME, "config.json", HF_CONFIG);
    fetch_root_text(FETCH_NAME, "tokenizer.json", "{}");
    fetch_root_file(FETCH_NAME, "model.safetensors", fetch_weights(), FETCH_BYTES);
    fetch_server = hub_server_open(scratch_path(&fetch_scratch, "root"), NULL);
    snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%d/", hub_server_port(fetch_server));
    setenv("HF_ENDPOINT", endpoint, 1);
    return 0;
}

int fetch_end(void **state)
{
    (void)state;
    interrupt_clear();
    hub_set_offline(false);
    hub_server_close(fetch_server);
    scratch_close(&fetch_scratch);
    return 0;
}

int fetch_model(const char *name)
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

void fetch_expect_file(const char *name, const void *bytes, size_t n)
{
    struct buf got = {0};
    assert_ok(file_read_all(&got, scratch_path(&fetch_scratch, name), 1 << 24));
    assert_int_equal(got.n, n);
    assert_memory_equal(buf_text(&got), bytes, n);
    buf_release(&got);
}

void fetch_expect_whole(void)
{
    fetch_expect_file(FETCH_SNAPSHOT "config.json", HF_CONFIG, strlen(HF_CONFIG));
    fetch_expect_file(FETCH_SNAPSHOT "model.safetensors", fetch_weights(), FETCH_BYTES);
    char *path = hub_cached_path(FETCH_NAME);
    assert_non_null(path);
    assert_string_equal(path + strlen(fetch_scratch.folder),
                        "/" FETCH_REPO "snapshots/" HUB_COMMIT);
    mem_free(path);
}

void fetch_expect_not_whole(void)
{
    assert_false(file_exists(scratch_path(&fetch_scratch, FETCH_SNAPSHOT "model.safetensors")));
    assert_null(hub_cached_path(FETCH_NAME));
}

int64_t fetch_part_bytes(void)
{
    char path[2 * PATH_MAX];
    struct stat st;
    int64_t bytes = -1;
    DIR *d = opendir(scratch_path(&fetch_scratch, FETCH_REPO "blobs"));
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        snprintf(path, sizeof path, FETCH_REPO "blobs/%.200s", e->d_name);
        if (strstr(e->d_name, ".incomplete") == NULL)
            assert_true(e->d_name[0] == '.' || strlen(e->d_name) == 40);
        else if (stat(scratch_path(&fetch_scratch, path), &st) == 0)
            bytes = st.st_size;
    }
    if (d != NULL)
        closedir(d);
    return bytes;
}
