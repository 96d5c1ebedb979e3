/* What a step would take by several processes, at its limits. */
#include "tests/lib/test.h"

#include "model/base/err.h"
#include "train/config/phased_plan.h"
#include "train/config/resolve.h"
#include "train/run/scaling.h"

#include <math.h>
#include <string.h>

static const struct cluster perfect = {.ranks = 1,
                                       .link = INFINITY,
                                       .disk = INFINITY,
                                       .flops = 1e9,
                                       .stream = INFINITY,
                                       .memory = INFINITY};

static struct config shape_of(int n_layer)
{
    struct config shape;
    config_init(&shape);
    shape.n_layer = n_layer;
    assert_ok(config_check(&shape));
    return shape;
}

static const struct scaling_run *run_of(const struct run_config *c, const struct config *shape)
{
    static struct scaling_run run;
    run = (struct scaling_run){c, shape, DTYPE_F16, NULL, NULL};
    return &run;
}

/* Layers as evenly divided as they can be. */
static struct scaling_layout made(int replicas, int stages, int zero, int blocks, int n_layer)
{
    struct scaling_layout l = {.zero = zero, .blocks = blocks};
    layout_init(&l.over, n_layer, replicas);
    l.over.stages = stages;
    for (int i = 0; i < stages; i++)
        l.over.layers[i] = n_layer * (i + 1) / stages - n_layer * i / stages;
    return l;
}

/* The time of such a layout of 12 layers. */
static int time_of(struct step_time *t, const struct run_config *c, const struct config *shape,
                   const struct cluster *k, int replicas, int stages, int zero, int blocks)
{
    const struct scaling_layout l = made(replicas, stages, zero, blocks, 12);
    return scaling_time(t, run_of(c, shape), k, &l);
}

/* A step of 64 micro-batches of 1 x 128. */
static void init_run(struct run_config *c, struct config *shape)
{
    static const char *const words[] = {"sequence_length=128",
                                        "micro_batch_size=1",
                                        "global_batch_size=64",
                                        "gradient_blocks=64",
                                        "precision=float32",
                                        "steps=10",
                                        "epochs=0",
                                        "save_every=0"};
    char *given[sizeof words / sizeof *words];
    char text[sizeof words / sizeof *words][40];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        strcpy(text[i], words[i]);
        given[i] = text[i];
    }
    *shape = shape_of(12);
    assert_ok(run_config_init(c));
    assert_ok(run_config_words(c, given, (int)(sizeof words / sizeof *words)));
    assert_ok(run_config_resolve(c, shape));
}

static void a_link_without_end_is_perfect(void **state)
{
    struct run_config c;
    struct config shape;
    struct step_time one, many;
    (void)state;
    init_run(&c, &shape);
    assert_ok(time_of(&one, &c, &shape, &perfect, 1, 1, 0, 64));
    for (int n = 2; n <= 64; n *= 2)
        for (int zero = 0; zero <= 2; zero++) {
            assert_ok(time_of(&many, &c, &shape, &perfect, n, 1, zero, 64));
            assert_true(fabs(step_time_total(&one) / n - step_time_total(&many)) <
                        1e-9 * step_time_total(&one));
        }
    /* Blocks that are not divided evenly wait for the one with most. */
    assert_ok(time_of(&many, &c, &shape, &perfect, 3, 1, 0, 64));
    assert_true(fabs(step_time_total(&many) / step_time_total(&one) - 22.0 / 64) < 1e-9);
    run_config_release(&c);
}

static void one_process_sends_nothing(void **state)
{
    struct run_config c;
    struct config shape;
    struct step_time t;
    struct cluster slow = perfect;
    (void)state;
    init_run(&c, &shape);
    slow.link = 1;
    slow.latency_s = 10;
    for (int zero = 0; zero <= 2; zero++) {
        assert_ok(time_of(&t, &c, &shape, &slow, 1, 1, zero, 64));
        assert_true(t.gradients == 0 && t.weights == 0 && t.stages == 0 && t.sent == 0);
        assert_true(step_time_total(&t) == t.compute && t.compute > 0);
    }
    run_config_release(&c);
}

/* Its order of work, whose blocks do not mix: of two blocks each is filled and emptied. */
static void a_pipeline_has_its_bubble(void **state)
{
    struct run_config c;
    struct config shape;
    struct step_time one, t, of_blocks;
    (void)state;
    init_run(&c, &shape);
    shape.n_vocab = 1; /* hardly any head */
    assert_ok(time_of(&one, &c, &shape, &perfect, 1, 1, 0, 64));
    for (int s = 2; s <= 4; s++) {
        assert_ok(time_of(&t, &c, &shape, &perfect, 4, s, 0, 4));
        assert_true(fabs(t.compute - one.compute / 4 / s) < 1e-3 * t.compute);
        const double slot = t.compute / 16;
        assert_true(t.bubble > (s - 1.001) * slot && t.bubble < (s - 1) * 2.1 * slot);
        assert_ok(time_of(&of_blocks, &c, &shape, &perfect, 4, s, 0, 64));
        assert_true(of_blocks.bubble > 2 * t.bubble);
        assert_true(t.stages == 0);
    }
    /* What is longer than is simulated goes on as it began. */
    assert_ok(time_of(&t, &c, &shape, &perfect, 1, 2, 0, 1));
    assert_true(t.bubble > 0.999 * t.compute / 64 && t.bubble < 1.5 * t.compute / 64);
    assert_int_equal(time_of(&t, &c, &shape, &perfect, 1, 14, 0, 64), ERR_RANGE);
    assert_int_equal(time_of(&t, &c, &shape, &perfect, 5, 1, 0, 4), ERR_RANGE);
    run_config_release(&c);
}

/* The first stage has the head, which others wait for. */
static void a_head_is_among_the_work(void **state)
{
    struct run_config c;
    struct config shape;
    struct step_time one, even, lighter;
    struct scaling_layout l = made(1, 2, 0, 1, 12);
    (void)state;
    init_run(&c, &shape);
    const double head = shape.n_vocab / (12.0 * shape.n_embd); /* in layers, about */
    assert_ok(time_of(&one, &c, &shape, &perfect, 1, 1, 0, 1));
    assert_ok(scaling_time(&even, run_of(&c, &shape), &perfect, &l));
    assert_true(fabs(even.compute / one.compute - (6 + head) / (12 + head)) < 0.02);
    l.over.layers[0] = 3;
    l.over.layers[1] = 9;
    assert_ok(scaling_time(&lighter, run_of(&c, &shape), &perfect, &l));
    assert_true(step_time_total(&lighter) < 0.85 * step_time_total(&even));
    run_config_release(&c);
}

/* 3 chunks lessen the bubble to a third, about, and have three times the messages. */
static void chunks_are_a_trade(void **state)
{
    struct run_config c;
    struct config shape;
    struct step_time once, twice;
    struct scaling_layout l = made(1, 4, 0, 16, 12);
    struct cluster k = perfect;
    (void)state;
    init_run(&c, &shape);
    shape.n_vocab = 1;
    k.ranks = 4;
    k.link = 1e9;
    assert_ok(scaling_time(&once, run_of(&c, &shape), &k, &l));
    l.over.chunks = 3;
    assert_ok(scaling_time(&twice, run_of(&c, &shape), &k, &l));
    assert_true(twice.bubble < 0.5 * once.bubble);
    assert_true(fabs(twice.sent / once.sent - 3) < 1e-9);
    k.latency_s = 0.2 * once.compute / 64;
    struct step_time late;
    assert_ok(scaling_time(&late, run_of(&c, &shape), &k, &l));
    assert_true(late.stages > twice.stages);
    /* It is proposed where a pipeline is, and the link is good. */
    double bytes;
    k.latency_s = 0;
    k.flops = 1e9;
    assert_ok(scaling_best(&l, run_of(&c, &shape), &k));
    assert_ok(scaling_memory(&bytes, run_of(&c, &shape), &l));
    run_config_release(&c);
}

/* The chain of a sum: without costs of the link its processes wait for one block at most each. */
static void shards_share_a_micro_batch(void **state)
{
    struct run_config c;
    struct config shape;
    struct step_time one, t, slow;
    struct scaling_layout l = made(1, 1, 0, 64, 12);
    struct cluster k = perfect;
    (void)state;
    init_run(&c, &shape);
    assert_ok(scaling_time(&one, run_of(&c, &shape), &perfect, &l));
    for (int n = 2; n <= 4; n += 2) {
        l.over.tensor = n;
        assert_ok(scaling_time(&t, run_of(&c, &shape), &perfect, &l));
        /* Products of two blocks of 64 rows, some of all, bring their other factor twice. */
        const double longer = t.compute * n / one.compute;
        assert_true(longer > 1 && longer < (128 + 2 * 8.0) / (128 + 8.0) + 0.02);
        assert_true(t.sums > 0 && t.sums < t.compute);
        /* Of 12 layers' sums a process sends six times [128,768] floats: 1 + 1 + 1 + 3 rounds. */
        assert_true(t.sent > 64 * 12 * 6 * 4.0 * 128 * 768 &&
                    t.sent < 2 * 64 * 12 * 6 * 4.0 * 128 * 768);
        k.link = 1e9;
        assert_ok(scaling_time(&slow, run_of(&c, &shape), &k, &l));
        assert_true(slow.sums > t.sums + 0.5 * t.sent / 1e9);
    }
    run_config_release(&c);
}

/* Each sends its own rows of each layer's input. */
static void inputs_in_parts_cost_their_bytes(void **state)
{
    struct run_config c;
    struct config shape;
    struct step_time t, parts;
    struct scaling_layout l = made(1, 1, 0, 64, 12);
    struct cluster k = perfect;
    char all[] = "all";
    (void)state;
    init_run(&c, &shape);
    char *none = c.execution.recompute;
    c.execution.recompute = all;
    l.over.tensor = 3;
    k.link = 1e9;
    for (int half = 0; half < 2; half++) {
        const double each = half ? 2 : 4, more = 64 * 12 * each * 128 * 768 * 2 / 3;
        c.training.precision = half ? DTYPE_F16 : DTYPE_F32;
        c.execution.rts_activations = false;
        assert_ok(scaling_time(&t, run_of(&c, &shape), &k, &l));
        c.execution.rts_activations = true;
        assert_ok(scaling_time(&parts, run_of(&c, &shape), &k, &l));
        assert_true(fabs(parts.sent - t.sent - more) < 1);
        assert_true(parts.compute == t.compute && parts.sums > t.sums + 0.5 * more / k.link);
    }
    c.execution.recompute = none;
    run_config_release(&c);
}

/* What is sent and received is copied, what is received added; zero=2 does so with each of 16
 * blocks, which begin in memory that is cleared. */
static void a_message_goes_through_memory(void **state)
{
    struct run_config c;
    struct config shape;
    struct step_time t;
    struct cluster k = perfect;
    const double gradients[3] = {8.25, 5.25, 16 * 7.25}, weights[3] = {0, 3, 3};
    (void)state;
    init_run(&c, &shape);
    const double block = 4.0 * (double)config_params(&shape);
    k.stream = 1e10;
    for (int zero = 0; zero <= 2; zero++) {
        assert_ok(time_of(&t, &c, &shape, &k, 4, 1, zero, 64));
        assert_true(fabs(t.gradients - gradients[zero] * block / k.stream) < 1e-6);
        assert_true(fabs(t.weights - weights[zero] * block / k.stream) < 1e-6);
    }
    assert_ok(time_of(&t, &c, &shape, &k, 1, 1, 0, 64));
    assert_true(t.gradients == 0 && t.weights == 0);
    run_config_release(&c);
}

/* Twice the bytes over half the link; zero=2 hides behind what is computed. */
static void a_link_costs_its_bytes(void **state)
{
    struct run_config c;
    struct config shape;
    struct step_time at[3];
    struct cluster k = perfect;
    (void)state;
    init_run(&c, &shape);
    const double block = 4.0 * (double)config_params(&shape);
    k.link = 1e9;
    for (int zero = 0; zero <= 2; zero++)
        assert_ok(time_of(&at[zero], &c, &shape, &k, 4, 1, zero, 64));
    assert_true(fabs(at[0].gradients - 2 * 0.75 * block / 1e9) < 1e-6);
    assert_true(fabs(at[1].gradients - 0.75 * block / 1e9) < 1e-6);
    assert_true(fabs(at[1].weights - at[1].gradients) < 1e-6);
    assert_true(at[2].gradients <= at[1].gradients + 1e-9);
    assert_true(fabs(at[2].sent - (16 * 0.75 + 0.75) * block) < 1);
    /* Half of that, but for weights. */
    c.execution.half_partials = true;
    for (int zero = 0; zero <= 2; zero++) {
        const double whole = zero > 0 ? 0.75 * block : 0;
        struct step_time t;
        assert_ok(time_of(&t, &c, &shape, &k, 4, 1, zero, 64));
        assert_true(fabs(t.sent - whole - (at[zero].sent - whole) / 2) < 1);
        assert_true(zero == 2 || fabs(t.gradients - at[zero].gradients / 2) < 1e-6);
        assert_true(t.weights == at[zero].weights);
    }
    /* float16 is as wide without it. */
    struct step_time off;
    c.training.precision = DTYPE_F16;
    assert_ok(time_of(&at[0], &c, &shape, &k, 4, 1, 0, 64));
    c.execution.half_partials = false;
    assert_ok(time_of(&off, &c, &shape, &k, 4, 1, 0, 64));
    assert_true(at[0].sent == off.sent);
    run_config_release(&c);
}

/* What steps, weights and optimizers allocate. */
static void memory_is_what_is_allocated(void **state)
{
    struct run_config c;
    struct config shape;
    (void)state;
    init_run(&c, &shape);
    const double n = (double)config_params(&shape);
    for (int zero = 0; zero <= 2; zero++) {
        const struct scaling_layout l = made(4, 1, zero, 64, 12);
        struct step_config step;
        struct step_bytes b;
        double got;
        c.execution.replicas = 4;
        c.execution.zero = zero;
        run_config_step(&c, &shape, &step);
        step.first_block = 48; /* of the last rank */
        step.last_block = 64;
        assert_ok(step_bytes(&b, &shape, DTYPE_F32, &step));
        double want = (double)(b.activations + b.scratch + b.logits + b.gradients + b.embedding +
                               b.window + b.waiting) +
                      4 * n + 8 * n / (zero > 0 ? 4 : 1) + (double)params_bytes(&shape, DTYPE_F16);
        /* Of each rank's 16 blocks, a node, a part is on its way, and another; and the program. */
        const double part = zero == 2 ? 1 << 18 : fmin(1 << 18, ceil(n / 4));
        want += 2 * 4 * 4 * part + (40 << 20);
        if (zero == 2) /* 60 of 64 blocks: 32 + 16 + 8 + 4 */
            want += 4 * n * 4 / 4;
        assert_ok(scaling_memory(&got, run_of(&c, &shape), &l));
        assert_true(fabs(got - want) < 16);
    }
    run_config_release(&c);
}

static void the_best_fits(void **state)
{
    struct run_config c;
    struct config shape;
    struct scaling_layout l;
    struct cluster k = perfect;
    double bytes, least;
    (void)state;
    init_run(&c, &shape);
    k.ranks = 8;
    k.link = 1e9;
    k.stream = 1e10;
    assert_ok(scaling_best(&l, run_of(&c, &shape), &k));
    assert_int_equal(l.over.replicas * l.over.stages * l.over.tensor, 8);
    assert_int_equal(l.over.stages, 1);
    assert_true(l.zero > 0);
    assert_ok(scaling_memory(&bytes, run_of(&c, &shape), &l));
    /* With less memory than that, another is chosen that fits. */
    k.memory = 0.9 * bytes;
    assert_ok(scaling_best(&l, run_of(&c, &shape), &k));
    assert_ok(scaling_memory(&least, run_of(&c, &shape), &l));
    assert_true(least <= k.memory);
    k.ranks = 127; /* neither windows nor layers are divided so */
    assert_int_equal(scaling_best(&l, run_of(&c, &shape), &k), ERR_RANGE);
    assert_int_equal(scaling_blocks(&c, 65), 0);
    c.training.gradient_blocks = 3;
    assert_int_equal(scaling_blocks(&c, 1), 4);
    assert_int_equal(scaling_blocks(&c, 5), 8);
    run_config_release(&c);
}

/* What is known at once is never more than what is found by following the order; and what was
 * followed once is the same again. */
static void bounds_are_below_what_is_found(void **state)
{
    struct run_config c;
    struct config shape;
    struct layout_slots kept = {0};
    struct cluster k = perfect;
    (void)state;
    init_run(&c, &shape);
    k.link = 1e9;
    k.latency_s = 1e-3;
    k.jitter = 0.1;
    struct scaling_run run = *run_of(&c, &shape);
    for (int i = 0; i < 2 * 12 * 3 * 3; i++) {
        struct scaling_layout l = made(2, i / 2 % 12 + 1, 0, 4 << 4 * (i % 2), 12);
        l.over.tensor = i / 24 % 3 + 1;
        l.over.chunks = l.over.stages < 2                       ? 1
                        : (i / 72 % 3 + 1) * l.over.stages > 12 ? 1
                                                                : i / 72 % 3 + 1;
        struct step_time t;
        double least_s, least, bytes, again;
        assert_ok(scaling_time(&t, &run, &k, &l));
        assert_ok(scaling_time_least(&least_s, &run, &k, &l));
        assert_true(least_s <= step_time_total(&t) && least_s > 0.9 * t.compute / l.over.tensor);
        assert_true(l.over.tensor > 1 || fabs(least_s / t.compute - 1) < 1e-5);
        assert_ok(scaling_memory_least(&least, &run, &l));
        assert_ok(scaling_memory(&bytes, &run, &l));
        assert_true(least <= bytes && (l.over.stages > 1 || least == bytes));
        run.slots = &kept;
        for (int twice = 0; twice < 2; twice++) {
            assert_ok(scaling_memory(&again, &run, &l));
            assert_true(again == bytes);
        }
        run.slots = NULL;
    }
    layout_slots_release(&kept);
    run_config_release(&c);
}

/* A pipeline of 48 layers, so many of them for the first of four stages. */
static struct scaling_layout with_first(int first)
{
    struct scaling_layout l = made(1, 4, 0, 64, 48);
    l.over.layers[0] = first;
    for (int i = 1; i < 4; i++)
        l.over.layers[i] = (48 - first) * i / 3 - (48 - first) * (i - 1) / 3;
    return l;
}

/* Where the first stage has as much as lets all of them fit. */
static void the_best_is_none_that_is_worse(void **state)
{
    struct run_config c;
    struct config shape;
    struct scaling_layout l;
    struct cluster k = perfect;
    double bytes, least = INFINITY;
    (void)state;
    init_run(&c, &shape);
    shape.n_layer = 48;
    c.training.sequence_length = 1024;   /* of which the first has more micro-batches than others */
    c.logging.log_activations_every = 1; /* no shards */
    k.ranks = 4;
    for (int first = 0; first < 12; first++) {
        l = with_first(first);
        assert_ok(scaling_memory(&bytes, run_of(&c, &shape), &l));
        least = fmin(least, bytes);
    }
    k.memory = least;
    assert_ok(scaling_best(&l, run_of(&c, &shape), &k));
    assert_ok(scaling_memory(&bytes, run_of(&c, &shape), &l));
    assert_true(bytes <= least);
    /* What the settings say is looked at too, whatever it is. */
    struct scaling_layout given = made(1, 1, 0, 64, 48);
    struct scaling_run with = *run_of(&c, &shape);
    given.over.tensor = 4;
    with.given = &given;
    assert_ok(scaling_memory(&k.memory, &with, &given));
    assert_true(k.memory < least);
    assert_ok(scaling_best(&l, &with, &k));
    assert_int_equal(l.over.tensor, 4);
    run_config_release(&c);
}

/* Micro-batches that nobody named are as small as the blocks of a layout have them. */
static void micro_batches_follow_blocks(void **state)
{
    struct run_config c;
    struct config shape = shape_of(12);
    struct scaling_layout l;
    struct step_time all, t;
    struct cluster k = perfect;
    char batch[] = "global_batch_size=8", muon[] = "optimizer=muon", micro[] = "micro_batch_size=4";
    char *words[] = {batch, muon}, *named[] = {micro};
    (void)state;
    assert_ok(run_config_init(&c));
    assert_ok(run_config_words(&c, words, 2));
    assert_ok(run_config_resolve(&c, &shape));
    assert_int_equal(c.training.gradient_accumulation, 2);
    assert_int_equal(scaling_blocks(&c, 5), 8);
    assert_ok(time_of(&all, &c, &shape, &k, 1, 1, 0, 1));
    assert_ok(time_of(&t, &c, &shape, &k, 8, 1, 0, 8));
    assert_true(fabs(t.compute - all.compute / 8) < 1e-9 * all.compute);
    k.ranks = 13; /* the first has the head alone */
    assert_ok(scaling_best(&l, run_of(&c, &shape), &k));
    assert_int_equal(l.over.stages, 13);
    assert_int_equal(l.over.layers[0], 0);
    k.ranks = 17;
    assert_says(scaling_best(&l, run_of(&c, &shape), &k),
                "a step of 8 windows and 12 layers is not divided among 17 processes: ranks=16, or "
                "global_batch_size=17");
    assert_ok(run_config_words(&c, named, 1));
    assert_ok(run_config_resolve(&c, &shape));
    assert_int_equal(scaling_blocks(&c, 5), 0);
    assert_says(scaling_best(&l, run_of(&c, &shape), &k),
                "a step of 2 micro-batches and 12 layers is not divided among 17 processes: "
                "ranks=16, or global_batch_size=68");
    run_config_release(&c);
}

/* Muon's matrices stay whole: no zero, and every replica does all that makes them orthogonal. */
static void muon_is_not_divided(void **state)
{
    struct run_config c;
    struct config shape;
    struct scaling_layout l;
    struct step_time t, more;
    struct cluster k = perfect;
    char word[] = "optimizer=muon", *words[] = {word};
    (void)state;
    init_run(&c, &shape);
    assert_ok(time_of(&t, &c, &shape, &k, 4, 1, 0, 64));
    assert_ok(run_config_words(&c, words, 1));
    assert_ok(run_config_resolve(&c, &shape));
    assert_ok(time_of(&more, &c, &shape, &k, 4, 1, 0, 64));
    /* By layer four squares of C and two of C x 4C; a square takes five times about 2 x 2 C^3. */
    const double cubes = 12 * (4 * 4 + 2 * (5 + 8)), C = shape.n_embd,
                 want = 5 * cubes * C * C * C / k.flops, got = more.optimizer - t.optimizer;
    assert_true(got > want && got < 1.2 * want);
    assert_true(more.compute == t.compute && more.gradients == t.gradients);
    k.ranks = 8;
    k.link = 1e9;
    k.stream = 1e10;
    assert_ok(scaling_best(&l, run_of(&c, &shape), &k));
    assert_true(l.over.replicas * l.over.stages == 8 && l.over.tensor == 1 && l.zero == 0);
    run_config_release(&c);
}

static int words_of(struct buf *out, const struct run_config *c, struct scaling_layout l)
{
    out->n = 0;
    return scaling_words(out, c, &l);
}

/* Of several processes none trains from disk, so none of their layouts is planned so. */
static void several_have_all_in_memory(void **state)
{
    struct run_config c;
    struct config shape;
    struct cluster k = perfect;
    struct step_time t[2][2];
    double bytes[2][2];
    struct buf words = {0};
    (void)state;
    init_run(&c, &shape);
    k.disk = 1e6;
    for (int phased = 0; phased < 2; phased++)
        for (int i = 0; i < 2; i++) {
            const struct scaling_layout l = made(i + 1, 1, 0, 64, 12);
            c.execution.phased = phased;
            assert_ok(scaling_time(&t[phased][i], run_of(&c, &shape), &k, &l));
            assert_ok(scaling_memory(&bytes[phased][i], run_of(&c, &shape), &l));
        }
    assert_true(t[0][0].disk == 0 && t[1][0].disk > 0 && bytes[1][0] < bytes[0][0]);
    assert_true(t[1][1].disk == 0 && bytes[1][1] == bytes[0][1]);
    assert_ok(words_of(&words, &c, made(1, 1, 0, 64, 12)));
    assert_string_equal(buf_text(&words), "replicas=1 zero=0 gradient_blocks=64");
    assert_ok(words_of(&words, &c, made(2, 1, 0, 64, 12)));
    assert_string_equal(buf_text(&words), "replicas=2 zero=0 gradient_blocks=64 phased=off");
    buf_release(&words);
    run_config_release(&c);
}

/* Of 64 micro-batches of 1 x 128 and 124M in float32, of which nothing is kept: what is read and
 * written by phased.c and the walks of the optimizer, by hand. */
static void traffic_is_all(const struct phased_plan *p, bool lamb)
{
    const double layer = 4.0 * (12 * 768 * 768 + 13 * 768), moments = 8.0 * 124439808,
                 rows = 4.0 * 64 * 128 * 768; /* of a layer's input, or gradient of the residual */
    /* Forward, backward but for the last layer, and the optimizer's. Gradients for norm and step.
     */
    double read = (12 + 11 + 12) * layer + 2 * 12 * layer + moments;
    read += (12 + 1 + 12) * rows + (12 + 1) * rows; /* inputs, residual */
    const double written = 12 * layer + 12 * layer + moments + 13 * rows + 13 * rows;
    read += lamb ? 24 * layer + moments : 0;
    assert_true(fabs(p->read / read - 1) < 1e-12 && fabs(p->write / written - 1) < 1e-12);
}

/* All that a step from disk reads and writes is waited for where nothing else takes time, whatever
 * stays in memory; and nothing is where computation takes longer. */
static void a_step_from_disk_waits_for_it(void **state)
{
    static const char *const runs[] = {"optimizer=adamw", "optimizer=lamb"};
    const struct scaling_layout l = made(1, 1, 0, 64, 12), whole = made(1, 1, 0, 1, 12);
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        for (int tenths = 0; tenths <= 60; tenths += tenths == 0 ? 25 : 1) {
            struct run_config c;
            struct config shape;
            struct step_config step;
            struct step_time t;
            struct phased_plan p;
            struct cluster k = perfect;
            char word[32], *words[] = {word};
            init_run(&c, &shape);
            strcpy(word, runs[i]);
            assert_ok(run_config_words(&c, words, 1));
            c.execution.phased = true;
            c.execution.memory = (float)tenths / 10;
            run_config_step(&c, &shape, &step);
            assert_ok(phased_plan(&p, &c, &shape, &step, (double)params_bytes(&shape, DTYPE_F16)));
            k.flops = INFINITY;
            k.disk = 1e9;
            assert_ok(scaling_time(&t, run_of(&c, &shape), &k, &l));
            assert_true(fabs(step_time_total(&t) * k.disk / (p.read + p.write) - 1) < 1e-9);
            /* A layer moves 79 MB at most in 1.2e11 operations forward, 132 MB in 3.1e11 back. */
            k.flops = 1e12;
            k.stream = 1e8;
            c.training.gradient_blocks = 1; /* of several the embeddings' gradients go there */
            run_config_step(&c, &shape, &step);
            assert_ok(phased_plan(&p, &c, &shape, &step, (double)params_bytes(&shape, DTYPE_F16)));
            assert_ok(scaling_time(&t, run_of(&c, &shape), &k, &whole));
            assert_true(t.disk == p.traffic.alone / k.disk && t.optimizer > 0);
            if (tenths == 0)
                traffic_is_all(&p, i == 1);
            run_config_release(&c);
        }
}

/* What it proposes is what a run takes. */
static void a_layout_is_settings(void **state)
{
    (void)state;
    struct run_config c;
    struct config shape = shape_of(12);
    struct buf words = {0};
    init_run(&c, &shape);
    assert_ok(words_of(&words, &c, made(8, 1, 2, 16, 12)));
    assert_string_equal(buf_text(&words), "replicas=8 zero=2 gradient_blocks=16");
    assert_ok(words_of(&words, &c, made(2, 5, 1, 4, 12)));
    assert_string_equal(buf_text(&words),
                        "replicas=2 zero=1 gradient_blocks=4 layers_per_device=2,2,3,2,3");
    assert_ok(words_of(&words, &c, made(1, 128, 0, 1, 128)));
    assert_int_equal(words.n,
                     strlen("replicas=1 zero=0 gradient_blocks=1 layers_per_device=") + 255);
    buf_release(&words);
    struct cluster k = perfect;
    struct scaling_layout l;
    k.flops = 1e12;
    k.memory = 1; /* none fits: that of the least memory */
    for (k.ranks = 2; k.ranks <= 48; k.ranks += k.ranks) {
        c.lora.rank = 0;
        assert_ok(scaling_best(&l, run_of(&c, &shape), &k));
        c.lora.rank = 4;
        assert_ok(scaling_best(&l, run_of(&c, &shape), &k));
        assert_int_equal(l.over.stages, 1);
    }
    c.lora.rank = 0;
    run_config_release(&c);
}

/* Whoever waits often waits longest: shards, then stages, then replicas, which meet once a step. */
static void jitter_is_waited_for(void **state)
{
    struct run_config c;
    struct config shape;
    struct cluster k = perfect, uneven = perfect;
    struct scaling_layout layouts[] = {made(1, 1, 0, 64, 12), made(1, 2, 0, 1, 12),
                                       made(2, 1, 0, 64, 12), made(1, 1, 0, 64, 12),
                                       made(2, 1, 1, 64, 12), made(2, 1, 2, 64, 12)};
    double times[6];
    (void)state;
    init_run(&c, &shape);
    layouts[0].over.tensor = 2;
    k.flops = uneven.flops = 1e12;
    uneven.jitter = 0.1;
    for (int i = 0; i < 6; i++) {
        struct step_time even, t;
        assert_ok(scaling_time(&even, run_of(&c, &shape), &k, &layouts[i]));
        assert_ok(scaling_time(&t, run_of(&c, &shape), &uneven, &layouts[i]));
        assert_true(t.compute == even.compute && t.sent == even.sent);
        times[i] = step_time_total(&t) / step_time_total(&even);
    }
    assert_true(times[0] > 1.04 && times[0] < 1.15);
    assert_true(times[1] > 1 && times[1] < times[0]);
    assert_true(times[2] > 1 && times[2] < times[1]);
    assert_true(times[3] == 1); /* one process waits for nobody */
    for (int zero = 1; zero <= 2; zero++)
        assert_true(fabs(times[3 + zero] / times[2] - 1) < 1e-3);
    run_config_release(&c);
}

/* With zero=2 too: of layers alone, whose slices are sent while others are computed, half go to the
 * other shard. */
static void shards_send_their_slices(void **state)
{
    struct run_config c;
    struct config shape;
    struct cluster k = perfect;
    struct scaling_layout l = made(1, 1, 0, 64, 12);
    struct step_time one, two;
    (void)state;
    init_run(&c, &shape);
    shape.n_vocab = 1;
    k.link = 1e9;
    l.over.tensor = 2;
    assert_ok(scaling_time(&one, run_of(&c, &shape), &k, &l));
    l.over.replicas = 2;
    l.zero = 2;
    assert_ok(scaling_time(&two, run_of(&c, &shape), &k, &l));
    assert_true(one.gradients > 0 && two.gradients > 0.5 * one.gradients);
    run_config_release(&c);
}

/* Not even where a single micro-batch has few moments. */
static void jitter_makes_nothing_faster(void **state)
{
    struct run_config c;
    struct config shape;
    struct cluster k = perfect, uneven = perfect;
    (void)state;
    init_run(&c, &shape);
    c.training.gradient_accumulation = 1;
    k.flops = uneven.flops = 1e12;
    for (int stages = 1; stages <= 12; stages++)
        for (int tensor = 1; tensor <= 3; tensor++) {
            struct scaling_layout l = made(1, stages, 0, 1, 12);
            double before;
            struct step_time t;
            l.over.tensor = tensor;
            assert_ok(scaling_time(&t, run_of(&c, &shape), &k, &l));
            before = step_time_total(&t);
            for (uneven.jitter = 0.01; uneven.jitter < 1; uneven.jitter *= 3) {
                assert_ok(scaling_time(&t, run_of(&c, &shape), &uneven, &l));
                assert_true(step_time_total(&t) > before * (1 - 1e-9));
                before = step_time_total(&t);
            }
        }
    run_config_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_without_end_is_perfect),
        cmocka_unit_test(one_process_sends_nothing),
        cmocka_unit_test(a_pipeline_has_its_bubble),
        cmocka_unit_test(a_head_is_among_the_work),
        cmocka_unit_test(chunks_are_a_trade),
        cmocka_unit_test(shards_share_a_micro_batch),
        cmocka_unit_test(inputs_in_parts_cost_their_bytes),
        cmocka_unit_test(a_link_costs_its_bytes),
        cmocka_unit_test(shards_send_their_slices),
        cmocka_unit_test(jitter_is_waited_for),
        cmocka_unit_test(jitter_makes_nothing_faster),
        cmocka_unit_test(a_message_goes_through_memory),
        cmocka_unit_test(memory_is_what_is_allocated),
        cmocka_unit_test(the_best_fits),
        cmocka_unit_test(bounds_are_below_what_is_found),
        cmocka_unit_test(the_best_is_none_that_is_worse),
        cmocka_unit_test(micro_batches_follow_blocks),
        cmocka_unit_test(muon_is_not_divided),
        cmocka_unit_test(a_layout_is_settings),
        cmocka_unit_test(several_have_all_in_memory),
        cmocka_unit_test(a_step_from_disk_waits_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
