#include "weights/hf/stored.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/schema.h"
#include "weights/tensors/half_exact.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 120 };

/* What a part of t looks like in a file. */
static void part_shape(uint64_t *rows, uint64_t *cols, const struct param_tensor *t,
                       const struct naming *n, int n_parts)
{
    *rows = (uint64_t)t->rows + (uint64_t)(t->kind == PARAM_ROWS ? n->skip_positions : 0);
    *cols = (uint64_t)t->cols / (uint64_t)n_parts;
    if (t->kind == PARAM_CONV1D && n->out_major) {
        *rows = *cols;
        *cols = (uint64_t)t->rows;
    }
}

static int check_shape(const struct tensor_entry *e, const char *name, const struct param_tensor *t,
                       const struct naming *n, int n_parts)
{
    const bool vector = t->kind == PARAM_VECTOR;
    uint64_t rows, cols;
    part_shape(&rows, &cols, t, n, n_parts);
    if (vector ? e->rank == 1 && e->shape[0] == cols
               : e->rank == 2 && e->shape[0] == rows && e->shape[1] == cols)
        return 0;
    char have[SHOWN], want[64];
    tensor_shape_text(have, sizeof have, e);
    if (vector)
        snprintf(want, sizeof want, "[%llu]", (unsigned long long)cols);
    else
        snprintf(want, sizeof want, "[%llu,%llu]", (unsigned long long)rows,
                 (unsigned long long)cols);
    bool turned =
        t->kind == PARAM_CONV1D && e->rank == 2 && e->shape[0] == cols && e->shape[1] == rows;
    return err_set(ERR_FORMAT, "tensor %s: shape %s, expected %s%s%s%s", name, have, want,
                   turned ? ": it is transposed, " : "", turned ? n->title : "",
                   !turned        ? ""
                   : n->out_major ? " keeps its matrices [out,in]"
                                  : " keeps its matrices [in,out]");
}

static int check_tensor(const struct hf_entry *f, const char *name, const struct param_tensor *t,
                        const struct naming *n, int n_parts)
{
    if (f == NULL)
        return err_set(ERR_MISSING, "tensor %s is missing%s", name,
                       names_is_head(t->name) ? ", and config.json says tie_word_embeddings false"
                                              : "");
    int rc = check_shape(f->entry, name, t, n, n_parts);
    if (rc == 0 && f->entry->dtype == DTYPE_OTHER)
        rc = err_set(ERR_UNSUPPORTED, "tensor %s is %s, must be F32, F16 or BF16", name,
                     f->entry->dtype_name);
    return rc;
}

/* n elements of one part. Those of another type than is read are widened in place. */
static int read_part(const struct stored_tensor *t, const struct stored_part *p, char *dst,
                     uint64_t first, size_t n)
{
    const size_t each = dtype_bytes(p->dtype);
    int rc = file_read_at(p->file, dst, p->at + first * each, n * each);
    if (rc == 0 && p->dtype != t->dtype)
        half_exact_widen((float *)(void *)dst, dst, p->dtype, n);
    return rc;
}

/* fairseq's SinusoidalPositionalEmbedding: sines, then cosines, then 0 where the width is odd. */
static float sinusoid(const struct stored_tensor *t, uint64_t element)
{
    const int half = t->sinusoids / 2, col = (int)(element % (uint64_t)t->sinusoids);
    const float position = (float)t->first_position + (float)(element / (uint64_t)t->sinusoids);
    const float step = (float)(log(10000) / (half > 1 ? half - 1 : 1));
    const float angle = position * expf((float)(col % (half > 0 ? half : 1)) * -step);
    return col < half ? sinf(angle) : col < 2 * half ? cosf(angle) : 0;
}

static int read_stored(void *user, void *dst, uint64_t first, size_t n)
{
    const struct stored_tensor *t = user;
    const size_t each = dtype_bytes(t->dtype), all = n;
    char *out = dst;
    int rc = 0;
    if (t->n_parts == 0)
        memset(out, 0, n * each);
    for (size_t i = 0; t->sinusoids > 0 && i < n; i++)
        ((float *)dst)[i] = sinusoid(t, first + i);
    while (n > 0 && t->n_parts > 0 && rc == 0) {
        const uint64_t at = first % t->part_elements, left = t->part_elements - at;
        const size_t count = left < n ? (size_t)left : n;
        rc = read_part(t, &t->parts[first / t->part_elements], out, at, count);
        out += count * each;
        first += count;
        n -= count;
    }
    for (size_t i = 0; t->scale != 0 && i < all; i++)
        ((float *)dst)[i] *= t->scale;
    return rc;
}

static bool is_bias(const struct param_tensor *t)
{
    return t->kind == PARAM_VECTOR && text_ends_in(t->name, ".bias");
}

static int find_parts(struct stored_tensor *out, const struct param_tensor *t,
                      const struct hf_files *f, const struct naming *n)
{
    const int n_parts = naming_parts(n, t->name);
    char name[NAMES_BYTES];
    out->part_elements = (uint64_t)t->rows * (uint64_t)t->cols / (uint64_t)n_parts;
    if (n->sinusoidal && t->kind == PARAM_ROWS) {
        out->sinusoids = t->cols;
        out->first_position = n->skip_positions;
        return 0;
    }
    for (int i = 0; i < n_parts; i++) {
        naming_part(name, sizeof name, n, t->name, i);
        struct hf_entry *e = hf_files_entry(f, name);
        if (e == NULL && i == 0 && n->may_lack_biases && is_bias(t))
            return 0;
        int rc = check_tensor(e, name, t, n, n_parts);
        if (rc != 0)
            return rc;
        e->used = true;
        out->parts[i] = (struct stored_part){&e->in->file, e->entry->offset, e->entry->dtype};
        out->dtype = i == 0 || out->dtype == e->entry->dtype ? e->entry->dtype : DTYPE_F32;
        out->n_parts = i + 1;
        if (t->kind == PARAM_ROWS)
            out->parts[i].at +=
                (uint64_t)n->skip_positions * (uint64_t)t->cols * dtype_bytes(e->entry->dtype);
    }
    if (n->scales_embedding && strcmp(t->name, SCHEMA_EMBEDDING) == 0) {
        out->scale = sqrtf((float)t->cols);
        out->dtype = DTYPE_F32;
    }
    return 0;
}

int stored_open(struct stored_tensor **stored, struct source *s, const struct hf_files *f,
                const struct naming *naming)
{
    const size_t n = (size_t)s->table.n_tensors;
    struct stored_tensor *all = mem_array(n, sizeof *all);
    *stored = all;
    s->readers = mem_array(n, sizeof *s->readers);
    if (all == NULL || s->readers == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct param_tensor *t = &s->table.tensors[i];
        int rc = find_parts(&all[i], t, f, naming);
        if (rc != 0)
            return rc;
        s->readers[i] =
            (struct tensor_reader){.read = read_stored,
                                   .user = &all[i],
                                   .dtype = all[i].dtype,
                                   .out_major = naming->out_major && t->kind == PARAM_CONV1D};
    }
    s->dtype = s->readers[0].dtype; /* wte.weight comes first */
    return 0;
}
