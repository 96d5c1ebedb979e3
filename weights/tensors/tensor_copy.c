#include "weights/tensors/tensor_copy.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/kernels/q8.h"
#include "weights/tensors/half_exact.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Elements held at once, and the side of the tiles by which a matrix is transposed: a tile of
 * either matrix stays in the first-level cache. */
enum { HELD = 1 << 22, TILE = 32 };

uint64_t tensor_elements(const struct param_tensor *t)
{
    return (uint64_t)t->rows * (uint64_t)t->cols;
}

/* Bytes of n elements, of Q8_0 whole blocks. */
static uint64_t elements_bytes(uint64_t n, enum dtype d)
{
    return d == DTYPE_Q8 ? n / Q8_BLOCK * sizeof(struct q8_block) : n * dtype_bytes(d);
}

uint64_t tensor_bytes(const struct param_tensor *t, enum dtype dtype)
{
    return elements_bytes(tensor_elements(t), dtype);
}

enum dtype tensor_dtype(const struct param_tensor *t, enum dtype dtype)
{
    return linear_dtype(dtype, t->kind == PARAM_CONV1D ? t->rows : t->cols);
}

/* Elements to hold of a tensor of n. */
static size_t held_of(uint64_t n)
{
    return n < HELD ? (size_t)n : HELD;
}

size_t tensor_copy_bytes(uint64_t largest)
{
    return 2 * held_of(largest) * sizeof(float);
}

static float element_to_f32(const void *src, size_t i, enum dtype d)
{
    if (d == DTYPE_F32)
        return ((const float *)src)[i];
    return half_exact_to_f32(((const uint16_t *)src)[i], d);
}

static uint64_t quantize_elements(struct q8_block *dst, const void *src, enum dtype from, size_t n)
{
    uint64_t overflown = 0;
    for (size_t at = 0; at < n; at += Q8_BLOCK) {
        float x[Q8_BLOCK];
        for (size_t i = 0; i < Q8_BLOCK; i++) {
            x[i] = element_to_f32(src, at + i, from);
            overflown += isfinite(x[i]) && fabsf(x[i]) >= Q8_LIMIT;
        }
        q8_quantize(dst++, x);
    }
    return overflown;
}

/* Convert n elements; BF16 to F16 and back go through fp32, so they round once. Returns how many
 * finite values became infinite. */
static uint64_t convert_elements(void *dst, enum dtype to, const void *src, enum dtype from,
                                 size_t n)
{
    uint64_t overflown = 0;
    if (to == DTYPE_F32) {
        half_exact_widen(dst, src, from, n);
        return 0;
    }
    if (to == DTYPE_Q8)
        return quantize_elements(dst, src, from, n);
    for (size_t i = 0; i < n; i++) {
        float f = element_to_f32(src, i, from);
        uint16_t h = to == DTYPE_F16 ? half_from_f32(f) : bf16_from_f32(f);
        overflown += isfinite(f) && (h & 0x7fffu) == (to == DTYPE_F16 ? 0x7c00u : 0x7f80u);
        ((uint16_t *)dst)[i] = h;
    }
    return overflown;
}

static uint64_t count_unfinite(const void *src, enum dtype d, size_t n)
{
    uint64_t unfinite = 0;
    for (size_t i = 0; i < n; i++)
        unfinite += !isfinite(element_to_f32(src, i, d));
    return unfinite;
}

/* dst [cols,rows] = the transpose of src [rows,cols]. */
static void transpose_matrix32(uint32_t *dst, const uint32_t *src, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i += TILE)
        for (size_t j = 0; j < cols; j += TILE)
            for (size_t y = j; y < j + TILE && y < cols; y++)
                for (size_t x = i; x < i + TILE && x < rows; x++)
                    dst[y * rows + x] = src[x * cols + y];
}

static void transpose_matrix16(uint16_t *dst, const uint16_t *src, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i += TILE)
        for (size_t j = 0; j < cols; j += TILE)
            for (size_t y = j; y < j + TILE && y < cols; y++)
                for (size_t x = i; x < i + TILE && x < rows; x++)
                    dst[y * rows + x] = src[x * cols + y];
}

static int write_elements(struct tensor_copy *c, const void *data, size_t n, enum dtype from,
                          enum dtype to)
{
    const void *out = data;
    c->n_unfinite += count_unfinite(data, from, n);
    if (from != to) {
        void *other = data == c->from_file ? c->turned : c->from_file;
        c->n_overflown += convert_elements(other, to, data, from, n);
        out = other;
    }
    const size_t bytes = (size_t)elements_bytes(n, to);
    int rc = file_write(c->to, out, bytes);
    c->done += bytes;
    return rc == 0 ? progress_step(c->progress, "writing", c->done, c->total) : rc;
}

/* Blocks as they are. */
static int write_blocks(struct tensor_copy *c, const struct tensor_reader *r, uint64_t n)
{
    struct q8_block *blocks = (void *)c->from_file;
    int rc = 0;
    for (uint64_t at = 0; at < n && rc == 0; at += HELD / Q8_BLOCK) {
        const size_t count = n - at < HELD / Q8_BLOCK ? (size_t)(n - at) : HELD / Q8_BLOCK;
        const size_t bytes = count * sizeof *blocks;
        if ((rc = r->read_q8(r->user, blocks, at, count)) != 0)
            break;
        for (size_t i = 0; i < count; i++)
            c->n_unfinite += (blocks[i].d & 0x7c00u) == 0x7c00u ? Q8_BLOCK : 0;
        rc = file_write(c->to, blocks, bytes);
        c->done += bytes;
        if (rc == 0)
            rc = progress_step(c->progress, "writing", c->done, c->total);
    }
    return rc;
}

static int write_in_order(struct tensor_copy *c, const struct tensor_reader *r, uint64_t n,
                          enum dtype dtype)
{
    int rc = 0;
    for (uint64_t at = 0; at < n && rc == 0; at += HELD) {
        size_t count = n - at < HELD ? (size_t)(n - at) : HELD;
        if ((rc = r->read(r->user, c->from_file, at, count)) == 0)
            rc = write_elements(c, c->from_file, count, r->dtype, dtype);
    }
    return rc;
}

/* Rows first .. first+count-1, columns j .. j+width-1 of the file's [rows,cols]. */
static int read_columns(struct tensor_copy *c, const struct tensor_reader *r, uint64_t cols,
                        uint64_t first, size_t count, uint64_t j, size_t width)
{
    if (width == cols)
        return r->read(r->user, c->from_file, first * cols, count * width);
    int rc = 0;
    size_t bytes = width * dtype_bytes(r->dtype);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = r->read(r->user, (char *)c->from_file + i * bytes, (first + i) * cols + j, width);
    return rc;
}

/* Write the source's [rows,cols] as [cols,rows]: as many whole columns at a time as fit into HELD
 * elements, or parts of one. */
static int write_transposed(struct tensor_copy *c, const struct tensor_reader *r, uint64_t rows,
                            uint64_t cols, enum dtype dtype)
{
    size_t count = rows < HELD ? (size_t)rows : HELD, width = HELD / count;
    int rc = 0;
    for (uint64_t j = 0; j < cols && rc == 0; j += width)
        for (uint64_t i = 0; i < rows && rc == 0; i += count) {
            size_t w = cols - j < width ? (size_t)(cols - j) : width;
            size_t n = rows - i < count ? (size_t)(rows - i) : count;
            if ((rc = read_columns(c, r, cols, i, n, j, w)) != 0)
                break;
            if (r->dtype == DTYPE_F32)
                transpose_matrix32((void *)c->turned, (void *)c->from_file, n, w);
            else
                transpose_matrix16((void *)c->turned, (void *)c->from_file, n, w);
            rc = write_elements(c, c->turned, n * w, r->dtype, dtype);
        }
    return rc;
}

/* Room for n elements. */
static int hold(struct tensor_copy *c, size_t n)
{
    if (n <= c->held)
        return 0;
    tensor_copy_release(c);
    c->from_file = mem_array(n, sizeof *c->from_file);
    c->turned = mem_array(n, sizeof *c->turned);
    if (c->from_file == NULL || c->turned == NULL)
        return ERR_NOMEM;
    c->held = n;
    return 0;
}

int tensor_copy_write(struct tensor_copy *c, const struct param_tensor *t,
                      const struct tensor_reader *r, enum dtype dtype, bool out_major)
{
    int rc = hold(c, held_of(tensor_elements(t)));
    if (rc != 0)
        return rc;
    if (dtype == DTYPE_Q8 && r->read_q8 != NULL) {
        rc = write_blocks(c, r, tensor_elements(t) / Q8_BLOCK);
    } else if (t->kind != PARAM_CONV1D || r->out_major == out_major) {
        rc = write_in_order(c, r, tensor_elements(t), dtype);
    } else {
        uint64_t rows = (uint64_t)(r->out_major ? t->cols : t->rows);
        uint64_t cols = (uint64_t)(r->out_major ? t->rows : t->cols);
        rc = write_transposed(c, r, rows, cols, dtype);
    }
    if (c->n_overflown > 0 && c->overflown == NULL)
        c->overflown = t;
    if (c->n_unfinite > 0 && c->unfinite == NULL)
        c->unfinite = t;
    return rc;
}

void tensor_copy_warn(const struct tensor_copy *c, enum dtype dtype)
{
    if (c->n_unfinite > 0)
        progress_note(c->progress,
                      "%" PRIu64 " value%s NaN or infinite already, the first in %s; %s",
                      c->n_unfinite, c->n_unfinite == 1 ? " was" : "s were", c->unfinite->name,
                      dtype == DTYPE_Q8    ? "Q8_0 may lose the other 31 of its block"
                      : c->n_unfinite == 1 ? "it stays so"
                                           : "they stay so");
    if (c->n_overflown > 0)
        progress_note(c->progress,
                      "%" PRIu64 " value%s beyond %s's range and became infinite, the first in %s",
                      c->n_overflown, c->n_overflown == 1 ? " is" : "s are", dtype_name(dtype),
                      c->overflown->name);
}

void tensor_copy_release(struct tensor_copy *c)
{
    mem_free(c->from_file);
    mem_free(c->turned);
    c->from_file = c->turned = NULL;
    c->held = 0;
}
