/* Texts by name, from a server on the loopback: what has their hash gets their place, nothing else.
 */
#include "train/data/published.h"

#include "model/base/mem.h"
#include "model/base/progress.h"
#include "tests/lib/hub_server.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"
#include "weights/hub/environment.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/wait.h>
#include <unistd.h>

static const char TEXT[] = "Once upon a time there was a cat.\n";
#define TEXT_SHA256 "b3349388845c0a865033a116502e936f22778558acc559d33f9c6132cabe0ea5"
enum { TEXT_BYTES = sizeof TEXT - 1 };

static struct scratch s;
static struct hub_server *server;

static void write_zip(const char *name, const char *member, const char *text)
{
    struct archive *a = archive_write_new();
    struct archive_entry *e = archive_entry_new();
    assert_int_equal(archive_write_set_format_zip(a), ARCHIVE_OK);
    assert_int_equal(archive_write_open_filename(a, scratch_path(&s, name)), ARCHIVE_OK);
    for (int i = 0; i < 2; i++) {
        archive_entry_clear(e);
        archive_entry_set_pathname(e, i == 0 ? "folder/other.txt" : member);
        archive_entry_set_filetype(e, AE_IFREG);
        archive_entry_set_perm(e, 0644);
        archive_entry_set_size(e, (la_int64_t)strlen(text));
        assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
        assert_int_equal(archive_write_data(a, text, strlen(text)), (int)strlen(text));
    }
    archive_entry_free(e);
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    archive_write_free(a);
}

static int begin(void **state)
{
    char endpoint[64];
    (void)state;
    scratch_open(&s);
    setenv("HF_HOME", scratch_path(&s, "hf"), 1);
    unsetenv("HF_TOKEN");
    unsetenv("HF_HUB_OFFLINE");
    unsetenv("http_proxy");
    assert_ok(file_make_folder(scratch_path(&s, "root/org/data")));
    scratch_write(&s, "root/org/data/text.txt", TEXT, TEXT_BYTES);
    write_zip("root/org/data/text.zip", "folder/text.txt", TEXT);
    server = hub_server_open(scratch_path(&s, "root"), NULL);
    snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%d", hub_server_port(server));
    setenv("HF_ENDPOINT", endpoint, 1);
    return 0;
}

static int end(void **state)
{
    (void)state;
    hub_set_offline(false);
    hub_server_close(server);
    scratch_close(&s);
    return 0;
}

static struct published text_of(const char *url, const char *member)
{
    return (struct published){.name = "story",
                              .help = "a story",
                              .file = "stories/text.txt",
                              .url = url,
                              .member = member,
                              .sha256 = TEXT_SHA256,
                              .bytes = TEXT_BYTES,
                              .next = "train finetune data="};
}

static int get(const struct published *t)
{
    char *path = NULL;
    const int rc = published_get(&path, t, scratch_path(&s, "data"), NULL);
    if (path != NULL)
        assert_string_equal(path, scratch_path(&s, "data/stories/text.txt"));
    mem_free(path);
    return rc;
}

static void expect_text(void)
{
    struct buf got = {0};
    assert_ok(file_read_all(&got, scratch_path(&s, "data/stories/text.txt"), 1 << 20));
    assert_string_equal(buf_text(&got), TEXT);
    buf_release(&got);
    assert_false(file_exists(scratch_path(&s, "data/stories/text.txt.incomplete")));
    assert_false(file_exists(scratch_path(&s, "data/stories/text.txt.zip")));
    assert_false(file_exists(scratch_path(&s, "data/stories/text.txt.lock")));
}

static void expect_none(void)
{
    assert_false(file_exists(scratch_path(&s, "data/stories/text.txt")));
}

#define PLAIN "/org/data/resolve/main/text.txt"
#define ZIPPED "/org/data/resolve/main/text.zip"

static void a_text_is_downloaded_once(void **state)
{
    (void)state;
    char url[128];
    struct published t = text_of(PLAIN, NULL);
    assert_ok(get(&t));
    expect_text();
    assert_int_equal(hub_server_requests(server), 1);
    assert_ok(get(&t));
    hub_set_offline(true);
    assert_ok(get(&t));
    assert_int_equal(hub_server_requests(server), 0);
    hub_set_offline(false);
    /* Of another host the token is none. */
    setenv("HF_TOKEN", "secret", 1);
    assert_int_equal(unlink(scratch_path(&s, "data/stories/text.txt")), 0);
    snprintf(url, sizeof url, "http://127.0.0.2:%d/cdn/org/data/text.txt", hub_server_port(server));
    t = text_of(url, NULL);
    assert_ok(get(&t));
    expect_text();
    assert_string_equal(hub_server_seen(server, "secret"), "");
    unsetenv("HF_TOKEN");
}

static void two_at_once_download_once(void **state)
{
    (void)state;
    struct published t = text_of(PLAIN, NULL);
    pid_t first[2];
    int status;
    hub_server_fault(server, "GET text.txt 0 slow 1");
    for (int i = 0; i < 2; i++)
        if ((first[i] = fork()) == 0)
            _exit(get(&t) == 0 ? 0 : 1);
    assert_ok(get(&t));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(waitpid(first[i], &status, 0), first[i]);
        assert_int_equal(status, 0);
    }
    hub_server_fault(server, NULL);
    expect_text();
    assert_int_equal(hub_server_requests(server), 1);
}

static void a_text_is_taken_out_of_its_zip(void **state)
{
    (void)state;
    struct published t = text_of(ZIPPED, "folder/text.txt");
    hub_server_fault(server, "GET text.zip 1 drop 20");
    assert_ok(get(&t));
    expect_text();
}

static void another_text_is_refused(void **state)
{
    (void)state;
    struct published t = text_of(PLAIN, NULL), zipped = text_of(ZIPPED, "folder/text.txt");
    hub_server_fault(server, "GET text.txt 1 other");
    assert_fails(get(&t), ERR_MISMATCH, "SHA-256");
    expect_none();
    t.bytes++;
    assert_fails(get(&t), ERR_MISMATCH, "a file of 34 bytes, expected 35");
    expect_none();
    zipped.member = "folder/none.txt";
    assert_fails(get(&zipped), ERR_MISMATCH, "has no folder/none.txt");
    expect_none();
    zipped.member = "folder/text.txt";
    zipped.bytes--;
    assert_fails(get(&zipped), ERR_MISMATCH, "has more bytes than the text, 33");
    expect_none();
    zipped.bytes++;
    write_zip("root/org/data/text.zip", "folder/text.txt", "Once upon a time there was a dog.\n");
    assert_fails(get(&zipped), ERR_MISMATCH, "has the SHA-256");
    expect_none();
    scratch_write(&s, "root/org/data/text.zip", "no zip", 6);
    assert_fails(get(&zipped), ERR_MISMATCH, "cannot unpack");
    expect_none();
    /* And nothing of that is in the way. */
    write_zip("root/org/data/text.zip", "folder/text.txt", TEXT);
    assert_ok(get(&zipped));
    expect_text();
}

static void what_is_there_stays(void **state)
{
    (void)state;
    struct published t = text_of(PLAIN, NULL);
    assert_ok(file_make_folder(scratch_path(&s, "data/stories")));
    scratch_write(&s, "data/stories/text.txt", "mine", 4);
    assert_fails(get(&t), ERR_EXISTS, "is another text");
    assert_int_equal(hub_server_requests(server), 0);
}

static void without_a_network_it_says_what_to_fetch(void **state)
{
    (void)state;
    struct published t = text_of(PLAIN, NULL), zipped = text_of(ZIPPED, "folder/text.txt");
    char want[PATH_MAX + 256];
    setenv("HF_ENDPOINT", "http://127.0.0.1:1", 1);
    /* libcurl says Couldn't or Could not. */
    assert_fails(get(&t), ERR_IO, "story cannot be downloaded: 127.0.0.1:1: Could");
    snprintf(want, sizeof want,
             " connect to server; without a network, fetch https://huggingface.co" PLAIN
             " and save it as %s/data/stories/text.txt",
             s.folder);
    assert_fails(get(&t), ERR_IO, want);
    assert_false(file_exists(scratch_path(&s, "data/stories/text.txt.incomplete")));
    assert_fails(get(&zipped), ERR_IO,
                 "fetch folder/text.txt of https://huggingface.co" ZIPPED ", and");
    t.bytes = (int64_t)1 << 60;
    assert_fails(get(&t), ERR_IO, " MB free, the download needs 11529215");
    assert_null(strstr(err_text(), "without a network"));
    t.bytes = TEXT_BYTES;
    hub_set_offline(true);
    assert_fails(get(&t), ERR_MISSING, "story cannot be downloaded: downloads are off");
}

/* Every row can be what it says. */
static void the_table_is_right(void **state)
{
    (void)state;
    const struct published *t;
    for (int i = 0; (t = published_at(i)) != NULL; i++) {
        assert_ptr_equal(published_find(t->name), t);
        assert_int_equal(strlen(t->sha256), 64);
        assert_int_equal(strspn(t->sha256, "0123456789abcdef"), 64);
        assert_true(t->bytes > 0 && strlen(t->help) <= 45 && t->file[0] != '/');
        assert_null(strstr(t->file, ".."));
        assert_true(t->url[0] == '/' || strncmp(t->url, "https://", 8) == 0);
    }
    assert_null(published_find("none"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_text_is_downloaded_once),
        TEST(two_at_once_download_once),
        TEST(a_text_is_taken_out_of_its_zip),
        TEST(another_text_is_refused),
        TEST(what_is_there_stays),
        TEST(without_a_network_it_says_what_to_fetch),
        cmocka_unit_test(the_table_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
