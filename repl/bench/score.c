/* Scoring, as the evaluations have it: logits of every token of a window. */
#include "repl/bench/bench.h"

#include "model/base/clock.h"
#include "sampling/score.h"

#include <stdio.h>

enum { WINDOW = 1024 };

/* Score all targets of the passage. */
static int time_scoring(struct scorer *s, const struct passage *p, double *wall_s)
{
    struct score scores[SCORE_ROWS];
    const struct score_row *rows;
    const float *logits;
    double start = clock_s();
    int rc = scorer_begin(s, p, 1), got = 1;
    while (rc == 0 && got > 0) {
        rc = scorer_next(s, &rows, &logits, &got, NULL);
        if (rc == 0)
            rc = scorer_judge(s, scores);
    }
    *wall_s = clock_s() - start;
    return rc;
}

int bench_score(struct bench *b)
{
    struct engine *e = &b->repl->engine;
    const struct config *c = &b->repl->model->config;
    int n = c->n_ctx < WINDOW ? c->n_ctx : WINDOW;
    struct rounds rate = {0}, flops = {0};
    struct prompt prompt = {0};
    struct scorer *s = NULL;
    int rc = bench_prompt(b->repl->model, &prompt, n + 1);
    if (rc == 0)
        rc = scorer_new(&s, e);
    struct passage passage = {.ids = prompt.ids.data, .n = prompt.ids.n, .first = 1};
    for (int i = 0; i < BENCH_ROUNDS && rc == 0; i++) {
        double wall_s = 1, before_s = 1, after_s = 1;
        rc = bench_time_prefill(b, n, &before_s);
        if (rc == 0)
            rc = time_scoring(s, &passage, &wall_s);
        if (rc == 0)
            rc = bench_time_prefill(b, n, &after_s);
        double ops = bench_ops(c, n, n), limit = 2 * bench_ops(c, n, 1) / (before_s + after_s);
        rounds_add(&rate, n / wall_s, 0);
        rounds_add(&flops, ops / wall_s * 1e-9, ops / wall_s / limit);
    }
    char what[64];
    snprintf(what, sizeof what, "scoring, window of %d", n);
    if (rc == 0)
        rc = bench_report(b, what, &rate, "tokens/s", NULL);
    if (rc == 0)
        rc = bench_report(b, what, &flops, "GFLOP/s", "prefill of the same length");
    scorer_free(s);
    prompt_release(&prompt);
    return rc;
}
