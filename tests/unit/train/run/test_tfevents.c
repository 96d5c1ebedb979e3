#include "tests/lib/events.h"
#include "tests/lib/scratch.h"

#include "model/base/buf.h"
#include "model/base/crc32c.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "train/run/tfevents.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* RFC 3720, appendix B.4, and the check value of the CRC catalogues. */
static void crc32c_gives_the_published_values(void **state)
{
    (void)state;
    unsigned char bytes[32];
    assert_int_equal(crc32c("123456789", 9), 0xe3069283);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(crc32c(bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(crc32c(bytes, 32), 0x62a8ab43);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    assert_int_equal(crc32c(bytes, 32), 0x46dd794e);
    assert_int_equal(crc32c("", 0), 0);
}

static char *find_events(const char *folder)
{
    DIR *dir = opendir(folder);
    char *path = NULL;
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        if (strncmp(e->d_name, "events.out.tfevents.", 20) == 0)
            path = file_join(folder, e->d_name);
    closedir(dir);
    return path;
}

static void throw_away(struct tfevents *t, struct scratch *s, char *path, struct buf *b)
{
    tfevents_close(t);
    buf_release(b);
    mem_free(path);
    scratch_close(s);
}

/* Readers take back steps from 301 on, where the older files have them. */
static void a_resumed_run_says_where_it_starts(void **state)
{
    (void)state;
    struct scratch scratch;
    struct tfevents *t;
    struct buf b = {0};
    struct seen s;
    scratch_open(&scratch);
    assert_ok(tfevents_open(&t, scratch.folder, 300));
    assert_ok(tfevents_flush(t));
    char *path = find_events(scratch.folder);
    assert_ok(file_read_all(&b, path, 1 << 20));
    const unsigned char *p = event_read((const unsigned char *)b.data, &s);
    assert_string_equal(s.version, "brain.Event:2");
    assert_false(s.start);
    p = event_read(p, &s);
    assert_true(s.start && s.step == 301);
    assert_ptr_equal(p, b.data + b.n);
    throw_away(t, &scratch, path, &b);
}

static void a_reader_finds_what_was_written(void **state)
{
    (void)state;
    struct scratch scratch;
    struct tfevents *t;
    scratch_open(&scratch);
    assert_ok(tfevents_open(&t, scratch.folder, 0));
    assert_ok(tfevents_scalar(t, "loss/train", 3.25f, 300, 1700000000.5));
    assert_ok(tfevents_scalar(t, "lr", -1e-30f, 0, 1700000001.0));
    assert_ok(tfevents_scalar(t, "loss/train", 2.5f, (int64_t)1 << 40, 1700000002.0));
    assert_ok(tfevents_flush(t));
    char *path = find_events(scratch.folder);
    struct buf b = {0};
    assert_ok(file_read_all(&b, path, 1 << 20));
    const unsigned char *p = (const unsigned char *)b.data;
    struct seen s;
    p = event_read(p, &s);
    assert_string_equal(s.version, "brain.Event:2");
    p = event_read(p, &s);
    assert_string_equal(s.tag, "loss/train");
    assert_true(s.value == 3.25f && s.step == 300 && s.wall_s == 1700000000.5);
    /* The same event by hand, as protoc's own encoder writes it. */
    static const unsigned char golden[] = {0x09, 0,    0,    0x20, 0x40, 0xfc, 0x54, 0xd9, 0x41,
                                           0x10, 0xac, 0x02, 0x2a, 0x13, 0x0a, 0x11, 0x0a, 10,
                                           'l',  'o',  's',  's',  '/',  't',  'r',  'a',  'i',
                                           'n',  0x15, 0,    0,    0x50, 0x40};
    assert_memory_equal(p - 4 - sizeof golden, golden, sizeof golden);
    p = event_read(p, &s);
    assert_true(s.value == -1e-30f && s.step == 0);
    p = event_read(p, &s);
    assert_true(s.step == (int64_t)1 << 40 && s.value == 2.5f);
    assert_ptr_equal(p, b.data + b.n);
    throw_away(t, &scratch, path, &b);
    assert_fails(tfevents_open(&t, "/nowhere/at/all", 0), ERR_MISSING, "cannot write");
}

/* Readers stop at half a record, so none is left of what a full disk had no room for. */
static void a_full_disk_leaves_no_half_record(void **state)
{
    (void)state;
    struct scratch scratch;
    struct tfevents *t;
    struct rlimit before, limit;
    struct buf b = {0};
    struct seen s;
    scratch_open(&scratch);
    assert_ok(tfevents_open(&t, scratch.folder, 0));
    assert_ok(tfevents_scalar(t, "loss", 4, 1, 1700000000));
    assert_ok(tfevents_flush(t));
    char *path = find_events(scratch.folder);
    assert_ok(file_read_all(&b, path, 1 << 20));
    getrlimit(RLIMIT_FSIZE, &before);
    limit = (struct rlimit){.rlim_cur = b.n + 60, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 3; i++)
        assert_ok(tfevents_scalar(t, "loss", 3, 2, 1700000001));
    const int rc = tfevents_flush(t);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_fails(rc, ERR_IO, "cannot write");
    assert_ok(tfevents_scalar(t, "loss", 3, 2, 1700000002));
    assert_ok(tfevents_flush(t));
    b.n = 0;
    assert_ok(file_read_all(&b, path, 1 << 20));
    const unsigned char *p = event_read((const unsigned char *)b.data, &s);
    p = event_read(p, &s);
    assert_int_equal(s.step, 1);
    p = event_read(p, &s);
    assert_true(s.step == 2 && s.wall_s == 1700000002);
    assert_ptr_equal(p, b.data + b.n);
    throw_away(t, &scratch, path, &b);
}

int main(void)
{
    signal(SIGXFSZ, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc32c_gives_the_published_values),
        cmocka_unit_test(a_reader_finds_what_was_written),
        cmocka_unit_test(a_resumed_run_says_where_it_starts),
        cmocka_unit_test(a_full_disk_leaves_no_half_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
