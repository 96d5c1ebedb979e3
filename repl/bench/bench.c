#include "repl/bench/bench.h"

#include "model/kernels/peak.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_values(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_value(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, compare_values);
    return v[n / 2];
}

static int put_ratios(struct bench *b, struct rounds *m)
{
    int rc = 0;
    for (int i = 0; i < N_PEERS && rc == 0; i++)
        if (b->peer_columns[i] != 0 && m->ratio[i][0] > 0)
            rc = table_cell(&b->table, b->peer_columns[i], "%.2f", median_value(m->ratio[i], m->n));
    return rc;
}

/* Whose figures they are: keys and values in another precision are another measurement. */
static int put_model(struct bench *b)
{
    const struct engine *e = &b->repl->engine;
    int rc =
        table_cell(&b->table, b->weights_column, "%s", dtype_short_name(e->model->params.dtype));
    if (rc == 0)
        rc = table_cell(&b->table, b->cache_column, "%s", dtype_short_name(e->cache.layout.dtype));
    const char *name = e->model->name;
    return rc == 0 ? table_text(&b->table, b->model_column, name, strlen(name)) : rc;
}

/* Decimals that give x four digits; a row's numbers have those of its median. */
static int count_decimals(double x)
{
    int decimals = 0;
    for (double size = fabs(x); size > 0 && size < 999.95 && decimals < 9; size *= 10)
        decimals++;
    return decimals;
}

int bench_report(struct bench *b, const char *what, struct rounds *m, const char *unit,
                 const char *limit)
{
    double middle = median_value(m->value, m->n);
    const int decimals = count_decimals(middle);
    int rc = table_row(&b->table);
    if (rc == 0)
        rc = table_cell(&b->table, 0, "%s", what);
    if (rc == 0)
        rc = table_cell(&b->table, 1, "%.*f", decimals, middle);
    if (rc == 0)
        rc = table_cell(&b->table, 2, "%s", unit);
    if (rc == 0)
        rc = table_cell(&b->table, 3, "%.*f", decimals, m->value[0]);
    if (rc == 0)
        rc = table_cell(&b->table, 4, "%.*f", decimals, m->value[m->n - 1]);
    if (rc == 0 && limit != NULL)
        rc = table_cell(&b->table, 5, "%.3f", median_value(m->share, m->n));
    if (rc == 0 && limit != NULL)
        rc = table_cell(&b->table, 6, "%s", limit);
    if (rc == 0)
        rc = put_ratios(b, m);
    return rc == 0 && b->model_column != 0 ? put_model(b) : rc;
}

int bench_peers(struct bench *b, struct rounds *m, enum peer_work work, int batch, int length)
{
    int rc = 0;
    for (int i = 0; i < N_PEERS && rc == 0; i++) {
        double theirs = 0;
        rc = peer_measure(&b->peers, (enum peer)i, work, batch, length, &theirs);
        if (rc == 0 && theirs > 0)
            m->ratio[i][m->n - 1] = m->value[m->n - 1] / theirs;
    }
    return rc;
}

double bench_stream_limit(const struct model *m)
{
    return peak_stream_bytes(m->params.block, m->params.block_bytes);
}
