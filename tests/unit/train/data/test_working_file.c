/* Files without names, on disks that are full. */
#include "tests/lib/test.h"

#include "tests/lib/scratch.h"
#include "train/data/working_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

/* In place of the C library's: a file system that may have no files without names. */
static bool nameless_refused;

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    const int mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(rest, int) : 0;
    va_end(rest);
    if ((flags & O_TMPFILE) == O_TMPFILE && nameless_refused) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

/* And a disk with so many bytes free. */
static uint64_t disk_free;

int fstatvfs(int fd, struct statvfs *out)
{
    (void)fd;
    *out = (struct statvfs){.f_frsize = 1, .f_bavail = disk_free};
    return 0;
}

enum { BYTES = 1000000 };

/* user: how many bytes were given. */
static int give_bytes(void *user, char *dst, size_t n, size_t *got)
{
    size_t *given = user;
    *got = BYTES - *given < n ? BYTES - *given : n;
    for (size_t i = 0; i < *got; i++)
        dst[i] = (char)((*given + i) % 251);
    *given += *got;
    return 0;
}

static int fill_file(struct file *f, const struct scratch *s, uint64_t expected, size_t *given)
{
    *given = 0;
    assert_ok(working_file_open(f, s->folder, "a.tar: b.parquet"));
    return working_file_fill(f, s->folder, expected, give_bytes, given);
}

static void bytes_are_those_given(void **state)
{
    (void)state;
    static char bytes[BYTES];
    struct scratch s;
    struct file f;
    size_t given;
    scratch_open(&s);
    disk_free = BYTES;
    assert_ok(fill_file(&f, &s, BYTES, &given));
    assert_int_equal(f.bytes, BYTES);
    assert_ok(file_read_at(&f, bytes, 0, BYTES));
    for (size_t i = 0; i < BYTES; i++)
        assert_int_equal(bytes[i], (char)(i % 251));
    working_file_close(&f);
    assert_int_equal(f.fd, -1);
    scratch_close(&s);
}

/* The file is as good where it had a name for a moment, and leaves none behind. */
static void file_systems_without_nameless_files(void **state)
{
    struct scratch s;
    struct file f;
    scratch_open(&s);
    const char *folder = scratch_path(&s, "folder");
    assert_ok(file_make_folder(folder));
    nameless_refused = true;
    bytes_are_those_given(state);
    assert_ok(working_file_open(&f, folder, "a"));
    assert_int_equal(rmdir(folder), 0);
    working_file_close(&f);
    assert_fails(working_file_open(&f, folder, "a"), ERR_MISSING, "No such file");
    nameless_refused = false;
    scratch_close(&s);
}

static void a_full_disk_is_said(void **state)
{
    (void)state;
    struct scratch s;
    struct file f;
    size_t given;
    scratch_open(&s);
    disk_free = BYTES - 1;
    assert_fails(fill_file(&f, &s, BYTES, &given), ERR_IO, "no room to unpack a.tar: b.parquet: ");
    assert_int_equal(given, 0);
    working_file_close(&f);
    disk_free = 1000;
    assert_fails(fill_file(&f, &s, 0, &given), ERR_IO, " MB free, it needs ");
    assert_in_range(given, 1, BYTES - 1);
    working_file_close(&f);
    scratch_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bytes_are_those_given),
                                       cmocka_unit_test(file_systems_without_nameless_files),
                                       cmocka_unit_test(a_full_disk_is_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
