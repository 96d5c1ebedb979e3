#include "weights/tensors/weights_sample.h"

#include "model/base/half.h"
#include "model/schema.h"
#include "weights/tensors/half_exact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = WEIGHTS_SAMPLE, DIGITS = 4 };

/* The matrix that value i is from: all kinds in turn, from the first layer to the last. */
static int sampled_tensor(const struct source *s, int i)
{
    const struct config *c = &s->config;
    const int per_layer = schema_tensors_per_layer(c), first = schema_first_of_layers(c);
    int kinds = 0, at = first + i * c->n_layer / N * per_layer;
    for (int k = 0; k < per_layer; k++)
        kinds += s->table.tensors[first + k].kind == PARAM_CONV1D;
    for (int left = i % kinds;; at++)
        if (s->table.tensors[at].kind == PARAM_CONV1D && left-- == 0)
            return at;
}

static int read_value(float *out, const struct param_tensor *t, const struct tensor_reader *r,
                      int i)
{
    /* Odd multiples, so that neither rows nor columns come in the order of i. */
    const uint64_t rows = (uint64_t)t->rows, cols = (uint64_t)t->cols,
                   row = rows * (uint64_t)(i * 37 % N) / N, col = cols * (uint64_t)(i * 23 % N) / N;
    float stored = 0; /* of any type */
    int rc = r->read(r->user, &stored, r->out_major ? col * rows + row : row * cols + col, 1);
    if (rc == 0)
        half_exact_widen(out, &stored, r->dtype, 1);
    return rc;
}

static bool is_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0xffff) == 0;
}

static enum dtype coarser(enum dtype a, enum dtype b)
{
    return a > b ? a : b; /* in the order of the enumeration */
}

int weights_sample_take(struct weights_sample *out, const struct source *s)
{
    struct weights_sample taken = {.n = N, .dtype = DTYPE_F32};
    bool narrow = true;
    int rc = 0;
    *out = (struct weights_sample){0};
    for (int i = 0; i < N && rc == 0; i++) {
        const int at = sampled_tensor(s, i);
        const struct tensor_reader *r = &s->readers[at];
        if (r->stored != NULL && r->read_q8 == NULL)
            return 0;
        taken.dtype = coarser(taken.dtype, r->read_q8 != NULL ? DTYPE_Q8 : r->dtype);
        float value = 0;
        rc = read_value(&value, &s->table.tensors[at], r, i);
        taken.values[i] = half_from_f32(value);
        narrow &= is_bf16(value);
    }
    /* Those of a file in bfloat16, widened for training, are no closer to others for it. */
    if (narrow)
        taken.dtype = coarser(taken.dtype, DTYPE_BF16);
    if (rc == 0)
        *out = taken;
    return rc;
}

/* Q8_0 is off by up to a 254th of the largest weight of 32, which is not known: what most values
 * are within, measured by all of them. */
static bool match_q8(const struct weights_sample *a, const struct weights_sample *b)
{
    double sum = 0;
    int within = 0;
    for (int i = 0; i < N; i++)
        sum += pow(half_to_f32(a->values[i]), 2);
    for (int i = 0; i < N; i++)
        within +=
            fabs(half_to_f32(a->values[i]) - half_to_f32(b->values[i])) <= 0.02 * sqrt(sum / N);
    return within >= N * 9 / 10;
}

bool weights_sample_match(const struct weights_sample *a, const struct weights_sample *b)
{
    const enum dtype dtype = coarser(a->dtype, b->dtype);
    if (a->n == 0 || b->n == 0)
        return true;
    if (dtype == DTYPE_Q8)
        return match_q8(a, b);
    /* A rounding more in one than in the other. */
    const float relative = dtype == DTYPE_BF16 ? 0x1p-8f : 0x1p-10f;
    for (int i = 0; i < N; i++) {
        const float x = half_to_f32(a->values[i]), y = half_to_f32(b->values[i]);
        if (a->values[i] != b->values[i] &&
            !(fabsf(x - y) <= 0x1p-24f + relative * fmaxf(fabsf(x), fabsf(y))))
            return false;
    }
    return true;
}

void weights_sample_note(const struct adapter *a, const struct weights_sample *weights,
                         const char *name, const struct progress *p)
{
    char shown[160], named[160];
    if (!weights_sample_match(&a->base, weights))
        progress_note(p,
                      "the adapter %s was trained with other weights than those of %s: with these "
                      "it may do badly",
                      file_show(shown, sizeof shown, a->path == NULL ? "in memory" : a->path),
                      name == NULL ? "the model" : file_show(named, sizeof named, name));
}

int weights_sample_check(const struct adapter *a, const struct source *s, const char *name,
                         const struct progress *p)
{
    struct weights_sample weights;
    if (a->base.n == 0)
        return 0;
    int rc = weights_sample_take(&weights, s);
    if (rc == 0)
        weights_sample_note(a, &weights, name, p);
    return rc;
}

/* ---- as text ---- */

static const enum dtype dtypes[] = {DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_Q8};

int weights_sample_write(struct buf *out, const struct weights_sample *a)
{
    int rc = buf_printf(out, "%s ", dtype_name(a->dtype));
    for (int i = 0; i < a->n && rc == 0; i++)
        rc = buf_printf(out, "%04x", a->values[i]);
    return rc;
}

void weights_sample_read(struct weights_sample *out, const char *text)
{
    const char *digits = strchr(text, ' ');
    struct weights_sample read = {.n = N};
    *out = (struct weights_sample){0};
    if (digits == NULL || strlen(++digits) != (size_t)N * DIGITS ||
        strspn(digits, "0123456789abcdef") != (size_t)N * DIGITS)
        return;
    for (int i = 0; i < N; i++) {
        char value[DIGITS + 1] = "";
        memcpy(value, digits + (size_t)i * DIGITS, DIGITS);
        read.values[i] = (uint16_t)strtoul(value, NULL, 16);
    }
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        const char *name = dtype_name(dtypes[i]);
        if ((size_t)(digits - text) == strlen(name) + 1 && memcmp(text, name, strlen(name)) == 0) {
            read.dtype = dtypes[i];
            *out = read;
        }
    }
}
