/* Results kept and shown: what was written is read, what is no result is passed over. */
#include "tests/lib/test.h"

#include "repl/commands/eval_report.h"
#include "tests/lib/scratch.h"
#include "tests/lib/tiny_text.h"
#include "train/eval/history.h"
#include "train/eval/record.h"

#include <math.h>
#include <stdlib.h>

static struct scratch scratch;

static int begin(void **state)
{
    (void)state;
    scratch_open(&scratch);
    return setenv("XDG_STATE_HOME", scratch.folder, 1);
}

static int end(void **state)
{
    (void)state;
    scratch_close(&scratch);
    return 0;
}

static json_t *record_of(struct model *m, double loss, bool partial)
{
    struct eval_result r = {.name = "text",
                            .config = {.limit = 2},
                            .definition = "all of it",
                            .unit = "windows",
                            .precision = "fp16 with q8 cache",
                            .partial = partial};
    r.path = mem_strdup("/no/such/t\xff.txt");
    eval_figure_add(&r, "loss", "loss", loss, 0.25, "%.4f");
    eval_figure_add(&r, "odd", "odd one", NAN, NAN, "%.4f");
    json_t *o = eval_record(&r, m, NULL);
    assert_non_null(o);
    eval_result_release(&r);
    return o;
}

static void keep(struct model *m, double loss, bool partial)
{
    json_t *o = record_of(m, loss, partial);
    assert_ok(eval_history_add(o));
    json_decref(o);
}

static void shown_all(struct buf *out, enum table_format format, int width, bool all)
{
    struct records h;
    out->n = 0;
    assert_ok(eval_history_read(&h));
    assert_ok(eval_report_history(&h, format, width, all, out));
    records_release(&h);
}

static void shown(struct buf *out, enum table_format format, int width)
{
    shown_all(out, format, width, false);
}

static void has(const struct buf *text, const char *part, bool wanted)
{
    if ((strstr(buf_text(text), part) != NULL) != wanted)
        fail_msg("\"%s\" in:\n%s", part, buf_text(text));
}

static void results_stand_side_by_side(void **state)
{
    (void)state;
    struct model a, b;
    struct buf out = {0};
    struct records h;
    shown(&out, TABLE_TEXT, 0);
    assert_int_equal(out.n, 0);
    tiny_speaker(&a, 1);
    tiny_speaker(&b, 2);
    a.name = b.name = "one\033[2J";
    a.source = b.source = "/some/where/that/is/far/away";
    keep(&a, 3.5, false);
    keep(&a, 9.5, true); /* a part does not hide the whole */
    keep(&b, 2.5, true);
    shown(&out, TABLE_TEXT, 0);
    has(&out, "one\\x1b[2J", true);
    has(&out, "from       /some/where/that/is/far/away  /some/where/that/is/far/away\n", true);
    has(&out, "\ntext [1]\n", true);
    has(&out, "\n loss      3.50 +- 0.25                  2.50 +- 0.25 (partial)", true);
    has(&out, "9.5", false);
    has(&out, "[1] /no/such/t\\xff.txt: all of it; the first 2 windows\n", true);
    has(&out, "precision  fp16 with q8 cache", true);
    /* Names give way first, and then the oldest models. */
    shown(&out, TABLE_TEXT, 60);
    has(&out, "from       .../that/is/far/away  .../that/is/far/away\n", true);
    shown(&out, TABLE_TEXT, 45);
    has(&out, "3.50 +- 0.25", false);
    has(&out, "1 more model to the left; --all shows it", true);
    shown_all(&out, TABLE_TEXT, 45, true);
    has(&out, "loss      3.50 +- 0.25\n", true);
    has(&out, "\n\n           one\\x1b[2J\n", true);
    has(&out, "2.50 +- 0.25 (partial)\n", true);
    has(&out, "to the left", false);
    /* Where not even the dots of a cut name have room. */
    for (int width = 1; width < 12; width++)
        shown(&out, TABLE_TEXT, width);
    shown(&out, TABLE_TEXT, 8);
    has(&out, "\n[1]\n...:\n", true);
    /* Programs get the records: two models of one name are two. */
    keep(&b, 2.25, false);
    shown(&out, TABLE_JSON, 0);
    json_t *all;
    assert_ok(json_read_text(&all, out.data, out.n));
    assert_int_equal(json_array_size(all), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *o = json_array_get(all, i);
        const json_t *loss = json_object_get(json_object_get(o, "figures"), "loss");
        assert_string_equal(json_string_value(json_object_get(o, "model")), a.name);
        assert_true(json_is_string(json_object_get(o, "fingerprint")));
        assert_true(json_number_value(json_object_get(loss, "value")) == (i == 0 ? 3.5 : 2.25));
    }
    json_decref(all);
    shown(&out, TABLE_CSV, 0);
    /* In a spreadsheet a figure is a row, and its error a number of its own. */
    has(&out,
        "evaluation,file,limit,figure,model,weights,dtype,date,value,error,partial,definition",
        true);
    has(&out, ",3.5,0.25,no,all of it", true);
    has(&out, ",2.25,0.25,no,all of it", true);
    has(&out, "+-", false);
    assert_ok(eval_history_read(&h));
    assert_int_equal(h.n, 4);
    assert_int_equal(h.n_bad, 0);
    records_release(&h);
    /* What no model that is shown was asked has no rows and no definition. */
    json_t *o = record_of(&a, 1.5, false);
    json_object_set_new(o, "evaluation", json_string("other"));
    assert_ok(eval_history_add(o));
    json_decref(o);
    keep(&b, 2.0, false);
    shown(&out, TABLE_TEXT, 0);
    has(&out, "other [2]", true);
    has(&out, "\n[2] ", true);
    shown(&out, TABLE_TEXT, 45);
    has(&out, "1 more model", true);
    has(&out, "text [1]", true);
    has(&out, "other [2]", false);
    has(&out, "\n[2] ", false);
    tiny_speaker_release(&a);
    tiny_speaker_release(&b);
    buf_release(&out);
}

/* Where only some have room, however old the model is. */
static void the_model_just_measured_is_shown(void **state)
{
    (void)state;
    struct model m[3];
    struct buf out = {0};
    scratch_write(&scratch, "prattle/evaluations.jsonl", "", 0);
    for (int i = 0; i < 3; i++) {
        tiny_speaker(&m[i], (uint64_t)i + 1);
        m[i].name = m[i].source = "/a/model/of/some/name";
        keep(&m[i], 1.125 + i, false);
    }
    shown(&out, TABLE_TEXT, 45);
    has(&out, "1.12", false);
    has(&out, "3.12", true);
    keep(&m[0], 7.5, false);
    shown(&out, TABLE_TEXT, 45);
    has(&out, "7.50", true);
    has(&out, "2.12", false);
    for (int i = 0; i < 3; i++)
        tiny_speaker_release(&m[i]);
    buf_release(&out);
}

static void what_is_no_result_is_passed_over(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{\"date\": \"2026\"}\n",
        "[[[[\n",
        "{\"date\":1,\"model\":\"m\",\"fingerprint\":\"\",\"dtype\":\"\",\"evaluation\":\"\","
        "\"definition\":\"\",\"file\":\"\",\"figures\":{}}\n",
        "{\"date\":\"\",\"model\":\"m\",\"fingerprint\":\"\",\"dtype\":\"\",\"evaluation\":\"\","
        "\"definition\":\"\",\"file\":\"\",\"figures\":{\"a\":5}}\n",
        "\n  \n\xff\xfe\n",
        "{\"cut off\"",
    };
    struct records h;
    struct model m;
    struct buf out = {0};
    scratch_write(&scratch, "prattle/evaluations.jsonl", "", 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_ok(file_append(scratch_path(&scratch, "prattle/evaluations.jsonl"), bad[i],
                              strlen(bad[i])));
    tiny_speaker(&m, 1);
    m.name = m.source = "m";
    keep(&m, 1.5, false); /* behind the line that was cut off */
    assert_ok(eval_history_read(&h));
    assert_int_equal(h.n, 1);
    assert_int_equal(h.n_bad, 6);
    records_release(&h);
    shown(&out, TABLE_TEXT, 0);
    has(&out, "1.50 +- 0.25", true);
    tiny_speaker_release(&m);
    buf_release(&out);
}

static void without_a_place_there_is_a_sentence(void **state)
{
    (void)state;
    struct model m;
    tiny_speaker(&m, 1);
    m.name = m.source = "m";
    json_t *o = record_of(&m, 1, false);
    assert_int_equal(setenv("XDG_STATE_HOME", "/proc/nowhere", 1), 0);
    assert_int_not_equal(eval_history_add(o), 0);
    assert_non_null(strstr(err_text(), "/proc/nowhere"));
    json_decref(o);
    tiny_speaker_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_stand_side_by_side),
        cmocka_unit_test(the_model_just_measured_is_shown),
        cmocka_unit_test(what_is_no_result_is_passed_over),
        cmocka_unit_test(without_a_place_there_is_a_sentence),
    };
    return cmocka_run_group_tests_name("eval_history", tests, begin, end);
}
