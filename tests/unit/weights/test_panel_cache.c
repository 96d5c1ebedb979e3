/* Weights from the panel cache are those of the model's files, bit for bit; without a cache models
 * load all the same. */
#include "tests/lib/panels.h"
#include "tests/lib/thin.h"

#include "model/base/par.h"
#include "model/kernels/kernels.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

static const enum dtype kinds[] = {DTYPE_F32, DTYPE_F16, DTYPE_Q8};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* ---- the same bits ---- */

static void an_entry_has_the_bits_of_the_files(void **state)
{
    struct panels *x = *state;
    bool damaged;
    for (int kind = 0; kind < N_KINDS; kind++) {
        const enum dtype dtype = kinds[kind];
        assert_false(panels_kept(x, "a", dtype));
        panels_keep_as(x, "a", dtype);
        assert_true(panels_kept(x, "a", dtype));
        for (int threads = 1; threads <= 3; threads++) {
            assert_ok(par_open(threads, false));
            panels_expect_as(x, "a", dtype, &damaged);
            assert_false(damaged);
        }
    }
    assert_int_equal(panels_count(x, ""), N_KINDS);
    assert_int_equal(panels_count(x, ".tmp"), 0);
}

static void kernel_sets_share_entries(void **state)
{
    struct panels *x = *state;
    struct model *plain = panels_load(x, "a", &PANELS_OFF);
    for (int writer = 0; kernels_nth_name(writer) != NULL; writer++) {
        assert_ok(kernels_select(kernels_nth_name(writer)));
        panels_keep(x, "a");
        for (int i = 0; kernels_nth_name(i) != NULL; i++) {
            assert_ok(kernels_select(kernels_nth_name(i)));
            assert_true(panels_kept(x, "a", DTYPE_F16));
            struct model *m = panels_load(x, "a", &PANELS_ON);
            panels_assert_same(m, plain);
            model_free(m);
        }
        unlink(panels_only_entry(x));
    }
    assert_ok(kernels_select(NULL));
    model_free(plain);
}

/* What training does to weights that came from an entry, or are being written to one. */
static void weights_in_memory_may_change(void **state)
{
    struct panels *x = *state;
    struct panel_cache behind = PANELS_ON;
    behind.waits = false;
    panels_keep(x, "a");
    unlink(panels_only_entry(x));
    while (panels_count(x, "") == 0) {
        struct model *m = panels_load(x, "a", &behind);
        memset(m->params.block, 0x55, m->params.block_bytes);
        usleep(5000);
        model_free(m);
    }
    panels_expect(x, "a");
    struct model *m = panels_load(x, "a", &PANELS_ON);
    memset(m->params.block, 0x55, m->params.block_bytes);
    panels_expect(x, "a");
    model_free(m);
}

/* A block of another layout under the same number would be read as weights. */
static void the_layout_has_this_number(void **state)
{
    static const char *const sums[N_KINDS] = {
        [0] = "afcf05dee042e6c544c135be888091e2c94e1048545971e622ea410518540e8d",
        [1] = "613b218a337fdf238e3ec7e6ea36e9556cc22296fe29ae85de2a7d5144d22a32",
        [2] = "2bd73e79d5ff7db3d28e5266eb6c9148ef6059257a245458b3376ce35bcca029",
    };
    struct panels *x = *state;
    assert_int_equal(PARAMS_LAYOUT, 1);
    for (int kind = 0; kind < N_KINDS; kind++) {
        struct model *m = panels_load_as(x, "a", kinds[kind], &PANELS_OFF);
        struct sha256 h;
        char hex[SHA256_HEX];
        assert_ok(sha256_init(&h));
        sha256_add(&h, m->params.block, m->params.block_bytes);
        sha256_end_hex(&h, hex);
        sha256_release(&h);
        assert_string_equal(hex, sums[kind]);
        model_free(m);
    }
}

/* ---- no cache is no error ---- */

static void a_full_disk_is_no_error(void **state)
{
    struct panels *x = *state;
    struct rlimit before;
    panels_keep(x, "a");
    const off_t whole = (off_t)panel_file_bytes(0);
    unlink(panels_only_entry(x));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    for (rlim_t most = 0; most < 900000; most = 3 * most + (rlim_t)whole / 2) {
        const struct rlimit limit = {.rlim_cur = most, .rlim_max = before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        struct model *m = panels_load(x, "a", &PANELS_ON);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        struct model *plain = panels_load(x, "a", &PANELS_OFF);
        panels_assert_same(m, plain);
        model_free(m);
        model_free(plain);
        assert_int_equal(panels_count(x, ""), 0);
        assert_int_equal(panels_count(x, ".tmp"), 0);
    }
}

static void a_folder_that_cannot_be_is_no_error(void **state)
{
    struct panels *x = *state;
    panels_keep(x, "a"); /* the file has settled */
    scratch_write(&x->scratch, "file", "x", 1);
    const char *const homes[] = {"file", "file/below"};
    for (size_t i = 0; i < 2; i++) {
        setenv("XDG_CACHE_HOME", scratch_path(&x->scratch, homes[i]), 1);
        panels_expect(x, "a");
    }
    setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
    panels_expect(x, "a");
}

static void the_folder_is_that_of_the_specification(void **state)
{
    struct panels *x = *state;
    char home[PATH_MAX / 2], before[PATH_MAX], expected[PATH_MAX];
    const char *old = getenv("HOME");
    snprintf(before, sizeof before, "%s", old == NULL ? "" : old);
    snprintf(home, sizeof home, "%s", scratch_path(&x->scratch, "home"));
    setenv("HOME", home, 1);
    setenv("XDG_CACHE_HOME", "relative", 1); /* not to be used */
    snprintf(expected, sizeof expected, "%s/.cache/prattle/panels", home);
    memcpy(x->folder, expected, sizeof x->folder);
    panels_keep(x, "a");
    struct stat st;
    assert_int_equal(stat(expected, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(stat(panels_only_entry(x), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    unsetenv("HOME");
    unsetenv("XDG_CACHE_HOME");
    panels_expect(x, "a");
    setenv("HOME", before, 1);
}

static void a_small_model_and_no_room_leave_no_folder(void **state)
{
    struct panels *x = *state;
    struct panel_cache small = PANELS_ON, little = PANELS_ON;
    panels_keep(x, "a");
    const uint64_t bytes = panel_file_bytes(1);
    unlink(panels_only_entry(x));
    assert_int_equal(rmdir(x->folder), 0);
    small.least_bytes = 2 << 20;
    little.limit_bytes = bytes;
    model_free(panels_load(x, "a", &small));
    model_free(panels_load(x, "a", &little));
    model_free(panels_load(x, "a", &PANELS_OFF));
    assert_false(file_exists(x->folder));
}

/* ---- what is kept, and for how long ---- */

/* Bytes go over those from `at` on, and the times of modification are as before. */
static void overwrite(const char *path, uint64_t at, const void *bytes, size_t n)
{
    struct stat st;
    int fd = open(path, O_RDWR);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(pwrite(fd, bytes, n, (off_t)at), n);
    const struct timespec times[] = {st.st_atim, st.st_mtim};
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

static void a_changed_file_has_an_entry_of_its_own(void **state)
{
    struct panels *x = *state;
    const char *path = scratch_path(&x->scratch, "a/model.safetensors");
    char file[PATH_MAX];
    struct stat st;
    snprintf(file, sizeof file, "%s", path);
    panels_keep(x, "a");
    assert_int_equal(stat(file, &st), 0);
    /* In its middle, which nothing samples. */
    for (int i = 0; i < 20; i++) {
        const float value = (float)i;
        overwrite(file, (uint64_t)st.st_size / 8 * 4, &value, sizeof value);
        panels_expect(x, "a");
        if (i % 4 == 0)
            panels_keep(x, "a");
    }
    /* Another file under the name. */
    assert_int_equal(rename(scratch_path(&x->scratch, "b/model.safetensors"), file), 0);
    panels_expect(x, "a");
}

static void a_new_file_is_not_kept(void **state)
{
    struct panels *x = *state;
    char copy[PATH_MAX], file[PATH_MAX];
    snprintf(file, sizeof file, "%s", scratch_path(&x->scratch, "a/model.safetensors"));
    snprintf(copy, sizeof copy, "%s", scratch_path(&x->scratch, "a/future"));
    /* Of a time to come, as after a clock was set back. */
    const struct timespec times[] = {{.tv_sec = 1}, {.tv_sec = 4000000000}};
    assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
    for (int i = 0; i < 3; i++) {
        panels_expect(x, "a");
        usleep(60000);
    }
    assert_int_equal(panels_count(x, ""), 0);
}

static void the_least_used_make_room(void **state)
{
    struct panels *x = *state;
    struct panel_list l;
    struct panel_cache two = PANELS_ON;
    panels_keep(x, "a");
    assert_ok(panel_folder_list(&l, x->folder));
    two.limit_bytes = 2 * l.bytes + 10;
    panel_list_release(&l);
    const struct timespec old[] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, panels_only_entry(x), old, 0), 0);
    panels_keep(x, "b");
    assert_ok(panel_folder_list(&l, x->folder));
    assert_int_equal(l.n, 2);
    assert_int_equal(l.entries[1].used, 1000); /* a */
    assert_string_equal(l.entries[0].header.name, "b");
    assert_string_equal(l.entries[0].header.source,
                        scratch_path(&x->scratch, "b/model.safetensors"));
    /* Being read is being used. */
    char b[2 * PATH_MAX];
    snprintf(b, sizeof b, "%s/%s", x->folder, l.entries[0].key);
    panel_list_release(&l);
    model_free(panels_load(x, "a", &two));
    const struct timespec older[] = {{.tv_sec = 900}, {.tv_sec = 900}};
    assert_int_equal(utimensat(AT_FDCWD, b, older, 0), 0);
    /* The last file that was made may not have settled yet. */
    do {
        usleep(5000);
        model_free(panels_load(x, "c", &two));
    } while (!panels_kept(x, "c", DTYPE_F16));
    assert_ok(panel_folder_list(&l, x->folder));
    assert_int_equal(l.n, 2);
    panel_list_release(&l);
    assert_true(panels_kept(x, "a", DTYPE_F16));
    assert_false(panels_kept(x, "b", DTYPE_F16));
}

/* Each load notes them, so none comes from the cache. */
static void weights_that_are_no_numbers_are_not_kept(void **state)
{
    struct panels *x = *state;
    char file[PATH_MAX];
    struct stat st;
    const uint32_t nan = 0x7fc00000;
    panels_keep(x, "b"); /* all files have settled */
    snprintf(file, sizeof file, "%s", scratch_path(&x->scratch, "a/model.safetensors"));
    assert_int_equal(stat(file, &st), 0);
    overwrite(file, (uint64_t)st.st_size / 8 * 4, &nan, sizeof nan);
    for (int i = 0; i < 3; i++) {
        usleep(60000);
        model_free(panels_load(x, "a", &PANELS_ON));
        assert_non_null(strstr(x->notes.all, "NaN or infinite"));
    }
    assert_int_equal(panels_count(x, ""), 1);
}

static void ctrl_c_while_an_entry_is_read(void **state)
{
    struct panels *x = *state;
    struct model *m = NULL;
    panels_keep(x, "a");
    interrupt_raise();
    assert_int_equal(model_load(&m, scratch_path(&x->scratch, "a"),
                                &(struct load_config){.dtype = DTYPE_F16, .cache = PANELS_ON},
                                NULL),
                     ERR_INTERRUPTED);
    interrupt_clear();
    panels_expect(x, "a");
}

/* The last allocations of a load are those of the cache: each fails once, while an entry is looked
 * for, read, or written. */
static void out_of_memory(void **state)
{
    struct panels *x = *state;
    panels_keep(x, "a");
    for (int kept = 1; kept >= 0; kept--) {
        if (!kept)
            unlink(panels_only_entry(x));
        const uint64_t before = mem_count();
        model_free(panels_load(x, "a", &PANELS_ON));
        const uint64_t n = mem_count() - before;
        for (uint64_t k = n - 60; k <= n; k++) {
            struct model *m = NULL;
            if (!thin_runs((int)(n - k), 7))
                continue;
            if (!kept && panels_count(x, "") == 1)
                unlink(panels_only_entry(x));
            mem_fail_at(k);
            int rc =
                model_load(&m, scratch_path(&x->scratch, "a"),
                           &(struct load_config){.dtype = DTYPE_F16, .cache = PANELS_ON}, NULL);
            mem_fail_at(0);
            assert_true(rc == 0 || rc == ERR_NOMEM);
            model_free(m);
            panels_expect(x, "a");
        }
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, panels_begin, panels_end)
    const struct CMUnitTest tests[] = {
        TEST(an_entry_has_the_bits_of_the_files),
        TEST(kernel_sets_share_entries),
        TEST(weights_in_memory_may_change),
        TEST(the_layout_has_this_number),
        TEST(a_full_disk_is_no_error),
        TEST(a_folder_that_cannot_be_is_no_error),
        TEST(the_folder_is_that_of_the_specification),
        TEST(a_small_model_and_no_room_leave_no_folder),
        TEST(a_changed_file_has_an_entry_of_its_own),
        TEST(a_new_file_is_not_kept),
        TEST(the_least_used_make_room),
        TEST(weights_that_are_no_numbers_are_not_kept),
        TEST(ctrl_c_while_an_entry_is_read),
        TEST(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
