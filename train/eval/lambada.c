/*
 * LAMBADA (Paperno et al. 2016): passages whose last word can be guessed from all of the text
 * only. Plain: the last token is the likeliest. Strict: every token of the last word is, the
 * word being encoded by itself, behind the stripped text before it.
 */
#include "train/eval/evals.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "train/data/text_whole.h"
#include "train/eval/spaces.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct passage_span {
    size_t at, n, first; /* of a passage, in the ids of all */
};

struct passages {
    struct ids ids;
    struct buf spans;   /* struct passage_span [n] */
    struct ids context; /* of the line being read */
    uint64_t read, left_out;
};

static size_t count_passages(const struct passages *p)
{
    return p->spans.n / sizeof(struct passage_span);
}

static int encode_span(const struct evaluation *ev, struct ids *out, struct span s)
{
    return tokenizer_encode(ev->engine->model->tokenizer, out, s.text, s.n, ENCODE_TEXT);
}

/* The ids of a text's context and target behind each other; *first: where the target begins. */
static int read_plain(const struct evaluation *ev, struct ids *out, struct span text, size_t *first)
{
    int rc = encode_span(ev, out, text);
    *first = out->n > 0 ? out->n - 1 : 0;
    return rc;
}

static int read_strict(const struct evaluation *ev, struct ids *out, struct span text,
                       size_t *first)
{
    struct span word = span_last_word(text);
    struct buf target = {0};
    int rc =
        encode_span(ev, out, span_strip((struct span){text.text, (size_t)(word.text - text.text)}));
    *first = out->n;
    if (rc == 0)
        rc = buf_char(&target, ' ');
    if (rc == 0)
        rc = buf_add(&target, word.text, word.n);
    if (rc == 0 && word.n > 0)
        rc = encode_span(ev, out, (struct span){target.data, target.n});
    buf_release(&target);
    return rc;
}

static int add_passage(const struct evaluation *ev, struct passages *p, struct span text)
{
    struct ids *one = &p->context;
    size_t first, from = 0;
    const size_t most = (size_t)ev->config.seq_length + 1;
    one->n = 0;
    int rc = (ev->config.strict ? read_strict : read_plain)(ev, one, text, &first);
    if (rc != 0)
        return rc;
    p->read++;
    if (!ev->config.strict && one->n > most)
        from = one->n - most;
    /* No context, no target, or too long. */
    if (first == 0 || first == one->n || one->n - from > most) {
        p->left_out++;
        return 0;
    }
    struct passage_span span = {p->ids.n, one->n - from, first - from};
    rc = ids_add(&p->ids, one->data + from, span.n);
    return rc == 0 ? buf_add(&p->spans, &span, sizeof span) : rc;
}

static int read_line(const struct evaluation *ev, struct passages *p, const char *line, size_t n)
{
    json_t *object = NULL;
    int rc = json_read_line(&object, line, n);
    const json_t *text = rc == 0 ? json_object_get(object, "text") : NULL;
    if (rc == 0 && !json_is_string(text))
        rc = err_set(ERR_FORMAT, "expected an object whose field text is a string");
    if (rc == 0)
        rc = add_passage(ev, p, (struct span){json_string_value(text), json_string_length(text)});
    json_decref(object);
    return rc;
}

static int read_passages(const struct evaluation *ev, struct passages *p)
{
    struct buf file = {0};
    char shown[256];
    int rc = text_whole_read(&file, ev->path, (uint64_t)1 << 30);
    size_t number = 0;
    for (size_t at = 0, n; rc == 0 && at < file.n; at += n + 1) {
        const char *line = file.data + at, *end = memchr(line, '\n', file.n - at);
        n = end == NULL ? file.n - at : (size_t)(end - line);
        number++;
        if (span_strip((struct span){line, n}).n == 0)
            continue;
        if ((rc = read_line(ev, p, line, n)) != 0)
            err_wrap("%s line %zu", file_show(shown, sizeof shown, ev->path), number);
        else if (number % 256 == 0)
            rc = progress_step(ev->progress, "reading", at, file.n);
    }
    buf_release(&file);
    if (rc == 0 && count_passages(p) == 0)
        rc = err_set(ERR_RANGE, "%s has no passage that can be scored, of %llu%s",
                     file_show(shown, sizeof shown, ev->path), (unsigned long long)p->read,
                     ev->config.strict ? "; with strict none is cut to seq_length" : "");
    return rc;
}

/* What is added up over passages. */
struct tally {
    const struct passage *list;
    struct eval_mean loss, correct;
    uint64_t n_correct;
};

static void tally_scores(void *user, size_t i, const struct score *scores)
{
    struct tally *t = user;
    const struct passage *p = &t->list[i];
    double loss = 0;
    bool correct = true;
    for (size_t k = p->first; k < p->n; k++, scores++) {
        loss -= scores->logprob;
        correct = correct && scores->best == p->ids[k];
    }
    t->n_correct += correct;
    eval_mean_add(&t->loss, loss);
    eval_mean_add(&t->correct, correct);
    eval_mean_close(&t->loss);
    eval_mean_close(&t->correct);
}

static void add_figures(struct eval_result *r, const struct tally *t, bool strict)
{
    double loss = eval_mean_value(&t->loss), error = eval_mean_error(&t->loss);
    eval_figure_add(r, "accuracy", "accuracy %", 100 * eval_mean_value(&t->correct),
                    100 * eval_mean_error(&t->correct), "%.2f");
    eval_figure_add(r, "correct", "correct", (double)t->n_correct, NAN, "%.0f");
    eval_figure_add(r, "loss", strict ? "loss of the last word" : "loss of the last token", loss,
                    error, "%.4f");
    eval_figure_add(r, "perplexity",
                    strict ? "perplexity of the last word" : "perplexity of the last token",
                    exp(loss), exp(loss) * error, "%.2f");
}

static int score_passages(struct evaluation *ev, const struct passages *p, struct passage *list,
                          size_t n)
{
    const struct passage_span *spans = (const struct passage_span *)(const void *)p->spans.data;
    for (size_t i = 0; i < n; i++)
        list[i] = (struct passage){
            .ids = p->ids.data + spans[i].at, .n = spans[i].n, .first = spans[i].first};
    struct tally tally = {.list = list};
    int rc = eval_score(ev, list, n, tally_scores, &tally);
    if (rc == 0)
        add_figures(ev->result, &tally, ev->config.strict);
    return rc;
}

int eval_lambada(struct evaluation *ev)
{
    struct eval_result *r = ev->result;
    struct passages p = {0};
    struct passage *list = NULL;
    int rc = eval_need_tokenizer(ev);
    if (rc == 0)
        rc = read_passages(ev, &p);
    size_t n = eval_limited(ev, count_passages(&p));
    if (rc == 0 && (list = mem_array(n, sizeof *list)) == NULL)
        rc = ERR_NOMEM;
    if (rc == 0) {
        r->unit = "passages";
        r->total = p.read;
        r->left_out = p.left_out;
        snprintf(
            r->definition, sizeof r->definition,
            ev->config.strict
                ? "strict: every token of the last word is the likeliest, given the passage before "
                  "it"
                  "; of passages of up to %d tokens"
                : "plain: the last token of the passage is the likeliest, given up to %d tokens "
                  "before it",
            ev->config.seq_length);
        rc = score_passages(ev, &p, list, n);
    }
    mem_free(list);
    ids_release(&p.ids);
    ids_release(&p.context);
    buf_release(&p.spans);
    return rc;
}
