#include "tests/lib/events.h"
#include "tests/lib/scratch.h"

#include "model/base/json.h"
#include "train/run/metrics.h"

#include <glob.h>
#include <math.h>

static struct metrics at(int64_t step)
{
    return (struct metrics){.step = step,
                            .tokens = (uint64_t)step * 100,
                            .loss = 2.5,
                            .accuracy = 0.25,
                            .learning_rate = 1e-3,
                            .grad_norm = NAN,
                            .hours = 0.5,
                            .validation_loss = 3,
                            .validation_accuracy = 0.125,
                            .validation_step = 4};
}

static void start_log(struct metrics_log **l, const struct scratch *s, int64_t from, bool events)
{
    assert_ok(metrics_open(l, s->folder, NULL, from, "a label"));
    assert_ok(metrics_start(*l, events));
}

/* Line i of the file as an object, and how many there are. */
static json_t *line(const struct scratch *s, int wanted, int *n)
{
    struct buf text = {0};
    json_t *found = NULL;
    assert_ok(file_read_all(&text, scratch_path(s, "metrics.jsonl"), 1 << 20));
    *n = 0;
    for (char *p = text.data; p != NULL && *p != '\0'; p = strchr(p, '\n') + 1)
        if ((*n)++ == wanted)
            assert_ok(json_read_line(&found, p, strcspn(p, "\n")));
    buf_release(&text);
    return found;
}

static size_t event_bytes(const struct scratch *s, size_t *n_files)
{
    glob_t found = {0};
    size_t bytes = 0;
    int rc = glob(scratch_path(s, "events.out.tfevents.*"), 0, NULL, &found);
    *n_files = rc == 0 ? found.gl_pathc : 0;
    for (size_t i = 0; i < *n_files; i++) {
        struct buf all = {0};
        assert_ok(file_read_all(&all, found.gl_pathv[i], 1 << 20));
        bytes += all.n;
        buf_release(&all);
    }
    globfree(&found);
    return bytes;
}

/* What the newest event file says of this tag at this step, NaN: nothing; and the step at which it
 * says that it begins, 0: it does not say. */
static double event(const struct scratch *s, const char *tag, int64_t step, int64_t *begins)
{
    glob_t found = {0};
    struct buf all = {0};
    double value = NAN;
    *begins = 0;
    assert_int_equal(glob(scratch_path(s, "events.out.tfevents.*"), 0, NULL, &found), 0);
    assert_ok(file_read_all(&all, found.gl_pathv[found.gl_pathc - 1], 1 << 20));
    const unsigned char *p = (const unsigned char *)all.data, *end = p + all.n;
    while (p < end) {
        struct seen e;
        p = event_read(p, &e);
        if (e.start)
            *begins = e.step;
        if (e.step == step && strcmp(e.tag, tag) == 0)
            value = (double)e.value;
    }
    assert_ptr_equal(p, end);
    buf_release(&all);
    globfree(&found);
    return value;
}

static void lines_say_what_was_measured(void **state)
{
    (void)state;
    struct scratch s;
    struct metrics_log *l;
    struct metrics m = at(3);
    size_t n_files;
    int64_t begins;
    int n;
    scratch_open(&s);
    start_log(&l, &s, 0, true);
    size_t before = event_bytes(&s, &n_files);
    assert_int_equal(n_files, 1);
    assert_ok(metrics_line(l, &m));
    /* What a line says is in the event file at once. */
    assert_true(event_bytes(&s, &n_files) > before);
    assert_true(event(&s, "train/loss", 3, &begins) == 2.5);
    assert_int_equal(begins, 0);
    m = at(4);
    m.machine_hours = 0.25;
    m.loss_scale = 2048;
    m.overflows = 2;
    assert_ok(metrics_line(l, &m));
    struct buf sample = {0};
    assert_ok(buf_add(&sample, "a \"text\"\n\xff\0b", 12));
    assert_ok(metrics_sample(l, &m, &sample));
    buf_release(&sample);
    assert_true(event(&s, "train/accuracy", 4, &begins) == 0.25);
    assert_true(event(&s, "validation/validation_loss", 4, &begins) == 3);
    assert_true(isnan(event(&s, "validation/validation_loss", 3, &begins)));
    json_t *o = line(&s, 0, &n);
    assert_int_equal(n, 3);
    assert_int_equal(json_integer_value(json_object_get(o, "step")), 3);
    assert_true(json_real_value(json_object_get(o, "loss")) == 2.5);
    /* No number, no validation at this step, no other machine: left out. */
    assert_null(json_object_get(o, "grad_norm"));
    assert_null(json_object_get(o, "validation_loss"));
    assert_null(json_object_get(o, "machine_hours"));
    assert_null(json_object_get(o, "loss_scale"));
    json_decref(o);
    o = line(&s, 1, &n);
    assert_true(json_real_value(json_object_get(o, "validation_loss")) == 3);
    assert_true(json_real_value(json_object_get(o, "machine_hours")) == 0.25);
    assert_true(json_real_value(json_object_get(o, "loss_scale")) == 2048);
    assert_true(json_real_value(json_object_get(o, "overflows")) == 2);
    json_decref(o);
    o = line(&s, 2, &n);
    assert_string_equal(json_string_value(json_object_get(o, "sample")), "a \"text\"\n\ufffd");
    json_decref(o);
    metrics_close(l);
    scratch_close(&s);
}

static void tensors_have_norm_and_ratio(void **state)
{
    (void)state;
    struct scratch s;
    struct metrics_log *l;
    struct metrics m = at(5);
    struct param_tensor tensors[] = {{.name = "wte.weight"}, {.name = "h.0.ln_1.bias"}};
    const struct params table = {.tensors = tensors, .n_tensors = 2};
    const struct tensor_change changes[] = {{.grad_norm = 2, .weight_norm = 4, .update_norm = 1},
                                            {.grad_norm = 3}};
    size_t n_files;
    int n;
    scratch_open(&s);
    start_log(&l, &s, 0, false);
    assert_ok(metrics_tensors(l, &m, &table, changes));
    event_bytes(&s, &n_files);
    assert_int_equal(n_files, 0);
    json_t *o = line(&s, 0, &n);
    json_t *norms = json_object_get(o, "grad_norms"), *ratios = json_object_get(o, "update_ratios");
    assert_string_equal(json_string_value(json_object_get(o, "label")), "a label");
    assert_true(json_real_value(json_object_get(norms, "wte.weight")) == 2);
    assert_true(json_real_value(json_object_get(norms, "h.0.ln_1.bias")) == 3);
    assert_true(json_real_value(json_object_get(ratios, "wte.weight")) == 0.25);
    /* Weights of zero have no ratio. */
    assert_null(json_object_get(ratios, "h.0.ln_1.bias"));
    json_decref(o);
    metrics_close(l);
    scratch_close(&s);
}

/* Steps taken again, and half a line of a killed run, are dropped. */
static void going_on_drops_what_comes_again(void **state)
{
    (void)state;
    struct scratch s;
    struct metrics_log *l;
    int n;
    scratch_open(&s);
    start_log(&l, &s, 0, false);
    for (int64_t step = 1; step <= 9; step++) {
        struct metrics m = at(step);
        assert_ok(metrics_line(l, &m));
    }
    metrics_close(l);
    assert_ok(file_append(scratch_path(&s, "metrics.jsonl"), "{\"step\":2", 9));
    assert_ok(metrics_open(&l, s.folder, NULL, 6, "a label"));
    struct buf all = {0};
    assert_ok(file_read_all(&all, scratch_path(&s, "metrics.jsonl"), 1 << 20));
    assert_non_null(strstr(buf_text(&all), "\"step\":9,")); /* until it starts, all is there */
    buf_release(&all);
    assert_ok(metrics_start(l, true));
    struct metrics m = at(7);
    int64_t begins;
    assert_ok(metrics_line(l, &m));
    metrics_close(l);
    /* Readers take back what older files say from there on. */
    assert_true(event(&s, "train/loss", 7, &begins) == 2.5 && begins == 7);
    json_decref(line(&s, 6, &n));
    assert_int_equal(n, 7);
    scratch_close(&s);
}

/* A line that is dropped in the middle: what is before and behind it stays as it is, byte by byte,
 * also where that is much. */
static void going_on_keeps_the_lines_around(void **state)
{
    (void)state;
    struct scratch s;
    struct metrics_log *l;
    struct buf lines = {0}, after = {0};
    scratch_open(&s);
    const char *const name = "metrics.jsonl";
    for (int step = 1; step <= 9000; step++)
        assert_ok(buf_printf(&lines, "{\"step\": %d, \"loss\":\t2.50}\n", step));
    assert_ok(file_append(scratch_path(&s, name), lines.data, lines.n));
    assert_ok(file_append(scratch_path(&s, name), "no line\n", 8));
    assert_ok(file_append(scratch_path(&s, name), lines.data, lines.n));
    start_log(&l, &s, 9000, false);
    metrics_close(l);
    assert_ok(file_read_all(&after, scratch_path(&s, name), 1 << 20));
    assert_int_equal(after.n, 2 * lines.n);
    assert_memory_equal(after.data, lines.data, lines.n);
    assert_memory_equal(after.data + lines.n, lines.data, lines.n);
    buf_release(&lines);
    buf_release(&after);
    scratch_close(&s);
}

/* In another folder: the old lines up to there, under the run's own label, and where there are none
 * none. */
static void going_on_elsewhere_takes_the_lines_along(void **state)
{
    (void)state;
    struct scratch old, s;
    struct metrics_log *l;
    struct buf kept = {0};
    scratch_open(&old);
    scratch_open(&s);
    static const char lines[] = "{\"step\":1}\n{\"label\":\"old\",\"step\":2,\"loss\":0.1}\n"
                                "{\"label\":\"old\",\"step\":3}\n",
                      stale[] = "{\"step\":1,\"a\":9}\n";
    scratch_write(&old, "metrics.jsonl", lines, sizeof lines - 1);
    for (int there = 0; there < 2; there++) {
        scratch_write(&s, "metrics.jsonl", stale, sizeof stale - 1);
        if (there)
            remove(scratch_path(&old, "metrics.jsonl"));
        assert_ok(metrics_open(&l, s.folder, old.folder, 2, "a label"));
        assert_ok(metrics_start(l, false));
        metrics_close(l);
        kept.n = 0;
        assert_ok(file_read_all(&kept, scratch_path(&s, "metrics.jsonl"), 1 << 20));
        assert_string_equal(
            buf_text(&kept),
            there ? "" : "{\"step\":1}\n{\"label\":\"a label\",\"step\":2,\"loss\":0.1}\n");
    }
    buf_release(&kept);
    scratch_close(&old);
    scratch_close(&s);
}

/* As it stands, with lines of other kinds and half a line behind it, however many. */
static void the_last_line_is_read(void **state)
{
    (void)state;
    struct scratch s;
    struct metrics_log *l;
    struct metrics m = at(4), last;
    char *label = NULL;
    struct param_tensor tensors[] = {{.name = "wte.weight"}};
    const struct params table = {.tensors = tensors, .n_tensors = 1};
    const struct tensor_change changes[] = {{.grad_norm = 2}};
    scratch_open(&s);
    assert_int_equal(metrics_read_last(&last, &label, s.folder), ERR_MISSING);
    start_log(&l, &s, 0, false);
    assert_ok(metrics_tensors(l, &m, &table, changes));
    assert_int_equal(metrics_read_last(&last, &label, s.folder), ERR_MISSING);
    assert_ok(metrics_line(l, &m));
    m = at(5);
    m.n_steps = 10;
    m.step_s = 3;
    m.tokens_per_s = 77;
    m.skipped = 2;
    m.best_step = 3;
    m.best_loss = 2.25;
    assert_ok(metrics_line(l, &m));
    assert_ok(metrics_tensors(l, &m, &table, changes));
    assert_ok(metrics_read_last(&last, &label, s.folder));
    assert_false(last.finished);
    mem_free(label);
    assert_int_equal(last.n_steps, 10);
    const struct metrics going = last;
    m.n_steps = 5;
    assert_ok(metrics_finished(l, &m));
    assert_ok(metrics_read_last(&last, &label, s.folder));
    assert_true(last.finished && last.step == 5 && last.loss == 2.5);
    assert_int_equal(last.n_steps, 5);
    mem_free(label);
    metrics_close(l);
    assert_ok(file_append(scratch_path(&s, "metrics.jsonl"), "{\"step\":6,\"loss\":1", 17));
    assert_ok(metrics_read_last(&last, &label, s.folder));
    assert_int_equal(last.step, 5);
    assert_int_equal(last.n_steps, 5);
    assert_int_equal(last.tokens, 500);
    assert_int_equal(last.skipped, 2);
    assert_int_equal(last.best_step, 3);
    assert_true(last.best_loss == 2.25);
    assert_true(last.loss == 2.5 && last.tokens_per_s == 77 && isnan(last.grad_norm));

    assert_true(metrics_left_s(&last, 5) == 0 && fabs(metrics_left_s(&going, 5) - 15) < 1e-6);
    assert_int_not_equal(last.validation_step, 5);
    assert_string_equal(label, "a label");
    mem_free(label);
    /* Behind more than is read at first, whose beginning is half a line of the other kind. */
    static char other[1 << 20];
    memset(other, '{', sizeof other);
    for (size_t i = 0; i < 3; i++)
        other[sizeof other * (i + 1) / 3 - 1] = '\n';
    assert_ok(file_append(scratch_path(&s, "metrics.jsonl"), other, sizeof other));
    assert_ok(metrics_read_last(&last, &label, s.folder));
    assert_int_equal(last.step, 5);
    mem_free(label);
    scratch_close(&s);
}

/* Steps or hours: what comes first is the end. */
static void left_is_until_the_nearer_end(void **state)
{
    (void)state;
    struct metrics m = {.step = 100, .hours = 1};
    assert_true(metrics_left_s(&m, 100) == -1 && metrics_done(&m, 100) == -1);
    m.n_steps = 300;
    assert_true(metrics_left_s(&m, 100) == -1); /* no step was measured yet */
    assert_true(metrics_done(&m, 150) == 0.5);
    m.step_s = 36;
    assert_true(metrics_left_s(&m, 100) == 7200);
    assert_true(metrics_left_s(&m, 200.5) == 99.5 * 36);
    m.end_hours = 2;
    assert_true(metrics_left_s(&m, 100) == 3600);
    assert_true(metrics_left_s(&m, 150) == 1800 && metrics_done(&m, 150) == 0.75);
    assert_true(metrics_left_s(&m, 250) == 0 && metrics_done(&m, 250) == 1);
    m.step_s = 0; /* the steps may be the nearer end */
    assert_true(metrics_left_s(&m, 100) == -1);
    m.n_steps = 0;
    assert_true(metrics_left_s(&m, 100) == 3600 && metrics_done(&m, 100) == 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_say_what_was_measured),
        cmocka_unit_test(tensors_have_norm_and_ratio),
        cmocka_unit_test(the_last_line_is_read),
        cmocka_unit_test(left_is_until_the_nearer_end),
        cmocka_unit_test(going_on_drops_what_comes_again),
        cmocka_unit_test(going_on_keeps_the_lines_around),
        cmocka_unit_test(going_on_elsewhere_takes_the_lines_along),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
