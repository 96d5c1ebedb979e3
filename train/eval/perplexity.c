/*
 * WikiText and the Penn Treebank as Megatron-LM measures them: the text's words are put
 * together again, it is scored in windows that overlap, and the perplexity is that of a word
 * of the file as it was, whatever the tokenizer made of it.
 */
#include "train/eval/evals.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "train/eval/spaces.h"
#include "train/eval/detokenize.h"
#include "train/eval/token_sums.h"
#include "train/eval/windows.h"

#include <math.h>
#include <stdio.h>

enum { MOST = 20 /* of a loss whose perplexity is given, as Megatron-LM has it */ };

struct corpus {
    const char *rules; /* whose, for the definition */
    int (*detokenize)(struct buf *text);
};

/* The file's ids, and in how many pieces its words were cut. */
static int read_corpus(const struct evaluation *ev, const struct corpus *c, struct ids *ids,
                       size_t *pieces)
{
    struct buf text = {0};
    char shown[256];
    int rc = eval_read_text(ev, &text);
    if (rc == 0) {
        *pieces = span_pieces((struct span){buf_text(&text), text.n});
        rc = ev->config.detokenize ? c->detokenize(&text) : 0;
    }
    if (rc == 0)
        rc = tokenizer_encode(ev->engine->model->tokenizer, ids, buf_text(&text), text.n,
                              eval_encode_flags(ev));
    buf_release(&text);
    if (rc == 0 && ids->n < 2)
        rc = err_set(ERR_RANGE, "%s has %zu token%s; two are needed, one to predict the other",
                     file_show(shown, sizeof shown, ev->path), ids->n, ids->n == 1 ? "" : "s");
    return rc;
}

static void define_perplexity(const struct evaluation *ev, const struct corpus *c, size_t n_ids)
{
    struct eval_result *r = ev->result;
    snprintf(r->definition, sizeof r->definition,
             "as Megatron-LM measures: one stream of %zu tokens%s%s%s, windows of %d, stride %d, "
             "each target scored "
             "once; adjusted: perplexity of a word, exp(loss x token ratio)",
             n_ids, ev->config.detokenize ? ", detokenized by the rules for " : " as they are",
             ev->config.detokenize ? c->rules : "", eval_special_words(ev), ev->config.seq_length,
             ev->config.overlap);
}

static void add_figures(const struct evaluation *ev, const struct token_sums *s, size_t n_ids,
                        size_t pieces)
{
    struct eval_result *r = ev->result;
    double loss = eval_mean_value(&s->loss), error = eval_mean_error(&s->loss), largest = loss;
    token_sums_add_loss(s, r, MOST);
    /* A single word has no ratio. */
    if (pieces > 1) {
        double ratio = (double)(n_ids - 1) / (double)(pieces - 1);
        token_sums_add_perplexity(r, "adjusted_perplexity", "adjusted perplexity (word level)",
                                  loss * ratio, ratio * error, MOST, "%.2f");
        largest = fmax(loss, loss * ratio);
        eval_figure_add(r, "token_ratio", "token ratio", ratio, NAN, "%.4f");
    }
    if (largest > MOST)
        progress_note(ev->progress, "perplexities are cut at exp(%d), as Megatron-LM has them",
                      MOST);
    token_sums_add_bytes(s, r);
    token_sums_add_accuracy(s, r);
}

static int measure_perplexity(struct evaluation *ev, const struct corpus *c)
{
    struct ids ids = {0};
    struct passage *list = NULL;
    size_t pieces = 0, n = 0;
    int rc = eval_need_tokenizer(ev);
    if (rc == 0)
        rc = read_corpus(ev, c, &ids, &pieces);
    struct windows w = {ids.n, ev->config.seq_length, ev->config.overlap, .whole = true};
    if (rc == 0)
        rc = windows_check(&w, "overlap");
    if (rc == 0)
        rc = windows_cut(&list, &n, &w, ids.data, ev);
    if (rc == 0) {
        struct token_sums sums = {.list = list, .tokenizer = ev->engine->model->tokenizer};
        define_perplexity(ev, c, ids.n);
        rc = eval_score(ev, list, n, token_sums_take, &sums);
        if (rc == 0)
            add_figures(ev, &sums, ids.n, pieces);
    }
    mem_free(list);
    ids_release(&ids);
    return rc;
}

int eval_wikitext(struct evaluation *ev)
{
    return measure_perplexity(ev, &(struct corpus){"WikiText", detokenize_wikitext});
}

int eval_ptb(struct evaluation *ev)
{
    return measure_perplexity(ev, &(struct corpus){"PTB", detokenize_ptb});
}
