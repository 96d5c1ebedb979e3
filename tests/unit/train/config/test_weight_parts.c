/* Into how many files replicas divide the writing of weights that all of them have. */
#include "tests/lib/test.h"

#include "train/config/resolve.h"
#include "train/config/weight_parts.h"

#include <stdio.h>
#include <string.h>

/* A run of 8 micro-batches in 8 gradient blocks, with these words. */
static int parts_of(const char *words)
{
    struct run_config c;
    struct config shape;
    char text[256], *rest, *list[16];
    int n = 0;
    snprintf(text, sizeof text,
             "micro_batch_size=1 sequence_length=64 gradient_accumulation=8 gradient_blocks=8 %s",
             words);
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest))
        list[n++] = word;
    assert_ok(run_config_init(&c));
    assert_ok(run_config_words(&c, list, n));
    assert_ok(run_config_shape(&c, NULL, &shape));
    assert_ok(run_config_resolve(&c, &shape));
    n = weight_parts(&c, &shape);
    run_config_release(&c);
    return n;
}

static void small_models_are_one_file(void **state)
{
    (void)state;
    /* 0.498 GB, 1.42 GB, 6.23 GB */
    assert_int_equal(parts_of("init=random:gpt2 replicas=8 zero=1"), 1);
    assert_int_equal(parts_of("init=random:gpt2-medium replicas=8 zero=2"), 5);
    assert_int_equal(parts_of("init=random:gpt2-medium replicas=3 zero=2"), 3);
    assert_int_equal(parts_of("init=random:gpt2-medium replicas=8 zero=2 precision=float16"), 2);
    assert_int_equal(parts_of("init=random:gpt2-xl replicas=8 zero=1"), 8);
    assert_int_equal(parts_of("init=random:gpt2 replicas=8 zero=1 min_part_mb=100"), 4);
    assert_int_equal(parts_of("init=random:gpt2 replicas=8 zero=1 min_part_mb=0"), 8);
}

static void others_are_not_divided_so(void **state)
{
    (void)state;
    assert_int_equal(parts_of("init=random:gpt2-xl replicas=8 zero=0"), 1);
    assert_int_equal(parts_of("init=random:gpt2-xl replicas=1 zero=1"), 1);
    assert_int_equal(parts_of("init=random:gpt2-xl replicas=2 layers_per_device=[24,24] zero=1"),
                     1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_models_are_one_file),
        cmocka_unit_test(others_are_not_divided_so),
    };
    return cmocka_run_group_tests_name("weight_parts", tests, NULL, NULL);
}
