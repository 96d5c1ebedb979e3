/* Layouts: lists of layers, and which rank has what. */
#include "tests/lib/test.h"

#include "model/base/err.h"
#include "train/parallel/layout.h"

#include <string.h>

static void lists_are_read(void **state)
{
    (void)state;
    static const char *const same[] = {"0,4,4,4", "[0,4,4,4]", " [ 0, 4 , 4, 4 ] ", "0, 4, 4, 4"};
    struct layout l;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        assert_ok(layout_read(&l, same[i], 12));
        assert_int_equal(l.stages, 4);
        assert_int_equal(layout_count(same[i]), 4);
        for (int k = 0; k < 4; k++)
            assert_int_equal(l.layers[k], k == 0 ? 0 : 4);
    }
    for (int i = 0; i < 2; i++) {
        const char *const none = i == 0 ? "" : "none";
        assert_ok(layout_read(&l, none, 12));
        assert_int_equal(l.stages, 1);
        assert_int_equal(l.layers[0], 12);
        assert_int_equal(layout_count(none), 1);
    }
    assert_ok(layout_read(&l, "[12]", 12));
    assert_int_equal(l.stages, 1);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *list, *part;
    } wrong[] = {
        {"[4,4]", "layers_per_device is [4,4], 8 layers, but the model has 12: 6,6"},
        {"5,5,5", "15 layers, but the model has 12: 4,4,4"},
        {"0,0,6,6", "only the first device, which has the embedding and the head, can be without "
                    "layers: 3,3,3,3"},
        {"99999999999999999999,1", "but the model has 12: 6,6"},
        {"[6,6", "must be none or a list of the layers of each device as 6,6"},
        {"6,6]", "must be none or a list"},
        {"6,,6", "must be none or a list"},
        {"6,6,", "must be none or a list"},
        {"-6,18", "must be none or a list"},
        {"6 6", "must be none or a list"},
        {"all", "must be none or a list"},
        {"[]", "must be none or a list"},
    };
    struct layout l;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(layout_read(&l, wrong[i].list, 12), ERR_RANGE);
        assert_non_null(strstr(err_text(), wrong[i].part));
    }
    char many[2 * LAYOUT_MAX_STAGES + 16] = "1";
    for (int i = 0; i < LAYOUT_MAX_STAGES; i++)
        strcat(many, ",1");
    assert_int_equal(layout_read(&l, many, 12), ERR_RANGE);
    assert_int_equal(layout_count(many), 1);
}

static void suggestions_are_even(void **state)
{
    (void)state;
    char text[64], few[12];
    layout_suggest(text, sizeof text, 5, 12);
    assert_string_equal(text, "2,2,3,2,3");
    layout_suggest(text, sizeof text, 9, 2);
    assert_string_equal(text, "1,1");
    layout_suggest(few, sizeof few, 12, 12);
    assert_int_equal(strlen(few), sizeof few - 1);
}

static void ranks_have_their_places(void **state)
{
    (void)state;
    struct layout l;
    assert_ok(layout_read(&l, "0,4,8", 12));
    l.replicas = 2;
    assert_int_equal(layout_rank(&l, 1, 2), 5);
    assert_int_equal(layout_stage_of(&l, 4), 1);
    assert_int_equal(layout_replica_of(&l, 4), 1);
    const struct model_stage first = layout_stage(&l, 0), last = layout_stage(&l, 2);
    assert_true(first.ends && !first.alone && first.first == 0 && first.last == 0);
    assert_true(!last.ends && last.first == 4 && last.last == 12);
    layout_init(&l, 12, 3);
    l.tensor = 2;
    assert_int_equal(layout_rank(&l, 2, 0), 4);
    assert_int_equal(layout_replica_of(&l, 5), 2);
    assert_int_equal(layout_tensor_of(&l, 5), 1);
    assert_int_equal(layout_stage_of(&l, 5), 0);
    const struct model_stage all = layout_stage(&l, 0);
    assert_true(all.ends && all.alone && all.last == 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(suggestions_are_even),
        cmocka_unit_test(ranks_have_their_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
