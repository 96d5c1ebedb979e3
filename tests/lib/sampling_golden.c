#include "tests/lib/sampling_golden.h"

#include "model/base/mem.h"

void golden_open(struct golden *g)
{
    json_error_t error;
    g->root = json_load_file("tests/golden/sampling.json", 0, &error);
    if (!g->root)
        fail_msg("tests/golden/sampling.json: %s", error.text);
    json_t *text = json_object_get(g->root, "text");
    g->n_text = json_array_size(text);
    g->text = mem_array(g->n_text, sizeof *g->text);
    for (size_t i = 0; i < g->n_text; i++)
        g->text[i] = (token_id)json_integer_value(json_array_get(text, i));
    g->n_new = (int)json_integer_value(json_object_get(g->root, "n_new"));
}

void golden_close(struct golden *g)
{
    mem_free(g->text);
    json_decref(g->root);
}

static float golden_number(const json_t *v)
{
    return json_is_null(v) ? -INFINITY : (float)json_number_value(v);
}

int golden_logits(const struct golden *g, const char *name, float **out)
{
    json_t *list = json_object_get(json_object_get(g->root, "logits"), name);
    size_t n = json_array_size(list);
    assert_true(n > 0);
    *out = mem_array(n, sizeof **out);
    for (size_t i = 0; i < n; i++)
        (*out)[i] = golden_number(json_array_get(list, i));
    return (int)n;
}

void golden_config(struct sampler_config *c, json_t *entry)
{
    sampler_config_init(c);
    c->chain = (char *)json_string_value(json_object_get(entry, "chain"));
    c->temperature = 1;
    c->top_p = 1;
    const char *key;
    json_t *v;
#define FLOAT(name) else if (strcmp(key, #name) == 0) c->name = (float)json_number_value(v)
#define INT(name) else if (strcmp(key, #name) == 0) c->name = (int)json_integer_value(v)
#define BOOL(name) else if (strcmp(key, #name) == 0) c->name = json_is_true(v)
    json_object_foreach(json_object_get(entry, "settings"), key, v)
    {
        if (strcmp(key, "logit_bias") == 0)
            c->logit_bias = (char *)json_string_value(v);
        FLOAT(temperature);
        FLOAT(dynatemp_range);
        FLOAT(dynatemp_exponent);
        INT(top_k);
        FLOAT(top_p);
        FLOAT(min_p);
        FLOAT(typical_p);
        FLOAT(top_n_sigma);
        FLOAT(xtc_probability);
        FLOAT(xtc_threshold);
        INT(mirostat);
        FLOAT(mirostat_tau);
        FLOAT(mirostat_eta);
        FLOAT(repetition_penalty);
        FLOAT(frequency_penalty);
        FLOAT(presence_penalty);
        INT(penalty_window);
        FLOAT(dry_multiplier);
        FLOAT(dry_base);
        INT(dry_allowed_length);
        INT(dry_window);
        INT(no_repeat_ngram_size);
        BOOL(topk_uniform);
        INT(min_new_tokens);
        BOOL(ignore_eos);
        else fail_msg("setting %s of a golden case is not known here", key);
    }
#undef FLOAT
#undef INT
#undef BOOL
}

/* Adjusted logits: those of `out` changed, all others as they were. */
static void compare_logits(json_t *entry, const float *before, const float *after, int n)
{
    json_t *out = json_object_get(entry, "out");
    for (int i = 0; i < n; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        json_t *v = json_object_get(out, id);
        float want = v ? golden_number(v) : before[i];
        if (!(fabsf(after[i] - want) <= 1e-5f * fabsf(want) + 1e-6f) && after[i] != want)
            fail_msg("%s on %s: logit %d is %g, expected %g",
                     json_string_value(json_object_get(entry, "chain")),
                     json_string_value(json_object_get(entry, "logits")), i, (double)after[i],
                     (double)want);
    }
}

/* Probabilities of the chain: those of `out`, all others 0. */
static void compare_chain(json_t *entry, const struct alternative *got, int n)
{
    json_t *out = json_object_get(entry, "out");
    for (int i = 0; i < n; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", got[i].id);
        json_t *v = json_object_get(out, id);
        float want = v ? golden_number(v) : 0;
        if (!(fabsf(got[i].p_chain - want) <= 2e-5f * want + 1e-30f))
            fail_msg("%s on %s: probability of %s is %g, expected %g; settings %s",
                     json_string_value(json_object_get(entry, "chain")),
                     json_string_value(json_object_get(entry, "logits")), id,
                     (double)got[i].p_chain, (double)want,
                     json_dumps(json_object_get(entry, "settings"), 0));
    }
}

void golden_run(const char *const *stages)
{
    struct golden g;
    size_t i, ran = 0;
    json_t *entry;
    golden_open(&g);
    json_array_foreach(json_object_get(g.root, "cases"), i, entry)
    {
        const char *chain = json_string_value(json_object_get(entry, "chain"));
        bool wanted = !stages && strchr(chain, ',');
        for (int k = 0; stages && stages[k]; k++)
            wanted = wanted || strcmp(stages[k], chain) == 0;
        if (!wanted)
            continue;
        struct sampler_config c;
        struct sampler *s;
        float *logits, *scores;
        golden_config(&c, entry);
        c.seed = (uint64_t)json_integer_value(json_object_get(g.root, "seed"));
        c.draw = json_integer_value(json_object_get(g.root, "draw"));
        int n = golden_logits(&g, json_string_value(json_object_get(entry, "logits")), &logits);
        token_id eos = (token_id)json_integer_value(json_object_get(g.root, "eos"));
        assert_ok(sampler_new(&s, &c, n, 256, NULL, &(struct stop_tokens){{eos}, 1}));
        if (strcmp(json_string_value(json_object_get(entry, "kind")), "adjust") == 0) {
            scores = mem_array((size_t)n, sizeof *scores);
            memcpy(scores, logits, (size_t)n * sizeof *scores);
            sampler_adjust(s, scores, g.text, g.n_text, g.n_new);
            compare_logits(entry, logits, scores, n);
            mem_free(scores);
        } else {
            struct alternative *all = mem_array((size_t)n, sizeof *all), chosen;
            assert_int_equal(
                sampler_explain(s, logits, g.text, g.n_text, g.n_new, 0, &chosen, all, n), n);
            compare_chain(entry, all, n);
            mem_free(all);
        }
        sampler_free(s);
        mem_free(logits);
        ran++;
    }
    assert_true(ran >= (stages ? 5 : 10));
    golden_close(&g);
}
