#include "train/step/step_config.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "train/step/loss.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOGITS = 64 << 20, /* logits that exist at once unless loss_rows is set */
    LOSS_ROWS = 256    /* the number of rows is then a multiple of this */
};

void step_config_init(struct step_config *s)
{
    *s = (struct step_config){.batch = 1, .length = 1024};
}

int step_loss_columns(const struct config *c, const struct step_config *s)
{
    if (s->loss_columns <= 0 || s->loss_columns >= c->n_vocab)
        return c->n_vocab;
    const int columns = (s->loss_columns + LOSS_COLUMNS - 1) / LOSS_COLUMNS * LOSS_COLUMNS;
    return columns < c->n_vocab ? columns : c->n_vocab;
}

int step_loss_rows(const struct config *c, const struct step_config *s)
{
    int rows = s->batch * s->length, fit = LOGITS / step_loss_columns(c, s);
    if (s->loss_rows > 0)
        fit = s->loss_rows;
    else
        fit = fit < LOSS_ROWS ? LOSS_ROWS : fit / LOSS_ROWS * LOSS_ROWS;
    return fit < rows ? fit : rows;
}

/* "0,2,4-11" */
static int parse_list(bool *recompute, const char *text, int n_layer)
{
    const char *at = text;
    char *end;
    while (*at >= '0' && *at <= '9') {
        long first = strtol(at, &end, 10), last = first;
        if (*end == '-' && end[1] >= '0' && end[1] <= '9')
            last = strtol(end + 1, &end, 10);
        if (last < first || last >= n_layer)
            return err_set(ERR_RANGE, "recompute is %s, the model has layers 0 to %d",
                           file_quote(text), n_layer - 1);
        for (long i = first; i <= last; i++)
            recompute[i] = true;
        if (*end == '\0')
            return 0;
        if (*end != ',')
            break;
        at = end + 1;
    }
    return err_set(ERR_RANGE,
                   "recompute must be none, all (or layers) or a list as 0,2,4-11, not %s",
                   file_quote(text));
}

static int parse_layers(bool *recompute, const char *text, int n_layer)
{
    if (text == NULL || strcmp(text, "none") == 0)
        return 0;
    if (strcmp(text, "all") != 0 && strcmp(text, "layers") != 0)
        return parse_list(recompute, text, n_layer);
    for (int i = 0; i < n_layer; i++)
        recompute[i] = true;
    return 0;
}

int step_recomputed(int *n, const char *recompute, int n_layer)
{
    bool layers[CONFIG_MAX_LAYERS] = {false};
    int rc = parse_layers(layers, recompute, n_layer);
    *n = 0;
    for (int i = 0; i < n_layer && rc == 0; i++)
        *n += layers[i];
    return rc;
}

static int check_probability(const char *name, float p)
{
    if (!(p >= 0 && p < 1))
        return err_set(ERR_RANGE, "%s must be at least 0 and below 1, not %g", name, (double)p);
    return 0;
}

int step_config_check(const struct step_config *s, const struct config *c, bool *recompute)
{
    int rc;
    if ((rc = parse_layers(recompute, s->recompute, c->n_layer)) != 0)
        return rc;
    if (s->batch < 1)
        return err_set(ERR_RANGE, "the micro-batch must be 1 sequence or more, not %d", s->batch);
    if (s->length < 1 || s->length > c->n_ctx)
        return err_set(ERR_RANGE, "the sequence length is %d, the model's context holds 1 to %d",
                       s->length, c->n_ctx);
    if ((long long)s->batch * s->length > INT_MAX / (4 * (long long)c->n_inner))
        return err_set(ERR_RANGE,
                       "a micro-batch of %d sequences of %d positions is too large, "
                       "use gradient accumulation",
                       s->batch, s->length);
    if (s->loss_rows < 0 || s->loss_columns < 0)
        return err_set(ERR_RANGE,
                       "a slice of the loss has %d rows and %d columns, must be 0 or more",
                       s->loss_rows, s->loss_columns);
    if (s->attention_pieces < 0)
        return err_set(ERR_RANGE, "attention goes in %d pieces, must be 0 or more",
                       s->attention_pieces);
    if ((rc = check_probability("dropout of the embedding", s->dropout.embd)) != 0 ||
        (rc = check_probability("dropout of attention", s->dropout.attn)) != 0)
        return rc;
    return check_probability("dropout of the residual", s->dropout.resid);
}
