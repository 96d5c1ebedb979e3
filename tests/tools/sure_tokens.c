/*
 * How sure a model was of the tokens that were drawn of it.
 *
 *   sure_tokens TEMPERATURE TOP_P <DRAWN
 *
 * DRAWN has answers of `prattle --jsonl` with top_logprobs. Prints the share of their tokens with
 * p > 0.99 under the distribution that they were drawn from, which is the model's after
 * TEMPERATURE and TOP_P, and under the model's own. The first is computed of the tokens listed: at
 * a temperature below 1 the 100 likeliest have all but a trace of the weight.
 */
#include "model/base/err.h"
#include "model/base/json.h"
#include "sampling/chain/sampler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 101 }; /* the alternatives, and the token drawn where it is not among them */

static struct {
    size_t n, drawn_from, model;
} count;

static void check(int rc)
{
    if (rc == 0)
        return;
    fprintf(stderr, "sure_tokens: %s\n", err_text());
    exit(1);
}

/* A token's log-probability and those of the alternatives; their places stand for their ids. */
static void take_token(struct sampler *s, json_int_t id, double logprob, const json_t *others)
{
    float logits[MOST];
    struct alternative chosen, best;
    int n = 0, at = -1;
    for (int i = 0; i < MOST; i++)
        logits[i] = -INFINITY;
    for (; n < (int)json_array_size(others) && n < MOST - 1; n++) {
        const json_t *other = json_array_get(others, (size_t)n);
        logits[n] = (float)json_number_value(json_object_get(other, "logprob"));
        if (json_integer_value(json_object_get(other, "id")) == id)
            at = n;
    }
    if (at < 0)
        logits[at = n] = (float)logprob;
    sampler_explain(s, logits, NULL, 0, 0, at, &chosen, &best, 1);
    count.n++;
    count.drawn_from += chosen.p_chain > 0.99f;
    count.model += exp(logprob) > 0.99;
}

static void take_answer(struct sampler *s, const char *line, size_t n)
{
    json_t *answer;
    check(json_read_line(&answer, line, n));
    const json_t *ids = json_object_get(answer, "ids"),
                 *logprobs = json_object_get(answer, "logprobs"),
                 *others = json_object_get(answer, "top_logprobs");
    if (!json_is_array(ids) || json_array_size(logprobs) != json_array_size(ids) ||
        json_array_size(others) != json_array_size(ids))
        check(err_set(ERR_FORMAT, "a line lacks ids, logprobs or top_logprobs"));
    for (size_t i = 0; i < json_array_size(ids); i++)
        take_token(s, json_integer_value(json_array_get(ids, i)),
                   json_number_value(json_array_get(logprobs, i)), json_array_get(others, i));
    json_decref(answer);
}

int main(int argc, char **argv)
{
    struct sampler_config c;
    struct sampler *s;
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    if (argc != 3) {
        fprintf(stderr, "usage: sure_tokens TEMPERATURE TOP_P <DRAWN\n");
        return 2;
    }
    sampler_config_init(&c);
    c.temperature = strtof(argv[1], NULL);
    c.top_p = strtof(argv[2], NULL);
    check(sampler_new(&s, &c, MOST, 1, NULL, NULL));
    while ((n = getline(&line, &cap, stdin)) > 0)
        take_answer(s, line, (size_t)n);
    const double percent = count.n == 0 ? 0 : 100.0 / (double)count.n;
    printf("%.1f %% as drawn, %.1f %% of the model itself (%zu tokens)\n",
           percent * (double)count.drawn_from, percent * (double)count.model, count.n);
    free(line);
    sampler_free(s);
    return 0;
}
