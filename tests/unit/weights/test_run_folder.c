/* The folder of a run stands for its newest whole checkpoint wherever a model is named. */
#include "tests/lib/opens.h"
#include "tests/lib/trial.h"

#include "weights/open.h"
#include "weights/run_folder.h"

static const char *const weights_run[] = {"save_every=4", "keep_last=9", "eval_every=0", NULL};

static void damage(const char *path)
{
    char shorter[] = "x";
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(shorter, 1, 1, f), 1);
    fclose(f);
}

static void begin(struct trial *t, const char *const *more)
{
    trial_open(t, more);
    trial_finish(t);
}

static struct model *load(const char *path)
{
    struct model *m;
    assert_ok(model_load(&m, path, &(struct load_config){.dtype = DTYPE_F32}, NULL));
    return m;
}

static bool ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static void it_opens_the_newest(void **state)
{
    (void)state;
    struct trial t;
    struct source s;
    begin(&t, weights_run);
    const char *folder = scratch_path(&t.scratch, "run");
    struct model *m = load(folder);
    assert_true(ends_in(m->source, "/run/step-000012"));
    assert_true(ends_in(m->name, "/run, checkpoint of step 12"));
    model_free(m);
    assert_ok(source_open(&s, folder, 0, true, NULL));
    assert_true(ends_in(s.name, "/run, checkpoint of step 12"));
    source_close(&s);
    /* As Tab completes it. */
    m = load(scratch_path(&t.scratch, "run/"));
    assert_true(ends_in(m->name, "/run, checkpoint of step 12"));
    model_free(m);
    trial_close(&t);
}

static void its_files_are_opened_once(void **state)
{
    (void)state;
    struct trial t;
    begin(&t, weights_run);
    const char *folder = scratch_path(&t.scratch, "run"),
               *newest = scratch_path(&t.scratch, "run/step-000012");
    const int watch = opens_watch(newest);
    model_free(load(folder));
    assert_int_equal(opens_count(watch, "model.safetensors"), 1);
    trial_close(&t);
}

static void what_is_damaged_is_passed_over(void **state)
{
    (void)state;
    struct trial t;
    begin(&t, weights_run);
    const char *folder = scratch_path(&t.scratch, "run");
    damage(scratch_path(&t.scratch, "run/step-000012/model.safetensors"));
    struct model *m = load(folder);
    assert_true(ends_in(m->name, "/run, checkpoint of step 8"));
    model_free(m);
    assert_int_equal(unlink(scratch_path(&t.scratch, "run/step-000008/manifest.json")), 0);
    damage(scratch_path(&t.scratch, "run/step-000004/state.json"));
    assert_int_equal(model_load(&m, folder, &(struct load_config){.dtype = DTYPE_F32}, NULL),
                     ERR_MISSING);
    assert_string_equal(scratch_sentence(&t.scratch, err_text()),
                        "none of the 3 checkpoints in DIR/run is whole; train it once more, or "
                        "name another model");
    trial_close(&t);
}

static void a_run_without_a_checkpoint_says_so(void **state)
{
    (void)state;
    struct scratch scratch;
    struct source s;
    scratch_open(&scratch);
    scratch_write(&scratch, "metrics.jsonl", "", 0);
    assert_int_equal(source_open(&s, scratch.folder, 0, true, NULL), ERR_MISSING);
    assert_string_equal(scratch_sentence(&scratch, err_text()),
                        "DIR is the folder of a run that has saved no checkpoint yet; train it "
                        "until it has saved one");
    scratch_close(&scratch);
}

/* Also where the disk was full for the first line; another program's are not. */
static void metrics_are_a_runs_by_how_they_begin(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is;
    } all[] = {{"{\"label\":\"a\",\"step\":1,\"tokens\":9}\n{\"loss\": 1}\n", true},
               {"{\"label\":\"a\",\"st", true},
               {"{\"la", true},
               {"{\"step\": 1, \"loss\": 2}\n", false},
               {"{\"label\":\"a\",\"loss\":2}\n", false},
               {"{\"step", false}};
    struct scratch s;
    scratch_open(&s);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        scratch_write(&s, "metrics.jsonl", all[i].text, strlen(all[i].text));
        assert_int_equal(run_folder_has_metrics(s.folder), all[i].is);
    }
    scratch_close(&s);
}

static void an_adapters_run_opens_its_base_too(void **state)
{
    (void)state;
    static const char *const lora[] = {"rank=2", "save_every=4", "eval_every=0", NULL};
    struct trial t;
    struct source s;
    begin(&t, lora);
    const char *folder = scratch_path(&t.scratch, "run");
    struct model *m = load(folder);
    assert_non_null(m->adapter);
    assert_true(m->adapter->on);
    assert_true(ends_in(m->name, "/run, checkpoint of step 12"));
    model_free(m);
    assert_ok(source_open(&s, folder, 0, true, NULL));
    source_close(&s);
    trial_close(&t);
}

/* A model that was saved there, or an adapter, is what the folder says it is. */
static void a_models_folder_is_no_runs(void **state)
{
    (void)state;
    struct trial t;
    begin(&t, weights_run);
    assert_true(run_folder_is(scratch_path(&t.scratch, "run")));
    assert_false(run_folder_is(scratch_path(&t.scratch, "run/step-000012")));
    assert_false(run_folder_is(t.scratch.folder));
    scratch_write(&t.scratch, "run/config.json", "{}", 2);
    assert_false(run_folder_is(scratch_path(&t.scratch, "run")));
    trial_close(&t);
}

/* One that has ended before its first step: what it ended for is said after its folder was looked
 * at. */
static void to_ask_leaves_an_error(void **state)
{
    (void)state;
    struct scratch scratch;
    scratch_open(&scratch);
    scratch_write(&scratch, "lock", "123\n", 4);
    err_set(ERR_IO, "rank 2 was lost");
    assert_true(run_folder_is(scratch.folder));
    scratch_write(&scratch, "lock", "a text\n", 7);
    assert_false(run_folder_is(scratch.folder));
    assert_string_equal(err_text(), "rank 2 was lost");
    scratch_close(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_opens_the_newest),
        cmocka_unit_test(its_files_are_opened_once),
        cmocka_unit_test(what_is_damaged_is_passed_over),
        cmocka_unit_test(a_run_without_a_checkpoint_says_so),
        cmocka_unit_test(metrics_are_a_runs_by_how_they_begin),
        cmocka_unit_test(an_adapters_run_opens_its_base_too),
        cmocka_unit_test(a_models_folder_is_no_runs),
        cmocka_unit_test(to_ask_leaves_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
