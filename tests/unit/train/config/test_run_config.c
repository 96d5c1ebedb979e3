#include "tests/lib/test.h"
#include "tests/lib/scratch.h"

#include "train/config/plan.h"
#include "train/config/presets.h"
#include "train/config/resolve.h"
#include "train/config/show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fresh(void **state)
{
    static struct run_config c;
    *state = &c;
    return run_config_init(&c);
}

static int drop(void **state)
{
    run_config_release(*state);
    return 0;
}

static void assert_value(const struct run_config *c, const char *key, const char *expected)
{
    const struct setting *row;
    struct buf value = {0};
    assert_ok(settings_table_lookup(&run_table, &row, key, false));
    assert_ok(setting_format(row, c, &value));
    assert_string_equal(buf_text(&value), expected);
    buf_release(&value);
}

static enum origin origin(const struct run_config *c, const char *key)
{
    const struct setting *row;
    assert_ok(settings_table_lookup(&run_table, &row, key, false));
    return settings_store_origin(&c->store, row);
}

static int read_text(struct run_config *c, const char *text)
{
    return run_config_read(c, ORIGIN_FILE, "my.yaml", text, strlen(text));
}

static int words(struct run_config *c, const char *a, const char *b)
{
    char *all[] = {(char *)a, (char *)b};
    return run_config_words(c, all, b == NULL ? 1 : 2);
}

static void rows_are_sound(void **state)
{
    struct run_config *c = *state;
    const struct setting *row, *other;
    for (int i = 0; (row = settings_table_at(&run_table, i)) != NULL; i++) {
        assert_true(strspn(row->name, "abcdefghijklmnopqrstuvwxyz0123456789_") ==
                    strlen(row->name));
        assert_true(row->help != NULL && strlen(row->help) > 4);
        assert_true(settings_table_has_section(&run_table, row->group));
        for (int k = 0; k < i; k++) {
            other = settings_table_at(&run_table, k);
            assert_true(row->offset != other->offset);
            /* A name alone always suffices. */
            assert_string_not_equal(row->name, other->name);
            /* Sections stand together. */
            if (strcmp(row->group, other->group) == 0)
                assert_string_equal(settings_table_at(&run_table, i - 1)->group, row->group);
        }
        struct buf value = {0}, again = {0};
        assert_ok(setting_format(row, c, &value));
        assert_ok(setting_parse(row, c, buf_text(&value)));
        assert_ok(setting_format(row, c, &again));
        assert_string_equal(buf_text(&value), buf_text(&again));
        buf_release(&value);
        buf_release(&again);
        /* One step beyond each end is refused, the ends are not. */
        if (row->type != SETTING_INT && row->type != SETTING_INT64 && row->type != SETTING_FLOAT &&
            row->type != SETTING_DOUBLE)
            continue;
        char text[64];
        for (int high = 0; high < 2; high++) {
            snprintf(text, sizeof text, "%.17g", high ? row->max : row->min);
            assert_ok(setting_parse(row, c, text));
            snprintf(text, sizeof text, "%.17g", high ? row->max * 2 + 1 : row->min - 1);
            assert_int_equal(setting_parse(row, c, text), ERR_RANGE);
        }
    }
}

static void keys_are_found(void **state)
{
    (void)state;
    const struct setting *row;
    assert_ok(settings_table_lookup(&run_table, &row, "schedule.learning_rate", false));
    assert_string_equal(row->group, "schedule");
    assert_ok(settings_table_lookup(&run_table, &row, "learning-rate", false));
    assert_string_equal(row->name, "learning_rate");
    assert_ok(settings_table_lookup(&run_table, &row, "data", false));
    assert_string_equal(row->group, "data");
    assert_ok(settings_table_lookup(&run_table, &row, "lr", false));
    assert_string_equal(row->name, "learning_rate");
    assert_ok(settings_table_lookup(&run_table, &row, "training.batch-size", false));
    assert_string_equal(row->name, "micro_batch_size");
    assert_says(settings_table_lookup(&run_table, &row, "learning_rat", false),
                "did you mean learning_rate?");
    assert_says(settings_table_lookup(&run_table, &row, "data.learning_rate", false),
                "did you mean schedule.learning_rate?");
    assert_says(settings_table_lookup(&run_table, &row, "optimizer.lr", false),
                "did you mean schedule.learning_rate?");
    assert_says(settings_table_lookup(&run_table, &row, "optimizer.beta3", false),
                "did you mean optimizer.beta1?");
    assert_says(settings_table_lookup(&run_table, &row, "\033[2J", false), "\\x1b[2J");
    assert_says(settings_table_lookup(&run_table, &row, "", false), "there is no setting");
}

static void later_sources_win_and_are_remembered(void **state)
{
    struct run_config *c = *state;
    assert_int_equal(origin(c, "steps"), ORIGIN_BUILT_IN);
    assert_ok(words(c, "nanogpt-shakespeare", NULL));
    assert_value(c, "steps", "5000");
    assert_int_equal(origin(c, "steps"), ORIGIN_PRESET);
    assert_ok(read_text(c, "training:\n  steps: 70\nlearning_rate: 2e-4\n"));
    assert_value(c, "steps", "70");
    assert_int_equal(origin(c, "steps"), ORIGIN_FILE);
    assert_ok(words(c, "schedule.learning_rate=3e-4", "steps=80"));
    assert_value(c, "steps", "80");
    assert_value(c, "learning_rate", "0.0003");
    assert_int_equal(origin(c, "learning_rate"), ORIGIN_COMMAND_LINE);
    assert_int_equal(origin(c, "n_layer"), ORIGIN_PRESET);
    assert_string_equal(c->name, "nanogpt-shakespeare");
}

static void json_is_read_as_yaml_is(void **state)
{
    struct run_config *c = *state;
    assert_ok(read_text(c, "{\"training\": {\"steps\": 12, \"seed\": 7},\n"
                           " \"data\": [\"a.txt\", \"b,c.txt\"], \"keep_best\": false,\n"
                           " \"schedule\": {\"learning_rate\": 1e-3}, \"label\": null}"));
    assert_value(c, "steps", "12");
    assert_value(c, "data.data", "a.txt,b\\,c.txt");
    assert_value(c, "keep_best", "off");
    assert_value(c, "learning_rate", "0.001");
    assert_int_equal(origin(c, "label"), ORIGIN_BUILT_IN);
    assert_ok(read_text(c, "data:\n"));
    assert_ok(read_text(c, "# nothing\n"));
}

static void bad_files_change_nothing(void **state)
{
    struct run_config *c = *state;
    static const char *const cases[][2] = {
        {"training:\n  stepps: 3\n", "my.yaml line 2: there is no setting training.stepps; did "
                                     "you mean training.steps?"},
        {"steps: 5\ntraining:\n  seed: -1\n", "my.yaml line 3: seed must be a whole"},
        {"steps: 5\nsteps: 6\n", "my.yaml line 2: training.steps is given twice"},
        {"steps: 5\ntraining:\n  steps: 6\n", "line 3: training.steps is given twice"},
        {"steps: 5\ntrainig:\n  steps: 6\n", "line 3: there is no section trainig; did you mean "
                                             "training?"},
        {"steps: 5\nlearning_rate: nan\n",
         "line 2: learning_rate must be auto or 0 to 1000, not nan"},
        {"steps: 5\noptimizer: {optimizer: sgd}\n", "must be adamw, adam, lamb or muon"},
        {"steps: 5\ntraining: {seed: {a: 1}}\n", "line 2: seed: expected one value, not a mapping"},
        {"training: 5\n", "line 1: training is a section: its settings stand under it"},
        {"steps: 5\nbeta1: 1\n", "beta1 must be 0 to 0.9999999, not 1"},
        {"steps: 5.5\n", "steps must be a whole number"},
        {"steps: 5\ngenerated_tokens: 281474976710657\n",
         "generated_tokens must be a whole number, 1 to 281474976710656, not 281474976710657"},
        {"steps\n", "expected settings as"},
        {"steps: 5\nlog_every: 0\n", "log_every must be a whole number, 1 to 1e9, not 0"},
        {"steps: 5\n\tx: 1\n", "my.yaml line 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_says(read_text(c, cases[i][0]), cases[i][1]);
        assert_value(c, "steps", "0");
        assert_int_equal(origin(c, "steps"), ORIGIN_BUILT_IN);
    }
    assert_says(words(c, "steps=5", "seed=x"), ", not x");
    assert_value(c, "steps", "0");
    assert_says(words(c, "steps=5", "finetun"), "did you mean finetune?");
    assert_value(c, "steps", "0");
    assert_says(words(c, "no/such/file.yaml", NULL),
                "there is no file or preset no/such/file.yaml; `:help presets` lists them");
}

static void data_has_sources_with_weights(void **state)
{
    struct run_config *c = *state;
    static const char expected[] = "books/:0.7:..0.8,stories\\,2.txt:0.3,easy.txt:1.0:0.8..";
    assert_ok(read_text(c, "data:\n"
                           "  - {path: books/, weight: 0.7, until: 0.8}\n"
                           "  - path: stories,2.txt\n"
                           "    weight: 0.3\n"
                           "    until: null\n"
                           "  - {path: easy.txt, weight: 1.0, from: 0.8}\n"));
    assert_value(c, "data.data", expected);
    assert_ok(read_text(c, "{\"data\": {\"dataset\": [{\"path\": \"a:1\"}, \"b\"]}}"));
    assert_value(c, "data.data", "a:1::..,b");
    assert_ok(words(c, "data=a.txt:0.7,b.txt:0.3", NULL));
    assert_value(c, "data.data", "a.txt:0.7,b.txt:0.3");
}

static void bad_sources_are_named(void **state)
{
    struct run_config *c = *state;
    static const char *const cases[][2] = {
        {"data:\n  - path: a\n    weigth: 1\n",
         "my.yaml line 3: there is no weigth in an item of the list; did you mean weight?"},
        {"data: [{path: a, colour: 1}]\n",
         "my.yaml line 1: there is no colour in an item of the list"},
        {"data:\n- path: a\n- path: b\n  weight: -1\n",
         "my.yaml line 4: weight must be 0 to 1000000000, not -1"},
        {"data:\n- {path: a, weight: .nan}\n", "my.yaml line 2: weight must be a number"},
        {"data:\n- {path: a, weight: nan}\n",
         "my.yaml line 2: weight must be 0 to 1000000000, not nan"},
        {"data:\n- {path: a, from: 1.5}\n", "my.yaml line 2: from must be 0 to 1 (a "
                                            "fraction of the run) or a whole step above 1"},
        {"data:\n- {path: a, until: later}\n", "my.yaml line 2: until must be a number"},
        {"data:\n- {weight: 1}\n", "my.yaml line 2: path is missing"},
        {"data:\n- {path: ''}\n", "my.yaml line 2: path is empty"},
        {"data:\n- {path: a, path: b}\n", "my.yaml line 2: path is given twice"},
        {"data:\n- {path: [a]}\n", "my.yaml line 2: path: expected one value"},
        {"data:\n- {path: a, weight: 1}\n- b\n", "my.yaml line 1: data: a has a weight and b has "
                                                 "none: give a weight to each source or to none"},
        {"data:\n  validation: [{path: a, weight: 1}]\n",
         "my.yaml line 2: expected single values in the list"},
        {"target_modules: [{path: a}]\n", "my.yaml line 1: expected single values in the list"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_says(read_text(c, cases[i][0]), cases[i][1]);
        assert_value(c, "data.data", "");
    }
    assert_says(words(c, "data=a:-1", NULL), "data: a:-1: weight must be 0 to 1000000000, not -1");
    assert_value(c, "data.data", "");
}

static void files_are_found(void **state)
{
    struct run_config *c = *state;
    char here[PATH_MAX];
    struct scratch s;
    assert_non_null(getcwd(here, sizeof here));
    scratch_open(&s);
    assert_int_equal(chdir(s.folder), 0);
    assert_says(words(c, "config", NULL), "there is no config.yaml, config.yml, config.json");
    scratch_write(&s, "config.json", "{\"steps\": 3}", 12);
    assert_ok(words(c, "config", NULL));
    assert_value(c, "steps", "3");
    scratch_write(&s, "config.yaml", "steps: 4\nwhat: 1\n", 17);
    assert_says(words(c, "config", NULL), "config.yaml line 2: there is no setting what");
    assert_value(c, "steps", "3");
    scratch_write(&s, "my run.v2.yaml", "steps: 5\n", 9);
    assert_ok(words(c, "./my run.v2.yaml", NULL));
    assert_string_equal(c->name, "my run.v2");
    assert_says(words(c, s.folder, NULL), "folder");
    assert_int_equal(chdir(here), 0);
    scratch_close(&s);
}

/* What is refused only once the settings stand together is said with its line too. */
static void what_does_not_go_together_names_its_lines(void **state)
{
    struct run_config *c = *state;
    static const char *const cases[][3] = {
        {"steps: 5\nsequence_length: 2000\n", NULL,
         "my.yaml line 2: sequence_length must be at most"},
        {"min_learning_rate: 0.5\n", "learning_rate=0.5", NULL},
        {"learning_rate: 0.1\nmin_learning_rate: 0.5\n", NULL,
         "my.yaml line 2 and my.yaml line 1: min_learning_rate must be at most "
         "learning_rate (0.1), not 0.5"},
        {"learning_rate: 0.1\n", "min_learning_rate=0.5",
         "min_learning_rate=0.5 and my.yaml line 1: min_learning_rate must be"},
        {"warmup_init: 3\n", NULL,
         "my.yaml line 1: warmup_init must be at most learning_rate (0.0003), not 3"},
        {"training:\n  global_batch_size: 6\n", "micro_batch_size=4",
         "my.yaml line 2 and micro_batch_size=4: global_batch_size must be a multiple"},
        {"global_batch_size: 6\nmicro_batch_size: 2\ngradient_accumulation: 2\n", NULL,
         "my.yaml line 2 and my.yaml line 3 and my.yaml line 1: micro_batch_size 2 x"},
        {"\ndropout: -0.5\n", NULL, "my.yaml line 2: dropout must be"},
        {"eval: perplexities\n", NULL, "my.yaml line 1: there is no evaluation perplexities"},
        {"lora: {rank: 4,\n target_modules: c_atn}\n", NULL,
         "my.yaml line 2: target_modules has c_atn"},
        {"recompute: 3-99\n", NULL, "my.yaml line 1: recompute is 3-99, the model has layers"},
        {"loss_scaling: 1e-9\n", NULL, "my.yaml line 1: loss_scaling must be 0 or"},
        {"devices: 2\n", NULL,
         "my.yaml line 1: replicas must be at most gradient_blocks (1), not 2: with "
         "gradient_blocks=2 the results are the same for 1 to 2 replicas"},
        {"half_partials: on\n", NULL,
         "my.yaml line 1: half_partials is on, but gradient_blocks is 1, and a single block is not "
         "added to others: gradient_blocks=2 or more"},
        {"matmul_precision: bf16\nsequence_length: 45\n", NULL,
         "my.yaml line 2 and my.yaml line 1: sequence_length must be a multiple of 32 for "
         "matmul_precision=bfloat16, not 45; try 32"},
        {"matmul_precision: medium\nsequence_length: 64\nserialized_seq_len: 100\n", NULL,
         "my.yaml line 3 and my.yaml line 1: serialized_seq_len must be a multiple of 32 "
         "for matmul_precision=bfloat16, not 100; try 96"},
        {"matmul_precision: bfloat16\nmatrices: openblas\n", NULL,
         "my.yaml line 2 and my.yaml line 1: OpenBLAS multiplies in float32: matrices=auto, or "
         "matmul_precision=float32"},
        {"matmul_precision: bfloat16\ntensor_parallel: 2\n", NULL,
         "my.yaml line 2 and my.yaml line 1: sums in bfloat16's order are not divided among "
         "processes: tensor_parallel=1, or matmul_precision=float32"},
        {"rts_activations: on\nrecompute: all\n", NULL,
         "my.yaml line 1: rts_activations is on, but tensor_parallel is 1, and one process keeps "
         "all: tensor_parallel=2 or more, or rts_activations=off"},
        {"tensor_parallel: 2\nrts_activations: on\n", NULL,
         "my.yaml line 2: rts_activations is on, but recompute is none, and the inputs of "
         "recomputed layers alone are divided: recompute=all, or rts_activations=off"},
        {"memory: 5\n", NULL,
         "my.yaml line 1: memory is 5 GB, but phased is off, and all is in memory: phased=on, or "
         "memory=0"},
        {"memory: 5\nphased: on\n", "phased=off", NULL},
        {"alpha: 8\n", NULL,
         "my.yaml line 1: alpha is given, but rank is 0, which trains no adapter: rank=8"},
        {"rank: 4\nlora_dropout: 0.2\n", "rank=0", NULL},
        {"rank: 4\nlora_dropout: 0.2\n", NULL, NULL},
        {"embedding_serialization_factor: 65536\n", NULL,
         "my.yaml line 1: embedding_serialization_factor must be at most"},
    };
    struct config shape;
    config_init(&shape);
    assert_ok(config_check(&shape));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_config_release(c);
        assert_ok(run_config_init(c));
        assert_ok(read_text(c, cases[i][0]));
        if (cases[i][1] != NULL)
            assert_ok(words(c, cases[i][1], NULL));
        const int rc = run_config_resolve(c, &shape);
        if (cases[i][2] == NULL) {
            assert_ok(rc);
            continue;
        }
        assert_says(rc, cases[i][2]);
        if (strncmp(err_text(), cases[i][2], strlen(cases[i][2])) != 0)
            fail_msg("\"%s\" does not begin with \"%s\"", err_text(), cases[i][2]);
    }
    /* What was just typed needs no place. */
    run_config_release(c);
    assert_ok(run_config_init(c));
    assert_ok(words(c, "warmup_init=3", NULL));
    assert_says(run_config_resolve(c, &shape),
                "warmup_init must be at most learning_rate (0.0003), not 3");
    assert_int_equal(strncmp(err_text(), "warmup_init must", 16), 0);
}

/* What a checkpoint keeps gives the same configuration back. */
static void what_is_written_reads_back(void **state)
{
    struct run_config *c = *state, again;
    struct config shape;
    struct buf text = {0}, twice = {0};
    config_init(&shape);
    assert_ok(words(c, "graphcore-gpt2-small", "micro_batch_size=4"));
    assert_ok(words(c, "sample_prompt=a \"quoted\" \\ text\n\ttwo", "data=~x, # y"));
    assert_ok(run_config_resolve(c, &shape));
    assert_ok(run_config_write(c, &text));
    assert_ok(run_config_init(&again));
    assert_ok(run_config_read(&again, ORIGIN_FILE, "text", text.data, text.n));
    assert_string_equal(again.logging.sample_prompt, "a \"quoted\" \\ text\n\ttwo");
    assert_string_equal(again.data.data, "~x, # y");
    assert_int_equal(again.training.global_batch_size, 8192);
    /* In other micro-batches, the same step. */
    assert_ok(words(&again, "micro_batch_size=2", NULL));
    assert_ok(run_config_resolve(&again, &shape));
    assert_int_equal(again.training.gradient_accumulation, 4096);
    assert_ok(words(&again, "micro_batch_size=4", NULL));
    assert_ok(run_config_write(&again, &twice));
    assert_string_equal(buf_text(&text), buf_text(&twice));
    buf_release(&text);
    buf_release(&twice);
    run_config_release(&again);
}

/* A checkpoint is JSON and is read as YAML: what these cannot say is refused or escaped. */
static void texts_are_unicode(void **state)
{
    struct run_config *c = *state, again;
    struct config shape;
    struct buf text = {0};
    const char odd[] = "a\xc2\x92, \u2028c\xc2\x85, \ufeff, \U0001f600";
    config_init(&shape);
    assert_says(words(c, "data=caf\xe9.txt", NULL),
                "data.data has the byte e9, which is not UTF-8: no checkpoint could store it");
    assert_string_equal(c->data.data, "");
    assert_ok(words(c, "data=x", NULL));
    assert_ok(run_config_set(c, ORIGIN_COMMAND_LINE, "label", odd));
    assert_ok(run_config_resolve(c, &shape));
    assert_ok(run_config_write(c, &text));
    assert_ok(run_config_init(&again));
    assert_ok(run_config_read(&again, ORIGIN_FILE, "text", text.data, text.n));
    assert_string_equal(again.logging.label, odd);
    buf_release(&text);
    run_config_release(&again);
}

static void batches_must_agree(void **state)
{
    (void)state;
    static const struct {
        const char *words[4];
        int global, accumulation;
        const char *says;
    } cases[] = {
        {{"micro_batch_size=3"}, 3, 1, NULL},
        {{"micro_batch_size=3", "gradient_accumulation=5"}, 15, 5, NULL},
        {{"micro_batch_size=4", "global_batch_size=64"}, 64, 16, NULL},
        {{"micro_batch_size=4", "global_batch_size=64", "gradient_accumulation=16"}, 64, 16, NULL},
        {{"micro_batch_size=6", "global_batch_size=64"},
         0,
         0,
         "global_batch_size must be a multiple of micro_batch_size (6), not 64"},
        {{"micro_batch_size=4", "global_batch_size=64", "gradient_accumulation=3"},
         0,
         0,
         "micro_batch_size 4 x gradient_accumulation 3 is 12 windows per step, but "
         "global_batch_size is 64"},
        {{"devices=8"},
         0,
         0,
         "replicas must be at most gradient_blocks (1), not 8: with gradient_blocks=8 "
         "global_batch_size=8 the results"},
        {{"replicas=2", "micro_batch_size=4"},
         0,
         0,
         "with gradient_blocks=2 micro_batch_size=2 gradient_accumulation=2 the results"},
        {{"replicas=2"}, 0, 0, "not 2: with gradient_blocks=2 the results"},
        {{"replicas=2", "micro_batch_size=3"},
         0,
         0,
         "not 2: with gradient_blocks=2 global_batch_size=6 the results"},
        {{"gradient_blocks=4"}, 4, 4, NULL},
        {{"gradient_blocks=2"}, 4, 2, NULL},
        {{"gradient_blocks=6", "global_batch_size=18"}, 18, 6, NULL},
        {{"global_batch_size=6"}, 6, 2, NULL},
        {{"gradient_blocks=6", "global_batch_size=16"},
         0,
         0,
         "so many blocks: global_batch_size=18, or gradient_blocks=8"},
        {{"gradient_blocks=2", "micro_batch_size=2", "gradient_accumulation=2"}, 4, 2, NULL},
        {{"gradient_blocks=3", "micro_batch_size=6", "gradient_accumulation=2"},
         0,
         0,
         "blocks: micro_batch_size=4 gradient_accumulation=3, or gradient_blocks=2"},
        {{"gradient_blocks=3", "micro_batch_size=4"},
         0,
         0,
         "so many blocks: global_batch_size=12, or gradient_blocks=1"},
        {{"sequence_length=2000"},
         0,
         0,
         "sequence_length must be at most 1024 (the model's context), not 2000"},
        {{"embedding_serialization_factor=65000"},
         0,
         0,
         "must be at most 50257 (the vocabulary), not 65000"},
        {{"learning_rate=1e-5", "min_learning_rate=3e-5"},
         0,
         0,
         "min_learning_rate must be at most learning_rate (1e-5), not 3e-5"},
    };
    struct config shape;
    config_init(&shape);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct run_config c;
        assert_ok(run_config_init(&c));
        int n = 0;
        while (n < 4 && cases[i].words[n] != NULL)
            n++;
        assert_ok(run_config_words(&c, (char *const *)cases[i].words, n));
        int rc = run_config_resolve(&c, &shape);
        if (cases[i].says != NULL) {
            assert_says(rc, cases[i].says);
        } else {
            assert_ok(rc);
            assert_int_equal(c.training.global_batch_size, cases[i].global);
            assert_int_equal(c.training.gradient_accumulation, cases[i].accumulation);
            assert_int_equal(c.training.sequence_length, 1024);
            assert_true(c.training.resid_pdrop == shape.resid_pdrop);
            assert_string_equal(c.checkpoint.folder, "runs/run");
        }
        run_config_release(&c);
    }
}

/* A word that contradicts the preset's batch wins over it. */
static void the_later_batch_decides(void **state)
{
    struct run_config *c = *state;
    struct config shape;
    config_init(&shape);
    assert_ok(words(c, "languini-6h", "gradient_accumulation=2"));
    assert_ok(run_config_resolve(c, &shape));
    assert_int_equal(c->training.global_batch_size, 16);
    assert_ok(run_config_resolve(c, &shape));
    assert_int_equal(c->training.global_batch_size, 16);
    assert_ok(words(c, "languini-6h", "micro_batch_size=4"));
    assert_ok(words(c, "gradient_accumulation=0", NULL));
    assert_ok(run_config_resolve(c, &shape));
    assert_int_equal(c->training.gradient_accumulation, 32);
}

/* A preset's blocks make room for another batch; those that were asked for do not. */
static void the_presets_blocks_divide_any_batch(void **state)
{
    struct run_config *c = *state;
    struct config shape;
    config_init(&shape);
    assert_ok(words(c, "habana-gpt2-small", "replicas=8"));
    assert_ok(run_config_resolve(c, &shape));
    assert_int_equal(c->training.gradient_blocks, 8);
    assert_ok(words(c, "replicas=1", "gradient_accumulation=12"));
    assert_ok(run_config_resolve(c, &shape));
    assert_int_equal(c->training.gradient_blocks, 6);
    assert_ok(words(c, "gradient_blocks=8", NULL));
    assert_int_equal(run_config_resolve(c, &shape), ERR_RANGE);
}

/* Of sources of one kind, too, and of a preset behind a file. */
static void the_later_source_decides(void **state)
{
    struct run_config *c = *state;
    struct config shape;
    struct scratch s;
    config_init(&shape);
    scratch_open(&s);
    const char *one = scratch_path(&s, "one.yaml"), *two = scratch_path(&s, "two.yaml");
    scratch_write(&s, "one.yaml", "global_batch_size: 8\nsteps: 3\n", 30);
    scratch_write(&s, "two.yaml", "gradient_accumulation: 3\n", 25);
    assert_ok(words(c, "micro_batch_size=4", one));
    assert_ok(words(c, two, NULL));
    assert_ok(run_config_resolve(c, &shape));
    assert_int_equal(c->training.global_batch_size, 12);
    assert_ok(words(c, "habana-gpt2-small", NULL));
    assert_ok(run_config_resolve(c, &shape));
    assert_int_equal(c->training.gradient_accumulation, 64);
    assert_int_equal(c->training.steps, 100000);
    assert_ok(words(c, one, "finetune"));
    assert_ok(run_config_resolve(c, &shape));
    assert_true(c->training.epochs == SETTING_AUTO && c->training.steps == 0);
    scratch_close(&s);
}

/* The built-in least rate makes room for any rate, one that was given does not. */
static void the_least_rate_follows(void **state)
{
    struct run_config *c = *state;
    struct config shape;
    config_init(&shape);
    assert_ok(words(c, "learning_rate=1e-5", NULL));
    assert_ok(run_config_resolve(c, &shape));
    assert_true(fabs(c->schedule.min_learning_rate / 1e-6 - 1) < 1e-12);
    assert_ok(words(c, "min_learning_rate=2e-5", NULL));
    assert_says(run_config_resolve(c, &shape), "min_learning_rate must be at most learning_rate");
    assert_ok(words(c, "learning_rate=3e-6", NULL));
    assert_ok(run_config_resolve(c, &shape));
    assert_true(fabs(c->schedule.min_learning_rate / 3e-7 - 1) < 1e-12);
}

static void dropout_has_one_name_for_all(void **state)
{
    struct run_config *c = *state;
    struct config shape;
    struct step_config step;
    config_init(&shape);
    assert_ok(words(c, "dropout=0.25", "attn_pdrop=0"));
    assert_ok(run_config_resolve(c, &shape));
    run_config_step(c, &shape, &step);
    assert_true(step.dropout.embd == 0.25f && step.dropout.attn == 0 &&
                step.dropout.resid == 0.25f);
    assert_ok(words(c, "attn_pdrop=-0.5", NULL));
    assert_says(run_config_resolve(c, &shape), "attn_pdrop must be -1 or 0 to 0.99, not -0.5");
    assert_ok(words(c, "attn_pdrop=-1", "dropout=-0.5"));
    assert_says(run_config_resolve(c, &shape), "dropout must be -1 or 0 to 0.99, not -0.5");
}

/* What is not said follows from the precision; what is said stays. */
static void scales_follow_the_precision(void **state)
{
    struct run_config *c = *state;
    struct config shape;
    config_init(&shape);
    enum { ON = 1, OFF = 2 };
    static const struct {
        const char *words[3];
        double scale;
        int scaling, moment;
    } cases[] = {
        {{"precision=float32"}, 1, OFF, MOMENT_F32},
        {{"precision=float16"}, 65536, ON, MOMENT_F16},
        {{"precision=float16", "auto_loss_scaling=off"}, 1024, OFF, MOMENT_F16},
        {{"precision=float16", "loss_scaling=50000", "first_order_momentum=float32"},
         50000,
         ON,
         MOMENT_F32},
        {{"precision=float32", "first_order_momentum=float16"}, 1, OFF, MOMENT_F16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run_config fresh;
        assert_ok(run_config_copy(&fresh, c));
        for (int w = 0; w < 3 && cases[i].words[w] != NULL; w++)
            assert_ok(run_config_words(&fresh, (char *const *)&cases[i].words[w], 1));
        assert_ok(words(&fresh, "seed=77", NULL));
        assert_ok(run_config_resolve(&fresh, &shape));
        assert_true(fresh.training.loss_scaling == cases[i].scale);
        assert_int_equal(fresh.training.auto_loss_scaling, cases[i].scaling);
        assert_int_equal(fresh.optimizer.first_order_momentum, cases[i].moment);
        assert_int_equal(fresh.optimizer.seed, 77);
        run_config_release(&fresh);
    }
}

static void lengths_follow(void **state)
{
    struct run_config *c = *state;
    struct config shape;
    struct step_config step;
    config_init(&shape);
    assert_ok(words(c, "micro_batch_size=4", "gradient_accumulation=2"));
    assert_ok(words(c, "sequence_length=512", "embedding_serialization_factor=4"));
    assert_ok(words(c, "attention_serialisation=3", "attn_pdrop=0"));
    assert_ok(run_config_resolve(c, &shape));
    run_config_step(c, &shape, &step);
    assert_int_equal(step.attention_pieces, 3);
    assert_int_equal(step.batch, 4);
    assert_int_equal(step.length, 512);
    assert_int_equal(step.loss_columns, 12565);
    assert_int_equal(run_config_steps(c, 17), 3); /* one epoch, the last step short */
    assert_ok(words(c, "epochs=2.5", "steps=100"));
    assert_int_equal(run_config_steps(c, 17), 6);
    assert_int_equal(run_config_steps(c, 8000), 100);
    /* Hours of another machine are tokens. */
    assert_ok(words(c, "budget_hours=2", "tokens_per_second=1000"));
    assert_ok(words(c, "epochs=0", "steps=0"));
    assert_int_equal(run_config_steps(c, 17), 2 * 3600 * 1000 / 4096);
    assert_ok(words(c, "tokens_per_second=0", NULL));
    assert_int_equal(run_config_steps(c, 17), 0);
    /* More than can be counted. */
    assert_ok(words(c, "budget_hours=1e6", "tokens_per_second=1e12"));
    assert_int_equal(run_config_steps(c, 17), ((int64_t)1 << 62) / 4096);
    assert_ok(words(c, "budget_hours=0", "epochs=1e6"));
    assert_int_equal(run_config_steps(c, (uint64_t)1 << 48), ((int64_t)1 << 62) / 4096);
}

/* What a pause goes on with is resolved anew (run_change). */
static void assert_stays_resolved(struct run_config *c, const struct config *shape)
{
    const struct setting *row;
    struct run_config once;
    assert_ok(run_config_copy(&once, c));
    assert_ok(run_config_resolve(c, shape));
    for (int i = 0; (row = settings_table_at(&run_table, i)) != NULL; i++) {
        struct buf was = {0}, is = {0};
        if (row->type == SETTING_SHORTHAND)
            continue;
        assert_ok(setting_format(row, &once, &was));
        assert_ok(setting_format(row, c, &is));
        if (strcmp(buf_text(&was), buf_text(&is)) != 0)
            fail_msg("%s: %s %s becomes %s", once.name == NULL ? "no preset" : once.name, row->name,
                     buf_text(&was), buf_text(&is));
        buf_release(&was);
        buf_release(&is);
    }
    run_config_release(&once);
}

static void what_is_resolved_stays(void **state)
{
    static const char *const given[][2] = {
        {"gradient_blocks=2", NULL},
        {"gradient_blocks=4", NULL},
        {"gradient_blocks=4", "replicas=2"},
        {"gradient_blocks=3", "global_batch_size=6"},
        {"gradient_blocks=2", "gradient_accumulation=2"},
        {"gradient_blocks=2", "phased=on"},
        {"micro_batch_size=3", NULL},
        {"micro_batch_size=3", "gradient_accumulation=2"},
        {"learning_rate=auto", "precision=float16"},
        {"learning_rate=1e-5", NULL},
    };
    struct config shape;
    config_init(&shape);
    (void)state;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        struct run_config c;
        assert_ok(run_config_init(&c));
        assert_ok(words(&c, given[i][0], given[i][1]));
        assert_ok(run_config_resolve(&c, &shape));
        assert_stays_resolved(&c, &shape);
        run_config_release(&c);
    }
}

/* Every preset reads, is described, has a legal model and resolves, wherever its vocabulary is. */
static void presets_are_legal(void **state)
{
    (void)state;
    int n = 0;
    for (const struct run_preset *p = run_presets; p->name != NULL; p++, n++) {
        struct run_config c;
        struct config shape, loaded;
        struct buf plan = {0}, shown = {0};
        config_init(&loaded);
        loaded.n_ctx = 128;
        assert_ok(config_check(&loaded));
        assert_true(p->text[0] == '#');
        assert_ok(run_config_init(&c));
        if (words(&c, p->name, "tokenizer=") != 0 || run_config_shape(&c, &loaded, &shape) != 0 ||
            run_config_resolve(&c, &shape) != 0)
            fail_msg("preset %s: %s", p->name, err_text());
        assert_string_equal(c.logging.label, p->name);
        assert_ok(run_config_show(&c, 0, &shown));
        assert_ok(run_config_plan(&c, &shape, DTYPE_F16, 0, 0, &plan));
        assert_non_null(strstr(buf_text(&plan), "total"));
        assert_stays_resolved(&c, &shape);
        buf_release(&plan);
        buf_release(&shown);
        run_config_release(&c);
    }
    assert_true(n >= 18);
}

/* A row is as wide as the terminal at most, or has nothing left to take away. */
static void rows_fit(const struct run_config *c, int width)
{
    struct buf shown = {0};
    assert_ok(run_config_show(c, width, &shown));
    for (const char *row = buf_text(&shown), *end; *row != '\0'; row = end + 1) {
        end = strchr(row, '\n');
        const char *spaces = memmem(row + 2, (size_t)(end - row - 2), "  ", 2);
        if (end - row > width && spaces != NULL)
            fail_msg("at %d columns: %.*s", width, (int)(end - row), row);
    }
    buf_release(&shown);
}

/* At 40 columns a name longer than its column has a line of its own, so that all values and all
 * origins stand below each other. */
static void narrow_columns_align(void **state)
{
    const struct run_config *c = *state;
    struct buf shown = {0};
    int broken = 0, aligned = 0;
    assert_ok(run_config_show(c, 39, &shown));
    for (const char *row = buf_text(&shown), *end; *row != '\0'; row = end + 1) {
        end = strchr(row, '\n');
        const char *origin = strstr(row, "built in");
        if (origin == NULL || origin > end)
            origin = strstr(row, "follows");
        if (origin != NULL && origin < end && origin - row != 31)
            fail_msg("origin at column %d: %.*s", (int)(origin - row), (int)(end - row), row);
        aligned += origin != NULL && origin < end;
        broken += strncmp(row, "                      ", 22) == 0 && row[22] != ' ';
    }
    assert_int_equal(aligned, run_table.n);
    assert_int_equal(broken, 6);
    assert_non_null(strstr(buf_text(&shown), "\n  gradient_accumulation\n          "));
    buf_release(&shown);
}

static void what_is_shown_fits(void **state)
{
    struct run_config *c = *state;
    struct buf shown = {0};
    for (int width = 20; width < 100; width++)
        rows_fit(c, width);
    assert_ok(words(c, "graphcore-gpt2-large-1024", NULL));
    for (int width = 20; width < 100; width++)
        rows_fit(c, width);
    assert_ok(run_config_show(c, 43, &shown));
    assert_non_null(strstr(buf_text(&shown), "\n  sequence_length         1024     preset\n"));
    shown.n = 0;
    assert_ok(run_config_show(c, 0, &shown));
    assert_non_null(strstr(
        buf_text(&shown), "\n  sequence_length                 1024                     preset\n"));
    buf_release(&shown);
}

static void published_sizes_are_those_published(void **state)
{
    (void)state;
    static const struct {
        const char *preset;
        int layers, heads, size, width, context; /* size: of a head */
        long long tokens;                        /* of a step */
    } cases[] = {
        {"graphcore-gpt2-small", 12, 12, 64, 768, 1024, 8192 * 1024},
        {"graphcore-gpt2-medium", 24, 16, 64, 1024, 1024, 8192 * 1024},
        {"graphcore-gpt2-large-512", 36, 20, 64, 1280, 512, 8192 * 512},
        {"graphcore-gpt2-large-1024", 36, 20, 64, 1280, 1024, 8192 * 1024},
        {"graphcore-gpt2-xl", 48, 25, 64, 1600, 1024, 8192 * 1024},
        {"popxl-gpt3-2.7b", 32, 32, 80, 2560, 2048, 512 * 2048},
        {"habana-gpt2-small", 12, 12, 64, 768, 1024, 524288},
        {"languini-mini", 4, 8, 32, 512, 512, 16 * 512},
        {"languini-tiny", 4, 12, 64, 768, 512, 16 * 512},
        {"languini-small", 12, 12, 64, 768, 512, 16 * 512},
        {"languini-medium", 24, 16, 64, 1024, 512, 16 * 512},
        {"languini-large", 24, 16, 96, 1536, 512, 16 * 512},
        {"languini-xl", 24, 24, 128, 2048, 512, 16 * 512},
        {"languini-6h", 12, 12, 64, 768, 512, 128 * 512},
        {"languini-96h", 24, 16, 64, 1024, 512, 256 * 512},
        {"nanogpt-shakespeare", 6, 6, 64, 384, 256, 64 * 256},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct run_config c;
        struct config shape;
        assert_ok(run_config_init(&c));
        assert_ok(words(&c, cases[i].preset, NULL));
        assert_ok(run_config_shape(&c, NULL, &shape));
        assert_ok(run_config_resolve(&c, &shape));
        assert_int_equal(shape.n_layer, cases[i].layers);
        assert_int_equal(shape.n_head, cases[i].heads);
        assert_int_equal(config_head_size(&shape), cases[i].size);
        assert_int_equal(shape.n_embd, cases[i].width);
        assert_int_equal(shape.n_ctx, cases[i].context);
        assert_true((long long)c.training.global_batch_size * c.training.sequence_length ==
                    cases[i].tokens);
        run_config_release(&c);
    }
    /* The hours of the five budgets are those of their steps. */
    static const char *const budgets[] = {"6", "12", "24", "48", "96"};
    for (int i = 0; i < 5; i++) {
        struct run_config c;
        char name[32];
        snprintf(name, sizeof name, "languini-%sh", budgets[i]);
        assert_ok(run_config_init(&c));
        assert_ok(words(&c, name, NULL));
        double tokens = (double)c.training.steps * c.training.global_batch_size * 512;
        double hours = tokens / c.logging.tokens_per_second / 3600, told = atof(budgets[i]);
        assert_true(hours > told * 0.999 && hours < told * 1.001);
        run_config_release(&c);
    }
}

static void sources_are_named(void **state)
{
    struct run_config *c = *state;
    struct config shape;
    struct buf path = {0};
    assert_ok(run_config_source(c, &path));
    assert_string_equal(buf_text(&path), "");
    assert_says(run_config_shape(c, NULL, &shape), "there is no model to train");
    assert_ok(words(c, "n_layer=3", NULL));
    assert_says(run_config_source(c, &path),
                "model.n_layer is for a new model (init=random), not for one that has weights");
    assert_ok(words(c, "init=random:gpt2-test", "tie_word_embeddings=off"));
    assert_ok(run_config_source(c, &path));
    assert_string_equal(buf_text(&path), "random:gpt2-test,n_layer=3,tie_word_embeddings=off");
    assert_ok(run_config_shape(c, NULL, &shape));
    assert_int_equal(shape.n_layer, 3);
    assert_false(shape.tie_word_embeddings);
    assert_ok(words(c, "n_head=7", NULL));
    assert_says(run_config_shape(c, NULL, &shape), "n_head 7 does not divide n_embd 64");
    buf_release(&path);
}

static void a_preset_says_what_files_it_needs(void **state)
{
    struct run_config *c = *state;
    assert_ok(words(c, "bundled", NULL));
    assert_says(run_config_check_preset_files(c),
                "vocabulary not found: the preset bundled needs texts/ and vocabulary/, both made "
                "by `train/bundled/corpus CORPUS WORK` in prattle's source");
    assert_ok(words(c, "tokenizer=none", NULL));
    assert_says(run_config_check_preset_files(c), "texts/books-train.jsonl not found: the preset");
    assert_ok(words(c, "data=none", NULL));
    assert_says(run_config_check_preset_files(c), "texts/stories-validation.jsonl not found: the");
    /* What the user names is looked for where it is opened. */
    assert_ok(words(c, "validation=none", NULL));
    assert_ok(run_config_check_preset_files(c));
    assert_ok(words(c, "finetune", NULL));
    assert_ok(run_config_check_preset_files(c));
}

/* A preset's recipe for another model: its sizes make way, those given with the model do not. */
static void a_model_named_later_brings_its_sizes(void **state)
{
    struct run_config *c = *state;
    struct buf path = {0};
    assert_ok(words(c, "bundled", "tokenizer=here"));
    const int width = c->model.n_embd;
    const int64_t steps = c->training.steps;
    assert_true(width > 0 && steps > 0);
    assert_ok(words(c, "init=random:gpt2-test", "n_layer=3"));
    assert_int_equal(c->model.n_embd, width); /* a random model keeps those of the preset */
    assert_ok(words(c, "init=random", NULL));
    assert_ok(words(c, "init=some/model", NULL));
    assert_ok(run_config_source(c, &path));
    assert_string_equal(buf_text(&path), "some/model");
    assert_int_equal(c->model.n_embd, 0);
    assert_string_equal(c->model.tokenizer, "");
    assert_int_equal(c->training.steps, steps);
    assert_ok(words(c, "n_layer=2", NULL));
    assert_says(run_config_source(c, &path), "model.n_layer is for a new model (init=random)");
    assert_ok(words(c, "bundled", "init=some/model"));
    assert_ok(run_config_source(c, &path));
    assert_ok(words(c, "init=random", NULL));
    assert_int_equal(c->model.n_layer, 0); /* what is forgotten does not come back */
    buf_release(&path);
}

static void plans_add_up(void **state)
{
    struct run_config *c = *state;
    struct config shape;
    struct buf plan = {0};
    assert_ok(words(c, "init=random:gpt2", "micro_batch_size=4"));
    assert_ok(words(c, "sequence_length=256", "global_batch_size=8"));
    assert_ok(run_config_shape(c, NULL, &shape));
    assert_ok(run_config_resolve(c, &shape));
    assert_ok(run_config_plan(c, &shape, DTYPE_F16, 1000000, 3906, &plan));
    const char *text = buf_text(&plan);
    assert_non_null(strstr(text, "124439808 parameters"));
    assert_non_null(strstr(text, "474.7 MiB  float32\n"));
    assert_non_null(strstr(text, "8 windows of 256, 2048 tokens, as 2 micro-batches of 4"));
    assert_non_null(strstr(text, "an epoch: 1000000 tokens, 3906 windows, 488.2 steps"));
    assert_non_null(strstr(text, "total: 489 steps, 1001472 tokens, 1 epoch\n"));
    assert_non_null(strstr(text, "peak learning rate: 0.0003\n"));
    assert_non_null(strstr(text, "memory, 16 bytes a parameter"));
    plan.n = 0;
    assert_ok(words(c, "precision=float16", "first_order_momentum=auto"));
    assert_ok(words(c, "learning_rate=5e-5", "min_learning_rate=0"));
    assert_ok(run_config_resolve(c, &shape));
    assert_ok(run_config_plan(c, &shape, DTYPE_F16, 1000000, 3906, &plan));
    text = buf_text(&plan);
    assert_non_null(strstr(text, "peak learning rate: 5e-5\n"));
    assert_non_null(strstr(text, "memory, 10 bytes a parameter"));
    assert_non_null(strstr(text, "  parameters          237.4 MiB  float16\n"));
    assert_non_null(strstr(text, "  second moment       474.7 MiB  float32\n"));
    assert_non_null(strstr(text, "  model for prompts   239.2 MiB  float16\n"));
    plan.n = 0;
    assert_ok(run_config_plan(c, &shape, DTYPE_Q8, 1000000, 3906, &plan));
    assert_non_null(strstr(buf_text(&plan), "  model for prompts   128.7 MiB  q8\n"));
    /* Of the 12 layers' matrices of 7077888 elements each only the first moment; a tensor of
     * 4 x 768^2 elements and twice as many of scratch, squares of 768 and more by thread. */
    plan.n = 0;
    assert_ok(words(c, "precision=float32", "first_order_momentum=auto"));
    assert_ok(words(c, "optimizer=muon", NULL));
    assert_ok(run_config_resolve(c, &shape));
    assert_ok(run_config_plan(c, &shape, DTYPE_F16, 1000000, 3906, &plan));
    text = buf_text(&plan);
    assert_non_null(strstr(text, "memory, 16 bytes a parameter, 12 in the matrices of layers\n"));
    assert_non_null(strstr(text, "  first moment        474.7 MiB  float32\n"));
    assert_non_null(
        strstr(text, "  second moment       150.7 MiB  float32, but for the matrices of layers\n"));
    struct optimizer_needs needs = {.tensor = 4 * 768 * 768, .part = 4 * 768 * 768, .side = 768};
    const char *at = strstr(text, "  orthogonalization");
    assert_non_null(at);
    assert_true(strtod(at + 20, NULL) > 3 * 9);
    assert_true(fabs(strtod(at + 20, NULL) - (double)optimizer_scratch_bytes(&needs) / (1 << 20)) <
                0.051);
    buf_release(&plan);
}

/* What Muon does not do is refused, by name. */
static void muon_is_refused(void **state)
{
    struct run_config *c = *state;
    static const char *const cases[][3] = {
        {"rank=4", "rank=0", "muon trains whole matrices, not a LoRA adapter"},
        {"phased=on", "phased=off", "muon has its momentum in memory, not on disk"},
        {"zero=1", "zero=0", "muon's matrices are not divided among replicas"},
        {"zero=2", "zero=0", "muon's matrices are not divided among replicas"},
        {"tensor_parallel=2", "tensor_parallel=1", "muon's matrices are not divided among proc"},
        {"lr=auto", "lr=1e-3", "learning_rate is auto, which chooses for adamw and adam"},
    };
    struct config shape;
    assert_ok(words(c, "init=random:gpt2", "optimizer=muon"));
    assert_ok(run_config_shape(c, NULL, &shape));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(words(c, cases[i][0], NULL));
        assert_says(run_config_resolve(c, &shape), cases[i][2]);
        assert_ok(words(c, cases[i][1], NULL));
    }
    assert_ok(words(c, "replicas=2", "gradient_accumulation=2"));
    assert_ok(words(c, "gradient_blocks=2", "momentum=0.9"));
    assert_ok(run_config_resolve(c, &shape));
    assert_true(c->optimizer.momentum == 0.9f);
    assert_says(words(c, "momentum=1", NULL), "momentum must be 0 to 0.9999999, not 1");
}

/* learning_rate=auto and epochs=auto, for a model of this shape. */
static void auto_is(struct run_config *c, const char *random, uint64_t n_windows, double rate,
                    double epochs)
{
    struct config shape;
    assert_ok(words(c, "finetune", random));
    assert_ok(run_config_shape(c, NULL, &shape));
    assert_ok(run_config_resolve(c, &shape));
    assert_true(c->schedule.learning_rate == rate);
    assert_true(run_config_epochs(c, n_windows) == epochs);
    assert_int_equal(run_config_steps(c, n_windows), (n_windows * (uint64_t)epochs + 3) / 4);
}

static void auto_fits_the_model_and_the_data(void **state)
{
    struct run_config *c = *state;
    struct config shape;
    auto_is(c, "init=random:gpt2", 349, 1.7e-4, 3);
    auto_is(c, "init=random:gpt2,n_layer=3,n_head=6,n_embd=384,vocab_size=4096", 1676, 4.4e-4, 3);
    auto_is(c, "init=random:gpt2,n_layer=1,n_head=1,n_embd=8,vocab_size=300", 1, 3.8e-3, 3);
    auto_is(c, "init=random:gpt2,n_layer=1,n_head=1,n_embd=8,vocab_size=300", 4400, 3.8e-3, 2);
    auto_is(c, "init=random:gpt2,n_layer=1,n_head=1,n_embd=8,vocab_size=300", 1000000, 3.8e-3, 1);
    /* An adapter takes more, and no more than it bears. */
    static const struct {
        const char *init;
        double rate;
    } adapted[] = {{"init=random:gpt2", 2.8e-3},
                   {"init=random:gpt2,n_layer=3,n_head=6,n_embd=384,vocab_size=4096", 1.2e-2},
                   {"init=random:gpt2,n_layer=1,n_head=1,n_embd=8,vocab_size=300", 1.2e-2}};
    for (size_t i = 0; i < sizeof adapted / sizeof *adapted; i++) {
        struct run_config lora;
        assert_ok(run_config_init(&lora));
        assert_ok(words(&lora, "lora", adapted[i].init));
        assert_ok(run_config_shape(&lora, NULL, &shape));
        assert_ok(run_config_resolve(&lora, &shape));
        assert_true(lora.schedule.learning_rate == adapted[i].rate);
        run_config_release(&lora);
    }
    /* What is chosen is said, and a number given takes its place. */
    assert_ok(words(c, "lr=2e-5", "epochs=2"));
    assert_ok(run_config_shape(c, NULL, &shape));
    assert_ok(run_config_resolve(c, &shape));
    assert_true(c->schedule.learning_rate == 2e-5);
    assert_int_equal(run_config_steps(c, 100), 50);
    assert_ok(words(c, "lr=auto", "optimizer=lamb"));
    assert_int_equal(run_config_resolve(c, &shape), ERR_RANGE);
    assert_non_null(strstr(err_text(), "learning_rate is auto, which chooses for adamw and adam"));
    assert_int_equal(words(c, "grad_clip=auto", NULL), ERR_RANGE);
}

static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    for (uint64_t k = 1;; k++) {
        struct run_config c;
        mem_fail_at(k);
        int rc = run_config_init(&c);
        if (rc == 0 && (rc = words(&c, "finetune", "data=x.txt")) != 0)
            run_config_release(&c);
        mem_fail_at(0);
        if (rc == 0) {
            run_config_release(&c);
            assert_true(k > 20);
            return;
        }
        assert_int_equal(rc, ERR_NOMEM);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_are_sound),
        TEST(keys_are_found),
        TEST(later_sources_win_and_are_remembered),
        TEST(json_is_read_as_yaml_is),
        TEST(bad_files_change_nothing),
        TEST(data_has_sources_with_weights),
        TEST(bad_sources_are_named),
        TEST(files_are_found),
        TEST(what_does_not_go_together_names_its_lines),
        TEST(what_is_written_reads_back),
        TEST(texts_are_unicode),
        TEST(batches_must_agree),
        TEST(the_later_batch_decides),
        TEST(the_presets_blocks_divide_any_batch),
        TEST(the_later_source_decides),
        TEST(the_least_rate_follows),
        TEST(dropout_has_one_name_for_all),
        TEST(scales_follow_the_precision),
        TEST(lengths_follow),
        TEST(what_is_resolved_stays),
        TEST(presets_are_legal),
        TEST(narrow_columns_align),
        TEST(what_is_shown_fits),
        TEST(published_sizes_are_those_published),
        TEST(sources_are_named),
        TEST(a_preset_says_what_files_it_needs),
        TEST(a_model_named_later_brings_its_sizes),
        TEST(plans_add_up),
        TEST(auto_fits_the_model_and_the_data),
        TEST(muon_is_refused),
        TEST(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests_name("run_config", tests, NULL, NULL);
}
