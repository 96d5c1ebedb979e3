#include "sampling/chain/bias.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int refuse_bias(const char *text, const char *what)
{
    char *one = mem_sprintf("%.*s", (int)strcspn(text, ","), text);
    err_set(ERR_RANGE, "logit_bias must %s, not \"%s\"", what, file_quote(one != NULL ? one : ""));
    mem_free(one);
    return ERR_RANGE;
}

/* Parse one "id:bias" and move *text behind it. */
static int parse_bias(struct bias *b, const char **text, int n_vocab)
{
    char *end, *colon;
    errno = 0;
    long long id = strtoll(*text, &colon, 10);
    const bool has_id = colon != *text;
    colon += strspn(colon, " \t");
    float bias = *colon == ':' ? strtof(colon + 1, &end) : 0;
    if (!has_id || *colon != ':' || end == colon + 1 ||
        (end += strspn(end, " \t"), *end && *end != ','))
        return refuse_bias(*text, "be ID:BIAS pairs");
    if (errno == ERANGE && !isfinite(bias))
        bias = NAN; /* overflow is an error, not a ban */
    if (id < 0 || id >= n_vocab)
        return err_set(ERR_RANGE, "logit_bias must have IDs of 0 to %d, not %lld", n_vocab - 1, id);
    if (!(bias <= FLT_MAX))
        return refuse_bias(*text, "have finite biases, or -inf for a ban");
    *b = (struct bias){(token_id)id, bias};
    *text = end;
    return 0;
}

int biases_parse(struct biases *out, const char *text, int n_vocab)
{
    *out = (struct biases){0};
    if (!text || !*text)
        return 0;
    size_t most = 1;
    for (const char *p = text; *p; p++)
        most += *p == ',';
    out->list = mem_array(most, sizeof *out->list);
    if (!out->list)
        return ERR_NOMEM;
    for (;; text++) {
        int rc = parse_bias(&out->list[out->n], &text, n_vocab);
        if (rc) {
            biases_release(out);
            return rc;
        }
        out->n++;
        if (!*text)
            return 0;
    }
}

void biases_release(struct biases *b)
{
    mem_free(b->list);
    *b = (struct biases){0};
}

void biases_apply(const struct biases *b, float *logit)
{
    for (size_t i = 0; i < b->n; i++) {
        const float sum = logit[b->list[i].id] + b->list[i].bias;
        logit[b->list[i].id] = sum > FLT_MAX ? FLT_MAX : sum; /* NaN stays */
    }
}
