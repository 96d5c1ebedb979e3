/*
 * This model against another on a text: how far its expectations are from the other's, for fp16
 * against fp32, quantised against not, before against after training.
 */
#include "train/eval/divergence.h"
#include "train/eval/evals.h"
#include "train/eval/token_sums.h"
#include "train/eval/windows.h"

#include "model/adapter.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/tokenizer/bpe_words.h"
#include "sampling/chain/logits.h"
#include "train/data/source.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct comparison {
    struct evaluation *evaluation;
    const struct passage *list;
    size_t V;
    float *scratch; /* [threads][2,V] */
    struct divergence_row rows[SCORE_ROWS];
    const struct eval_slice *slice;
    struct divergence all;
};

/* ---- whether the two can be compared ---- */

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static int check_vocabularies(const struct model *m, const struct model *other)
{
    const struct tokenizer *a = m->tokenizer, *b = other->tokenizer;
    char one[64], two[64];
    if (m->config.n_vocab != other->config.n_vocab)
        return err_set(
            ERR_MISMATCH,
            "cannot compare: this model has %d tokens, the other %d; both need the same vocabulary",
            m->config.n_vocab, other->config.n_vocab);
    /* A folder without tokenizer files is taken at its size. */
    for (int i = 0; a != NULL && b != NULL && i < m->config.n_vocab; i++) {
        const char *in_a = tokenizer_text(a, i), *in_b = tokenizer_text(b, i);
        if (!same_text(in_a, in_b))
            return err_set(ERR_MISMATCH,
                           "cannot compare: token %d is \"%s\" here and \"%s\" in the other model; "
                           "both need the same vocabulary",
                           i, file_show(one, sizeof one, in_a == NULL ? "" : in_a),
                           file_show(two, sizeof two, in_b == NULL ? "" : in_b));
    }
    return 0;
}

/* ---- a slice ---- */

static void compare_rows(void *user, int thread, int n_threads)
{
    struct comparison *c = user;
    const struct eval_slice *s = c->slice;
    int first, last;
    par_split(s->n, thread, n_threads, &first, &last);
    for (int i = first; i < last; i++)
        divergence_row(&c->rows[i], s->logits + (size_t)i * c->V, s->other + (size_t)i * c->V,
                       c->scratch + (size_t)thread * 2 * c->V, c->V, s->rows[i].id);
}

/* Of a row that one of the models made no sense of: the sentence, with whose logits they are. */
static int refuse_row(const struct comparison *c, int row)
{
    const struct evaluation *ev = c->evaluation;
    const float *own = c->slice->logits + (size_t)row * c->V;
    const struct engine *e = logits_are_finite(own, c->V) ? ev->other : ev->engine;
    return logits_refuse(e->model, c->slice->rows[row].target);
}

static int compare_slice(void *user, const struct eval_slice *slice)
{
    struct comparison *c = user;
    struct eval_result *r = c->evaluation->result;
    c->slice = slice;
    par_run(compare_rows, c);
    for (int i = 0; i < slice->n; i++) {
        const struct score_row *row = &slice->rows[i];
        if (!isfinite(c->rows[i].kl) || !isfinite(c->rows[i].loss))
            return refuse_row(c, i);
        r->done += row->target == c->list[row->passage].n - 1;
    }
    r->targets += (uint64_t)slice->n;
    return divergence_add(&c->all, c->rows, (size_t)slice->n);
}

/* ---- the result ---- */

static void report_comparison(struct comparison *c, const struct windows *w)
{
    struct eval_result *r = c->evaluation->result;
    struct model *other = c->evaluation->other->model;
    const unsigned char *weights = model_fingerprint(other);
    struct divergence_result d;
    char name[80];
    divergence_resolve(&c->all, &d);
    double ratio = exp(d.change.value);
    eval_figure_add(r, "kl", "KL divergence, mean", d.kl.value, d.kl.error, NULL);
    eval_figure_add(r, "kl_median", "KL, median", d.median.value, d.median.error, NULL);
    eval_figure_add(r, "kl_p90", "KL, 90th percentile", d.p90.value, d.p90.error, NULL);
    eval_figure_add(r, "kl_p95", "KL, 95th percentile", d.p95.value, d.p95.error, NULL);
    eval_figure_add(r, "kl_p99", "KL, 99th percentile", d.p99.value, d.p99.error, NULL);
    eval_figure_add(r, "kl_p99_9", "KL, 99.9th percentile", d.p99_9.value, d.p99_9.error, NULL);
    eval_figure_add(r, "kl_max", "KL, maximum", d.greatest, NAN, NULL);
    eval_figure_add(r, "same_top", "same likeliest token %", 100 * d.same_top.value,
                    100 * d.same_top.error, NULL);
    token_sums_add_perplexity(r, "perplexity", "perplexity", d.loss.value, d.loss.error, INFINITY,
                              NULL);
    token_sums_add_perplexity(r, "other_perplexity", "perplexity of the other", d.other_loss.value,
                              d.other_loss.error, INFINITY, NULL);
    eval_figure_add(r, "perplexity_ratio", "perplexity ratio (this / other)", ratio,
                    ratio * d.change.error, NULL);
    eval_figure_add(r, "loss_change", "loss difference (this - other)", d.change.value,
                    d.change.error, NULL);
    snprintf(
        r->definition, sizeof r->definition,
        "KL(other || this) in nats at each target, other: %s%s (%02x%02x%02x%02x) in %s, this in "
        "%s; "
        "windows of %d, stride %d, each target once%s",
        file_show(name, sizeof name, other->name),
        other->adapter != NULL && other->adapter->on ? " with an adapter" : "", weights[0],
        weights[1], weights[2], weights[3], r->other_precision, r->precision, w->length, w->step,
        eval_special_words(c->evaluation));
}

static int measure_divergence(struct evaluation *ev, const struct ids *ids)
{
    struct comparison *c = mem_alloc(sizeof *c);
    struct windows w = {ids->n, ev->config.seq_length, ev->config.overlap, .whole = true};
    struct passage *list = NULL;
    size_t n = 0;
    int rc = c == NULL ? ERR_NOMEM : windows_check(&w, "overlap");
    if (rc == 0 && model_fingerprint(ev->other->model) == NULL)
        rc = err_last();
    if (rc == 0)
        rc = windows_cut(&list, &n, &w, ids->data, ev);
    if (rc == 0) {
        c->evaluation = ev;
        c->list = list;
        c->V = (size_t)ev->engine->model->config.n_vocab;
        c->scratch = mem_array((size_t)par_threads() * 2 * c->V, sizeof *c->scratch);
        rc = c->scratch == NULL ? ERR_NOMEM : eval_compare(ev, list, n, compare_slice, c);
    }
    if (rc == 0)
        report_comparison(c, &w);
    if (c != NULL) {
        divergence_release(&c->all);
        mem_free(c->scratch);
    }
    mem_free(c);
    mem_free(list);
    return rc;
}

/* ---- the text ---- */

/* A file of text alone. */
static int find_plain(bool *out, const char *path)
{
    struct data_sources s = {0};
    char *list = data_list_path(path);
    int rc = list == NULL ? ERR_NOMEM : data_sources_find(&s, list);
    const struct data_source *first = s.list;
    *out = rc == 0 && s.n == 1 && first->kind == DATA_TEXT && !first->packed && !first->utf16 &&
           !first->inside;
    data_sources_release(&s);
    mem_free(list);
    return rc;
}

/* The documents of JSON lines, token files, archives and folders, as in training. */
static int read_documents(const struct evaluation *ev, struct ids *ids)
{
    enum { MOST = 1 << 28 };
    struct dataset d = {0};
    char shown[256];
    int rc = eval_open_text(&d, ev);
    if (rc == 0 && d.n_tokens > MOST)
        rc =
            err_set(ERR_RANGE, "%s has %llu tokens, at most %d are compared at once",
                    file_show(shown, sizeof shown, ev->path), (unsigned long long)d.n_tokens, MOST);
    if (rc == 0)
        rc = ids_reserve(ids, d.n_tokens);
    if (rc == 0 && (rc = dataset_read(&d, ids->data, 0, d.n_tokens)) == 0)
        ids->n = d.n_tokens;
    dataset_close(&d);
    return rc;
}

/* As it stands, unless it is several texts. */
static int read_plain(struct evaluation *ev, struct ids *ids)
{
    static const char end[] = BPE_END_OF_TEXT;
    struct buf text = {0};
    int rc = eval_read_text(ev, &text);
    if (rc == 0 && memmem(text.data, text.n, end, sizeof end - 1) != NULL)
        rc = read_documents(ev, ids);
    else if (rc == 0)
        rc = tokenizer_encode(ev->engine->model->tokenizer, ids, buf_text(&text), text.n,
                              eval_encode_flags(ev));
    buf_release(&text);
    return rc;
}

int eval_kl(struct evaluation *ev)
{
    struct ids ids = {0};
    char shown[256];
    bool plain;
    int rc = check_vocabularies(ev->engine->model, ev->other->model);
    if (rc == 0 && (rc = eval_need_tokenizer(ev)) == 0 && (rc = find_plain(&plain, ev->path)) == 0)
        rc = plain ? read_plain(ev, &ids) : read_documents(ev, &ids);
    if (rc == 0 && ids.n < 2)
        rc = err_set(ERR_RANGE, "%s has %zu token%s; two are needed, one to predict the other",
                     file_show(shown, sizeof shown, ev->path), ids.n, ids.n == 1 ? "" : "s");
    if (rc == 0)
        rc = measure_divergence(ev, &ids);
    ids_release(&ids);
    return rc;
}
