/* What refusals of batches and layouts advise is not refused in its turn. */
#include "tests/lib/crowd.h"
#include "tests/lib/test.h"

#include "train/config/resolve.h"
#include "train/parallel/world.h"

#include <stdio.h>
#include <string.h>

enum { MOST_WORDS = 12 };

struct advice {
    int ranks;
    const char *words, *advice; /* what is given, and what to type in place of it or behind it */
};

/* Of a model of 12 layers with 12 heads. */
static const struct advice table[] = {
    /* A number of micro-batches that was named is what changes. */
    {1, "gradient_accumulation=4 replicas=3", "gradient_blocks=3 gradient_accumulation=6"},
    {1, "gradient_accumulation=4 global_batch_size=16 replicas=3",
     "gradient_blocks=3 global_batch_size=24 gradient_accumulation=6"},
    {1, "gradient_accumulation=16 gradient_blocks=5 micro_batch_size=2",
     "gradient_accumulation=20"},
    {1, "gradient_accumulation=4 half_partials=on micro_batch_size=1 gradient_accumulation=1",
     "gradient_blocks=2 gradient_accumulation=2"},
    /* So many blocks as there are replicas. */
    {1, "global_batch_size=8 gradient_blocks=5 replicas=6", "gradient_blocks=8"},
    {1, "global_batch_size=5 gradient_blocks=4 replicas=12",
     "gradient_blocks=12 global_batch_size=12"},
    {1, "micro_batch_size=3 gradient_blocks=2 half_partials=on", "global_batch_size=6"},
    {3, "global_batch_size=10 gradient_blocks=4", "gradient_blocks=5"},
    /* What is of use with shards or stages alone goes with them. */
    {1, "tensor_parallel=2 rts_activations=on recompute=all lora.rank=4",
     "tensor_parallel=1 rts_activations=off"},
    {1, "tensor_parallel=2 rts_activations=on recompute=all optimizer=muon",
     "tensor_parallel=1 rts_activations=off"},
    {1, "tensor_parallel=2 rts_activations=on recompute=all matmul_precision=bfloat16",
     "tensor_parallel=1 rts_activations=off"},
    {1, "layers_per_device=6,6 virtual_stages=2 lora.rank=4",
     "layers_per_device=none virtual_stages=1"},
    {1, "layers_per_device=5,1,1,0 lora.rank=4", "layers_per_device=none"},
    {1, "layers_per_device=6,6 virtual_stages=2 phased=on",
     "layers_per_device=none virtual_stages=1"},
    {1, "layers_per_device=6,6 phased=on memory=4", "phased=off memory=0"},
    {1, "optimizer=muon phased=on memory=4", "phased=off memory=0"},
    {1, "memory=4 layers_per_device=6,6", "memory=0"},
    {1, "rts_activations=on recompute=all", "tensor_parallel=2"},
    {1, "tensor_parallel=2 rts_activations=on", "recompute=all"},
    {1, "rts_activations=on lora.rank=4", "rts_activations=off"},
    /* Lists have a layer for each chunk. */
    {1, "layers_per_device=9,9 virtual_stages=4", "layers_per_device=6,6"},
    {1, "layers_per_device=3,3,3,3,3,3 virtual_stages=3",
     "layers_per_device=2,2,2,2,2,2 virtual_stages=2"},
    {1, "layers_per_device=12,6", "layers_per_device=6,6"},
    {1, "layers_per_device=x", "layers_per_device=6,6"},
    {1, "layers_per_device=9", "layers_per_device=none"},
    /* The processes there are a multiple of stages and shards. */
    {6, "layers_per_device=3,3,3,4 gradient_blocks=6 global_batch_size=6",
     "layers_per_device=4,4,4"},
    {4, "layers_per_device=4,4,4 tensor_parallel=2 gradient_blocks=4", "layers_per_device=6,6"},
    {5, "layers_per_device=4,4,4 tensor_parallel=2 gradient_blocks=5 global_batch_size=5",
     "layers_per_device=2,2,3,2,3 tensor_parallel=1"},
    {4, "layers_per_device=4,4,4 virtual_stages=4 gradient_blocks=4",
     "layers_per_device=3,3,3,3 virtual_stages=3"},
    {5, "tensor_parallel=3 rts_activations=on recompute=all", "tensor_parallel=5"},
    {2, "tensor_parallel=20 gradient_blocks=2", "tensor_parallel=2"},
    {3, "rts_activations=on gradient_blocks=3 global_batch_size=3", "rts_activations=off"},
};

static int resolve(char *text)
{
    char *all[MOST_WORDS], *at;
    struct run_config c;
    struct config shape;
    int n = 0;
    for (char *word = strtok_r(text, " ", &at); word != NULL; word = strtok_r(NULL, " ", &at))
        all[n++] = word;
    config_init(&shape);
    assert_ok(config_check(&shape));
    assert_ok(run_config_init(&c));
    assert_ok(run_config_words(&c, all, n));
    const int rc = run_config_resolve(&c, &shape);
    run_config_release(&c);
    return rc;
}

static void follow_advice(void *arg)
{
    const struct advice *a = arg;
    char text[400];
    snprintf(text, sizeof text, "%s", a->words);
    assert_true(resolve(text) != 0);
    if (strstr(err_text(), a->advice) == NULL)
        fail_msg("%s: %s", a->words, err_text());
    snprintf(text, sizeof text, "%s %s", a->words, a->advice);
    assert_ok(resolve(text));
}

static void what_is_advised_is_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct advice one = table[i];
        if (one.ranks == 1)
            follow_advice(&one);
        else
            assert_int_equal(crowd_run(one.ranks, follow_advice, &one), 0);
    }
}

/* What is not advised, since it would be refused. */
static void nothing_else_is_advised(void **state)
{
    (void)state;
    char adapter[] = "rts_activations=on lora.rank=4", several[] = "memory=4 replicas=2",
         blocks[] = "gradient_blocks=3 global_batch_size=4 replicas=5",
         three[] = "micro_batch_size=6 global_batch_size=64 gradient_accumulation=2";
    assert_true(resolve(adapter) != 0);
    assert_null(strstr(err_text(), "tensor_parallel=2"));
    assert_true(resolve(several) != 0);
    assert_null(strstr(err_text(), "phased=on"));
    assert_true(resolve(blocks) != 0);
    assert_null(strstr(err_text(), "gradient_blocks=4"));
    assert_true(resolve(three) != 0);
    assert_null(strstr(err_text(), "or gradient_accumulation"));
}

/* A run that is continued has the blocks it had. */
static void a_run_keeps_its_blocks(void *arg)
{
    char more[] = "replicas=8", *all[] = {more};
    struct run_config c;
    struct config shape;
    (void)arg;
    config_init(&shape);
    assert_ok(config_check(&shape));
    assert_ok(run_config_init(&c));
    assert_ok(run_config_set(&c, ORIGIN_CHECKPOINT, "gradient_blocks", "2"));
    if (world_size() == 1)
        assert_ok(run_config_words(&c, all, 1));
    assert_says(run_config_resolve(&c, &shape),
                world_size() == 1 ? "(2), which a run keeps, not 8: replicas=2"
                                  : "(2), which a run keeps, not 3: start 2 processes or fewer");
    run_config_release(&c);
}

static void blocks_are_kept(void **state)
{
    (void)state;
    a_run_keeps_its_blocks(NULL);
    assert_int_equal(crowd_run(3, a_run_keeps_its_blocks, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_advised_is_accepted),
        cmocka_unit_test(nothing_else_is_advised),
        cmocka_unit_test(blocks_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
