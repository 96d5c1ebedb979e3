/* Files: written whole or not at all, refused where they are none, shown safely. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include "model/base/buf.h"
#include "model/base/file.h"
#include "model/base/folder_entry.h"
#include "model/base/little_endian.h"
#include "model/base/mem.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* A full disk takes the first half of a line. */
static void what_cannot_be_appended_is_not_there(void **state)
{
    (void)state;
    const char *path = scratch_file("append", "", 0);
    struct rlimit old, tight = {15, RLIM_INFINITY};
    struct buf b = {0};
    assert_ok(file_append(path, "0123456789", 10));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    int rc = file_append(path, "0123456789", 10);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(rc, ERR_IO);
    assert_ok(file_append(path, "ab", 2));
    assert_ok(file_read_all(&b, path, 100));
    assert_string_equal(buf_text(&b), "0123456789ab");
    buf_release(&b);
}

static void read_back(const char *path, const char *text)
{
    struct buf b = {0};
    assert_ok(file_read_all(&b, path, 1000));
    assert_string_equal(buf_text(&b), text);
    buf_release(&b);
}

static void writing_is_all_or_nothing(void **state)
{
    (void)state;
    char *path = file_join(scratch_of_process()->folder, "a");
    struct file_writer w;
    assert_ok(file_create(&w, path, false));
    assert_ok(file_write(&w, "first", 5));
    assert_false(file_exists(path));
    assert_ok(file_commit(&w));
    read_back(path, "first");
    assert_int_equal(file_create(&w, path, false), ERR_EXISTS);
    assert_ok(file_create(&w, path, true));
    assert_ok(file_write(&w, "second", 6));
    file_abandon(&w);
    read_back(path, "first");
    assert_ok(file_create(&w, path, true));
    assert_ok(file_write(&w, "third", 5));
    assert_ok(file_commit(&w));
    read_back(path, "third");
    mem_free(path);
}

static void what_a_link_leads_to_is_replaced(void **state)
{
    (void)state;
    const struct scratch *s = scratch_of_process();
    const char *link = scratch_path(s, "link"), *to = scratch_file("to", "old", 3);
    assert_int_equal(symlink(to, link), 0);
    assert_int_equal(file_write_whole(link, "new", 3, false), ERR_EXISTS);
    assert_ok(file_write_whole(link, "new", 3, true));
    read_back(to, "new");
    char seen[8];
    assert_true(readlink(link, seen, sizeof seen) > 0);
}

static void a_file_keeps_its_permissions(void **state)
{
    (void)state;
    const char *path = scratch_file("private", "old", 3);
    struct stat st;
    assert_int_equal(chmod(path, 0600), 0);
    assert_ok(file_write_whole(path, "new", 3, true));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

/* Of another name the old file stays, and so does whatever has that name. */
static void a_file_may_be_diverted(void **state)
{
    (void)state;
    const char *path = scratch_file("whole", "old", 3);
    const char *part = scratch_path(scratch_of_process(), "whole.part-2");
    scratch_file("whole.part", "older", 5);
    struct file_writer w;
    assert_ok(file_create(&w, path, true));
    assert_ok(file_write(&w, "half", 4));
    assert_int_equal(file_divert(&w, ".part"), ERR_EXISTS);
    assert_ok(file_divert(&w, ".part-2"));
    assert_ok(file_commit(&w));
    read_back(path, "old");
    read_back(part, "half");
}

static void appending_is_checked_before(void **state)
{
    (void)state;
    const struct scratch *s = scratch_of_process();
    const char *path = scratch_path(s, "lines");
    assert_ok(file_check_append(path));
    assert_false(file_exists(path));
    assert_ok(file_append(path, "a", 1));
    assert_ok(file_check_append(path));
    assert_says(file_check_append(s->folder), "is a folder");
    assert_says(file_check_append(scratch_path(s, "no/lines")), "No such file");
}

/* Nor is a folder replaced at the end of all the work. */
static void pipes_and_devices_take_bytes_as_they_come(void **state)
{
    (void)state;
    const struct scratch *s = scratch_of_process();
    const char *fifo = scratch_path(s, "stream");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    const int reader = open(fifo, O_RDONLY | O_NONBLOCK);
    struct file_writer w;
    char seen[8] = "";
    assert_ok(file_create(&w, fifo, false));
    assert_ok(file_write(&w, "one", 3));
    assert_int_equal(read(reader, seen, sizeof seen), 3);
    assert_memory_equal(seen, "one", 3);
    assert_int_equal(file_patch(&w, 0, "x", 1), ERR_IO);
    assert_ok(file_commit(&w));
    assert_int_equal(read(reader, seen, sizeof seen), 0);
    close(reader);
    struct stat st;
    assert_int_equal(stat(fifo, &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    assert_ok(file_write_whole("/dev/null", "x", 1, true));
    assert_says(file_write_whole("/dev/full", "x", 1, false), "No space left");
    assert_says(file_write_whole(s->folder, "x", 1, true), "is a folder");
}

static void reading_past_the_end_names_both_sizes(void **state)
{
    (void)state;
    struct file f;
    char bytes[8];
    assert_ok(file_open(&f, scratch_file("short", "third", 5)));
    assert_int_equal(file_read_at(&f, bytes, 3, 8), ERR_FORMAT);
    assert_non_null(strstr(err_text(), "ends at byte 5, expected 11"));
    file_close(&f);
}

static void what_is_no_plain_file_is_refused(void **state)
{
    (void)state;
    const struct scratch *s = scratch_of_process();
    struct file f;
    assert_int_equal(file_open(&f, s->folder), ERR_FORMAT);
    assert_non_null(strstr(err_text(), "is a folder"));
    assert_int_equal(file_open(&f, "/dev/zero"), ERR_FORMAT);
    const char *fifo = scratch_path(s, "fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(file_open(&f, fifo), ERR_FORMAT);
    const char *loop = scratch_path(s, "loop");
    assert_int_equal(symlink(loop, loop), 0);
    assert_int_equal(file_open(&f, loop), ERR_IO);
    assert_int_equal(file_open(&f, "/nowhere/\033[31mx"), ERR_MISSING);
    assert_null(strchr(err_text(), '\033'));
}

static void folders_are_made_with_those_above(void **state)
{
    (void)state;
    const char *deep = scratch_path(scratch_of_process(), "x/y/z");
    assert_false(file_is_folder(deep));
    assert_ok(file_make_folder(deep));
    assert_true(file_is_folder(deep));
    assert_ok(file_make_folder(deep));
}

static void part_is(const char *want, const char *path)
{
    char *there = file_part_there(path);
    assert_string_equal(there, want);
    mem_free(there);
}

static void the_part_of_a_path_that_is_there(void **state)
{
    (void)state;
    const char *folder = scratch_path(scratch_of_process(), "there");
    assert_ok(file_make_folder(folder));
    char *deep = file_join(folder, "no/such/folder");
    part_is(folder, deep);
    part_is(folder, folder);
    part_is(".", "");
    part_is(".", "no-such-folder/x");
    part_is("/", "/no-such-folder/x");
    mem_free(deep);
}

static void files_are_compared_from_any_byte(void **state)
{
    (void)state;
    struct file a, b;
    bool same;
    assert_ok(file_open(&a, scratch_file("a", "xxhello", 7)));
    assert_ok(file_open(&b, scratch_file("b", "hellp", 5)));
    assert_ok(file_compare(&same, &a, 2, &b, 0, 4));
    assert_true(same);
    assert_ok(file_compare(&same, &a, 2, &b, 0, 5));
    assert_false(same);
    assert_ok(file_compare(&same, &a, 0, &b, 0, 0));
    assert_true(same);
    assert_int_equal(file_compare(&same, &a, 3, &a, 3, 5), ERR_FORMAT); /* past the end */
    file_close(&a);
    file_close(&b);
}

static void folders_list_their_entries_once(void **state)
{
    (void)state;
    struct scratch s;
    int n = 0;
    scratch_open(&s);
    assert_null(folder_entry_next(NULL));
    folder_entry_close(NULL);
    assert_ok(file_write_whole(scratch_path(&s, "one"), "1", 1, false));
    assert_int_equal(file_write_whole(scratch_path(&s, "one"), "2", 1, false), ERR_EXISTS);
    read_back(scratch_path(&s, "one"), "1");
    assert_ok(file_write_whole(scratch_path(&s, ".two"), "2", 1, false));
    DIR *dir = opendir(s.folder);
    for (const char *name; (name = folder_entry_next(dir)) != NULL; n++)
        assert_true(strcmp(name, "one") == 0 || strcmp(name, ".two") == 0);
    folder_entry_close(dir);
    assert_int_equal(n, 2);
    assert_true(file_exists_in(s.folder, ".two"));
    assert_false(file_exists_in(s.folder, "two"));
    scratch_close(&s);
}

static void numbers_are_little_endian(void **state)
{
    (void)state;
    const unsigned char bytes[] = {0, 1, 2, 3, 4, 5, 6, 7, 0x88};
    assert_int_equal(le16_at(bytes + 1), 0x0201);
    assert_int_equal(le32_at(bytes + 1), 0x04030201);
    assert_true(le64_at(bytes + 1) == 0x8807060504030201u);
    assert_true(le_at(bytes + 6, 3) == 0x880706);
    assert_true(le_at(bytes, 0) == 0);
}

static void shown_text_is_cut_at_a_character(void **state)
{
    (void)state;
    char out[64], wide[301];
    for (int i = 0; i < 300; i += 3)
        memcpy(wide + i, "\xe4\xb8\xad", 4);
    assert_string_equal(file_show(out, 8, "1234567"), "1234567");
    assert_string_equal(file_show(out, 8, "12345678"), "1234...");
    assert_string_equal(file_show(out, 9, wide), "\xe4\xb8\xad...");
    assert_string_equal(file_show(out, sizeof out, "a\033\xff"), "a\\x1b\\xff");
    file_show(out, 56, wide);
    assert_string_equal(out + 39, "... (300 bytes)");
    assert_memory_equal(out, wide, 39);
    const char *a = file_quote("a"), *b = file_quote("b");
    assert_string_equal(a, "a");
    assert_string_equal(b, "b");
    assert_true(strlen(file_quote(wide)) <= 120);
    char *visible = file_visible("a\n");
    assert_string_equal(visible, "a\\x0a");
    mem_free(visible);
}

/* The base directory specification: a variable that is an absolute path, else below home. */
static void programs_are_found_as_a_shell_finds_them(void **state)
{
    (void)state;
    struct scratch s;
    char here[PATH_MAX], *before = mem_strdup(getenv("PATH")), *found;
    scratch_open(&s);
    assert_ok(file_make_folder(scratch_path(&s, "a/tool")));
    assert_ok(file_make_folder(scratch_path(&s, "b")));
    scratch_write(&s, "a/text", "", 0);
    scratch_write(&s, "b/text", "", 0);
    scratch_write(&s, "b/tool", "", 0);
    assert_int_equal(chmod(scratch_path(&s, "b/tool"), 0755), 0);
    char *paths = mem_sprintf("%s:", scratch_path(&s, "a"));
    char *both = mem_sprintf("%s%s", paths, scratch_path(&s, "b"));
    setenv("PATH", both, 1);
    found = file_find_program("tool"); /* a has a folder of the name */
    assert_string_equal(found, scratch_path(&s, "b/tool"));
    mem_free(found);
    assert_null(file_find_program("text"));
    /* A folder that is left empty is the current one. */
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(scratch_path(&s, "b")), 0);
    setenv("PATH", paths, 1);
    found = file_find_program("tool");
    assert_string_equal(found, "./tool");
    mem_free(found);
    unsetenv("PATH");
    assert_null(file_find_program("tool"));
    assert_int_equal(chdir(here), 0);
    setenv("PATH", before, 1);
    mem_free(before);
    mem_free(paths);
    mem_free(both);
    scratch_close(&s);
}

static void xdg_folders(void **state)
{
    (void)state;
    static const struct {
        const char *variable, *home, *path;
    } cases[] = {
        {"/var/s", "/home/u", "/var/s/prattle/x"},
        {"/var/s", NULL, "/var/s/prattle/x"},
        {NULL, "/home/u", "/home/u/.local/state/prattle/x"},
        {"", "/home/u", "/home/u/.local/state/prattle/x"},
        {"relative", "/home/u", "/home/u/.local/state/prattle/x"},
        {NULL, NULL, NULL},
        {"relative", "", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cases[i].home == NULL ? unsetenv("HOME") : setenv("HOME", cases[i].home, 1);
        cases[i].variable == NULL ? unsetenv("XDG_STATE_HOME")
                                  : setenv("XDG_STATE_HOME", cases[i].variable, 1);
        char *path = file_home(HOME_STATE, "x");
        if (cases[i].path == NULL) {
            assert_null(path);
            assert_int_equal(err_last(), ERR_MISSING);
            assert_string_equal(err_text(), "neither HOME nor XDG_STATE_HOME is set");
        } else {
            assert_string_equal(path, cases[i].path);
        }
        mem_free(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_appended_is_not_there),
        cmocka_unit_test(writing_is_all_or_nothing),
        cmocka_unit_test(what_a_link_leads_to_is_replaced),
        cmocka_unit_test(a_file_keeps_its_permissions),
        cmocka_unit_test(a_file_may_be_diverted),
        cmocka_unit_test(appending_is_checked_before),
        cmocka_unit_test(pipes_and_devices_take_bytes_as_they_come),
        cmocka_unit_test(reading_past_the_end_names_both_sizes),
        cmocka_unit_test(what_is_no_plain_file_is_refused),
        cmocka_unit_test(folders_are_made_with_those_above),
        cmocka_unit_test(the_part_of_a_path_that_is_there),
        cmocka_unit_test(shown_text_is_cut_at_a_character),
        cmocka_unit_test(files_are_compared_from_any_byte),
        cmocka_unit_test(folders_list_their_entries_once),
        cmocka_unit_test(numbers_are_little_endian),
        cmocka_unit_test(programs_are_found_as_a_shell_finds_them),
        cmocka_unit_test(xdg_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
