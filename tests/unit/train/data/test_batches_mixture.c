/* Windows of several sources: each once before any comes again, whatever the phases, the batches
 * and where one begins. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include "model/base/rng.h"
#include "train/data/batches.h"
#include "train/data/token_writer.h"

static struct scratch scratch;

/* Ids say where they are from: 10000 * source + place. */
enum { N_SOURCES = 3, LENGTH = 10, EACH = 10000 };
static const int sizes[N_SOURCES] = {1001, 301, 71};

static void write_source(const char *name, int source, int n)
{
    struct token_writer w;
    assert_ok(token_writer_open(&w, scratch_path(&scratch, name), N_SOURCES * EACH));
    for (token_id i = 0; i < n; i++) {
        const token_id id = EACH * source + i;
        assert_ok(token_writer_add(&w, &id, 1));
        if (i % 10 == 9)
            assert_ok(token_writer_end(&w));
    }
    assert_ok(token_writer_commit(&w));
}

static int setup(void **state)
{
    (void)state;
    scratch_open(&scratch);
    write_source("a", 0, sizes[0]);
    write_source("b", 1, sizes[1]);
    write_source("c", 2, sizes[2]);
    write_source("twin", 1, sizes[0]);
    write_source("short", 2, LENGTH);
    assert_ok(file_make_folder(scratch_path(&scratch, "moved")));
    write_source("moved/a", 0, sizes[0]);
    write_source("moved/b", 1, sizes[1]);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scratch_close(&scratch);
    return 0;
}

struct data {
    struct dataset train, validation;
    struct data_config config;
    struct batches *batches;
};

/* In `text` a path is "@name". */
static int try_data(struct data *d, const char *text, double held_out, int batch)
{
    struct buf paths = {0};
    *d = (struct data){0};
    for (; *text != '\0'; text++)
        if (*text == '@')
            assert_ok(buf_printf(&paths, "%s/", scratch.folder));
        else
            assert_ok(buf_char(&paths, *text));
    assert_ok(data_config_init(&d->config));
    mem_free(d->config.data);
    d->config.data = paths.data;
    d->config.mixture = true;
    d->config.seed = 5;
    d->config.validation_fraction = held_out;
    int rc = dataset_open(&d->train, &d->validation, &d->config, NULL, N_SOURCES * EACH, NULL);
    return rc == 0 ? batches_new(&d->batches, &d->train, &d->config, batch, LENGTH) : rc;
}

static void open_data(struct data *d, const char *text, int64_t n_steps, int batch, int per_step)
{
    assert_ok(try_data(d, text, 0, batch));
    assert_ok(batches_plan(d->batches, n_steps, per_step));
}

static void close_data(struct data *d)
{
    batches_free(d->batches);
    dataset_close(&d->train);
    dataset_close(&d->validation);
    data_config_release(&d->config);
}

/* The first ids of the next n windows. */
static void take(struct data *d, int batch, token_id *firsts, int n)
{
    const token_id *ids, *labels;
    for (int i = 0; i < n; i += batch) {
        assert_ok(batches_next(d->batches, &ids, &labels));
        for (int k = 0; k < batch && i + k < n; k++) {
            firsts[i + k] = ids[k * LENGTH];
            for (int j = 0; j < LENGTH; j++) {
                int id = firsts[i + k] + j;
                assert_int_equal(ids[k * LENGTH + j], id);
                assert_int_equal(labels[k * LENGTH + j], id + 1);
                assert_int_equal(id / EACH, firsts[i + k] / EACH); /* within its source */
            }
        }
    }
}

static const char *const phased = "@a:0.5:..40,@b:0.3,@a:0.1:40..,@c:0.2,@b:2:0.5..";
enum { STEPS = 100, PER_STEP = 6, N = STEPS * PER_STEP };

static void sources_are_read_through(void **state)
{
    (void)state;
    static token_id firsts[3 * N];
    struct data d;
    open_data(&d, phased, STEPS, 2, PER_STEP);
    assert_int_equal(batches_per_epoch(d.batches), 100 + 30 + 7);
    assert_int_equal(batches_of_source(d.batches, 1), 30);
    take(&d, 2, firsts, 3 * N);
    int drawn[N_SOURCES] = {0}, seen[N_SOURCES][100] = {{0}};
    for (int i = 0; i < 3 * N; i++) {
        int source = firsts[i] / EACH, window = firsts[i] % EACH / LENGTH;
        int windows = sizes[source] / LENGTH;
        assert_true(window < windows);
        if (seen[source][window] != drawn[source] / windows)
            fail_msg("window %d of source %d comes again after %d draws", window, source,
                     drawn[source]);
        seen[source][window]++;
        drawn[source]++;
    }
    for (int s = 0; s < N_SOURCES; s++)
        assert_true(drawn[s] > sizes[s] / LENGTH);
    close_data(&d);
}

/* Sources of as many windows, at the same seed and epoch, have orders that do not follow from each
 * other: few of their windows are at the same place. */
static void equal_sources_have_orders_of_their_own(void **state)
{
    (void)state;
    enum { WINDOWS = 100, EPOCHS = 3 };
    static token_id firsts[2 * WINDOWS * EPOCHS];
    struct data d;
    int n[2] = {0}, order[2][WINDOWS * EPOCHS], same = 0;
    open_data(&d, "@a:1,@twin:1", WINDOWS * EPOCHS, 2, 2);
    assert_int_equal(batches_of_source(d.batches, 0), WINDOWS);
    assert_int_equal(batches_of_source(d.batches, 1), WINDOWS);
    take(&d, 2, firsts, 2 * WINDOWS * EPOCHS);
    for (int i = 0; i < 2 * WINDOWS * EPOCHS; i++) {
        const int source = firsts[i] / EACH;
        order[source][n[source]++] = firsts[i] % EACH;
    }
    for (int i = 0; i < WINDOWS * EPOCHS; i++)
        same += order[0][i] == order[1][i];
    assert_int_equal(n[0], n[1]);
    assert_in_range(same, 0, 12); /* 3 expected */
    close_data(&d);
}

static void steps_have_their_shares(void **state)
{
    (void)state;
    static token_id firsts[N];
    static const struct {
        int first, end;
        double shares[N_SOURCES];
    } phases[] = {{0, 40, {0.5, 0.3, 0.2}},
                  {40, 50, {0.1 / 0.6, 0.3 / 0.6, 0.2 / 0.6}},
                  {50, 100, {0.1 / 2.6, 2.3 / 2.6, 0.2 / 2.6}}};
    struct data d;
    open_data(&d, phased, STEPS, 3, PER_STEP);
    take(&d, 3, firsts, N);
    for (int p = 0; p < 3; p++) {
        double counts[N_SOURCES] = {0};
        for (int i = phases[p].first * PER_STEP; i < phases[p].end * PER_STEP; i++) {
            int n = i + 1 - phases[p].first * PER_STEP;
            counts[firsts[i] / EACH]++;
            for (int s = 0; s < N_SOURCES; s++) {
                double off = counts[s] - n * phases[p].shares[s];
                assert_true(off < 1 && off > -1);
            }
        }
    }
    close_data(&d);
}

static void batches_of_any_size_give_the_same(void **state)
{
    (void)state;
    static token_id firsts[N], others[N];
    static const int sizes_of_batch[] = {2, 3, 6, 7};
    struct data d;
    open_data(&d, phased, STEPS, 1, PER_STEP);
    take(&d, 1, firsts, N);
    close_data(&d);
    for (size_t i = 0; i < sizeof sizes_of_batch / sizeof *sizes_of_batch; i++) {
        open_data(&d, phased, STEPS, sizes_of_batch[i], PER_STEP);
        take(&d, sizes_of_batch[i], others, N);
        assert_memory_equal(firsts, others, sizeof firsts);
        close_data(&d);
    }
}

static void going_anywhere_is_going_on(void **state)
{
    (void)state;
    static token_id firsts[N], others[N];
    struct data d;
    open_data(&d, phased, STEPS, 1, PER_STEP);
    take(&d, 1, firsts, N);
    for (uint64_t k = 0; k < 60; k++) {
        uint32_t w[4];
        rng_words(w, 1, 1, k);
        int to = (int)(w[0] % (N - 9)), n = (int)(w[1] % 9) + 1;
        batches_seek(d.batches, (uint64_t)to);
        take(&d, 1, others, n);
        assert_memory_equal(firsts + to, others, (size_t)n * sizeof *others);
        assert_int_equal(batches_given(d.batches), to + n);
    }
    close_data(&d);
    /* By another object, as a run that goes on. */
    open_data(&d, phased, STEPS, 2, PER_STEP);
    batches_seek(d.batches, 39 * PER_STEP + 2);
    take(&d, 2, others, 30);
    assert_memory_equal(firsts + 39 * PER_STEP + 2, others, 30 * sizeof *others);
    close_data(&d);
}

static void one_source_is_as_without_weights(void **state)
{
    (void)state;
    static token_id firsts[N], others[N];
    struct data d;
    open_data(&d, "@a", STEPS, 2, PER_STEP);
    assert_null(batches_draws(d.batches));
    take(&d, 2, firsts, 300);
    close_data(&d);
    open_data(&d, "@a:0.3:..50,@a:5:50..", STEPS, 2, PER_STEP);
    take(&d, 2, others, 300);
    assert_memory_equal(firsts, others, 300 * sizeof *firsts);
    close_data(&d);
}

static void the_length_may_change_ahead(void **state)
{
    (void)state;
    static token_id firsts[N], others[N];
    struct data d;
    open_data(&d, "@a:1:..0.5,@b:1:0.5..", 100, 1, PER_STEP);
    take(&d, 1, firsts, N);
    batches_seek(d.batches, 150);
    assert_int_equal(batches_plan(d.batches, 40, PER_STEP), ERR_MISMATCH);
    assert_string_equal(err_text(), "the run cannot become longer or shorter: FROM..UNTIL of its "
                                    "sources would move within the steps already taken");
    take(&d, 1, others, 100); /* as if nothing had been asked */
    assert_memory_equal(firsts + 150, others, 100 * sizeof *firsts);
    batches_seek(d.batches, 150);
    assert_ok(batches_plan(d.batches, 60, PER_STEP));
    take(&d, 1, others, 60);
    assert_memory_equal(firsts + 150, others, 30 * sizeof *firsts);
    for (int i = 30; i < 60; i++)
        assert_int_equal(others[i] / EACH, 1);
    batches_seek(d.batches, 150);
    assert_int_equal(batches_plan(d.batches, 0, PER_STEP), ERR_RANGE); /* a part of what? */
    take(&d, 1, others, 30);
    close_data(&d);
}

static void every_source_is_held_out_from(void **state)
{
    (void)state;
    struct data d;
    token_id ids[400];
    int held[N_SOURCES] = {0};
    assert_ok(try_data(&d, "@a:1,@b:1,@c:1:0.5..", 0.2, 1));
    assert_true(d.validation.n_tokens <= 400);
    assert_ok(dataset_read(&d.validation, ids, 0, d.validation.n_tokens));
    for (uint64_t i = 0; i < d.validation.n_tokens; i++)
        held[ids[i] / EACH]++;
    assert_int_equal(held[0], 200);
    assert_int_equal(held[1], 60);
    assert_int_equal(held[2], 10); /* one of its eight documents */
    assert_int_equal(d.train.n_tokens + d.validation.n_tokens, 1001 + 301 + 71);
    assert_int_equal(d.train.sources[1].first, 801);
    assert_int_equal(d.train.sources[1].n_tokens, 241);
    assert_int_equal(d.validation.mixture.n, 0);
    close_data(&d);
}

/* By what is in them and how they are drawn, wherever they are. */
static void identities(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool same;
    } cases[] = {
        {"@a:0.7,@b:0.3", true},           {"@moved/a:0.7,@moved/b:0.3", true},
        {"@a:0.7,@b:0.4", false},          {"@b:0.7,@a:0.3", false},
        {"@a:0.7:..0.5,@b:0.3", false},    {"@a,@b", false},
        {"@a:0.7,@b:0.3,@b:1:9..", false},
    };
    unsigned char identity[32];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct data d;
        assert_ok(try_data(&d, cases[i].text, 0, 1));
        if (i == 0)
            memcpy(identity, d.train.identity, sizeof identity);
        assert_int_equal(memcmp(identity, d.train.identity, sizeof identity) == 0, cases[i].same);
        close_data(&d);
    }
}

static void bad_sources_are_named(void **state)
{
    (void)state;
    struct data d;
    assert_int_equal(try_data(&d, "@a:1,@short:1", 0, 1), ERR_RANGE);
    assert_string_equal(scratch_sentence(&scratch, err_text()),
                        "DIR/short has 10 tokens for training, expected at least 11 for a window "
                        "of 10: more text, or a sequence_length of at most 9");
    close_data(&d);
    assert_int_equal(try_data(&d, "@a:1,@none:1", 0, 1), ERR_MISSING);
    assert_string_equal(scratch_sentence(&scratch, err_text()),
                        "cannot open DIR/none: No such file or directory");
    close_data(&d);
    assert_int_equal(try_data(&d, "@a:1,@b", 0, 1), ERR_RANGE);
    close_data(&d);
}

static void nothing_is_allocated_or_left(void **state)
{
    (void)state;
    const token_id *ids, *labels;
    struct data d;
    open_data(&d, phased, STEPS, 2, PER_STEP);
    uint64_t before = mem_count();
    for (int i = 0; i < 500; i++)
        assert_ok(batches_next(d.batches, &ids, &labels));
    batches_seek(d.batches, 17);
    assert_ok(batches_next(d.batches, &ids, &labels));
    assert_int_equal(mem_count(), before);
    close_data(&d);
    int rc = ERR_NOMEM;
    assert_ok(try_data(&d, phased, 0, 2));
    for (uint64_t k = 1; rc != 0; k++) {
        struct dataset train, validation;
        struct batches *b = NULL;
        mem_fail_at(k);
        rc = dataset_open(&train, &validation, &d.config, NULL, N_SOURCES * EACH, NULL);
        if (rc == 0 && (rc = batches_new(&b, &train, &d.config, 2, LENGTH)) == 0)
            rc = batches_plan(b, STEPS, PER_STEP);
        mem_fail_at(0);
        assert_true(rc == 0 || rc == ERR_NOMEM);
        batches_free(b);
        dataset_close(&train);
        dataset_close(&validation);
    }
    close_data(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_are_read_through),
        cmocka_unit_test(equal_sources_have_orders_of_their_own),
        cmocka_unit_test(steps_have_their_shares),
        cmocka_unit_test(batches_of_any_size_give_the_same),
        cmocka_unit_test(going_anywhere_is_going_on),
        cmocka_unit_test(one_source_is_as_without_weights),
        cmocka_unit_test(the_length_may_change_ahead),
        cmocka_unit_test(every_source_is_held_out_from),
        cmocka_unit_test(identities),
        cmocka_unit_test(bad_sources_are_named),
        cmocka_unit_test(nothing_is_allocated_or_left),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
