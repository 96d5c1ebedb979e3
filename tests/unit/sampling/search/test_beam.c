/* Beam search against transformers' (_beam_search, BeamSearchScorer, BeamHypotheses), written out
 * plainly: every continuation of every beam, each from its whole text. */
#include "tests/lib/tiny.h"

#include "sampling/search/beam.h"

#include <math.h>

enum { V = 11, N_PROMPT = 3, MAX_NEW = 9, MAX_BEAMS = 4, SEEDS = 8, SHARP_SEEDS = 14 };

static struct model model;
static struct engine engine;
static struct sequence sequence, reader;

struct plain_beam {
    token_id ids[N_PROMPT + MAX_NEW];
    int n; /* new ones */
    double sum, score;
    bool ended;
};

struct plain_search {
    const struct generate_config *g;
    token_id stop;
    struct plain_beam finished[MAX_BEAMS];
    int n_finished;
};

struct plain_step {
    double sum;
    int beam;
    token_id id;
};

static double plain_score(const struct plain_search *p, double sum, int length)
{
    return sum / pow(length, (double)p->g->length_penalty);
}

static int plain_worst(const struct plain_search *p)
{
    int worst = 0;
    for (int i = 1; i < p->n_finished; i++)
        if (p->finished[i].score < p->finished[worst].score)
            worst = i;
    return worst;
}

/* BeamHypotheses.add */
static void plain_add(struct plain_search *p, const struct plain_beam *b, double sum, int length,
                      bool ended)
{
    int at = p->n_finished;
    const double score = plain_score(p, sum, length);
    if (p->n_finished == p->g->num_beams) {
        at = plain_worst(p);
        if (score <= p->finished[at].score)
            return;
    } else {
        p->n_finished++;
    }
    p->finished[at] = *b;
    p->finished[at].score = score;
    p->finished[at].ended = ended;
}

/* BeamHypotheses.is_done; n is the length of the texts that ended in this step. */
static bool plain_is_done(const struct plain_search *p, double best, int n)
{
    const struct generate_config *g = p->g;
    if (p->n_finished < g->num_beams)
        return false;
    if (g->early_stopping == EARLY_STOPPING_TRUE)
        return true;
    if (g->early_stopping == EARLY_STOPPING_NEVER && g->length_penalty > 0)
        n = g->max_new_tokens;
    return p->finished[plain_worst(p)].score >= plain_score(p, best, n);
}

static int compare_steps(const void *a, const void *b)
{
    const struct plain_step *x = a, *y = b;
    return (x->sum < y->sum) - (x->sum > y->sum);
}

/* All continuations, the best first. */
static int plain_steps(struct plain_step *out, const struct plain_beam *beams, int n_beams)
{
    int n = 0;
    for (int i = 0; i < n_beams; i++) {
        double total = 0;
        assert_ok(sequence_set(&reader, beams[i].ids, (size_t)(N_PROMPT + beams[i].n), NULL));
        for (int k = 0; k < V; k++)
            total += exp((double)reader.logits[k]);
        for (token_id id = 0; id < V; id++)
            out[n++] =
                (struct plain_step){beams[i].sum + (double)reader.logits[id] - log(total), i, id};
    }
    qsort(out, (size_t)n, sizeof *out, compare_steps);
    return n;
}

/* One step: whether the search is done. */
static bool plain_advance(struct plain_search *p, struct plain_beam *beams, int *n_open)
{
    struct plain_step steps[MAX_BEAMS * V];
    struct plain_beam next[MAX_BEAMS];
    const int n_steps = plain_steps(steps, beams, *n_open), n = beams[0].n + 1;
    int n_next = 0;
    for (int rank = 0; rank < 2 * p->g->num_beams && rank < n_steps; rank++) {
        const struct plain_step *s = &steps[rank];
        const struct plain_beam *from = &beams[s->beam];
        if (s->id == p->stop) {
            if (rank < p->g->num_beams)
                plain_add(p, from, s->sum, n, true);
            continue;
        }
        next[n_next] = *from;
        next[n_next].sum = s->sum;
        next[n_next].ids[N_PROMPT + next[n_next].n++] = s->id;
        if (++n_next == p->g->num_beams)
            break;
    }
    memcpy(beams, next, (size_t)n_next * sizeof *beams);
    *n_open = n_next;
    return plain_is_done(p, steps[0].sum, n);
}

/* Fills p->finished with what the search answers. */
static void plain_search(struct plain_search *p, const token_id *prompt)
{
    struct plain_beam beams[MAX_BEAMS] = {0};
    int n_open = 1;
    bool done = false;
    memcpy(beams[0].ids, prompt, N_PROMPT * sizeof *prompt);
    while (!done && beams[0].n < p->g->max_new_tokens)
        done = plain_advance(p, beams, &n_open);
    for (int i = 0; i < n_open && !done; i++)
        plain_add(p, &beams[i], beams[i].sum, beams[i].n, false);
}

static int compare_scores(const void *a, const void *b)
{
    const struct plain_beam *x = a, *y = b;
    return (x->score < y->score) - (x->score > y->score);
}

static void compare_searches(const struct generate_config *g, const token_id *prompt, token_id stop)
{
    struct plain_search plain = {.g = g, .stop = stop};
    struct sampler_config c;
    struct answer answers[MAX_BEAMS] = {0};
    sampler_config_init(&c);
    assert_ok(sequence_set(&sequence, prompt, N_PROMPT, NULL));
    assert_ok(
        beam_search(&sequence, g, &c, &(struct stop_tokens){{stop}, 1}, false, NULL, answers));
    plain_search(&plain, prompt);
    assert_int_equal(plain.n_finished, g->num_beams);
    qsort(plain.finished, (size_t)g->num_beams, sizeof *plain.finished, compare_scores);
    for (int i = 0; i < g->num_beams; i++) {
        const struct plain_beam *want = &plain.finished[i];
        const struct answer *got = &answers[i];
        if (!(fabs(got->score - want->score) < 1e-4 * (1 + fabs(want->score))))
            fail_msg("%d beams, length_penalty %g, early_stopping %d: score %d is %.9g, expected "
                     "%.9g",
                     g->num_beams, (double)g->length_penalty, g->early_stopping, i, got->score,
                     want->score);
        assert_int_equal(got->ids.n, want->n);
        if (want->n > 0)
            assert_memory_equal(got->ids.data, want->ids + N_PROMPT,
                                (size_t)want->n * sizeof(token_id));
        assert_int_equal(got->finish, want->ended ? FINISH_STOP_TOKEN : FINISH_LENGTH);
        answer_release(&answers[i]);
    }
}

/* sharpness: by how much logits are larger than those of a random model. */
static void open_model(uint64_t seed, float sharpness)
{
    const struct config c = config_of(1, 2, 16, 32, N_PROMPT + MAX_NEW + 1, V);
    tiny_init(&model, &c, DTYPE_F32, seed);
    float *scale = params_find(&model.params, "ln_f.weight")->data;
    for (int i = 0; i < c.n_embd; i++)
        scale[i] *= sharpness;
    assert_ok(engine_init(&engine, &model, MAX_BEAMS + 1));
    assert_ok(sequence_init(&sequence, &engine));
    assert_ok(sequence_init(&reader, &engine));
}

static void close_model(void)
{
    sequence_release(&sequence);
    sequence_release(&reader);
    engine_release(&engine);
    tiny_release(&model);
}

static void every_setting_finds_what_transformers_does(void **state)
{
    (void)state;
    static const int early[] = {EARLY_STOPPING_FALSE, EARLY_STOPPING_TRUE, EARLY_STOPPING_NEVER};
    static const float penalties[] = {-1, -0.25f, 0, 0.5f, 1, 2};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        token_id prompt[N_PROMPT];
        open_model(seed, seed % 2 == 0 ? 1 : 3);
        tiny_ids(prompt, N_PROMPT, &model.config, seed);
        for (int beams = 2; beams <= MAX_BEAMS; beams++)
            for (int e = 0; e < 3; e++)
                for (int l = 0; l < 6; l++) {
                    struct generate_config g;
                    generate_config_init(&g);
                    g.num_beams = g.num_return_sequences = beams;
                    g.max_new_tokens = MAX_NEW - (l + e) % 3;
                    g.early_stopping = early[e];
                    g.length_penalty = penalties[l];
                    compare_searches(&g, prompt, (token_id)(seed * 3 % V));
                }
        close_model();
    }
}

/* With a negative length_penalty a text only loses by becoming longer: the bound of
 * early_stopping=never is then the present length, not the greatest. It matters where tokens are
 * nearly certain. */
static void never_stops_where_more_could_be_found(void **state)
{
    (void)state;
    static const float penalties[] = {-0.25f, -0.5f, -1, -2};
    for (uint64_t seed = 0; seed < SHARP_SEEDS; seed++) {
        token_id prompt[N_PROMPT];
        open_model(seed, 12);
        tiny_ids(prompt, N_PROMPT, &model.config, seed);
        for (int beams = 2; beams <= MAX_BEAMS; beams += 2)
            for (int l = 0; l < 4; l++) {
                struct generate_config g;
                generate_config_init(&g);
                g.num_beams = g.num_return_sequences = beams;
                g.max_new_tokens = MAX_NEW;
                g.early_stopping = EARLY_STOPPING_NEVER;
                g.length_penalty = penalties[l];
                compare_searches(&g, prompt, (token_id)(3 + seed % 2 * 4));
            }
        close_model();
    }
}

/* A grammar or a bias may allow fewer texts than are asked for. */
static void answers_without_a_text_say_so(void **state)
{
    (void)state;
    enum { ONLY = 5 };
    struct generate_config g;
    struct sampler_config c;
    struct answer answers[3] = {0};
    token_id prompt[N_PROMPT];
    char bias[V * 12] = "";
    open_model(0, 1);
    tiny_ids(prompt, N_PROMPT, &model.config, 0);
    generate_config_init(&g);
    sampler_config_init(&c);
    for (int id = 0; id < V; id++)
        if (id != ONLY)
            snprintf(bias + strlen(bias), sizeof bias - strlen(bias), "%s%d:-inf",
                     *bias == '\0' ? "" : ",", id);
    c.logit_bias = bias;
    g.num_beams = g.num_return_sequences = 3;
    g.max_new_tokens = 1;
    assert_ok(sequence_set(&sequence, prompt, N_PROMPT, NULL));
    assert_ok(beam_search(&sequence, &g, &c, &(struct stop_tokens){0}, false, NULL, answers));
    assert_int_equal(answers[0].ids.n, 1);
    assert_int_equal(answers[0].ids.data[0], ONLY);
    assert_int_equal(answers[0].finish, FINISH_LENGTH);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(answers[i].ids.n, 0);
        assert_int_equal(answers[i].finish, FINISH_NO_TOKEN);
        assert_true(answers[i].score == -INFINITY);
    }
    for (int i = 0; i < 3; i++)
        answer_release(&answers[i]);
    close_model();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_setting_finds_what_transformers_does),
        cmocka_unit_test(never_stops_where_more_could_be_found),
        cmocka_unit_test(answers_without_a_text_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
