/* Ten steps of training, from ids to weights, as tests/golden/curve_reference.py made them. */
#include "model/base/buf.h"
#include "model/base/file.h"
#include "model/base/par.h"
#include "tests/unit/tiny.h"
#include "train/optimizer.h"
#include "train/schedule.h"
#include "train/step.h"

#include <math.h>
#include <stdio.h>

enum { STEPS = 10, MICRO = 2, B = 2, T = 18, IDS = STEPS * MICRO * B * T };

static struct config shape(void)
{
    struct config c;
    config_init(&c);
    c.n_layer = 2;
    c.n_head = 2;
    c.n_embd = 16;
    c.n_inner = 24;
    c.n_ctx = 20;
    c.n_vocab = 31;
    c.bos_token_id = c.eos_token_id = 0;
    return c;
}

struct fixture {
    struct masters w;
    token_id ids[IDS], labels[IDS];
};

static const float *read_floats(struct buf *b, const char *name, size_t n)
{
    char path[64];
    snprintf(path, sizeof path, "tests/golden/curve/%s.f32", name);
    assert_ok(file_read_all(b, path, UINT64_MAX));
    assert_int_equal(b->n, n * sizeof(float));
    return (const float *)(const void *)b->data;
}

static void open_fixture(struct fixture *x)
{
    struct config c = shape();
    struct model m;
    struct buf b = {0};
    tiny_init(&m, &c, LINEAR_F32, 1);
    char name[] = "tiny";
    m.name = name;
    assert_ok(masters_init(&x->w, &m, DTYPE_F32, NULL));
    tiny_release(&m);
    const float *start = read_floats(&b, "start", x->w.n + 2 * IDS);
    memcpy(x->w.data, start, x->w.n * sizeof *start);
    for (size_t i = 0; i < IDS; i++) {
        x->ids[i] = (token_id)start[x->w.n + i];
        x->labels[i] = (token_id)start[x->w.n + IDS + i];
    }
    buf_release(&b);
}

/* In micro-batches of `batch` sequences; curve [STEPS][2] receives loss and norm. */
static void train(struct fixture *x, const struct optimizer_config *c, double rate, int batch,
                  double curve[STEPS][2])
{
    struct schedule_config schedule = {.kind = SCHEDULE_COSINE,
                                       .learning_rate = rate,
                                       .min_learning_rate = 0.1 * rate,
                                       .warmup = 3,
                                       .warmup_init = 0.1 * rate};
    struct step_config s;
    struct step *step;
    struct optimizer o;
    step_config_init(&s);
    s.batch = batch;
    s.length = T;
    assert_ok(step_new(&step, &x->w, &s));
    assert_ok(optimizer_init(&o, c, &x->w));
    for (int t = 0; t < STEPS; t++) {
        struct step_result one, all = {0};
        step_zero(step);
        for (int i = 0; i < MICRO * B; i += batch) {
            size_t at = (size_t)(t * MICRO * B + i) * T;
            step_run(step, &one, x->ids + at, x->labels + at, batch, T, 1, 0, true);
            all.loss_sum += one.loss_sum;
            all.n_targets += one.n_targets;
        }
        float scale = 1 / (float)all.n_targets;
        curve[t][0] = all.loss_sum / (double)all.n_targets;
        curve[t][1] = optimizer_norm(&o, step_gradients(step), scale);
        optimizer_step(&o, &x->w, step_gradients(step), scale, curve[t][1],
                       (float)schedule_rate(&schedule, t, STEPS));
    }
    optimizer_release(&o);
    step_free(step);
}

/* In theory it has no gradient, so that what moves it is noise over eps. */
static bool is_key_bias(const struct masters *w, size_t i)
{
    const struct config *c = &w->view.config;
    size_t C = (size_t)c->n_embd;
    for (int n = 0; n < c->n_layer; n++) {
        const float *bias = w->view.layers[n].c_attn.bias;
        if (w->data + i >= bias + C && w->data + i < bias + 2 * C)
            return true;
    }
    return false;
}

static void compare(const char *name, const struct optimizer_config *c, double rate, int batch)
{
    struct fixture x;
    struct buf b = {0};
    double curve[STEPS][2], worst = 0, weights[2] = {0};
    open_fixture(&x);
    train(&x, c, rate, batch, curve);
    const float *want = read_floats(&b, name, 2 * STEPS + x.w.n);
    for (int i = 0; i < 2 * STEPS; i++)
        worst = fmax(worst, fabs(curve[i / 2][i % 2] / (double)want[i] - 1));
    for (size_t i = 0; i < x.w.n; i++) {
        double d = fabs((double)x.w.data[i] - (double)want[2 * STEPS + i]);
        double *greatest = &weights[is_key_bias(&x.w, i)];
        *greatest = d <= *greatest ? *greatest : d; /* NaN stays */
    }
    printf("# %s, micro-batches of %d: losses and norms within %.2g, weights %.2g, keys' bias "
           "%.2g\n",
           name, batch, worst, weights[0], weights[1]);
    assert_true(worst < 1e-6);
    assert_true(weights[0] < 5e-6);
    assert_true(weights[1] < 2e-4);
    buf_release(&b);
    masters_release(&x.w);
}

/* PLAIN of curve_reference.py. */
static struct optimizer_config reference_config(enum optimizer_kind kind)
{
    struct optimizer_config c;
    optimizer_config_init(&c);
    c.kind = kind;
    c.eps = 1e-6f;
    return c;
}

static void adamw_is_pytorchs(void **state)
{
    (void)state;
    const struct optimizer_config c = reference_config(OPTIMIZER_ADAMW);
    compare("adamw", &c, 3e-3, B);
    compare("adamw", &c, 3e-3, 1);
    compare("adamw", &c, 3e-3, MICRO * B);
}

static void lamb_is_numpys(void **state)
{
    (void)state;
    const struct optimizer_config c = reference_config(OPTIMIZER_LAMB);
    compare("lamb", &c, 2e-2, B);
}

/* Ten steps in any team. */
static void bits_do_not_depend_on_the_team(void **state)
{
    (void)state;
    struct optimizer_config c;
    optimizer_config_init(&c);
    struct fixture first, x;
    double curve[STEPS][2], again[STEPS][2];
    assert_ok(par_open(1, false));
    open_fixture(&first);
    train(&first, &c, 3e-3, B, curve);
    for (int threads = 2; threads <= 4; threads++) {
        assert_ok(par_open(threads, false));
        open_fixture(&x);
        train(&x, &c, 3e-3, B, again);
        assert_memory_equal(again, curve, sizeof curve);
        assert_memory_equal(x.w.data, first.w.data, x.w.n * sizeof *x.w.data);
        masters_release(&x.w);
    }
    par_close();
    masters_release(&first.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adamw_is_pytorchs),
        cmocka_unit_test(lamb_is_numpys),
        cmocka_unit_test(bits_do_not_depend_on_the_team),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
