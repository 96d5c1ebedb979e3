/* Checkpoints: whole or not at all, the newest that verifies, one trainer a folder. */
#include "train/run/checkpoint.h"

#include "tests/lib/hf_folder.h"
#include "tests/lib/normal.h"
#include "tests/lib/notes.h"
#include "weights/load.h"
#include "weights/hf/safetensors.h"
#include "weights/hf/save_hf.h"
#include "weights/open.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { N = 1000 };

struct made {
    struct scratch scratch, model;
    struct run_folder folder;
    struct source source;
    float m[N], v[N];
};

static void fill(struct made *t, int64_t step)
{
    for (uint64_t i = 0; i < N; i++) {
        t->m[i] = normal_number((uint64_t)step, 1, i);
        t->v[i] = normal_number((uint64_t)step, 2, i);
    }
}

static int save(struct made *t, int64_t step)
{
    fill(t, step);
    const struct optimizer_block blocks[] = {{"exp_avg", DTYPE_F32, t->m, N, NULL, 0},
                                             {"exp_avg_sq", DTYPE_F32, t->v, N, NULL, 0}};
    json_t *state = json_pack("{s:I,s:f}", "windows", (json_int_t)step * 8, "mean", 0.1 + 1.0 / 3);
    const struct checkpoint_content c = {.step = step,
                                         .weights = &t->source,
                                         .blocks = {.blocks = blocks, .n_blocks = 2},
                                         .state = state};
    int rc = checkpoint_write(&t->folder, &c, NULL);
    json_decref(state);
    return rc;
}

static void open_all(struct made *t)
{
    memset(t, 0, sizeof *t);
    scratch_open(&t->scratch);
    scratch_open(&t->model);
    hf_write_folder(&t->model, "F32");
    assert_ok(source_open(&t->source, t->model.folder, 0, true, NULL));
    assert_ok(run_folder_open(&t->folder, scratch_path(&t->scratch, "run")));
}

static void close_all(struct made *t)
{
    source_close(&t->source);
    run_folder_close(&t->folder);
    scratch_close(&t->scratch);
    scratch_close(&t->model);
}

/* The checkpoint found is of this step, and is what was saved. */
static void expect_step(struct made *t, const char *path, int64_t step)
{
    struct checkpoint c;
    float got[N];
    assert_ok(checkpoint_open(&c, path, NULL));
    assert_int_equal(c.step, step);
    fill(t, step);
    assert_ok(checkpoint_read(&c, &(struct optimizer_block){"exp_avg", DTYPE_F32, got, N, NULL, 0},
                              NULL));
    assert_memory_equal(got, t->m, sizeof got);
    assert_ok(checkpoint_read(
        &c, &(struct optimizer_block){"exp_avg_sq", DTYPE_F32, got, N, NULL, 0}, NULL));
    assert_memory_equal(got, t->v, sizeof got);
    assert_int_equal(json_integer_value(json_object_get(c.state, "windows")), step * 8);
    assert_true(json_real_value(json_object_get(c.state, "mean")) == 0.1 + 1.0 / 3);
    checkpoint_close(&c);
}

static void test_round_trip(void **state)
{
    (void)state;
    struct made t;
    open_all(&t);
    assert_ok(save(&t, 0));
    assert_ok(save(&t, 400));
    assert_ok(save(&t, 1234567));
    expect_step(&t, t.folder.path, 1234567);
    expect_step(&t, scratch_path(&t.scratch, "run/step-000400"), 400);
    /* It is a model. */
    struct model *m;
    assert_ok(model_load(&m, scratch_path(&t.scratch, "run/step-1234567"),
                         &(struct load_config){.dtype = DTYPE_F32}, NULL));
    float x;
    params_read(params_find(&m->params, "h.0.mlp.c_fc.weight"), &x, 3, 1);
    assert_true(x == hf_value("h.0.mlp.c_fc.weight", 3));
    model_free(m);
    /* The same step twice is a mistake of the caller's. */
    assert_int_equal(save(&t, 400), ERR_EXISTS);
    expect_step(&t, scratch_path(&t.scratch, "run/step-000400"), 400);
    close_all(&t);
}

/* However it is named, what it lies in is the run. */
static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *path, *named;
    } cases[] = {
        {"run/step-000007", "/run/step-000007"},   {"run/step-000007//", "/run/step-000007"},
        {"run/step-000007/.", "/run/step-000007"}, {"run/step-000007/sub/..", "/run/step-000007"},
        {"other/best", "/run/step-000007"},        {"other/best/", "/run/step-000007"},
        {"link/step-000007", "/link/step-000007"}, {"other/step-000009", "/other/step-000009"}};
    struct made t;
    struct checkpoint c;
    open_all(&t);
    assert_ok(save(&t, 7));
    assert_ok(file_make_folder(scratch_path(&t.scratch, "run/step-000007/sub")));
    assert_ok(file_make_folder(scratch_path(&t.scratch, "other")));
    assert_int_equal(symlink("../run/step-000007", scratch_path(&t.scratch, "other/best")), 0);
    assert_int_equal(symlink("run", scratch_path(&t.scratch, "link")), 0);
    /* A run that has it by a link. */
    assert_int_equal(symlink("../run/step-000007", scratch_path(&t.scratch, "other/step-000009")),
                     0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(checkpoint_open(&c, scratch_path(&t.scratch, cases[i].path), NULL));
        assert_true(text_ends_in(c.path, cases[i].named));
        checkpoint_close(&c);
    }
    close_all(&t);
}

static void test_refusals(void **state)
{
    (void)state;
    struct made t;
    struct checkpoint c;
    float got[N];
    open_all(&t);
    assert_int_equal(checkpoint_open(&c, t.folder.path, NULL), ERR_MISSING);
    assert_string_equal(scratch_sentence(&t.scratch, err_text()),
                        "there is no checkpoint in DIR/run");
    assert_int_equal(checkpoint_open(&c, "/no/such/run", NULL), ERR_MISSING);
    assert_ok(save(&t, 7));
    assert_ok(checkpoint_open(&c, t.folder.path, NULL));
    assert_int_equal(
        checkpoint_read(&c, &(struct optimizer_block){"exp_avg", DTYPE_F32, got, N - 1, NULL, 0},
                        NULL),
        ERR_MISMATCH);
    assert_string_equal(scratch_sentence(&t.scratch, err_text()),
                        "checkpoint DIR/run/step-000007 has 4000 bytes of F32 in exp_avg, this "
                        "run needs 3996 in F32");
    assert_int_equal(
        checkpoint_read(&c, &(struct optimizer_block){"exp_avg", DTYPE_F16, got, 2 * N, NULL, 0},
                        NULL),
        ERR_MISMATCH);
    assert_int_equal(
        checkpoint_read(&c, &(struct optimizer_block){"lamb", DTYPE_F32, got, N, NULL, 0}, NULL),
        ERR_MISMATCH);
    checkpoint_close(&c);
    close_all(&t);
}

/* ---- damage ---- */

static const char at[] = "run/step-000020";
static char name_of[64];
static const char *in(const char *name)
{
    snprintf(name_of, sizeof name_of, "%s/%s", at, name);
    return name_of;
}

static void change(const struct scratch *s, const char *name, off_t place, int how)
{
    int fd = open(scratch_path(s, in(name)), O_RDWR);
    unsigned char byte;
    assert_true(fd >= 0);
    off_t end = lseek(fd, 0, SEEK_END), where = place < 0 ? end + place : place;
    if (how == 'c') {
        assert_int_equal(ftruncate(fd, where), 0);
    } else if (how == '+') {
        assert_int_equal(pwrite(fd, "x", 1, end), 1);
    } else {
        assert_int_equal(pread(fd, &byte, 1, where), 1);
        byte ^= 0x10;
        assert_int_equal(pwrite(fd, &byte, 1, where), 1);
    }
    close(fd);
}

static const struct damage {
    const char *file;
    int how; /* 'c' cut at place, 'f' flip a bit there, '+' longer, 'r' removed, 'w' write text */
    off_t place;
    const char *text, *says;
} damages[] = {
    {"model.safetensors", 'c', -1, 0, "model.safetensors has "},
    {"model.safetensors", 'c', 0, 0, "model.safetensors has 0 bytes"},
    {"model.safetensors", 'f', -1, 0, "model.safetensors is not what was written"},
    {"model.safetensors", 'f', 0, 0, "model.safetensors is not what was written"},
    {"model.safetensors", '+', 0, 0, "model.safetensors has "},
    {"model.safetensors", 'r', 0, 0, "model.safetensors is missing"},
    {"training.safetensors", 'c', 100, 0, "training.safetensors has 100 bytes"},
    {"training.safetensors", 'f', 5000, 0, "training.safetensors is not"},
    {"training.safetensors", 'r', 0, 0, "training.safetensors is missing"},
    {"config.json", 'f', 5, 0, "config.json is not"},
    {"config.json", 'r', 0, 0, "config.json is missing"},
    {"state.json", 'f', 12, 0, "state.json is not"},
    {"state.json", 'r', 0, 0, "state.json is missing"},
    {"generation_config.json", 'r', 0, 0, "generation_config.json is missing"},
    {"manifest.json", 'c', -3, 0, "manifest.json"},
    {"manifest.json", 'c', 0, 0, "manifest.json"},
    {"manifest.json", 'r', 0, 0, "manifest.json is missing"},
    {"manifest.json", 'w', 0, "[]", "manifest.json"},
    {"manifest.json", 'w', 0, "{\"version\": 1}", "manifest.json does not name config.json"},
    {"manifest.json", 'w', 0, "{\"version\": 2, \"files\": {}}",
     "manifest.json is of version 2, this program reads 1"},
    {"manifest.json", 'w', 0,
     "{\"version\":1,\"files\":{\"../../x\":{},\"config.json\":{},\"model.safetensors\":{},"
     "\"state.json\":{},\"training.safetensors\":{}}}",
     "manifest.json has no valid entry for ../../x"},
    {"manifest.json", 'w', 0,
     "{\"version\":1,\"files\":{\"config.json\":{\"bytes\":-1},\"model.safetensors\":{},"
     "\"state.json\":{},\"training.safetensors\":{}}}",
     "manifest.json has no valid entry for config.json"},
};

static void test_damage(void **state)
{
    (void)state;
    struct notes notes;
    const struct progress p = {.note = notes_take, .user = &notes};
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        const struct damage *d = &damages[i];
        struct made t;
        struct checkpoint c;
        open_all(&t);
        assert_ok(save(&t, 10));
        assert_ok(save(&t, 20));
        if (d->how == 'r')
            assert_int_equal(unlink(scratch_path(&t.scratch, in(d->file))), 0);
        else if (d->how == 'w')
            scratch_write(&t.scratch, in(d->file), d->text, strlen(d->text));
        else
            change(&t.scratch, d->file, d->place, d->how);
        /* The one before it serves, and the user is told. */
        notes = (struct notes){0};
        if (checkpoint_open(&c, t.folder.path, &p) != 0)
            fail_msg("damage %zu: %s", i, err_text());
        assert_int_equal(c.step, 10);
        checkpoint_close(&c);
        if (strstr(notes.last, "checkpoint ") == NULL || strstr(notes.last, d->says) == NULL ||
            strstr(notes.last, "; passed over") == NULL)
            fail_msg("damage %zu: expected \"%s\", noted \"%s\"", i, d->says, notes.last);
        expect_step(&t, t.folder.path, 10);
        /* Alone it is refused. */
        assert_true(checkpoint_open(&c, scratch_path(&t.scratch, at), NULL) != 0);
        if (strcmp(d->file, "manifest.json") != 0 || d->how != 'r')
            assert_non_null(strstr(err_text(), d->says));
        close_all(&t);
    }
}

static void test_none_whole(void **state)
{
    (void)state;
    struct made t;
    struct checkpoint c;
    open_all(&t);
    assert_ok(save(&t, 20));
    change(&t.scratch, "state.json", 3, 'f');
    assert_int_equal(checkpoint_open(&c, t.folder.path, NULL), ERR_FORMAT);
    assert_string_equal(scratch_sentence(&t.scratch, err_text()),
                        "the only checkpoint in DIR/run is not whole");
    close_all(&t);
}

/* The trainer at work puts its newest in the place of the only one, which is being read. */
static void replace_only(void *user, const char *sentence)
{
    struct made *t = user;
    (void)sentence;
    if (file_exists(scratch_path(&t->scratch, "run/step-000020")))
        assert_int_equal(
            rename(scratch_path(&t->scratch, "run/step-000020"), scratch_path(&t->scratch, "old")),
            0);
    if (file_exists(scratch_path(&t->scratch, "new")))
        assert_int_equal(
            rename(scratch_path(&t->scratch, "new"), scratch_path(&t->scratch, "run/step-000030")),
            0);
}

static void one_that_takes_its_place_is_read(void **state)
{
    (void)state;
    struct made t;
    struct checkpoint c;
    open_all(&t);
    assert_ok(save(&t, 30));
    assert_int_equal(
        rename(scratch_path(&t.scratch, "run/step-000030"), scratch_path(&t.scratch, "new")), 0);
    assert_ok(save(&t, 20));
    change(&t.scratch, "state.json", 3, 'f');
    assert_ok(
        checkpoint_open(&c, t.folder.path, &(struct progress){.note = replace_only, .user = &t}));
    assert_int_equal(c.step, 30);
    checkpoint_close(&c);
    close_all(&t);
}

/* What is none of ours is left alone; what was half-written goes. */
static void test_sweep(void **state)
{
    (void)state;
    struct made t;
    open_all(&t);
    assert_ok(save(&t, 3));
    run_folder_close(&t.folder);
    assert_ok(file_make_folder(scratch_path(&t.scratch, "run/step-000009.tmp.Ab12Cd")));
    hf_write_text(&t.scratch, "run/step-000009.tmp.Ab12Cd/config.json", "{");
    assert_ok(file_make_folder(scratch_path(&t.scratch, "run/step-000009.tmp.Ab12Cd.tmp.zzzzzz")));
    assert_ok(file_make_folder(scratch_path(&t.scratch, "run/step-000001.tmp-removed")));
    assert_ok(file_make_folder(scratch_path(&t.scratch, "run/step-12")));
    assert_ok(file_make_folder(scratch_path(&t.scratch, "run/step-000099x")));
    assert_ok(run_folder_open(&t.folder, scratch_path(&t.scratch, "run")));
    assert_false(file_exists(scratch_path(&t.scratch, "run/step-000009.tmp.Ab12Cd")));
    assert_false(file_exists(scratch_path(&t.scratch, "run/step-000009.tmp.Ab12Cd.tmp.zzzzzz")));
    assert_false(file_exists(scratch_path(&t.scratch, "run/step-000001.tmp-removed")));
    assert_true(file_exists(scratch_path(&t.scratch, "run/step-12")));
    assert_true(file_exists(scratch_path(&t.scratch, "run/step-000099x")));
    expect_step(&t, t.folder.path, 3);
    close_all(&t);
}

static void expect_steps(const struct made *t, const char *expected)
{
    int64_t *steps;
    int n;
    struct buf b = {0};
    assert_ok(run_folder_steps(t->folder.path, &steps, &n));
    for (int i = 0; i < n; i++)
        assert_ok(buf_printf(&b, "%s%d", i > 0 ? " " : "", (int)steps[i]));
    assert_string_equal(buf_text(&b), expected);
    buf_release(&b);
    mem_free(steps);
}

static void test_prune(void **state)
{
    (void)state;
    struct made t;
    int n;
    open_all(&t);
    for (int step = 1; step <= 6; step++)
        assert_ok(save(&t, step));
    assert_ok(run_folder_prune(&t.folder, 6, 0, -1));
    expect_steps(&t, "6 5 4 3 2 1");
    assert_ok(run_folder_prune(&t.folder, 6, 3, 2));
    expect_steps(&t, "6 5 4 2");
    /* A run that went back to 4 leaves 5 and 6 alone, and never counts them. */
    assert_ok(run_folder_prune(&t.folder, 4, 1, -1));
    expect_steps(&t, "6 5 4");
    assert_ok(run_folder_set_aside(&t.folder, 4, &n));
    assert_int_equal(n, 2);
    expect_steps(&t, "4");
    assert_true(file_exists(scratch_path(&t.scratch, "run/step-000006.aside")));
    assert_ok(save(&t, 6));
    assert_ok(run_folder_set_aside(&t.folder, 4, &n));
    assert_int_equal(n, 1);
    assert_true(file_exists(scratch_path(&t.scratch, "run/step-000006.aside-2")));
    assert_ok(run_folder_prune(&t.folder, 4, 1, -1));
    expect_steps(&t, "4");
    close_all(&t);
}

static void test_lock(void **state)
{
    (void)state;
    struct made t;
    struct run_folder second;
    char pid[64];
    open_all(&t);
    assert_int_equal(run_folder_open(&second, t.folder.path), ERR_EXISTS);
    snprintf(pid, sizeof pid, "another prattle (process %d) has the run open", (int)getpid());
    assert_non_null(strstr(err_text(), pid));
    run_folder_close(&second);
    /* The lock of a process that was killed is gone with it. */
    run_folder_close(&t.folder);
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        if (run_folder_open(&second, scratch_path(&t.scratch, "run")) == 0 &&
            write(ready[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(run_folder_open(&t.folder, scratch_path(&t.scratch, "run")), ERR_EXISTS);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ready[0]);
    close(ready[1]);
    assert_ok(run_folder_open(&t.folder, scratch_path(&t.scratch, "run")));
    close_all(&t);
}

/* A file cannot grow: what a full disk is to a writer, whichever file it meets. */
static void test_disk_full(void **state)
{
    (void)state;
    struct made t;
    struct rlimit before, small;
    open_all(&t);
    assert_ok(save(&t, 10));
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    for (rlim_t most = 0; most < 8192; most += 700) {
        small = before;
        small.rlim_cur = most;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        int rc = save(&t, 20);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(rc, ERR_IO);
        assert_non_null(strstr(err_text(), "cannot write the checkpoint "));
        assert_non_null(strstr(err_text(), "File too large"));
        expect_step(&t, t.folder.path, 10);
        expect_steps(&t, "10");
    }
    /* Nothing is left behind, and there is room again. */
    assert_ok(save(&t, 20));
    expect_step(&t, t.folder.path, 20);
    run_folder_close(&t.folder);
    int n = 0;
    assert_ok(run_folder_open(&t.folder, scratch_path(&t.scratch, "run")));
    assert_ok(run_folder_set_aside(&t.folder, 100, &n));
    assert_int_equal(n, 0);
    close_all(&t);
}

static int stops_after;
static void count(void *user, const char *what, uint64_t done, uint64_t total)
{
    (void)user;
    (void)what;
    (void)done;
    (void)total;
    if (--stops_after == 0)
        interrupt_raise();
}

static void test_interrupted(void **state)
{
    (void)state;
    struct made t;
    const struct progress p = {.step = count};
    open_all(&t);
    assert_ok(save(&t, 10));
    const struct optimizer_block block = {"exp_avg", DTYPE_F32, t.m, N, NULL, 0};
    json_t *run = json_object();
    const struct checkpoint_content c = {.step = 20,
                                         .weights = &t.source,
                                         .blocks = {.blocks = &block, .n_blocks = 1},
                                         .state = run};
    int after = 1;
    for (int rc = ERR_INTERRUPTED; rc != 0; after++) {
        stops_after = after;
        rc = checkpoint_write(&t.folder, &c, &p);
        interrupt_clear();
        if (rc != 0) {
            assert_int_equal(rc, ERR_INTERRUPTED);
            expect_step(&t, t.folder.path, 10);
        }
    }
    assert_in_range(after, 5, 100);
    expect_steps(&t, "20 10");
    json_decref(run);
    close_all(&t);
}

/* As two processes write it. */
struct two {
    struct made *t;
    struct spans own[2][2]; /* of the blocks */
    bool lacks_model, lacks_blocks, fails;
    bool nothing; /* is written so */
};

static int add_written(json_t *files, const char *folder, const char *name, bool lacks)
{
    struct checkpoint_file f = {.bytes = 0};
    char *path = file_join(folder, name);
    snprintf(f.name, sizeof f.name, "%s", name);
    int rc = checkpoint_hash_file(&f, folder, NULL);
    if (rc == 0)
        rc = lacks ? unlink(path) : checkpoint_add_file(files, &f);
    mem_free(path);
    return rc;
}

static int write_two(void *user, const char *folder, json_t *files, bool *written)
{
    const struct two *w = user;
    const struct source *s = &w->t->source;
    const struct optimizer_block blocks[] = {{"exp_avg", DTYPE_F32, w->t->m, N, NULL, 0},
                                             {"exp_avg_sq", DTYPE_F32, w->t->v, N, NULL, 0}};
    int *of = calloc((size_t)s->table.n_tensors, sizeof *of), rc = 0;
    const struct hf_parts parts = {.n = 2, .of = of};
    for (int i = 0; i < s->table.n_tensors; i++)
        of[i] = i % 3 == 1;
    *written = !w->nothing;
    for (int i = 0; i < 2 && *written && rc == 0; i++) {
        char model[HF_PART_NAME], name[BLOCK_FILE_NAME];
        const struct block_content c = {.blocks = blocks, .n_blocks = 2, .own = w->own[i]};
        hf_part_name(model, i, 2);
        block_file_name(name, i, 2);
        if ((rc = hf_part_write(folder, i, &parts, s, NULL)) == 0 &&
            (rc = block_file_write(folder, name, &c, NULL)) == 0 &&
            (rc = add_written(files, folder, model, w->lacks_model && i == 1)) == 0)
            rc = add_written(files, folder, name, w->lacks_blocks && i == 1);
    }
    if (rc == 0 && *written)
        rc = hf_index_write(folder, &parts, s);
    free(of);
    return rc == 0 && w->fails ? err_set(ERR_IO, "rank 1 on here: no room") : rc;
}

static int save_two(struct made *t, struct two *w, int64_t step)
{
    fill(t, step);
    w->t = t;
    const struct optimizer_block blocks[] = {{"exp_avg", DTYPE_F32, t->m, N, NULL, 0},
                                             {"exp_avg_sq", DTYPE_F32, t->v, N, NULL, 0}};
    json_t *state = json_pack("{s:I,s:f}", "windows", (json_int_t)step * 8, "mean", 0.1 + 1.0 / 3);
    const struct checkpoint_content c = {.step = step,
                                         .weights = &t->source,
                                         .blocks = {.blocks = blocks, .n_blocks = 2},
                                         .write_parts = write_two,
                                         .user = w,
                                         .state = state};
    int rc = checkpoint_write(&t->folder, &c, NULL);
    json_decref(state);
    return rc;
}

enum { CUT = 300 };
#define HALVES                                                                                     \
    {                                                                                              \
        {{.n = 2, .at = {{0, CUT}, {N - CUT, CUT}}}, {.n = 1, .at = {{0, CUT}}}},                  \
        {                                                                                          \
            {.n = 1, .at = {{CUT, N - 2 * CUT}}},                                                  \
            {                                                                                      \
                .n = 2, .at = { {CUT, CUT}, {2 * CUT, N - 2 * CUT} }                               \
            }                                                                                      \
        }                                                                                          \
    }

static void test_parts(void **state)
{
    (void)state;
    struct made t;
    struct two w = {.own = HALVES}, none = {.nothing = true};
    struct checkpoint c;
    struct model *m;
    float got[N] = {0}, x;
    open_all(&t);
    assert_ok(save_two(&t, &w, 10));
    expect_step(&t, t.folder.path, 10);
    /* Spans that no file has as they are. */
    const struct spans own = {.n = 2, .at = {{CUT - 7, 20}, {N - CUT - 5, 50}}};
    const struct optimizer_block block = {"exp_avg", DTYPE_F32, got, N, NULL, 0};
    assert_ok(checkpoint_open(&c, t.folder.path, NULL));
    assert_int_equal(c.blocks.n, 2);
    assert_ok(checkpoint_read(&c, &block, &own));
    for (size_t i = 0; i < N; i++) {
        const bool read = (i >= CUT - 7 && i < CUT + 13) || (i >= N - CUT - 5 && i < N - CUT + 45);
        assert_true(got[i] == (read ? t.m[i] : 0));
    }
    mem_fail_at(1);
    assert_int_equal(checkpoint_read(&c, &block, &own), ERR_NOMEM);
    mem_fail_at(0);
    checkpoint_close(&c);
    assert_ok(model_load(&m, scratch_path(&t.scratch, "run/step-000010"),
                         &(struct load_config){.dtype = DTYPE_F32}, NULL));
    params_read(params_find(&m->params, "h.0.mlp.c_fc.weight"), &x, 3, 1);
    assert_true(x == hf_value("h.0.mlp.c_fc.weight", 3));
    model_free(m);
    /* Where they cannot: as of one process. */
    assert_ok(save_two(&t, &none, 20));
    expect_step(&t, t.folder.path, 20);
    assert_true(file_exists(scratch_path(&t.scratch, "run/step-000020/model.safetensors")));
    /* One of them fails. */
    w.fails = true;
    assert_fails(save_two(&t, &w, 30), ERR_IO, "rank 1 on here: no room");
    expect_step(&t, t.folder.path, 20);
    expect_steps(&t, "20 10");
    close_all(&t);
}

static void test_wrong_parts(void **state)
{
    (void)state;
    static const struct {
        struct two w;
        const char *open, *read; /* what is said; NULL: nothing */
    } cases[] = {
        {{.own = HALVES, .lacks_model = true},
         "model.safetensors.index.json names model-00002-of-00002.safetensors, manifest.json does "
         "not",
         NULL},
        {{.own = HALVES, .lacks_blocks = true},
         "training-00002-of-00002.safetensors is missing",
         NULL},
        {{.own = {{{.n = 1, .at = {{0, 600}}}, {.n = 1, .at = {{0, N}}}},
                  {{.n = 1, .at = {{500, 500}}}, {.n = 0}}}},
         NULL,
         "has 4400 bytes of F32 in exp_avg, this run needs 4000 in F32"},
        {{.own = {{{.n = 1, .at = {{0, 500}}}, {.n = 1, .at = {{0, N}}}},
                  {{.n = 1, .at = {{0, 500}}}, {.n = 0}}}},
         NULL,
         "has some elements of exp_avg twice and lacks others"},
        {{.own = {{{.n = 0}, {.n = 1, .at = {{0, N}}}}, {{.n = 0}, {.n = 0}}}},
         NULL,
         "has no exp_avg: its optimizer is another one"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made t;
        struct two w = cases[i].w;
        struct checkpoint c;
        float got[N];
        const struct optimizer_block block = {"exp_avg", DTYPE_F32, got, N, NULL, 0};
        open_all(&t);
        assert_ok(save_two(&t, &w, 10));
        char *path = run_folder_checkpoint(t.folder.path, 10);
        if (cases[i].open != NULL) {
            assert_fails(checkpoint_open(&c, path, NULL), ERR_FORMAT, cases[i].open);
        } else {
            assert_ok(checkpoint_open(&c, path, NULL));
            assert_fails(checkpoint_read(&c, &block, NULL), ERR_MISMATCH, cases[i].read);
            checkpoint_close(&c);
        }
        mem_free(path);
        close_all(&t);
    }
}

/* No memory at any point: a sentence, nothing left behind, nothing leaked. */
static void test_no_memory(void **state)
{
    (void)state;
    struct made t;
    open_all(&t);
    assert_ok(save(&t, 10));
    int rc = ERR_NOMEM;
    uint64_t k = 1;
    for (; rc != 0; k++) {
        assert_true(k < 2000);
        mem_fail_at(k);
        rc = save(&t, 20);
        mem_fail_at(0);
        if (rc != 0)
            assert_int_equal(rc, ERR_NOMEM);
    }
    assert_true(k > 20);
    expect_steps(&t, "20 10");
    struct checkpoint c;
    uint64_t before = mem_count();
    assert_ok(checkpoint_open(&c, t.folder.path, NULL));
    const uint64_t n_allocations = mem_count() - before;
    assert_int_equal(c.step, 20);
    checkpoint_close(&c);
    for (k = 1; k <= n_allocations; k++) {
        mem_fail_at(k);
        rc = checkpoint_open(&c, t.folder.path, NULL);
        mem_fail_at(0);
        assert_int_equal(rc, ERR_NOMEM);
    }
    close_all(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),       cmocka_unit_test(test_wrong_parts),
        cmocka_unit_test(test_round_trip),  cmocka_unit_test(test_names),
        cmocka_unit_test(test_refusals),    cmocka_unit_test(test_damage),
        cmocka_unit_test(test_none_whole),  cmocka_unit_test(one_that_takes_its_place_is_read),
        cmocka_unit_test(test_sweep),       cmocka_unit_test(test_prune),
        cmocka_unit_test(test_lock),        cmocka_unit_test(test_disk_full),
        cmocka_unit_test(test_interrupted), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
