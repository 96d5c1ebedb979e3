/*
 * The texts of a line, prompt and answers, are listed as passages, scored in one go, and each row
 * of logits goes to the place of its token (scored_passage). The prompt is read once: passages that
 * begin with it share its positions. An answer whose context slid is several passages, cut where
 * the context slid.
 */
#include "repl/session/token_scores.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/kernels/log_sum_exp.h"
#include "sampling/chain/logits.h"
#include "sampling/score.h"

#include <string.h>

/* Where the scores of a passage go: target t is token t - first of `to`, behind `before` others. */
struct scored_passage {
    struct token_scores *to;
    size_t before;
    bool held_space; /* before its first target */
    bool whole;      /* it begins with the prompt */
};

/* The passages of a line. An answer's text is one, or more where its context slid. */
struct line_passages {
    struct passage *list;
    struct scored_passage *scored;
    size_t n, cap;
};

static int add_passage(struct line_passages *p, const struct passage *passage,
                       const struct scored_passage *scored)
{
    if (p->n == p->cap) {
        size_t cap = 2 * p->cap + 8;
        void *list = mem_grow(p->list, p->cap * sizeof *p->list, cap * sizeof *p->list);
        if (list == NULL)
            return ERR_NOMEM;
        p->list = list;
        void *more = mem_grow(p->scored, p->cap * sizeof *p->scored, cap * sizeof *p->scored);
        if (more == NULL)
            return ERR_NOMEM;
        p->scored = more;
        p->cap = cap;
    }
    p->list[p->n] = *passage;
    p->scored[p->n++] = *scored;
    return 0;
}

static int scores_init(struct token_scores *s, size_t n, int top)
{
    *s = (struct token_scores){.n = n, .top = top};
    if (n == 0)
        return 0;
    s->own = mem_array(n, sizeof *s->own);
    s->best = top > 0 ? mem_array(n * (size_t)top, sizeof *s->best) : NULL;
    return s->own == NULL || (top > 0 && s->best == NULL) ? ERR_NOMEM : 0;
}

static void scores_release(struct token_scores *s)
{
    mem_free(s->own);
    mem_free(s->best);
    *s = (struct token_scores){0};
}

bool line_scores_wanted(const struct settings *s)
{
    return s->batch.top_logprobs > 0 || s->talk.echo == SWITCH_ON;
}

void line_scores_release(struct line_scores *l)
{
    ids_release(&l->prompt);
    scores_release(&l->of_prompt);
    for (int i = 0; l->answers != NULL && i < l->n; i++)
        scores_release(&l->answers[i]);
    mem_free(l->answers);
    *l = (struct line_scores){0};
}

/* The text [n] of the prompt and an answer, in the windows in which it was made: a full context
 * goes on from its newest half. */
static int add_answer(struct line_passages *p, const struct engine *e, const token_id *text,
                      size_t n, size_t n_prompt, struct token_scores *to, bool held_space)
{
    const size_t most = kvcache_text_max(&e->cache),
                 kept = (size_t)prompt_slide_length(e->cache.n_ctx);
    int rc = 0;
    for (size_t start = 0, done = n_prompt; done < n && rc == 0;) {
        const size_t end = start + most < n ? start + most : n;
        const bool again = start == 0 && p->n > 0 && p->scored[p->n - 1].whole;
        const struct passage window = {.ids = text + start,
                                       .n = end - start,
                                       .first = done - start,
                                       .shared = again ? n_prompt - 1 : 0};
        rc = add_passage(p, &window,
                         &(struct scored_passage){to, done - n_prompt,
                                                  held_space && done == n_prompt, start == 0});
        done = end;
        start = end - kept;
    }
    return rc;
}

/* ---- the rows of a pass ---- */

struct scoring {
    const struct line_passages *passages;
    const struct model *model;
    const struct score_row *rows;
    const float *logits;
    int n;
    float *scratch; /* [threads,V] */
};

/* The likeliest into best [top], in order. */
static void choose_best_tokens(struct token_score *best, int top, const float *logits, int V,
                               double log_sum)
{
    int n = 0;
    for (token_id id = 0; id < V; id++) {
        int at = n;
        if (n == top && !(logits[id] > logits[best[top - 1].id]))
            continue;
        while (at > 0 && logits[id] > logits[best[at - 1].id])
            at--;
        n += n < top;
        memmove(best + at + 1, best + at, (size_t)(n - 1 - at) * sizeof *best);
        best[at].id = id;
    }
    for (int i = 0; i < n; i++)
        best[i].logprob = (float)((double)logits[best[i].id] - log_sum);
}

static void score_row(const struct scoring *s, int i, float *scratch)
{
    const struct score_row *row = &s->rows[i];
    const struct passage *passage = &s->passages->list[row->passage];
    const struct scored_passage *scored = &s->passages->scored[row->passage];
    struct token_scores *to = scored->to;
    const size_t V = (size_t)s->model->config.n_vocab,
                 at = scored->before + row->target - passage->first;
    const float *logits = s->logits + (size_t)i * V;
    if (scored->held_space && row->target == passage->first) {
        memcpy(scratch, logits, V * sizeof *scratch);
        prompt_mask_logits(s->model, scratch);
        logits = scratch;
    }
    const double log_sum = log_sum_exp(logits, V);
    to->own[at] = (float)((double)logits[row->id] - log_sum);
    if (to->top > 0)
        choose_best_tokens(to->best + at * (size_t)to->top, to->top, logits, (int)V, log_sum);
}

static void score_rows(void *arg, int thread, int n_threads)
{
    const struct scoring *s = arg;
    int first, last;
    par_split(s->n, thread, n_threads, &first, &last);
    for (int i = first; i < last; i++)
        score_row(s, i, s->scratch + (size_t)thread * (size_t)s->model->config.n_vocab);
}

/* Of the logits, which a mask has not changed. */
static int check_rows(const struct scoring *s)
{
    const size_t V = (size_t)s->model->config.n_vocab;
    for (int i = 0; i < s->n; i++)
        if (!logits_are_finite(s->logits + (size_t)i * V, V))
            return logits_refuse(s->model, s->rows[i].target);
    return 0;
}

static int score_passages(struct engine *e, const struct line_passages *p)
{
    struct scoring s = {.passages = p, .model = e->model, .n = 1};
    struct scorer *scorer = NULL;
    s.scratch =
        mem_array((size_t)par_threads() * (size_t)e->model->config.n_vocab, sizeof *s.scratch);
    int rc = s.scratch == NULL ? ERR_NOMEM : scorer_new(&scorer, e);
    if (rc == 0)
        rc = scorer_begin(scorer, p->list, p->n);
    while (rc == 0 && s.n > 0) {
        rc = scorer_next(scorer, &s.rows, &s.logits, &s.n, NULL);
        if (rc == 0 && s.n > 0)
            par_run(score_rows, &s);
        if (rc == 0)
            rc = check_rows(&s);
    }
    scorer_free(scorer);
    mem_free(s.scratch);
    return rc;
}

/* ---- a line ---- */

/* The prompt and the answers side by side in texts. */
static int list_passages(struct line_passages *p, struct line_scores *l, struct ids *texts,
                         const struct engine *e, const struct prompt *prompt,
                         const struct answer *answers, int top)
{
    const size_t n_prompt = l->prompt.n;
    size_t total = 0, at = 0;
    int rc = 0;
    for (int i = 0; i < l->n; i++)
        total += n_prompt + answers[i].ids.n;
    if ((rc = ids_reserve(texts, total)) != 0)
        return rc;
    if (l->echo && (rc = scores_init(&l->of_prompt, n_prompt - 1, top)) == 0 && n_prompt > 1)
        rc = add_passage(p, &(struct passage){.ids = l->prompt.data, .n = n_prompt, .first = 1},
                         &(struct scored_passage){&l->of_prompt, 0, false, true});
    for (int i = 0; i < l->n && rc == 0; i++) {
        const struct ids *answer = &answers[i].ids;
        if ((rc = scores_init(&l->answers[i], answer->n, top)) != 0 || top == 0)
            continue;
        if ((rc = ids_add(texts, l->prompt.data, n_prompt)) == 0 &&
            (rc = ids_add(texts, answer->data, answer->n)) == 0)
            rc = add_answer(p, e, texts->data + at, n_prompt + answer->n, n_prompt, &l->answers[i],
                            prompt->held_space);
        at = texts->n;
    }
    return rc;
}

int line_scores_make(struct line_scores *out, struct engine *e, const struct settings *s,
                     const struct prompt *prompt, const struct answer *answers, int n)
{
    const int V = e->model->config.n_vocab;
    const int top = s->batch.top_logprobs < V ? s->batch.top_logprobs : V;
    struct line_passages p = {0};
    struct ids texts = {0};
    bool slid;
    *out = (struct line_scores){.tokenizer = e->model->tokenizer,
                                .echo = s->talk.echo == SWITCH_ON,
                                .n = n,
                                .answers = mem_array((size_t)n, sizeof *out->answers)};
    int rc = out->answers == NULL ? ERR_NOMEM : 0;
    if (rc == 0 && (rc = ids_add(&out->prompt, prompt->ids.data, prompt->ids.n)) == 0)
        rc = prompt_fit(&out->prompt, &slid, e, &s->generate);
    if (rc == 0)
        rc = list_passages(&p, out, &texts, e, prompt, answers, top);
    if (rc == 0 && p.n > 0)
        rc = score_passages(e, &p);
    mem_free(p.list);
    mem_free(p.scored);
    ids_release(&texts);
    return rc;
}

int line_scores_of(struct line_scores *out, struct model *m, const struct settings *s,
                   const struct prompt *prompt, const struct answer *answers, int n)
{
    struct engine e = {0};
    *out = (struct line_scores){0};
    int rc = engine_init_as(
        &e, m, 1,
        cache_dtype_chosen((enum precision_choice)s->device.cache_dtype, m->params.dtype));
    if (rc == 0)
        rc = line_scores_make(out, &e, s, prompt, answers, n);
    engine_release(&e);
    return rc;
}
