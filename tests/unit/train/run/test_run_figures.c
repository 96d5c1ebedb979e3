/* What a run says of itself: its steps put together by hand, gradients, activations, evaluations,
 * hours. */
#include "model/base/json.h"
#include "tests/lib/still_clock.h"
#include "tests/lib/trial.h"
#include "train/data/batches.h"
#include "train/eval/eval.h"
#include "train/step/weights_init.h"
#include "train/step/step.h"
#include "train/step/activation_stats.h"

#include <math.h>

/* The step's number t of a run put together here from its parts: what its line has to say. */
struct by_hand {
    struct model *model;
    struct weights weights;
    struct dataset train, validation;
    struct batches *batches;
    struct step *step;
    struct optimizer *optimizer;
    uint64_t windows, tokens;
};

static void open_by_hand(struct by_hand *h, const struct run_config *c)
{
    struct step_config s;
    struct data_config data = c->data;
    const struct load_config load = {.dtype = DTYPE_F16, .seed = 3};
    *h = (struct by_hand){0};
    data.seed = c->training.seed;
    assert_ok(model_load(&h->model, "random:tests/cli/data/config.json", &load, NULL));
    assert_ok(dataset_open(&h->train, &h->validation, &data, h->model->tokenizer,
                           h->model->config.n_vocab, NULL));
    assert_ok(batches_new(&h->batches, &h->train, &data, c->training.micro_batch_size,
                          c->training.sequence_length));
    assert_ok(weights_init(&h->weights, h->model, NULL, DTYPE_F32, NULL));
    run_config_step(c, &h->model->config, &s);
    assert_ok(step_new(&h->step, &h->weights, &s));
    assert_ok(optimizer_new(&h->optimizer, &c->optimizer, weights_layout(&h->weights)));
}

static void close_by_hand(struct by_hand *h)
{
    optimizer_free(h->optimizer);
    step_free(h->step);
    weights_release(&h->weights);
    batches_free(h->batches);
    dataset_close(&h->train);
    dataset_close(&h->validation);
    model_free(h->model);
}

static void step_by_hand(struct by_hand *h, const struct run_config *c, int t,
                         const struct metrics *line)
{
    const struct training_section *tr = &c->training;
    const token_id *ids, *labels;
    struct step_result sums = {0};
    step_zero(h->step);
    for (int i = 0; i < tr->gradient_accumulation; i++) {
        assert_ok(batches_next(h->batches, &ids, &labels));
        assert_ok(step_run(h->step, &sums, ids, labels, tr->micro_batch_size, tr->sequence_length,
                           1, h->windows, true));
        h->windows += (uint64_t)tr->micro_batch_size;
    }
    const double loss = sums.loss_sum, n = (double)sums.n_targets, correct = (double)sums.n_correct;
    const float rate = (float)schedule_rate(&c->schedule, t, TRIAL_STEPS), scale = (float)(1 / n);
    double norm = optimizer_norm(h->optimizer, step_gradients(h->step), scale);
    optimizer_step(h->optimizer, weights_block(&h->weights), step_gradients(h->step), scale, norm,
                   rate);
    h->tokens += (uint64_t)n;
    assert_true(norm > 2 * (double)c->optimizer.grad_clip);
    assert_int_equal(line->step, t + 1);
    assert_true(line->loss == loss / n && line->accuracy == correct / n);
    assert_true(fabs(line->grad_norm / norm - 1) < 1e-6);
    assert_true((float)line->learning_rate == rate);
    assert_int_equal(line->samples, h->windows);
    assert_int_equal(line->tokens, h->tokens);
    assert_true(line->epoch == (double)h->windows / (double)batches_per_epoch(h->batches));
}

/* Batches, scale of the loss, norm, clip, schedule and masks: a run does with them what their
 * headers say. A step's windows have 128 targets, a power of two, so that even its scale of the
 * loss changes no bit. */
static void test_is_the_sum_of_its_parts(void **state)
{
    (void)state;
    struct trial t;
    struct run *r;
    struct by_hand h;
    struct metrics lines[TRIAL_STEPS + 1] = {0};
    unsigned char have[32], want[32];
    const struct run_events e = {.line = keep_line, .user = lines};
    trial_open(&t, (const char *const[]){"sequence_length=32", "gradient_accumulation=2",
                                         "grad_clip=0.05", "warmup=3", "seed=5", "log_every=1",
                                         "eval_every=0", "save_every=0", NULL});
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
    assert_ok(run_go(r));
    open_by_hand(&h, run_settings(r));
    for (int i = 0; i < TRIAL_STEPS; i++)
        step_by_hand(&h, run_settings(r), i, &lines[i + 1]);
    weights_publish(&h.weights, h.model);
    params_hash(&h.model->params, want);
    params_hash(&t.model->params, have);
    assert_memory_equal(have, want, sizeof want);
    close_by_hand(&h);
    run_free(r);
    trial_close(&t);
}

/* Each tensor's norm, of the step it is logged at: together they are that step's. To be looked at
 * changes nothing. */
static void test_gradients_are_logged(void **state)
{
    (void)state;
    struct trial t;
    struct run *r;
    struct buf text = {0};
    struct metrics lines[TRIAL_STEPS + 1] = {0};
    const struct run_events e = {.line = keep_line, .user = lines};
    int n = 0;
    trial_open(&t, (const char *const[]){"eval_every=0", "log_every=1", "log_grads_every=3",
                                         "save_every=0", NULL});
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
    assert_ok(run_go(r));
    assert_ok(file_read_all(&text, scratch_path(&t.scratch, "run/metrics.jsonl"), 1 << 20));
    for (char *p = text.data; *p != '\0'; p = strchr(p, '\n') + 1) {
        json_t *o, *norms, *norm;
        const char *name;
        double squares = 0;
        assert_ok(json_read_line(&o, p, strcspn(p, "\n")));
        if ((norms = json_object_get(o, "grad_norms")) != NULL) {
            int64_t step = json_integer_value(json_object_get(o, "step"));
            assert_int_equal(step, 3 * ++n);
            assert_int_equal(json_object_size(norms), t.model->params.n_tensors);
            json_object_foreach(norms, name, norm) squares +=
                json_real_value(norm) * json_real_value(norm);
            assert_true(fabs(sqrt(squares) / lines[step].grad_norm - 1) < 1e-5);
        }
        json_decref(o);
    }
    assert_int_equal(n, TRIAL_STEPS / 3);
    buf_release(&text);
    run_free(r);
    trial_expect_reference(&t, trial_modes[0]);
    trial_close(&t);
}

static void see_activations(void *user, const struct metrics *m, const struct activation_stats *w)
{
    int64_t *steps = user;
    const struct activation_summary s = activation_stats_of(w, 1, ACTIVATION_MLP);
    assert_true(s.std > 0 && isfinite(s.max) && s.max > s.std && s.zeros < 0.5);
    assert_true(activation_stats_of(w, 0, ACTIVATION_ATTENTION).std > 0);
    *steps = *steps * 100 + m->step;
}

/* Being looked at, also from the middle of a step on, changes nothing. */
static void test_activations_are_logged(void **state)
{
    (void)state;
    struct trial t;
    struct run *r;
    struct buf lines = {0};
    int64_t steps = 0;
    const struct run_events e = {.activations = see_activations, .user = &steps};
    const char *const more[] = {"log_activations_every=5", "tensorboard=on", NULL};
    trial_open(&t, more);
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
    assert_ok(run_go(r));
    assert_int_equal(steps, 510);
    run_free(r);
    assert_ok(file_read_all(&lines, scratch_path(&t.scratch, "run/metrics.jsonl"), 1 << 20));
    const char *first = strstr(buf_text(&lines), "\"activation_means\":{\"h.0.attention\":");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "\"activation_means\""));
    assert_non_null(strstr(first, "\"activation_zeros\":{\"h.0.attention\":0"));
    buf_release(&lines);
    trial_expect_reference(&t, trial_modes[0]);
    trial_close(&t);
}

/* What eval_every finds is what :eval text finds on the same text, by the last bit, at whatever
 * batch; and a named evaluation stands in the metrics. */
static void test_eval_as_the_command_does(void **state)
{
    (void)state;
    enum { N = 500, T = 40 };
    struct trial t;
    struct run *r;
    struct engine e;
    struct eval_config c;
    struct eval_result result;
    const struct run_events no_events = {0};
    uint16_t ids[N];
    trial_open(&t, NULL);
    for (int i = 0; i < N; i++)
        ids[i] = (uint16_t)(i * i % t.model->config.n_vocab);
    scratch_write(&t.scratch, "held.bin", ids, sizeof ids);
    const char *held = scratch_path(&t.scratch, "held.bin");
    char *validation = mem_sprintf("validation=%s", held),
         *file = mem_sprintf("eval_file=%s", held);
    trial_configure(&t, (const char *const[]){validation, file, "eval=text", "eval_every=4",
                                              "eval_windows=9", "log_every=100", NULL});
    assert_ok(run_new(&r, &t.config, t.model, NULL, &no_events));
    assert_ok(run_go(r));
    const struct metrics *m = run_metrics(r);

    eval_config_init(&c);
    c.seq_length = c.last_n = T;
    c.limit = 9;
    assert_ok(engine_init(&e, t.model, 1));
    assert_ok(eval_run(eval_find("text"), &e, NULL, &c, held, &result, NULL));
    assert_int_equal(result.targets, 9 * T);
    assert_int_equal(m->validation_step, TRIAL_STEPS);
    assert_true(m->validation_loss == eval_figure_find(&result, "loss")->value);
    assert_true(m->validation_accuracy == eval_figure_find(&result, "top_1")->value / 100);
    eval_result_release(&result);
    /* The named one has sizes of its own. */
    c.seq_length = c.last_n = 0;
    assert_ok(eval_run(eval_find("text"), &e, NULL, &c, held, &result, NULL));
    assert_non_null(m->evaluation);
    assert_true(eval_figure_find(m->evaluation, "loss")->value ==
                eval_figure_find(&result, "loss")->value);
    struct buf lines = {0};
    assert_ok(file_read_all(&lines, scratch_path(&t.scratch, "run/metrics.jsonl"), 1 << 20));
    assert_non_null(strstr(lines.data, "\"text_loss\""));
    buf_release(&lines);
    eval_result_release(&result);
    engine_release(&e);
    run_free(r);
    mem_free(validation);
    mem_free(file);
    trial_close(&t);
}

static void test_eval_must_be_one(void **state)
{
    (void)state;
    struct trial t = {0};
    scratch_open(&t.scratch);
    trial_load(&t, "random:tests/cli/data/config.json");
    assert_ok(run_config_init(&t.config));
    assert_ok(run_config_set(&t.config, ORIGIN_COMMAND_LINE, "eval", "wikitxt"));
    assert_int_equal(run_config_resolve(&t.config, &t.model->config), ERR_MISSING);
    assert_string_equal(err_text(), "there is no evaluation wikitxt; `:help eval` lists them");
    assert_ok(run_config_set(&t.config, ORIGIN_COMMAND_LINE, "eval", "kl"));
    assert_int_equal(run_config_resolve(&t.config, &t.model->config), ERR_UNSUPPORTED);
    assert_string_equal(err_text(),
                        "eval is kl, which needs a second model: choose another evaluation");
    trial_close(&t);
}

/* Where :eval looks, a run looks. */
static void test_eval_file_of_the_data_dir(void **state)
{
    (void)state;
    struct trial t;
    struct run *r;
    struct buf text = {0};
    const struct run_events e = {0};
    trial_open(&t, (const char *const[]){"steps=1", "eval=wikitext", "eval_every=1",
                                         "eval_windows=1", NULL});
    assert_ok(file_read_all(&text, "tests/golden/eval/wiki.txt", 1 << 20));
    const char *file = scratch_path(&t.scratch, "wiki.test.raw");
    assert_ok(file_write_whole(file, text.data, text.n, false));
    assert_ok(run_config_look_in(&t.config, t.scratch.folder));
    assert_ok(run_check_inputs(&t.config));
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
    assert_ok(run_go(r));
    assert_non_null(run_metrics(r)->evaluation);
    assert_ok(run_look_in(r, "/nowhere"));
    assert_fails(run_change(r, (char *const[]){"steps=2"}, 1), ERR_MISSING,
                 "/nowhere/wikitext/wiki.test.raw");
    run_free(r);
    buf_release(&text);
    trial_close(&t);
}

/* A paused run is not given what it would stop at steps later. */
static void test_change_looks_for_the_file(void **state)
{
    (void)state;
    char *const words[] = {"eval=wikitext", "eval_file=/no/such/file", "eval_every=2"};
    struct trial t;
    struct run *r;
    const struct run_events e = {0};
    trial_open(&t, (const char *const[]){"tensorboard=off", NULL});
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
    assert_fails(run_change(r, words, 3), ERR_MISSING, "/no/such/file");
    assert_string_equal(run_settings(r)->logging.eval, "");
    assert_fails(run_change(r, (char *const[]){"wandb=on"}, 1), ERR_RANGE,
                 "wandb=on needs tensorboard=on");
    assert_fails(run_change(r, (char *const[]){"eval=wikitext", "eval_every=0"}, 2), ERR_RANGE,
                 "eval runs with each validation, but with eval_every=0 there is none");
    run_free(r);
    trial_close(&t);
}

static void test_validation(void **state)
{
    (void)state;
    struct trial t;
    struct run *r;
    const struct run_events e = {0};
    trial_open(&t, (const char *const[]){"eval_every=3", "save_every=0", "keep_last=1", NULL});
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
    assert_true(isnan(run_metrics(r)->validation_loss));
    assert_ok(run_go(r));
    const struct metrics *m = run_metrics(r);
    assert_int_equal(m->validation_step, TRIAL_STEPS);
    assert_true(m->best_loss <= m->validation_loss && m->best_step % 3 == 0 && m->best_step > 0);
    assert_int_equal(m->step, TRIAL_STEPS);
    assert_int_equal(m->samples, TRIAL_STEPS * 6);
    /* The last window of an epoch may be short. */
    assert_in_range(m->tokens, TRIAL_STEPS * 6 * 40 - 40, TRIAL_STEPS * 6 * 40);
    /* The best is kept beside the last. */
    char best[64];
    snprintf(best, sizeof best, "run/step-%06d", (int)m->best_step);
    assert_true(file_exists(scratch_path(&t.scratch, best)));
    run_free(r);
    trial_close(&t);
}

/* Going on to `steps`, or to the end that patience makes. */
static void resume_early(struct trial *t, const char *steps, const char *patience, int64_t end,
                         enum run_end why)
{
    struct resume q;
    struct run_config c;
    struct run *r;
    const struct run_events e = {0};
    char *const words[] = {(char *)steps, (char *)patience};
    trial_go_back(t, &q, "run");
    assert_ok(run_config_copy(&c, &q.stored));
    assert_ok(run_config_words(&c, words, 2));
    assert_ok(trial_resume(&r, t, &q, &c, &e));
    assert_ok(run_go(r));
    assert_int_equal(run_step(r), end);
    assert_int_equal(run_end(r), why);
    assert_true(run_metrics(r)->finished);
    assert_int_equal(run_saved_step(r), end);
    run_free(r);
    run_config_release(&c);
    run_resume_close(&q);
}

/* The rate is so great that every step is worse than none. */
static void test_patience(void **state)
{
    (void)state;
    struct trial t;
    struct run *r;
    const struct run_events e = {0};
    trial_open(&t,
               (const char *const[]){"eval_every=2", "eval_first=on", "learning_rate=1", "warmup=0",
                                     "schedule=constant", "steps=4", "patience=3", NULL});
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
    assert_ok(run_go(r));
    assert_int_equal(run_metrics(r)->best_step, 0);
    assert_int_equal(run_end(r), END_STEPS);
    run_free(r);
    /* Two validations were worse: a checkpoint keeps count. */
    resume_early(&t, "steps=12", "patience=3", 6, END_EARLY);
    resume_early(&t, "steps=12", "patience=3", 6, END_EARLY);
    resume_early(&t, "steps=12", "patience=4", 8, END_EARLY);
    resume_early(&t, "steps=10", "patience=0", 10, END_STEPS);
    trial_close(&t);
}

static void test_patience_needs_validation(void **state)
{
    (void)state;
    static const struct {
        const char *word, *sentence;
    } cases[] = {{"eval_every=0", "patience is 2, but with eval_every=0 there is no"},
                 {"validation_fraction=0", "patience is 2, but without validation data"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trial t;
        trial_open(&t, (const char *const[]){"patience=2", cases[i].word, NULL});
        assert_fails(run_check_first(&t.config, &t.model->config, t.model), ERR_RANGE,
                     cases[i].sentence);
        trial_close(&t);
    }
}

/* The best step of a run that measured on README.md, resumed to measure on another file. */
static int64_t best_resumed_with(struct trial *t, const char *word)
{
    struct resume q;
    struct run_config c;
    struct run *r;
    const struct run_events e = {0};
    trial_go_back(t, &q, "run");
    assert_ok(run_config_copy(&c, &q.stored));
    assert_ok(run_config_words(&c, (char *const *)&word, 1));
    assert_ok(trial_resume(&r, t, &q, &c, &e));
    const struct metrics m = *run_metrics(r);
    assert_int_equal(isnan(m.validation_loss), m.best_step < 0);
    assert_int_equal(isinf(m.best_loss), m.best_step < 0);
    run_free(r);
    run_config_release(&c);
    run_resume_close(&q);
    return m.best_step;
}

/* A loss on one text is no better or worse than one on another. */
static void test_other_validation(void **state)
{
    (void)state;
    struct trial t;
    struct buf text = {0};
    trial_open(&t, (const char *const[]){"validation=README.md", "validation_fraction=0",
                                         "eval_windows=4", "steps=2", "eval_every=2", NULL});
    trial_finish(&t);
    assert_ok(file_read_all(&text, "README.md", 1 << 20));
    char *copy = mem_sprintf("validation=%s", scratch_path(&t.scratch, "copy.md"));
    assert_ok(file_write_whole(strchr(copy, '/'), text.data, text.n, false));
    assert_int_equal(best_resumed_with(&t, copy), 2);
    assert_int_equal(best_resumed_with(&t, "validation=LICENSE"), -1);
    /* Nor is one on more or less of it. */
    assert_int_equal(best_resumed_with(&t, "eval_windows=4"), 2);
    assert_int_equal(best_resumed_with(&t, "eval_windows=5"), -1);
    assert_int_equal(best_resumed_with(&t, "eval_windows=0"), -1);
    struct resume q;
    struct run *r;
    const struct run_events e = {0};
    trial_go_back(&t, &q, "run");
    assert_ok(trial_resume(&r, &t, &q, &q.stored, &e));
    assert_ok(run_change(r, (char *const[]){"steps=4"}, 1));
    assert_int_equal(run_metrics(r)->best_step, 2);
    assert_ok(run_change(r, (char *const[]){"eval_windows=3"}, 1));
    assert_int_equal(run_metrics(r)->best_step, -1);
    run_free(r);
    run_resume_close(&q);
    mem_free(copy);
    buf_release(&text);
    trial_close(&t);
}

struct clock_seen {
    double before, last; /* hours of the last two lines */
    double first, first_rate;
};

static const double BUDGET_HOURS = 1e-3;

/* Time passes from step to step, and little at each look: how often a thread that waits looks at
 * the clock depends on the machine. */
static void see_hours(void *user, const struct metrics *m)
{
    struct clock_seen *seen = user;
    seen->before = seen->last;
    seen->last = m->hours;
    if (m->step == 1) {
        seen->first = m->hours;
        seen->first_rate = m->learning_rate;
    }
    still_clock_pass(BUDGET_HOURS * 3600 / 10);
}

/* The clock's hours end a run after the first step that reaches them. */
static void test_budget_of_the_clock(void **state)
{
    (void)state;
    struct trial t;
    struct run *r;
    struct clock_seen seen = {0};
    const struct run_events e = {.line = see_hours, .user = &seen};
    const char *const more[] = {
        "budget_hours=1e-3", "log_every=1", "eval_every=0", "steps=0", "warmup=0.5",
        "save_every=0",      NULL};
    trial_open(&t, more);
    still_clock_run(1e-3 * BUDGET_HOURS * 3600);
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
    assert_ok(run_go(r));
    still_clock_run(0);
    assert_true(run_step(r) > 1);
    /* Hours alone end it, and it is warmed up all the same. */
    assert_true(seen.first < BUDGET_HOURS / 4);
    assert_true(seen.first_rate < 0.5 * run_settings(r)->schedule.learning_rate);
    assert_true(seen.before < BUDGET_HOURS && seen.last >= BUDGET_HOURS);
    run_free(r);
    trial_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_the_sum_of_its_parts),
        cmocka_unit_test(test_gradients_are_logged),
        cmocka_unit_test(test_activations_are_logged),
        cmocka_unit_test(test_eval_as_the_command_does),
        cmocka_unit_test(test_eval_must_be_one),
        cmocka_unit_test(test_eval_file_of_the_data_dir),
        cmocka_unit_test(test_change_looks_for_the_file),
        cmocka_unit_test(test_validation),
        cmocka_unit_test(test_patience),
        cmocka_unit_test(test_patience_needs_validation),
        cmocka_unit_test(test_other_validation),
        cmocka_unit_test(test_budget_of_the_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
