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
        {"[4,4]", "layers_per_device is [4,4], 8 layers, but the model has 12"},
        {"5,5,5", "15 layers, but the model has 12"},
        {"0,0,6,6", "only the first device, which has the embedding and the head, can be without "
                    "layers"},
        {"99999999999999999999,1", "but the model has 12"},
        {"[6,6", "must be none or a list of the layers of each device, not [6,6"},
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
    assert_true(first.ends && !first.alone && first.n_chunks == 1);
    assert_true(first.chunks[0].first == 0 && first.chunks[0].last == 0);
    assert_true(!last.ends && last.chunks[0].first == 4 && last.chunks[0].last == 12);
    layout_init(&l, 12, 3);
    l.tensor = 2;
    assert_int_equal(layout_rank(&l, 2, 0), 4);
    assert_int_equal(layout_replica_of(&l, 5), 2);
    assert_int_equal(layout_tensor_of(&l, 5), 1);
    assert_int_equal(layout_stage_of(&l, 5), 0);
    const struct model_stage all = layout_stage(&l, 0);
    assert_true(all.ends && all.alone && all.n_chunks == 1 && all.chunks[0].last == 12);
}

/* Chunk by chunk round the stages come all layers, each once, and a stage has those of its list. */
static void check_chunks(const char *list, int n_layer, int chunks)
{
    struct layout l;
    int at = 0, of[8] = {0};
    assert_ok(layout_read(&l, list, n_layer));
    assert_ok(layout_divide(&l, chunks));
    const struct chunk_ring ring = layout_ring(&l);
    for (int i = 0; i < chunk_ring_size(&ring); i++) {
        const int stage = chunk_ring_stage(&ring, i), chunk = chunk_ring_chunk(&ring, i);
        assert_int_equal(chunk_ring_place(&ring, stage, chunk), i);
        const struct layer_range r = layout_chunk(&l, stage, chunk);
        assert_int_equal(r.first, at);
        assert_true(r.last > r.first || i == 0);
        const struct model_stage s = layout_stage(&l, stage);
        assert_int_equal(s.chunks[chunk].first, r.first);
        assert_int_equal(s.chunks[chunk].last, r.last);
        of[stage] += r.last - r.first;
        at = r.last;
    }
    assert_int_equal(at, n_layer);
    for (int i = 0; i < l.stages; i++) {
        assert_int_equal(of[i], l.layers[i]);
        assert_int_equal(layout_stage(&l, i).n_chunks, i == 0 && l.layers[0] == 0 ? 1 : chunks);
    }
}

static void chunks_take_turns(void **state)
{
    (void)state;
    check_chunks("6,6", 12, 1);
    check_chunks("6,6", 12, 3);
    check_chunks("3,4,5", 12, 2);
    check_chunks("3,4,5", 12, 3);
    check_chunks("0,4,4,4", 12, 1);
    check_chunks("0,4,4,4", 12, 4);
    check_chunks("0,5,7", 12, 2);
    check_chunks("16,16", 32, 16);
}

static void chunks_without_layers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        int chunks;
        const char *sentence;
    } wrong[] = {
        {"none", 2,
         "virtual_stages is 2, but layers_per_device makes no pipeline: virtual_stages=1"},
        {"0,12", 2,
         "virtual_stages is 2, but one device of layers_per_device has all layers: "
         "virtual_stages=1"},
        {"9,3", 4,
         "virtual_stages is 4, but device 1 of layers_per_device has 3 layers: virtual_stages=3"},
        {"1,11", 2,
         "virtual_stages is 2, but device 0 of layers_per_device has 1 layer: virtual_stages=1"},
    };
    struct layout l;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_ok(layout_read(&l, wrong[i].list, 12));
        assert_int_equal(layout_divide(&l, wrong[i].chunks), ERR_RANGE);
        assert_string_equal(err_text(), wrong[i].sentence);
        assert_int_equal(l.chunks, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read),       cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(suggestions_are_even), cmocka_unit_test(ranks_have_their_places),
        cmocka_unit_test(chunks_take_turns),    cmocka_unit_test(chunks_without_layers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
