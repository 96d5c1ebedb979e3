/* The likeliest of several endings: HellaSwag and its kin, scored as lm-eval does. */
#include "train/eval/evals.h"
#include "train/eval/question.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "train/data/text_whole.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FILE_BYTES_MAX = 1 << 30, SHOWN = 200 };

/* The ending with the greatest log-probability */
enum ranking {
    BY_SUM,       /* of all its tokens together: lm-eval's acc */
    BY_CHARACTER, /* for each of its characters: lm-eval's acc_norm */
    BY_TOKEN,     /* for each of its tokens: hellaswag.py of build-nanogpt and llm.c */
    N_RANKINGS
};

struct ending {
    size_t at;          /* where its passage begins in the pool */
    int number, answer; /* which it is, and the right one */
    bool last;          /* of its question */
    double characters;
};

struct choice {
    struct evaluation *evaluation;
    struct ids pool;      /* of all passages */
    struct passage *list; /* [n]: for each ending its context and itself */
    struct ending *endings;
    size_t n, cap;
    uint64_t questions, left_out; /* those read; of them */
    uint64_t total;               /* in the file */
    bool hellaswag;

    /* Of the question under way, and of those before it. */
    double best[N_RANKINGS];
    int chosen[N_RANKINGS];
    struct eval_mean right[N_RANKINGS];
};

static void release_choice(struct choice *c)
{
    ids_release(&c->pool);
    mem_free(c->list);
    mem_free(c->endings);
}

/* ---- from lines to passages ---- */

static double count_characters(const struct buf *text)
{
    size_t n = 0;
    for (size_t i = 0; i < text->n; i++)
        n += ((unsigned char)text->data[i] & 0xc0) != 0x80;
    return n == 0 ? 1 : (double)n;
}

static int grow_choice(struct choice *c, size_t more)
{
    if (c->n + more <= c->cap)
        return 0;
    size_t cap = 2 * c->cap + more;
    struct passage *list = mem_grow(c->list, c->cap * sizeof *list, cap * sizeof *list);
    if (list == NULL)
        return ERR_NOMEM;
    c->list = list;
    struct ending *endings = mem_grow(c->endings, c->cap * sizeof *endings, cap * sizeof *endings);
    if (endings == NULL)
        return ERR_NOMEM;
    c->endings = endings;
    c->cap = cap;
    return 0;
}

/* How many ids passage i has in common with the one before it, of those that predict nothing. */
static size_t common_prefix(const struct choice *c, size_t i)
{
    const struct passage *p = &c->list[i];
    const token_id *a = c->pool.data + c->endings[i].at, *b = c->pool.data + c->endings[i - 1].at;
    size_t n = 0;
    while (n < p->first - 1 && n < p[-1].n - 1 && a[n] == b[n])
        n++;
    return n;
}

/*
 * lm-eval's _encode_pair: context and ending are encoded as one text, of which the ending has what
 * is behind as many tokens as the context has alone. What is too long loses its front.
 * ERR_FULL: the ending alone is longer than the context window.
 */
static int add_ending(struct choice *c, const struct question *q, int number)
{
    const struct model *m = c->evaluation->engine->model;
    const size_t n_ctx = (size_t)m->config.n_ctx;
    struct buf text = {0};
    struct ids whole = {0}, head = {0};
    const struct buf *context = &q->context, *ending = &q->endings[number];
    token_id end_of_text = tokenizer_eos(m->tokenizer);
    int rc = buf_add(&text, buf_text(context), context->n);
    if (rc == 0 && context->n == 0 && end_of_text != TOKEN_NONE &&
        (rc = ids_add(&head, &end_of_text, 1)) == 0)
        rc = ids_add(&whole, &end_of_text, 1);
    if (rc == 0 && (rc = tokenizer_encode(m->tokenizer, &head, buf_text(&text), text.n, 0)) == 0 &&
        (rc = buf_add(&text, q->between.data, q->between.n)) == 0 &&
        (rc = buf_add(&text, buf_text(ending), ending->n)) == 0)
        rc = tokenizer_encode(m->tokenizer, &whole, buf_text(&text), text.n, 0);
    if (rc == 0 && (head.n == 0 || whole.n <= head.n || whole.n - head.n > n_ctx))
        rc = ERR_FULL;
    if (rc == 0) {
        size_t cut = whole.n > n_ctx + 1 ? whole.n - n_ctx - 1 : 0;
        c->list[c->n] = (struct passage){.n = whole.n - cut, .first = head.n - cut};
        c->endings[c->n] = (struct ending){.at = c->pool.n,
                                           .number = number,
                                           .answer = q->answer,
                                           .last = number == q->n_endings - 1,
                                           .characters = count_characters(ending)};
        rc = ids_add(&c->pool, whole.data + cut, whole.n - cut);
    }
    if (rc == 0) {
        if (number > 0)
            c->list[c->n].shared = common_prefix(c, c->n);
        c->n++;
    }
    ids_release(&whole);
    ids_release(&head);
    buf_release(&text);
    return rc;
}

static int add_question(struct choice *c, const struct question *q)
{
    size_t n = c->n, n_ids = c->pool.n;
    int rc = grow_choice(c, (size_t)q->n_endings);
    for (int i = 0; i < q->n_endings && rc == 0; i++)
        rc = add_ending(c, q, i);
    if (rc == ERR_FULL) {
        c->n = n;
        c->pool.n = n_ids;
        c->left_out++;
        rc = 0;
    }
    c->questions++;
    c->hellaswag |= q->hellaswag;
    return rc;
}

static int read_lines(struct choice *c, const char *text, size_t n)
{
    const struct eval_config *k = &c->evaluation->config;
    uint64_t line = 0;
    char shown[SHOWN];
    for (size_t at = 0; at < n; line++) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t bytes = end == NULL ? n - at : (size_t)(end - (text + at));
        struct question q;
        int rc = progress_step(c->evaluation->progress, "reading", at, n);
        if (rc != 0)
            return rc;
        bool is_empty = strspn(text + at, " \t\r") >= bytes;
        c->total += !is_empty;
        if (!is_empty && (k->limit == 0 || c->questions < (uint64_t)k->limit)) {
            if ((rc = question_read(&q, text + at, bytes, k->detokenize)) == 0) {
                rc = add_question(c, &q);
                question_release(&q);
            }
            if (rc != 0)
                return err_wrap("%s line %" PRIu64,
                                file_show(shown, sizeof shown, c->evaluation->path), line + 1);
        }
        at += bytes + 1;
    }
    for (size_t i = 0; i < c->n; i++)
        c->list[i].ids = c->pool.data + c->endings[i].at;
    if (c->n == 0)
        return err_set(ERR_FORMAT,
                       c->questions == 0 ? "%s has no questions"
                                         : "no question of %s fits into the context",
                       file_show(shown, sizeof shown, c->evaluation->path));
    return 0;
}

/* ---- ranking ---- */

static void rank_ending(void *user, size_t i, const struct score *scores)
{
    struct choice *c = user;
    const struct ending *e = &c->endings[i];
    const size_t n = c->list[i].n - c->list[i].first;
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += scores[k].logprob;
    const double of[N_RANKINGS] = {sum, sum / e->characters, sum / (double)n};
    for (int r = 0; r < N_RANKINGS; r++) {
        if (e->number == 0 || of[r] > c->best[r]) {
            c->best[r] = of[r];
            c->chosen[r] = e->number;
        }
        if (e->last) {
            eval_mean_add(&c->right[r], c->chosen[r] == e->answer);
            eval_mean_close(&c->right[r]);
        }
    }
}

static void report_choice(const struct choice *c)
{
    static const char *const names[N_RANKINGS][2] = {
        {"acc", "accuracy %"},
        {"acc_norm", "accuracy by character %"},
        {"acc_token", "accuracy by token %"},
    };
    struct eval_result *r = c->evaluation->result;
    for (int i = 0; i < N_RANKINGS; i++)
        eval_figure_add(r, names[i][0], names[i][1], 100 * eval_mean_value(&c->right[i]),
                        100 * eval_mean_error(&c->right[i]), "%.2f");
    snprintf(r->definition, sizeof r->definition,
             "endings ranked by log-probability after the context: its sum (lm-eval's acc), by "
             "character (acc_norm), by token (llm.c)%s",
             c->hellaswag ? "; HellaSwag's text made ready as lm-eval does" : "");
    r->unit = "questions";
    r->done = c->right[BY_SUM].n;
    r->total = c->total;
    r->left_out = c->left_out;
}

int eval_choice(struct evaluation *ev)
{
    struct choice c = {.evaluation = ev};
    struct buf text = {0};
    int rc = eval_need_tokenizer(ev);
    if (rc == 0)
        rc = text_whole_read(&text, ev->path, FILE_BYTES_MAX);
    if (rc == 0)
        rc = read_lines(&c, buf_text(&text), text.n);
    buf_release(&text);
    ev->result->unit = "endings";
    if (rc == 0)
        rc = eval_score(ev, c.list, c.n, rank_ending, &c);
    /* By several ranks, rank 0 alone has the endings that are done. */
    if (rc == 0 && ev->result->done > 0 && c.right[BY_SUM].n == 0)
        rc = err_set(ERR_INTERRUPTED, "interrupted");
    if (rc == 0)
        report_choice(&c);
    release_choice(&c);
    return rc;
}
