#include "train/eval/token_sums.h"

#include <math.h>

enum { TOP = 10 };

void token_sums_take(void *sums, size_t i, const struct score *scores)
{
    struct token_sums *s = sums;
    const struct passage *p = &s->list[i];
    for (size_t k = p->first; k < p->n; k++, scores++) {
        size_t bytes = 0;
        if (s->omitted != NULL && s->omitted[p->ids + k - s->ids])
            continue;
        eval_mean_add(&s->loss, -scores->logprob);
        eval_mean_add(&s->top_1, scores->best == p->ids[k]);
        eval_mean_add(&s->top_10, scores->above < TOP);
        if (s->tokenizer != NULL && !tokenizer_is_special(s->tokenizer, p->ids[k]))
            tokenizer_bytes(s->tokenizer, p->ids[k], &bytes);
        s->bytes += bytes;
    }
    eval_mean_close(&s->loss);
    eval_mean_close(&s->top_1);
    eval_mean_close(&s->top_10);
}

void token_sums_add_perplexity(struct eval_result *r, const char *name, const char *text,
                               double loss, double error, double most, const char *format)
{
    double perplexity = exp(loss > most ? most : loss);
    eval_figure_add(r, name, text, perplexity, loss <= most ? perplexity * error : NAN, format);
}

void token_sums_add_loss(const struct token_sums *s, struct eval_result *r, double most)
{
    double loss = eval_mean_value(&s->loss), error = eval_mean_error(&s->loss);
    eval_figure_add(r, "loss", "loss", loss, error, "%.4f");
    token_sums_add_perplexity(r, "perplexity", "perplexity", loss, error, most, "%.2f");
}

void token_sums_add_bytes(const struct token_sums *s, struct eval_result *r)
{
    if (s->bytes == 0)
        return;
    double tokens = (double)s->loss.n / (double)s->bytes;
    double loss = eval_mean_value(&s->loss) * tokens, error = eval_mean_error(&s->loss) * tokens;
    eval_figure_add(r, "loss_per_byte", "loss per byte", loss, error, "%.4f");
    eval_figure_add(r, "perplexity_per_byte", "perplexity per byte", exp(loss), exp(loss) * error,
                    "%.4f");
    eval_figure_add(r, "bits_per_byte", "bits per byte", loss / log(2), error / log(2), "%.4f");
}

void token_sums_add_accuracy(const struct token_sums *s, struct eval_result *r)
{
    eval_figure_add(r, "top_1", "top-1 accuracy %", 100 * eval_mean_value(&s->top_1),
                    100 * eval_mean_error(&s->top_1), "%.2f");
    eval_figure_add(r, "top_10", "top-10 accuracy %", 100 * eval_mean_value(&s->top_10),
                    100 * eval_mean_error(&s->top_10), "%.2f");
}
