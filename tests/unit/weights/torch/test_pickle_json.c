/* What a pickle says besides tensors, as JSON; and nothing that it asks for happens. */
#include "tests/lib/test.h"

#include "model/base/json.h"
#include "model/base/mem.h"
#include "weights/torch/pickle.h"

#define X(n, text) "X" n "\0\0\0" text

static void plain_values(void **state)
{
    (void)state;
    static const struct {
        const char *pickle;
        size_t n;
        const char *json;
    } rows[] = {
#define ROW(pickle, json) {pickle, sizeof pickle - 1, json}
        ROW("}.", "{}"),
        ROW("\x80\x02}q\0(" X("\x01", "a") "K\x07" X(
                "\x01", "b") "G\x3f\xb9\x99\x99\x99\x99\x99"
                             "\x9a" X("\x01", "c") "\x88" X("\x01", "d") "N" X(
                                 "\x01", "e") "](K\1K\2e" X("\x01", "f") "K\x03\x85"
                                                                         "u.",
            "{\"a\": 7, \"b\": 0.10000000000000001, \"c\": true, \"d\": null, \"e\": [1, 2], "
            "\"f\": "
            "[3]}"),
        /* Keys that are whole numbers; others are left out, and the last of two counts. */
        ROW("}(K\x05" X("\x01", "x") "J\xff\xff\xff\xff" X("\x01", "y") "K\x05" X("\x01",
                                                                                  "z") "NK\x01"
                                                                                       "u.",
            "{\"5\": \"z\", \"-1\": \"y\"}"),
        ROW("}" X("\x01", "n") "G\x7f\xf0\0\0\0\0\0\0s.", "{\"n\": null}"),
        /* argparse.Namespace and munch.Munch: their attributes. */
        ROW("\x80\x02}" X("\x05", "model") "cargparse\nNamespace\n)\x81}" X("\x01",
                                                                            "a") "K\x01sbs.",
            "{\"model\": {\"a\": 1}}"),
        ROW("\x80\x04\x8c\x05munch\x94\x8c\x05Munch\x94\x93\x94)\x81\x94(\x8c\x01"
            "a\x94K\x02u}(\x8c\x01"
            "a\x94K\x02ub.",
            "{\"a\": 2}"),
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *got = NULL, *expected = json_loads(rows[i].json, 0, NULL);
        assert_non_null(expected);
        assert_ok(pickle_read_plain(&got, rows[i].pickle, rows[i].n));
        if (!json_equal(got, expected)) {
            char *text = json_dumps(got, 0);
            fail_msg("row %zu: %s", i, text);
        }
        json_decref(got);
        json_decref(expected);
    }
}

static void what_is_not_plain_is_refused(void **state)
{
    (void)state;
    json_t *o = NULL;
    struct buf b = {0};
    static const char system[] = "}" X("\x01", "a") "cposix\nsystem\n" X("\x02", "ls") "\x85Rs.";
    assert_fails(pickle_read_plain(&o, system, sizeof system - 1), ERR_UNSUPPORTED,
                 "the pickle asks for posix.system");
    assert_fails(pickle_read_plain(&o, "].", 2), ERR_FORMAT, "what it holds is not a dict");
    assert_fails(pickle_read_plain(&o, "}", 1), ERR_FORMAT, "it ends before its STOP");
    assert_fails(pickle_read_plain(&o, "", 0), ERR_FORMAT, "it ends before its STOP");
    /* A list within itself. */
    static const char itself[] = "}" X("\x01", "a") "]q\0h\0as.";
    assert_fails(pickle_read_plain(&o, itself, sizeof itself - 1), ERR_RANGE,
                 "nested more than 32");
    /* Nested as deep as may be, and deeper. */
    for (int deep = 30; deep < 40; deep += 9) {
        b.n = 0;
        assert_ok(buf_add(&b, "}" X("\x01", "a"), 7));
        for (int i = 0; i < deep; i++)
            assert_ok(buf_char(&b, ']'));
        for (int i = 1; i < deep; i++)
            assert_ok(buf_char(&b, 'a'));
        assert_ok(buf_add(&b, "s.", 2));
        const int rc = pickle_read_plain(&o, b.data, b.n);
        assert_int_equal(rc, deep == 30 ? 0 : ERR_RANGE);
        json_decref(o);
        o = NULL;
    }
    buf_release(&b);
}

/* One text of a megabyte in a hundred places. */
static void a_long_text_in_many_places_is_refused(void **state)
{
    (void)state;
    json_t *o = NULL;
    struct buf b = {0};
    assert_ok(buf_add(&b, "}" X("\x01", "a") "]X\0\0\x10\0", 13));
    for (int i = 0; i < 1 << 20; i++)
        assert_ok(buf_char(&b, 'x'));
    assert_ok(buf_str(&b, "q\1a"));
    for (int i = 0; i < 100; i++)
        assert_ok(buf_str(&b, "h\1a"));
    assert_ok(buf_str(&b, "s."));
    assert_fails(pickle_read_plain(&o, b.data, b.n), ERR_RANGE, "64 MiB of text");
    buf_release(&b);
}

/* Each tuple holds the one before it twice: 2^24 values in 200 bytes. */
static void a_bomb_is_refused(void **state)
{
    (void)state;
    json_t *o = NULL;
    struct buf b = {0};
    assert_ok(buf_add(&b, "}" X("\x01", "a") "]q\0", 10));
    for (int i = 0; i < 24; i++)
        assert_ok(buf_add(&b, "h\0\x86q\0", 5)); /* the top and what the memo has: the same */
    assert_ok(buf_add(&b, "s.", 2));
    assert_fails(pickle_read_plain(&o, b.data, b.n), ERR_RANGE, "more than 262144 values");
    assert_null(o);
    buf_release(&b);
}

/* The weights of what a trainer saved, and what it says of the model. */
static void checkpoints_of_trainers(void **state)
{
    (void)state;
    static const char pickle[] =
        "}(" X("\x05", "model") "}" X("\x01", "w") "ctorch._utils\n_rebuild_tensor_v2\n((" X(
            "\x07", "storage") "ctorch\nFloatStorage\n" X("\x01", "0")
            X("\x03", "cpu") "K\x04tQK\0K\x04\x85K\x01\x85\x89}tRs" X("\x0a", "model_args") "}" X(
                "\x06", "n_head") "K\x02s" X("\x04", "iter") "K\x09u.";
    struct pickle_tensor *t = NULL;
    json_t *about = NULL;
    int n = 0;
    assert_ok(pickle_read(&t, &n, &about, pickle, sizeof pickle - 1));
    assert_int_equal(n, 1);
    assert_memory_equal(t[0].name, "w", 1);
    assert_int_equal(json_object_size(about), 1);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(about, "model_args"), "n_head")), 2);
    json_decref(about);
    mem_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_values),
        cmocka_unit_test(what_is_not_plain_is_refused),
        cmocka_unit_test(a_bomb_is_refused),
        cmocka_unit_test(a_long_text_in_many_places_is_refused),
        cmocka_unit_test(checkpoints_of_trainers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
