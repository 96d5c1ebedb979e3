#include "model/shard_cursor.h"

static struct shard_axis divided_axis(size_t groups, int size, struct shard_range r, int each)
{
    return (struct shard_axis){groups, (size_t)size / groups, (size_t)(r.first * each),
                               (size_t)((r.last - r.first) * each), true};
}

/* `letters` as schema.h has them; size: of the whole dimension. */
static struct shard_axis find_axis(const struct shard_cursor *x, const char *letters, int size)
{
    const size_t groups = *letters >= '0' && *letters <= '9' ? (size_t)(*letters - '0') : 1;
    switch (letters[groups > 1]) {
    case 'A':
        return divided_axis(groups, size, x->shard.heads, config_head_size(&x->config));
    case 'F':
        return divided_axis(groups, size, x->shard.inner, 1);
    case 'V':
        return divided_axis(groups, size, x->shard.vocab, 1);
    default:
        return (struct shard_axis){1, (size_t)size, 0, (size_t)size, false};
    }
}

static void enter_tensor(struct shard_cursor *x)
{
    struct config own;
    int rows, cols, own_rows, own_cols;
    if (x->tensor >= schema_count(&x->config))
        return;
    const struct schema_row *row = schema_tensor(&x->config, x->tensor).row;
    shard_config(&own, &x->config, &x->shard);
    schema_shape(row, &x->config, &rows, &cols);
    schema_shape(row, &own, &own_rows, &own_cols);
    x->whole_n = (size_t)rows * (size_t)cols;
    x->own_n = (size_t)own_rows * (size_t)own_cols;
    x->rows = find_axis(x, row->rows, rows);
    x->cols = find_axis(x, row->cols, cols);
    if (x->cols.divided)
        return;
    /* Whole rows, one behind another: one run. */
    const struct shard_axis r = x->rows;
    const size_t width = (size_t)cols;
    x->cols = (struct shard_axis){1, x->whole_n, r.first * width, r.n * width, r.divided};
    x->rows = (struct shard_axis){1, 1, 0, 1, false};
}

static struct shard_run find_run(const struct shard_cursor *x)
{
    const struct shard_axis *c = &x->cols;
    const size_t row = x->rows.first + x->row;
    return (struct shard_run){.whole =
                                  x->whole + (row * c->groups + x->group) * c->whole + c->first,
                              .own = x->own + (x->row * c->groups + x->group) * c->n,
                              .n = c->n,
                              .divided = c->divided};
}

static void leave_tensor(struct shard_cursor *x)
{
    x->row = x->group = x->done = 0;
    x->whole += x->whole_n;
    x->own += x->own_n;
    x->tensor++;
    enter_tensor(x);
}

static void leave_run(struct shard_cursor *x)
{
    x->done = 0;
    if (++x->group < x->cols.groups)
        return;
    x->group = 0;
    if (++x->row == x->rows.n)
        leave_tensor(x);
}

void shard_cursor_init(struct shard_cursor *x, const struct config *whole, const struct shard *s)
{
    *x = (struct shard_cursor){.config = *whole, .shard = *s};
    enter_tensor(x);
}

bool shard_cursor_next(struct shard_cursor *x, struct shard_run *out, size_t first, size_t last,
                       size_t most)
{
    const int n_tensors = schema_count(&x->config);
    while (x->tensor < n_tensors) {
        if (x->whole + x->whole_n <= first || x->rows.n == 0) {
            leave_tensor(x);
            continue;
        }
        const struct shard_run r = find_run(x);
        const size_t at = r.whole + x->done, begin = at < first ? first : at, end = r.whole + r.n;
        if (begin >= end) {
            leave_run(x);
            continue;
        }
        if (begin >= last)
            return false;
        const size_t n = (end < last ? end : last) - begin;
        *out = (struct shard_run){.whole = begin,
                                  .own = r.own + (begin - r.whole),
                                  .n = n < most ? n : most,
                                  .divided = r.divided};
        x->done = begin + out->n - r.whole;
        return true;
    }
    return false;
}
