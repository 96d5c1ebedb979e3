#include "repl/commands/profile_table.h"

#include "model/kernels/peak.h"
#include "repl/terminal/table_fit.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { COLUMNS = 7, RATES = 0x78 /* the columns behind the shares of time */ };

/* Besides the categories: the caller's own work between jobs, and the time in which it waits for a
 * team whose threads have not begun. */
enum { ROW_CALLER = N_PARTS, ROW_START, N_ROWS };

struct time_row {
    const char *name;
    double s, flops, bytes; /* of one thread; of the whole team */
};

static double team_sum(const struct profile_trace *t, size_t offset)
{
    double sum = 0;
    for (int i = 0; i < t->n_threads; i++)
        sum += *(const double *)((const char *)&t->lanes[i] + offset);
    return sum;
}

static double part_flops(const struct profile_trace *t, int part)
{
    return team_sum(t, offsetof(struct profile_lane, flops) + (size_t)part * sizeof(double));
}

static double part_bytes(const struct profile_trace *t, int part)
{
    return team_sum(t, offsetof(struct profile_lane, bytes) + (size_t)part * sizeof(double));
}

struct profile_limits profile_limits_measure(const struct profile_trace *t, const struct model *m)
{
    enum { LEAST_BYTES = 1 << 16 };
    struct profile_limits limits = {0};
    double flops = 0, bytes = 0;
    for (int part = 0; part < N_PARTS; part++) {
        flops += part_flops(t, part);
        bytes += part_bytes(t, part);
    }
    if (flops > 0)
        limits.flops = peak_fma_flops();
    if (bytes > 0 && m != NULL && m->params.block_bytes >= LEAST_BYTES)
        limits.bytes = peak_stream_bytes(m->params.block, m->params.block_bytes);
    return limits;
}

static int compare_rows(const void *a, const void *b)
{
    const struct time_row *x = a, *y = b;
    return x->s > y->s ? -1 : x->s < y->s;
}

/* What is left is between the caller's word and the threads' beginning, and back. */
static void fill_rows(struct time_row rows[N_ROWS], const struct profile_trace *t)
{
    const double *caller = t->lanes[t->n_threads].seconds;
    double rest = t->end - t->begin;
    for (int part = 0; part < N_PARTS; part++) {
        const bool apart = part == PART_REST || part == PART_WAITS;
        rows[part] = (struct time_row){.name = profile_part_name((enum profile_part)part),
                                       .s = profile_trace_team_s(t, (enum profile_part)part) +
                                            (apart ? 0 : caller[part]),
                                       .flops = part_flops(t, part),
                                       .bytes = part_bytes(t, part)};
        rest -= rows[part].s;
    }
    rows[PART_REST].name = "other jobs of the team";
    rows[PART_WAITS].name = "waits at barriers";
    rows[ROW_CALLER] = (struct time_row){.name = "caller between jobs", .s = caller[PART_REST]};
    rows[ROW_START] =
        (struct time_row){.name = "starting jobs", .s = fmax(rest - caller[PART_REST], 0)};
    qsort(rows, N_ROWS, sizeof *rows, compare_rows);
}

/* A rate and its share of the limit, in two columns. */
static int put_rate(struct table *t, int column, double work, double s, double limit)
{
    if (work <= 0 || s <= 0)
        return 0;
    int rc = table_cell(t, column, "%.1f", work / s * 1e-9);
    if (rc == 0 && limit > 0)
        rc = table_cell(t, column + 1, "%.2f", work / s / limit);
    return rc;
}

/* Short commands in milliseconds. */
static bool is_short(double wall_s)
{
    return wall_s < 10;
}

static int put_row(struct table *t, const struct time_row *row, double wall_s,
                   struct profile_limits limits)
{
    int rc = table_row(t);
    if (rc == 0)
        rc = table_cell(t, 0, "%s", row->name);
    if (rc == 0)
        rc = is_short(wall_s) ? table_cell(t, 1, "%.2f", row->s * 1e3)
                              : table_cell(t, 1, "%.2f", row->s);
    if (rc == 0)
        rc = table_cell(t, 2, "%.1f", 100 * row->s / wall_s);
    if (rc == 0)
        rc = put_rate(t, 3, row->flops, row->s, limits.flops);
    return rc == 0 ? put_rate(t, 5, row->bytes, row->s, limits.bytes) : rc;
}

int profile_table_print(FILE *f, const struct profile_trace *trace, struct profile_limits limits)
{
    /* Less is neither a row nor a time that the clock can tell. */
    static const double LEAST_S = 5e-7;
    const double wall_s = trace->end - trace->begin;
    const char *const heads[COLUMNS] = {
        "where", is_short(wall_s) ? "ms" : "s", "%", "GFLOP/s", "of limit", "GB/s", "of limit"};
    struct time_row rows[N_ROWS];
    struct table t;
    struct buf out = {0};
    enum table_fit fit = TABLE_WHOLE;
    int rc = 0;
    fill_rows(rows, trace);
    table_init(&t, heads, COLUMNS);
    for (int i = 0; i < N_ROWS && rc == 0; i++)
        if (rows[i].s >= LEAST_S)
            rc = put_row(&t, &rows[i], wall_s, limits);
    if (rc == 0)
        rc = term_is(f) ? table_fit(&t, RATES, 0, term_width(f) - 1, &out, &fit)
                        : table_format(&t, TABLE_TEXT, &out);
    if (rc == 0)
        fwrite(buf_text(&out), 1, out.n, f);
    if (rc == 0 && fit != TABLE_WHOLE)
        wrap_say(f, term_dim(f),
                 "wider terminals also show GFLOP/s, GB/s and shares of the limits");
    buf_release(&out);
    table_release(&t);
    return rc;
}
