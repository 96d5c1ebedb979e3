/* Loss and gradients of GPT-Neo, whose local layers see a window: against PyTorch's autograd
 * (tests/golden/neo_reference.py), and the bits that splits of the work must not change. */
#include "tests/lib/golden_floats.h"
#include "tests/lib/hashed.h"
#include "tests/lib/test.h"

#include "model/base/mem.h"
#include "model/base/par.h"
#include "train/step/step.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { B = 2, T = 200, V = 53 };

struct fixture {
    struct config c;
    struct weights w;
    token_id ids[B * T], labels[B * T];
};

static void open_fixture(struct fixture *x, bool first_local, bool second_local, int window)
{
    *x = (struct fixture){0};
    config_init(&x->c);
    x->c.type = MODEL_GPT_NEO;
    x->c.n_layer = 2;
    x->c.n_head = 2;
    x->c.n_embd = 24;
    x->c.n_inner = 40;
    x->c.n_ctx = T;
    x->c.n_vocab = V;
    x->c.bos_token_id = x->c.eos_token_id = 0;
    x->c.scale_attn_weights = false;
    x->c.window_size = window;
    if (first_local)
        config_set_local(&x->c, 0);
    if (second_local)
        config_set_local(&x->c, 1);
    hashed_weights(&x->w, &x->c);
    for (size_t i = 0; i < B * T; i++) {
        x->ids[i] = (token_id)(hashed(100, i) % V);
        x->labels[i] = (token_id)(hashed(101, i) % V);
    }
}

static struct step_result run(struct fixture *x, const struct step_config *s, float *gradients)
{
    struct step *step;
    struct step_result r = {0};
    assert_ok(step_new(&step, &x->w, s));
    step_zero(step);
    for (int i = 0; i < B; i += s->batch)
        step_run(step, &r, x->ids + i * T, x->labels + i * T, s->batch, T, 1.0f / (B * T),
                 (uint64_t)i, true);
    memcpy(gradients, step_gradients(step), x->w.n * sizeof *gradients);
    step_free(step);
    return r;
}

static struct step_config plain(int batch)
{
    struct step_config s;
    step_config_init(&s);
    s.batch = batch;
    s.length = T;
    return s;
}

/* Each tensor's largest error, as a share of the largest gradient of all. */
static void compare_case(const char *name, bool first_local, bool second_local, int window)
{
    struct fixture x;
    struct buf golden = {0};
    char file[64];
    open_fixture(&x, first_local, second_local, window);
    snprintf(file, sizeof file, "training/%s", name);
    const float *loss = golden_floats(&golden, file, 1 + x.w.n), *expected = loss + 1;
    float *gradients = mem_array(x.w.n, sizeof *gradients);
    const struct step_config s = plain(B);
    struct step_result r = run(&x, &s, gradients);
    assert_true(fabs(r.loss_sum / (B * T) / (double)*loss - 1) < 1e-6);
    for (int i = 0; i < x.w.view.n_tensors; i++) {
        double error = 0, largest = 0;
        for (size_t k = x.w.offset[i]; k < x.w.offset[i + 1]; k++) {
            error = worse(error, fabs((double)gradients[k] - (double)expected[k]));
            largest = fmax(largest, fabs((double)expected[k]));
        }
        if (!(error <= 1e-4 * largest))
            fail_msg("%s: %s: %g of %g", name, x.w.view.tensors[i].name, error, largest);
    }
    buf_release(&golden);
    mem_free(gradients);
    weights_release(&x.w);
}

static void gradients_are_pytorchs(void **state)
{
    (void)state;
    compare_case("neo-part", true, false, 20);
    compare_case("neo-across", true, true, 90);
    compare_case("neo-alone", false, true, 1);
}

static void same_bits_however_divided(void **state)
{
    (void)state;
    static const int windows[] = {1, 7, 64, 90, 1000};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        struct fixture x;
        open_fixture(&x, true, i % 2 == 1, windows[i]);
        float *expected = mem_array(x.w.n, sizeof *expected), *got = mem_array(x.w.n, sizeof *got);
        struct step_config s = plain(B);
        s.dropout.attn = i == 1 ? 0.2f : 0;
        assert_ok(par_open(1, false));
        const struct step_result first = run(&x, &s, expected);
        for (int k = 0; k < 6; k++) {
            assert_ok(par_open(1 + k % 3, false));
            s.recompute = k % 2 == 0 ? "none" : "layers";
            s.attention_pieces = k / 2 * 3;
            struct step_result r = run(&x, &s, got);
            assert_memory_equal(&r, &first, sizeof r);
            assert_memory_equal(got, expected, x.w.n * sizeof *got);
        }
        par_close();
        mem_free(expected);
        mem_free(got);
        weights_release(&x.w);
    }
}

/* A window of the whole text is none. */
static void a_wide_window_is_none(void **state)
{
    (void)state;
    struct fixture x, y;
    open_fixture(&x, true, true, T);
    open_fixture(&y, false, false, T);
    float *a = mem_array(x.w.n, sizeof *a), *b = mem_array(y.w.n, sizeof *b);
    const struct step_config s = plain(B);
    const struct step_result ra = run(&x, &s, a), rb = run(&y, &s, b);
    assert_memory_equal(&ra, &rb, sizeof ra);
    assert_memory_equal(a, b, x.w.n * sizeof *a);
    mem_free(a);
    mem_free(b);
    weights_release(&x.w);
    weights_release(&y.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_pytorchs),
        cmocka_unit_test(same_bits_however_divided),
        cmocka_unit_test(a_wide_window_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
