/* Whether a run fits into the machine: by one process, or by those of several that are on it. */
#include "tests/lib/crowd.h"
#include "tests/lib/test.h"

#include "model/base/mem_room.h"
#include "train/config/devices.h"
#include "train/config/disk_room.h"
#include "train/config/fits.h"
#include "train/config/plan.h"
#include "train/config/resolve.h"
#include "train/parallel/reduction.h"
#include "train/parallel/world.h"

#include <string.h>
#include <sys/statvfs.h>

static double machine; /* bytes */
static const char *owner = "this machine";

/* Instead of those of model/base/mem_room.c, which the linker then leaves out. */
struct mem_limit mem_limit_find(void)
{
    const uint64_t half = (uint64_t)machine / 2;
    return (struct mem_limit){half, half, owner};
}
uint64_t mem_room_bytes(void)
{
    return (uint64_t)machine;
}

/* Instead of the system's. */
static uint64_t disk_blocks = 1 << 20, disk_free = UINT64_MAX >> 16;
int statvfs(const char *path, struct statvfs *out)
{
    (void)path;
    *out = (struct statvfs){.f_blocks = disk_blocks, .f_bavail = disk_free, .f_frsize = 1024};
    return 0;
}

struct trial {
    struct run_config c;
    struct config shape;
};

static int fresh(void **state)
{
    static struct trial t;
    *state = &t;
    return run_config_init(&t.c);
}

static int drop(void **state)
{
    struct trial *t = *state;
    run_config_release(&t->c);
    return 0;
}

static void resolve(struct trial *t, const char *words)
{
    char text[256], *rest, *list[16];
    int n = 0;
    snprintf(text, sizeof text, "%s", words);
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
        list[n++] = word;
    assert_ok(run_config_words(&t->c, list, n));
    assert_ok(run_config_shape(&t->c, NULL, &t->shape));
    assert_ok(run_config_resolve(&t->c, &t->shape));
}

static double bytes_of_one(const struct trial *t)
{
    struct run_memory m;
    assert_ok(run_config_memory(&m, &t->c, &t->shape, DTYPE_F16));
    return m.of_layers + m.activations + m.rest;
}

/* 1.1 times what the machine has, and no more. */
static void assert_fits_from(const struct trial *t, double bytes, bool launched, const char *says)
{
    machine = bytes / 1.09;
    assert_ok(run_config_fits(&t->c, &t->shape, DTYPE_F16, launched));
    machine = bytes / 1.11;
    assert_fails(run_config_fits(&t->c, &t->shape, DTYPE_F16, launched), ERR_RANGE, says);
}

static void one_process_takes_what_is_planned(void **state)
{
    struct trial *t = *state;
    resolve(t, "init=random:gpt2 micro_batch_size=1 sequence_length=64 gradient_accumulation=4 "
               "gradient_blocks=4");
    const double one = bytes_of_one(t);
    assert_fits_from(t, one, false, "the run takes ");
    assert_non_null(strstr(err_text(), " GiB of memory, this machine has "));
    assert_non_null(strstr(err_text(), ": phased=on trains it from disk, "));
    owner = "this control group";
    assert_fits_from(t, one, false, " GiB of memory, this control group has ");
    owner = "this machine";
    /* Settings for several are not of one that does all. */
    resolve(t, "replicas=2 zero=1");
    assert_fits_from(t, one, false, "the run takes ");
    resolve(t, "replicas=1 zero=0 phased=on memory=2");
    machine = 1e8;
    assert_fails(run_config_fits(&t->c, &t->shape, DTYPE_F16, false), ERR_RANGE, "the run takes ");
    assert_null(strstr(err_text(), "phased=on"));
}

static void processes_that_are_started_here_take_it_together(void **state)
{
    struct trial *t = *state;
    double each[4], all = 0;
    struct step_config step;
    resolve(t, "init=random:gpt2 micro_batch_size=1 sequence_length=64 gradient_accumulation=4 "
               "gradient_blocks=4 replicas=4");
    const double whole = 4 * bytes_of_one(t);
    assert_fits_from(t, whole, true, "the run takes ");
    assert_non_null(strstr(err_text(), " GiB of memory with 4 processes here, this machine has "));
    resolve(t, "zero=2");
    assert_true(4 * bytes_of_one(t) < 0.8 * whole);
    assert_fits_from(t, 4 * bytes_of_one(t), true, "the run takes ");
    resolve(t, "zero=1 replicas=2 layers_per_device=[4,8]");
    run_config_step(&t->c, &t->shape, &step);
    assert_ok(run_config_device_bytes(each, &t->c, &t->shape, &step, DTYPE_F16));
    assert_true(each[0] != each[1]);
    for (int i = 0; i < 4; i++)
        all += each[i];
    assert_fits_from(t, all, true, "the run takes ");
}

/* Bytes of the processes of the first replica. */
static void find_devices(double *bytes, struct trial *t, const char *words)
{
    struct step_config step;
    double all[4];
    resolve(t, words);
    run_config_step(&t->c, &t->shape, &step);
    assert_ok(run_config_device_bytes(all, &t->c, &t->shape, &step, DTYPE_F16));
    memcpy(bytes, all, 2 * sizeof *bytes);
}

/* As much work, of all tokens that there are, but for what the other replica sends. */
static void replicas_of_several_have_messages(void **state)
{
    struct trial *t = *state;
    double alone[2], one[2], more[2];
    const double messages = (double)reduction_bytes(2, 2, 1 << 22, DTYPE_F32, false);
    resolve(t, "init=random:gpt2,vocab_size=256 micro_batch_size=1 sequence_length=64");
    for (int i = 0; i < 2; i++) {
        resolve(t, i == 0 ? "tensor_parallel=2" : "tensor_parallel=1 layers_per_device=[6,6]");
        find_devices(alone, t, "replicas=1 gradient_accumulation=4 gradient_blocks=1");
        find_devices(one, t, "replicas=2 gradient_accumulation=8 gradient_blocks=2");
        assert_true(one[0] - alone[0] == messages && one[1] - alone[1] == messages);
    }
    /* A chunk's follow those of another. */
    find_devices(alone, t, "virtual_stages=2 replicas=1 gradient_accumulation=4 gradient_blocks=1");
    find_devices(more, t, "replicas=2 gradient_accumulation=8 gradient_blocks=2");
    assert_true(more[0] - alone[0] == 2 * messages && more[1] - alone[1] == 2 * messages);
}

static void act_rank(void *arg)
{
    struct trial *t = arg;
    resolve(t, "init=random:gpt2 micro_batch_size=1 sequence_length=64 gradient_accumulation=8 "
               "gradient_blocks=8");
    const int here = world_rank() < 3 ? 3 : 2;
    assert_fits_from(t, here * bytes_of_one(t), false, "the run takes ");
    assert_non_null(strstr(err_text(), here == 3 ? " with 3 proc" : " with 2 proc"));
}

static void ranks_of_other_hosts_do_not_count(void **state)
{
    crowd_of_host = 3;
    assert_int_equal(crowd_run(5, act_rank, *state), 0);
    crowd_of_host = 0;
}

/* Of random:gpt2, 124439808 parameters. */
static void the_disk_must_hold_a_checkpoint(void **state)
{
    static const struct {
        const char *words;
        uint64_t bytes;
    } runs[] = {
        {"", 124439808 * UINT64_C(12)},
        {"precision=float16", 124439808 * UINT64_C(8)},
        {"lora.rank=4", 147456 * UINT64_C(12)}, /* of 12 c_attn, 768 to 2304 */
    };
    struct trial *t = *state;
    struct buf note = {0};
    machine = 1e15;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char words[128];
        snprintf(words, sizeof words, "init=random:gpt2 folder=nosuch/run %s", runs[i].words);
        run_config_release(&t->c);
        assert_ok(run_config_init(&t->c));
        resolve(t, words);
        disk_free = runs[i].bytes / 1024;
        assert_ok(run_config_fits(&t->c, &t->shape, DTYPE_F16, false));
        assert_ok(run_config_disk_note(&t->c, &t->shape, 0, &note));
        assert_int_equal(note.n, 0);
        disk_free--;
        assert_fails(run_config_fits(&t->c, &t->shape, DTYPE_F16, false), ERR_IO,
                     "iB free: folder=DIR names another place");
        disk_blocks = 0; /* it does not say */
        assert_ok(run_config_fits(&t->c, &t->shape, DTYPE_F16, false));
        disk_blocks = 1;
    }
    assert_ok(run_config_disk_note(&t->c, &t->shape, 0, &note));
    assert_string_equal(buf_text(&note),
                        "  a checkpoint takes 1.7 MiB of disk, of 1.7 MiB free in .: "
                        "it does not fit\n");
    note.n = 0;
    disk_free *= 2;
    assert_ok(run_config_disk_note(&t->c, &t->shape, 4e6, &note));
    assert_string_equal(buf_text(&note),
                        "  with a checkpoint of 1.7 MiB that is more than the 3.4 MiB "
                        "free in .: it does not fit\n");
    assert_fails(run_config_disk_fits(&t->c, &t->shape, 4e6), ERR_IO,
                 "a checkpoint takes 1.7 MiB of disk and the working files 3.8 MiB, . has 3.4 MiB "
                 "free: folder=DIR names another place");
    disk_free = UINT64_MAX >> 16;
    buf_release(&note);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_process_takes_what_is_planned),
        TEST(processes_that_are_started_here_take_it_together),
        TEST(replicas_of_several_have_messages),
        TEST(ranks_of_other_hosts_do_not_count),
        TEST(the_disk_must_hold_a_checkpoint),
    };
    return cmocka_run_group_tests_name("fits", tests, NULL, NULL);
}
