#include "tests/lib/curve.h"

#include "model/kernels/row_kernels.h"
#include "tests/lib/tiny.h"
#include "train/optim/schedule.h"
#include "train/step/weights_init.h"

struct config curve_shape(void)
{
    return config_of(2, 2, 16, 24, 20, 31);
}

void curve_open_as(struct curve *x, enum dtype dtype)
{
    struct config c = curve_shape();
    struct model m;
    struct buf b = {0};
    tiny_init(&m, &c, DTYPE_F32, 1);
    char name[] = "tiny";
    m.name = name;
    assert_ok(weights_init(&x->w, &m, NULL, dtype, NULL));
    tiny_release(&m);
    const float *start = golden_floats(&b, "curve/start", x->w.n + 2 * IDS);
    if (dtype == DTYPE_F16)
        row_kernels()->half_from_f32(x->w.half, start, x->w.n);
    else
        memcpy(x->w.data, start, x->w.n * sizeof *start);
    for (size_t i = 0; i < IDS; i++) {
        x->ids[i] = (token_id)start[x->w.n + i];
        x->labels[i] = (token_id)start[x->w.n + IDS + i];
    }
    buf_release(&b);
}

void curve_open(struct curve *x)
{
    curve_open_as(x, DTYPE_F32);
}

struct optimizer_config curve_config(enum optimizer_kind kind)
{
    struct optimizer_config c;
    optimizer_config_init(&c);
    c.kind = kind;
    c.eps = 1e-6f;
    return c;
}

static struct schedule_config curve_schedule(double rate)
{
    return (struct schedule_config){.kind = SCHEDULE_COSINE,
                                    .learning_rate = rate,
                                    .min_learning_rate = 0.1 * rate,
                                    .warmup = 3,
                                    .warmup_init = 0.1 * rate};
}

void curve_train(struct curve *x, struct weights *learning, struct step_config s,
                 const struct optimizer_config *c, double rate, int batch, double curve[STEPS][2])
{
    struct schedule_config schedule = curve_schedule(rate);
    struct step *step;
    struct optimizer *o = NULL;
    s.batch = batch;
    s.length = T;
    assert_ok(step_new(&step, &x->w, &s));
    assert_ok(optimizer_new(&o, c, weights_layout(learning)));
    for (int t = 0; t < STEPS; t++) {
        struct step_result all = {0};
        step_zero(step);
        for (int i = 0; i < MICRO * B; i += batch) {
            size_t at = (size_t)(t * MICRO * B + i) * T;
            uint64_t sequence = (uint64_t)(t * MICRO * B + i);
            step_run(step, &all, x->ids + at, x->labels + at, batch, T, 1, sequence, true);
        }
        float scale = 1 / (float)all.n_targets;
        curve[t][0] = all.loss_sum / (double)all.n_targets;
        curve[t][1] = optimizer_norm(o, step_gradients(step), scale);
        optimizer_step(o, weights_block(learning), step_gradients(step), scale, curve[t][1],
                       (float)schedule_rate(&schedule, t, STEPS));
    }
    optimizer_free(o);
    step_free(step);
}
