/* An adapter applied to a model: on and off come back bit for bit, whoever made either. */
#include "tests/lib/random_adapter.h"
#include "tests/lib/tiny.h"

#include "model/adapter_switch.h"
#include "model/base/par.h"
#include "train/step/weights_init.h"
#include "weights/hf/source_adapter.h"
#include "weights/load.h"
#include "weights/model_source.h"

static const char targets[] = "c_attn,c_fc", some[] = "mlp.c_proj,h.1.attn.c_attn";

static void expect_hash(const struct model *m, const unsigned char hash[32], bool same)
{
    unsigned char now[32];
    params_hash(&m->params, now);
    assert_int_equal(memcmp(now, hash, sizeof now) == 0, same);
}

static void switching_is_exact(void **state)
{
    (void)state;
    const enum dtype kinds[] = {DTYPE_F16, DTYPE_F32, DTYPE_Q8};
    for (int threads = 1; threads <= 3; threads++)
        for (size_t i = 0; i < 3; i++) {
            struct config c = tiny_config();
            if (kinds[i] == DTYPE_Q8) { /* a target in blocks, one that stays binary16 */
                c.n_embd = 96;
                c.n_inner = 70;
            }
            struct model m;
            unsigned char off[32], on[32];
            assert_ok(par_open(threads, false));
            tiny_init(&m, &c, kinds[i], 1);
            char name[] = "tiny";
            m.name = name;
            params_hash(&m.params, off);
            struct adapter *a = random_adapter(&m.config, some, 3, false);
            assert_ok(adapter_load(a, &m, NULL));
            assert_true(m.adapter == a && a->on && m.version > 1 && !m.changed);
            params_hash(&m.params, on);
            expect_hash(&m, off, false);
            uint64_t version = m.version;
            adapter_switch(&m, true);
            assert_int_equal(m.version, version);
            for (int k = 0; k < 2; k++) {
                adapter_switch(&m, false);
                expect_hash(&m, off, true);
                adapter_switch(&m, true);
                expect_hash(&m, on, true);
            }
            assert_true(m.version > version);
            /* Another in its place is beside the model's own weights, not beside the first. */
            struct adapter *same = random_adapter(&m.config, some, 3, false);
            assert_ok(adapter_load(same, &m, NULL));
            expect_hash(&m, on, true);
            adapter_drop(&m);
            expect_hash(&m, off, true);
            assert_null(m.adapter);
            same = random_adapter(&m.config, some, 3, false);
            assert_ok(adapter_load(same, &m, NULL));
            adapter_switch(&m, false);
            adapter_merge(&m);
            expect_hash(&m, on, true);
            assert_true(m.changed && m.adapter == NULL);
            tiny_release(&m);
        }
    par_close();
}

static void never_note(void *user, const char *text)
{
    (void)user;
    fail_msg("%s", text);
}

/* Nor does it go into files of the model's own precision. */
static void refuse_to_read(const struct model *m, const struct adapter *a)
{
    struct source s;
    float row[512];
    assert_ok(source_open_model(&s, m));
    assert_ok(source_adapt(&s, a));
    const int at = source_find_matrix(&s, &a->branches[1]);
    const struct tensor_reader *r = &s.readers[at];
    assert_true(at >= 0 && s.table.tensors[at].cols <= 512);
    assert_ok(r->read(r->user, row, 0, 1));
    const uint64_t cols = (uint64_t)s.table.tensors[at].cols;
    assert_int_equal(r->read(r->user, row, 5 * cols, (size_t)cols), ERR_RANGE);
    source_close(&s);
}

/* One that makes a finite weight more than memory holds is refused, and leaves all as it was, the
 * adapter that was there too. */
static void weights_beyond_fp16_are_refused(void **state)
{
    (void)state;
    const struct progress p = {.note = never_note};
    for (enum dtype kind = DTYPE_F32; kind <= DTYPE_F16; kind++) {
        struct config c = tiny_config();
        struct model m;
        char name[] = "tiny";
        unsigned char before[32];
        tiny_init(&m, &c, kind, 1);
        m.name = name;
        struct adapter *first = random_adapter(&m.config, targets, 2, false);
        struct adapter *a = random_adapter(&m.config, targets, 2, false);
        assert_ok(adapter_load(first, &m, &p));
        params_hash(&m.params, before);
        memset(a->data, 0, a->n * sizeof *a->data);
        a->branches[1].a[5] = 1e5f;
        a->branches[1].b[3] = kind == DTYPE_F16 ? 1 : 1e35f;
        assert_int_equal(adapter_load(a, &m, &p), ERR_RANGE);
        assert_string_equal(
            err_text(),
            kind == DTYPE_F16
                ? "cannot load tensor h.0.mlp.c_fc.weight: the adapter makes weights of "
                  "h.0.mlp.c_fc NaN or infinite (or beyond fp16's 65504; --dtype fp32 keeps "
                  "those)"
                : "cannot load tensor h.0.mlp.c_fc.weight: the adapter makes weights of "
                  "h.0.mlp.c_fc NaN or infinite");
        assert_true(m.adapter == first && first->on);
        expect_hash(&m, before, true);
        refuse_to_read(&m, a);
        adapter_free(a);
        /* As large as there is room for. */
        a = random_adapter(&m.config, targets, 2, false);
        memset(a->data, 0, a->n * sizeof *a->data);
        a->branches[1].a[5] = 6e4f / a->branches[1].scale;
        a->branches[1].b[3] = kind == DTYPE_F16 ? 1 : 1e33f;
        assert_ok(adapter_load(a, &m, &p));
        adapter_drop(&m);
        tiny_release(&m);
    }
}

/* What training shows is what its file is when it is loaded, in float16 too. */
static void published_as_loaded(void **state)
{
    (void)state;
    const enum dtype dtypes[] = {DTYPE_F32, DTYPE_F16};
    for (size_t i = 0; i < 2; i++) {
        struct config c = tiny_config();
        struct model m, other;
        struct weights w;
        unsigned char off[32], on[32];
        char name[] = "tiny";
        tiny_init(&m, &c, DTYPE_F16, 1);
        tiny_init(&other, &c, DTYPE_F16, 1);
        m.name = other.name = name;
        params_hash(&m.params, off);
        assert_ok(weights_init(&w, &m, NULL, dtypes[i], NULL));
        struct adapter *learning = random_adapter(&m.config, targets, 2, false),
                       *shown = random_adapter(&m.config, targets, 2, false),
                       *loaded = random_adapter(&m.config, targets, 2, false);
        weights_freeze(&w, learning);
        assert_ok(adapter_reserve(shown, &m));
        learning->data[0] = 9; /* a state before */
        weights_publish_adapter(&w, shown, &m);
        learning->data[0] = loaded->data[0];
        adapter_switch(&m, i == 0); /* on or off: it is on afterwards */
        weights_publish_adapter(&w, shown, &m);
        assert_true(shown->on && m.adapter == shown && shown->changed && !m.changed);
        params_hash(&m.params, on);
        assert_ok(adapter_load(loaded, &other, NULL));
        expect_hash(&other, on, true);
        adapter_switch(&m, false);
        expect_hash(&m, off, true);
        weights_release(&w);
        adapter_free(learning);
        adapter_drop(&m);
        adapter_drop(&other);
        tiny_release(&m);
        tiny_release(&other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(switching_is_exact),
        cmocka_unit_test(weights_beyond_fp16_are_refused),
        cmocka_unit_test(published_as_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
