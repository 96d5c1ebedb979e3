#include "repl/terminal/sparkline.h"

#include "repl/terminal/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LEAST = 3 };

static void merge_pairs(struct sparkline *s)
{
    for (int i = 0; i < s->n / 2; i++)
        s->mean[i] = (s->mean[2 * i] + s->mean[2 * i + 1]) / 2;
    s->n /= 2;
    s->each *= 2;
}

void sparkline_add(struct sparkline *s, double value)
{
    if (!isfinite(value))
        return;
    if (s->n == 0 && s->so_far == 0) {
        s->first = value;
        s->each = 1;
    }
    if (s->n == SPARKLINE_MEANS)
        merge_pairs(s);
    s->last = value;
    s->sum += value;
    if (++s->so_far < s->each)
        return;
    s->mean[s->n++] = s->sum / s->each;
    s->sum = 0;
    s->so_far = 0;
}

static int add_level(struct buf *out, double part, bool utf8)
{
    static const char ascii[] = "_.-^";
    const int n = utf8 ? 8 : (int)sizeof ascii - 1, level = (int)fmin(part * n, n - 1);
    if (!utf8)
        return buf_char(out, ascii[level]);
    /* U+2581 is an eighth of a row, U+2588 all of it. */
    return buf_add(out, (char[]){(char)0xe2, (char)0x96, (char)(0x81 + level)}, 3);
}

/* Means i of `columns`, each of the whole means that fall into it. */
static double column_mean(const struct sparkline *s, int i, int columns)
{
    const int from = i * s->n / columns, to = (i + 1) * s->n / columns;
    double sum = 0;
    for (int k = from; k < to; k++)
        sum += s->mean[k];
    return sum / (to - from);
}

/* "4.520", "10.82": as wide as the losses of training's lines below each other. */
static void format_end(char out[NUMBER_TEXT], double x)
{
    snprintf(out, NUMBER_TEXT, "%.*f", fabs(x) < 9.9995 ? 3 : 2, x);
}

int sparkline_draw(struct buf *out, const struct sparkline *s, int columns, bool utf8)
{
    char first[NUMBER_TEXT], last[NUMBER_TEXT];
    double low = INFINITY, high = -INFINITY;
    format_end(first, s->first);
    format_end(last, s->last);
    columns -= (int)(strlen(first) + strlen(last)) + 2;
    columns = columns > s->n ? s->n : columns;
    if (columns < LEAST)
        return 0;
    for (int i = 0; i < columns; i++) {
        low = fmin(low, column_mean(s, i, columns));
        high = fmax(high, column_mean(s, i, columns));
    }
    int rc = buf_printf(out, "%s ", first);
    for (int i = 0; i < columns && rc == 0; i++)
        rc = add_level(out, high > low ? (column_mean(s, i, columns) - low) / (high - low) : 0,
                       utf8);
    return rc == 0 ? buf_printf(out, " %s", last) : rc;
}
