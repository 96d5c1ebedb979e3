#include "train/eval/result.h"

#include "model/base/mem.h"

#include <math.h>
#include <string.h>

void eval_config_init(struct eval_config *c)
{
    *c = (struct eval_config){.detokenize = true, .lines = DATA_LINES};
}

void eval_result_release(struct eval_result *r)
{
    mem_free(r->path);
    *r = (struct eval_result){0};
}

void eval_figure_add(struct eval_result *r, const char *name, const char *text, double value,
                     double error, const char *format)
{
    if (r->n_figures < EVAL_MAX_FIGURES)
        r->figures[r->n_figures++] = (struct eval_figure){name, text, value, error, format};
}

const struct eval_figure *eval_figure_find(const struct eval_result *r, const char *name)
{
    for (int i = 0; i < r->n_figures; i++)
        if (strcmp(r->figures[i].name, name) == 0)
            return &r->figures[i];
    return NULL;
}

void eval_mean_add(struct eval_mean *m, double x)
{
    m->part += x;
    m->part_squares += x * x;
    m->n++;
}

void eval_mean_close(struct eval_mean *m)
{
    m->sum += m->part;
    m->squares += m->part_squares;
    m->part = m->part_squares = 0;
}

double eval_mean_value(const struct eval_mean *m)
{
    return m->n == 0 ? NAN : m->sum / (double)m->n;
}

double eval_mean_error(const struct eval_mean *m)
{
    double n = (double)m->n, mean = eval_mean_value(m);
    if (m->n < 2)
        return NAN;
    return sqrt(fmax(m->squares / n - mean * mean, 0) / (n - 1));
}
