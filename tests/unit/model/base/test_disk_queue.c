/* Pieces of files: what was written is read, in any order and size, and what fails says so once. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include "model/base/disk_queue.h"
#include "model/base/folder_entry.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { MANY = 12, MOST_BYTES = 3 * DISK_PART + 777 };

static struct disk_queue *queue;
static struct scratch scratch;

static int set_up(void **state)
{
    (void)state;
    scratch_open(&scratch);
    return disk_queue_open(&queue);
}

static int tear_down(void **state)
{
    (void)state;
    disk_queue_close(queue);
    scratch_close(&scratch);
    return 0;
}

static void fill(char *data, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        data[i] = (char)(seed * 131 + i * 7 + i / 4096);
}

static int files_in_scratch(void)
{
    int n = 0;
    DIR *dir = opendir(scratch.folder);
    while (folder_entry_next(dir) != NULL)
        n++;
    folder_entry_close(dir);
    return n;
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    struct disk_file f;
    struct disk_piece pieces[MANY] = {0};
    static const size_t sizes[] = {DISK_UNIT,     1,          DISK_PART,
                                   DISK_PART + 1, MOST_BYTES, 5 * DISK_UNIT};
    const uint64_t each = disk_round(MOST_BYTES);
    assert_ok(disk_file_make(&f, scratch.folder, MANY * each));
    assert_int_equal(files_in_scratch(), 0);
    for (int direct = 0; direct < 2; direct++) {
        f.use_direct = direct && f.direct >= 0;
        for (int i = 0; i < MANY; i++) {
            pieces[i] = (struct disk_piece){.file = &f,
                                            .at = (uint64_t)i * each,
                                            .bytes = sizes[(i + direct) % 6],
                                            .data = mem_map("test", each),
                                            .writes = true};
            fill(pieces[i].data, pieces[i].bytes, (unsigned)(i + 20 * direct));
            disk_queue_start(queue, &pieces[i]);
        }
        for (int i = MANY - 1; i >= 0; i--)
            assert_ok(disk_queue_wait(queue, &pieces[i]));
        char *want = mem_alloc(MOST_BYTES);
        for (int i = 0; i < MANY; i++) {
            memset(pieces[i].data, 0, each);
            pieces[i].writes = false;
            disk_queue_start(queue, &pieces[i]);
        }
        for (int i = 0; i < MANY; i++) {
            fill(want, pieces[i].bytes, (unsigned)(i + 20 * direct));
            assert_ok(disk_queue_wait(queue, &pieces[i]));
            assert_memory_equal(pieces[i].data, want, pieces[i].bytes);
            mem_unmap(pieces[i].data, each);
        }
        mem_free(want);
    }
    disk_file_close(&f);
}

static struct disk_piece piece_of(const struct disk_file *f, size_t n)
{
    return (struct disk_piece){.file = f, .bytes = n, .data = mem_map("test", disk_round(n))};
}

/* By another program while it is open: deleted, it is there; cut short, it is named. */
static void a_file_may_go_or_end(void **state)
{
    (void)state;
    const size_t n = 2 * DISK_PART + 100;
    char *bytes = mem_alloc(n);
    struct disk_file f;
    fill(bytes, n, 3);
    for (int direct = 0; direct < 2; direct++) {
        scratch_write(&scratch, "weights", bytes, n);
        assert_ok(disk_file_open(&f, scratch_path(&scratch, "weights")));
        assert_int_equal(f.bytes, n);
        f.use_direct = direct && f.direct >= 0;
        struct disk_piece p = piece_of(&f, n);
        assert_ok(disk_queue_run(queue, &p));
        assert_memory_equal(p.data, bytes, n);
        assert_int_equal(unlink(scratch_path(&scratch, "weights")), 0);
        memset(p.data, 0, n);
        assert_ok(disk_queue_run(queue, &p));
        assert_memory_equal(p.data, bytes, n);
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", f.fd);
        assert_int_equal(truncate(path, DISK_PART + 10), 0);
        assert_fails(disk_queue_run(queue, &p), ERR_FORMAT, "weights ends at byte ");
        /* The queue goes on. */
        p.bytes = 50;
        assert_ok(disk_queue_run(queue, &p));
        mem_unmap(p.data, disk_round(n));
        disk_file_close(&f);
    }
    mem_free(bytes);
    assert_fails(disk_file_open(&f, scratch_path(&scratch, "none")), ERR_MISSING, "none");
    disk_file_close(&f);
}

static void a_full_disk_is_an_error(void **state)
{
    (void)state;
    struct disk_file full = {.fd = open("/dev/full", O_RDWR), .direct = -1, .name = "the file"};
    struct disk_piece p = piece_of(&full, DISK_PART + 5);
    p.writes = true;
    assert_fails(disk_queue_run(queue, &p), ERR_IO,
                 "cannot write the file: No space left on device");
    close(full.fd);
    struct disk_file folder = {.fd = open(scratch.folder, O_RDONLY), .direct = -1, .name = "it"};
    p.file = &folder;
    p.writes = false;
    assert_fails(disk_queue_run(queue, &p), ERR_IO, "cannot read it: Is a directory");
    close(folder.fd);
    mem_unmap(p.data, disk_round(DISK_PART + 5));

    /* A limit stands for the disk: neither the room in advance nor a write ends the program. */
    struct rlimit before, limit;
    struct disk_file f;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = (struct rlimit){.rlim_cur = 100 << 10, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_fails(disk_file_make(&f, scratch.folder, 1 << 20), ERR_IO, "no room for 1.0 MB in ");
    assert_ok(disk_file_make(&f, scratch.folder, 64 << 10));
    p = piece_of(&f, 200 << 10);
    p.writes = true;
    const int rc = disk_queue_run(queue, &p);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_fails(rc, ERR_IO, "cannot write a working file in ");
    mem_unmap(p.data, disk_round(200 << 10));
    disk_file_close(&f);
    assert_fails(disk_file_make(&f, scratch_path(&scratch, "none"), 1), ERR_IO,
                 "cannot make a working");
    assert_int_equal(files_in_scratch(), 0);
}

static int refuse_odd(void *user, uint64_t at, const char *data, size_t bytes)
{
    (void)data;
    atomic_size_t *seen = user;
    *seen += bytes;
    return at == DISK_PART
               ? err_set(ERR_FORMAT, "the part at %llu is damaged", (unsigned long long)at)
               : 0;
}

static void parts_are_checked(void **state)
{
    (void)state;
    struct disk_file f;
    atomic_size_t seen = 0;
    assert_ok(disk_file_make(&f, scratch.folder, 4 * DISK_PART));
    struct disk_piece p = piece_of(&f, DISK_PART);
    p.check = refuse_odd;
    p.user = &seen;
    assert_ok(disk_queue_run(queue, &p));
    assert_int_equal(seen, DISK_PART);
    mem_unmap(p.data, DISK_PART);
    p = piece_of(&f, 4 * DISK_PART);
    p.check = refuse_odd;
    p.user = &seen;
    assert_fails(disk_queue_run(queue, &p), ERR_FORMAT, "the part at 4194304 is damaged");
    p.data = (mem_unmap(p.data, 4 * DISK_PART), NULL);
    /* Started by nobody, it is no error. */
    struct disk_piece none = {0};
    assert_ok(disk_queue_wait(queue, &none));
    disk_file_close(&f);
}

/* Too little to measure takes no time and changes nothing. */
static void small_files_are_not_measured(void **state)
{
    (void)state;
    struct disk_file f;
    double rate = 1;
    assert_ok(disk_file_make(&f, scratch.folder, 2 * DISK_PART));
    const bool before = f.use_direct;
    assert_ok(disk_queue_measure(queue, &f, 0, f.bytes, &rate));
    assert_true(rate == 0 && f.use_direct == before);
    disk_file_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read), cmocka_unit_test(a_file_may_go_or_end),
        cmocka_unit_test(a_full_disk_is_an_error), cmocka_unit_test(parts_are_checked),
        cmocka_unit_test(small_files_are_not_measured)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
