/* Damaged entries of the panel cache, and writers that are killed or race: no wrong weights. */
#include "tests/lib/panels.h"
#include "tests/lib/thin.h"

#include "model/base/par.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- damage ---- */

static void flip_bit(const char *path, uint64_t at)
{
    char byte;
    int fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
    close(fd);
}

static void a_flipped_bit_is_found(void **state)
{
    struct panels *x = *state;
    panels_keep(x, "a");
    struct model *m = panels_load(x, "a", &PANELS_OFF);
    const uint64_t bytes = m->params.block_bytes, block = panel_block_at(bytes);
    model_free(m);
    const uint64_t places[] = {0,
                               offsetof(struct panel_head, sum),
                               offsetof(struct panel_head, version),
                               offsetof(struct panel_head, dtype),
                               offsetof(struct panel_head, block_bytes) + 5,
                               offsetof(struct panel_head, chunk_bytes),
                               offsetof(struct panel_head, key) + 9,
                               offsetof(struct panel_head, name),
                               offsetof(struct panel_head, unused),
                               PANEL_HEAD,
                               PANEL_HEAD + 8 * (panel_chunks(bytes) - 1),
                               block,
                               block + PANEL_CHUNK - 1,
                               block + PANEL_CHUNK,
                               block + bytes / 2,
                               block + bytes - 1};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        bool damaged;
        flip_bit(panels_only_entry(x), places[i]);
        panels_expect_as(x, "a", DTYPE_F16, &damaged);
        if (!damaged)
            fail_msg("a bit of byte %llu was not missed", (unsigned long long)places[i]);
        panels_expect(x, "a"); /* written anew */
    }
}

static void a_cut_entry_is_found(void **state)
{
    struct panels *x = *state;
    panels_keep(x, "a");
    struct model *m = panels_load(x, "a", &PANELS_OFF);
    const uint64_t bytes = m->params.block_bytes, block = panel_block_at(bytes);
    model_free(m);
    const uint64_t lengths[] = {0,
                                1,
                                PANEL_HEAD - 1,
                                PANEL_HEAD,
                                PANEL_HEAD + 8,
                                panel_front_bytes(bytes),
                                block - 1,
                                block,
                                block + PANEL_CHUNK,
                                block + bytes - 1,
                                block + bytes + 1};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        bool damaged;
        assert_int_equal(truncate(panels_only_entry(x), (off_t)lengths[i]), 0);
        panels_expect_as(x, "a", DTYPE_F16, &damaged);
        if (!damaged)
            fail_msg("%llu bytes were taken for an entry", (unsigned long long)lengths[i]);
        panels_expect(x, "a");
    }
    /* And what is no file at all. */
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", panels_only_entry(x));
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    struct model *plain = panels_load(x, "a", &PANELS_OFF),
                 *other = panels_load(x, "a", &PANELS_ON);
    panels_assert_same(other, plain);
    model_free(plain);
    model_free(other);
}

/* ---- writers ---- */

static pid_t find_child(void)
{
    pid_t found = 0;
    DIR *proc = opendir("/proc");
    assert_non_null(proc);
    for (struct dirent *e; (e = readdir(proc)) != NULL && found == 0;) {
        char path[300];
        int pid = 0, parent = 0;
        snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
        FILE *f = e->d_name[0] >= '1' && e->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (f != NULL && fscanf(f, "%d (%*[^)]) %*c %d", &pid, &parent) == 2 && parent == getpid())
            found = pid;
        if (f != NULL)
            fclose(f);
    }
    closedir(proc);
    return found;
}

/* At any moment: there is no entry then, or a whole one. */
static void a_killed_writer_does_no_harm(void **state)
{
    struct panels *x = *state;
    struct panel_cache behind = PANELS_ON;
    int n_kept = 0;
    behind.waits = false;
    panels_keep(x, "a"); /* the file has settled */
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    for (int i = 0; i < 25; i++) {
        if (!thin_runs(i, 4))
            continue;
        if (panels_count(x, "") == 1)
            unlink(panels_only_entry(x));
        model_free(panels_load(x, "a", &behind));
        pid_t writer = find_child();
        usleep((useconds_t)(8 * i * i));
        if (writer > 0) {
            kill(writer, SIGKILL);
            assert_int_equal(waitpid(writer, NULL, 0), writer);
        }
        n_kept += panels_count(x, "") == 1;
        struct model *plain = panels_load(x, "a", &PANELS_OFF), *m = panels_load(x, "a", &behind);
        assert_int_equal(x->notes.n, 0);
        panels_assert_same(m, plain);
        model_free(m);
        model_free(plain);
        while (waitpid(-1, NULL, 0) > 0)
            ;
    }
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
    assert_in_range(n_kept, 0, 25);
    panels_expect(x, "a");
    assert_int_equal(panels_count(x, ""), 1);
    assert_int_equal(panels_count(x, ".tmp"), 0);
}

/* What it leaves, of any length, is written over, or deleted by whoever writes next. */
static void what_a_killed_writer_leaves_goes(void **state)
{
    struct panels *x = *state;
    char temp[2 * PATH_MAX + 8];
    panels_keep(x, "a");
    snprintf(temp, sizeof temp, "%s.tmp", panels_only_entry(x));
    unlink(panels_only_entry(x));
    for (off_t length = 0; length < 3000000; length = 7 * length + 1) {
        int fd = open(temp, O_RDWR | O_CREAT, 0600);
        assert_int_equal(ftruncate(fd, length), 0);
        close(fd);
        model_free(panels_load(x, "a", &PANELS_ON));
        assert_int_equal(panels_count(x, ".tmp"), 0);
        panels_expect(x, "a");
        unlink(panels_only_entry(x));
    }
    int fd = open(temp, O_RDWR | O_CREAT, 0600);
    close(fd);
    panels_keep(x, "b");
    assert_int_equal(panels_count(x, ".tmp"), 0);
}

static void a_second_writer_leaves_it_to_the_first(void **state)
{
    struct panels *x = *state;
    char temp[2 * PATH_MAX + 8];
    panels_keep(x, "a");
    snprintf(temp, sizeof temp, "%s.tmp", panels_only_entry(x));
    unlink(panels_only_entry(x));
    int fd = open(temp, O_RDWR | O_CREAT, 0600);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    panels_expect(x, "a");
    panels_keep(x, "b"); /* which sweeps */
    panels_expect(x, "a");
    assert_int_equal(panels_count(x, ""), 1);
    assert_int_equal(panels_count(x, ".tmp"), 1);
    close(fd);
    panels_expect(x, "a");
    assert_int_equal(panels_count(x, ""), 2);
    assert_int_equal(panels_count(x, ".tmp"), 0);
}

static void load_and_compare(struct panels *x, const struct model *plain, int n)
{
    for (int i = 0; i < n; i++) {
        struct model *m = panels_load(x, "a", &PANELS_ON);
        panels_assert_same(m, plain);
        assert_int_equal(x->notes.n, 0);
        model_free(m);
        if (i % 3 == 2) {
            char *const argv[] = {"rm", "-rf", x->folder, NULL};
            pid_t child = fork();
            if (child == 0) {
                execvp("rm", argv);
                _exit(1);
            }
            waitpid(child, NULL, 0);
        }
    }
}

/* Several processes load, write and delete at once. */
static void processes_race(void **state)
{
    struct panels *x = *state;
    panels_keep(x, "a");
    struct model *plain = panels_load(x, "a", &PANELS_OFF);
    par_close();
    pid_t racers[3];
    for (int i = 0; i < 3; i++)
        if ((racers[i] = fork()) == 0) {
            assert_ok(par_open(1, false));
            load_and_compare(x, plain, thin_count(15, 3));
            _exit(0);
        }
    for (int i = 0; i < 3; i++) {
        int status;
        assert_int_equal(waitpid(racers[i], &status, 0), racers[i]);
        assert_int_equal(status, 0);
    }
    assert_ok(par_open(2, false));
    model_free(plain);
    panels_expect(x, "a");
    assert_int_equal(panels_count(x, ".tmp"), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, panels_begin, panels_end)
    const struct CMUnitTest tests[] = {
        TEST(a_flipped_bit_is_found),
        TEST(a_cut_entry_is_found),
        TEST(a_killed_writer_does_no_harm),
        TEST(what_a_killed_writer_leaves_goes),
        TEST(a_second_writer_leaves_it_to_the_first),
        TEST(processes_race),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
