/* Elements of panels, one by one and by rows of files. */
#include "model/kernels/linear.h"

#include "model/base/half.h"
#include "model/kernels/q8.h"
#include "model/kernels/row_kernels.h"

#include <string.h>

/* The block of rows k .. k + 31 of a panel. */
static struct q8_panel *block_at(const struct linear *w, int panel, int k)
{
    return (struct q8_panel *)w->data + (size_t)panel * (size_t)(w->K / Q8_BLOCK) +
           (size_t)(k / Q8_BLOCK);
}

/* The panel's element of row k, column 0; not of Q8_0. */
static char *row_at(const struct linear *w, int panel, int k)
{
    return (char *)w->data +
           ((size_t)panel * (size_t)w->K + (size_t)k) * PANEL * dtype_bytes(w->dtype);
}

float linear_element(const struct linear *w, int k, int n)
{
    const int panel = n / PANEL, slot = n % PANEL;
    if (w->dtype == DTYPE_Q8) {
        const struct q8_panel *block = block_at(w, panel, k);
        return half_to_f32(block->d[slot]) * (float)block->q[k % Q8_BLOCK][slot];
    }
    const void *row = row_at(w, panel, k);
    return w->dtype == DTYPE_F16 ? half_to_f32(((const uint16_t *)row)[slot])
                                 : ((const float *)row)[slot];
}

void linear_read_q8(const struct linear *w, int n, int first, int n_blocks, struct q8_block *out)
{
    const struct q8_panel *from = block_at(w, n / PANEL, first * Q8_BLOCK);
    const int slot = n % PANEL;
    for (int b = 0; b < n_blocks; b++) {
        out[b].d = from[b].d[slot];
        for (int i = 0; i < Q8_BLOCK; i++)
            out[b].q[i] = from[b].q[i][slot];
    }
}

void linear_column(const struct linear *w, int n, float *out)
{
    const float *plain = w->data;
    const size_t K = (size_t)w->K, N = (size_t)w->N;
    if (w->layout == LINEAR_COLUMNS)
        memcpy(out, plain + (size_t)n * K, K * sizeof *out);
    else if (w->layout == LINEAR_ROWS)
        for (size_t k = 0; k < K; k++)
            out[k] = plain[k * N + (size_t)n];
    else
        for (int k = 0; k < w->K; k++)
            out[k] = linear_element(w, k, n);
}

/* Copy n elements from src to dst, converting between the types. */
static void copy_elements(void *dst, enum dtype dst_dtype, const void *src, enum dtype src_dtype,
                          size_t n)
{
    const struct row_kernels *k = row_kernels();
    if (dst_dtype == src_dtype)
        memcpy(dst, src, n * (dst_dtype == DTYPE_F16 ? 2 : 4));
    else if (dst_dtype == DTYPE_F16)
        k->half_from_f32(dst, src, n);
    else
        k->half_to_f32(dst, src, n);
}

/* Columns col .. col + n - 1, in one panel, of a block of Q8_0; src [32], ld elements from row to
 * row. */
static void fill_block_rows(struct linear *w, const void *src, enum dtype src_dtype, size_t ld,
                            int k, int col, int n)
{
    float part[Q8_BLOCK][PANEL];
    const int slot = col % PANEL;
    for (int i = 0; i < Q8_BLOCK; i++) {
        memset(part[i], 0, sizeof part[i]);
        copy_elements(part[i] + slot, DTYPE_F32,
                      (const char *)src + (size_t)i * ld * dtype_bytes(src_dtype), src_dtype,
                      (size_t)n);
    }
    q8_quantize_panel(block_at(w, col / PANEL, k), (const float(*)[PANEL])part, slot, slot + n);
}

/* Columns col .. col + n - 1, in one panel, of rows k0 .. k0 + count - 1. */
static void fill_part(struct linear *w, const char *src, enum dtype src_dtype, size_t ld, int k0,
                      int count, int col, int n)
{
    const size_t row = ld * dtype_bytes(src_dtype);
    if (w->dtype == DTYPE_Q8) {
        for (int k = 0; k < count; k += Q8_BLOCK)
            fill_block_rows(w, src + (size_t)k * row, src_dtype, ld, k0 + k, col, n);
        return;
    }
    const size_t at = (size_t)(col % PANEL) * dtype_bytes(w->dtype);
    for (int k = 0; k < count; k++)
        copy_elements(row_at(w, col / PANEL, k0 + k) + at, w->dtype, src + (size_t)k * row,
                      src_dtype, (size_t)n);
}

void linear_fill_part(struct linear *w, const float (*src)[PANEL], int k0, int count, int col,
                      int n)
{
    fill_part(w, (const char *)src, DTYPE_F32, PANEL, k0, count, col, n);
}

void linear_fill_in_major(struct linear *w, const void *src, enum dtype src_dtype, int k0,
                          int count)
{
    for (int col = 0; col < w->N; col += PANEL)
        fill_part(w, (const char *)src + (size_t)col * dtype_bytes(src_dtype), src_dtype,
                  (size_t)w->N, k0, count, col, w->N - col < PANEL ? w->N - col : PANEL);
}

/* Rows of a panel that are put together before they are stored, as memory likes whole cache lines
 * in order; and rows of a file that are transposed at once. */
enum { CHUNK = 64, SIDE = 8 };
typedef uint16_t half_row __attribute__((vector_size(SIDE * sizeof(uint16_t))));

/* Of the elements of a, and then b, those that are named. */
#ifdef __clang__
#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else /* which has had clang's name for it since GCC 12 */
#define PICK(a, b, ...) __builtin_shuffle(a, b, (half_row){__VA_ARGS__})
#endif

/* The elements of a and b in turns: of their first halves, and of their second. */
static void interleave(half_row a, half_row b, half_row *first, half_row *second)
{
    *first = PICK(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    *second = PICK(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

/* to [SIDE][PANEL] = the transpose of from [SIDE][CHUNK]: each half of the rows interleaved with
 * the other, three times. */
static void transpose_half(uint16_t *to, const uint16_t *from)
{
    half_row a[SIDE], b[SIDE];
    for (int i = 0; i < SIDE; i++)
        memcpy(&a[i], from + i * CHUNK, sizeof a[i]);
    for (int step = 0; step < 3; step++) {
        for (int i = 0; i < SIDE / 2; i++)
            interleave(a[i], a[i + SIDE / 2], &b[2 * i], &b[2 * i + 1]);
        memcpy(a, b, sizeof a);
    }
    for (int i = 0; i < SIDE; i++)
        memcpy(to + i * PANEL, &a[i], sizeof a[i]);
}

/* to [m][PANEL] = the transpose of from [columns][CHUNK]. */
static void transpose_chunk(void *to, enum dtype dtype, const void *from, int columns, int m)
{
    const int whole = dtype == DTYPE_F16 && columns == SIDE ? m / SIDE * SIDE : 0;
    for (int k = 0; k < whole; k += SIDE)
        transpose_half((uint16_t *)to + k * PANEL, (const uint16_t *)from + k);
    for (int i = 0; i < columns; i++)
        for (int k = whole; k < m; k++)
            if (dtype == DTYPE_F16)
                ((uint16_t *)to)[k * PANEL + i] = ((const uint16_t *)from)[i * CHUNK + k];
            else
                ((float *)to)[k * PANEL + i] = ((const float *)from)[i * CHUNK + k];
}

/* chunk [m][PANEL], from column slot on: `columns` columns from rows of src. */
static void gather_columns(char *chunk, const struct linear *w, const char *src,
                           enum dtype src_dtype, int slot, int columns, int m)
{
    const size_t size = dtype_bytes(w->dtype);
    _Alignas(64) char part[SIDE * CHUNK * sizeof(float)];
    chunk += (size_t)slot * size;
    for (int first = 0; first < columns; first += SIDE, chunk += SIDE * size) {
        const int side = columns - first < SIDE ? columns - first : SIDE;
        for (int i = 0; i < side; i++, src += (size_t)w->K * dtype_bytes(src_dtype))
            copy_elements(part + (size_t)i * CHUNK * size, w->dtype, src, src_dtype, (size_t)m);
        transpose_chunk(chunk, w->dtype, part, side, m);
    }
}

/* Columns n .. last - 1 of one panel from rows of src. */
static void fill_columns(struct linear *w, const char *src, enum dtype src_dtype, int n, int last)
{
    const int slot = n % PANEL, columns = last - n;
    const size_t size = dtype_bytes(w->dtype), row = PANEL * size;
    _Alignas(64) char chunk[CHUNK * PANEL * sizeof(float)];
    for (int k = 0; k < w->K; k += CHUNK) {
        const int m = w->K - k < CHUNK ? w->K - k : CHUNK;
        const size_t whole = columns == PANEL ? (size_t)m : 1;
        const size_t at = (size_t)slot * size, bytes = (size_t)columns * size * whole;
        char *to = row_at(w, n / PANEL, k);
        gather_columns(chunk, w, src + (size_t)k * dtype_bytes(src_dtype), src_dtype, slot, columns,
                       m);
        for (size_t i = 0; i < (size_t)m; i += whole)
            memcpy(to + i * row + at, chunk + i * row + at, bytes);
    }
}

/* The same in Q8_0, a block of rows at a time. */
static void quantize_columns(struct linear *w, const char *src, enum dtype src_dtype, int n,
                             int last)
{
    const size_t row = (size_t)w->K * dtype_bytes(src_dtype);
    float column[Q8_BLOCK], part[Q8_BLOCK][PANEL] = {{0}};
    for (int k = 0; k < w->K; k += Q8_BLOCK) {
        const char *from = src + (size_t)k * dtype_bytes(src_dtype);
        for (int i = n; i < last; i++, from += row) {
            copy_elements(column, DTYPE_F32, from, src_dtype, Q8_BLOCK);
            for (int j = 0; j < Q8_BLOCK; j++)
                part[j][i % PANEL] = column[j];
        }
        q8_quantize_panel(block_at(w, n / PANEL, k), (const float(*)[PANEL])part, n % PANEL,
                          n % PANEL + last - n);
    }
}

/* The column after n that begins another panel, or `end`. */
static int next_panel(int n, int end)
{
    const int next = (n / PANEL + 1) * PANEL;
    return next < end ? next : end;
}

void linear_fill_out_major(struct linear *w, const void *src, enum dtype src_dtype, int n0,
                           int count)
{
    const size_t row = (size_t)w->K * dtype_bytes(src_dtype);
    const char *from = src;
    for (int n = n0, next; n < n0 + count; from += (size_t)(next - n) * row, n = next) {
        next = next_panel(n, n0 + count);
        if (w->dtype == DTYPE_Q8)
            quantize_columns(w, from, src_dtype, n, next);
        else
            fill_columns(w, from, src_dtype, n, next);
    }
}

void linear_fill_q8(struct linear *w, const struct q8_block *src, int n0, int count)
{
    const int blocks = w->K / Q8_BLOCK;
    for (int n = n0, next; n < n0 + count; src += (size_t)(next - n) * (size_t)blocks, n = next) {
        next = next_panel(n, n0 + count);
        for (int b = 0; b < blocks; b++) {
            struct q8_panel *to = block_at(w, n / PANEL, b * Q8_BLOCK);
            for (int i = n; i < next; i++) {
                const struct q8_block *from = &src[(size_t)(i - n) * (size_t)blocks + (size_t)b];
                to->d[i % PANEL] = from->d;
                for (int j = 0; j < Q8_BLOCK; j++)
                    to->q[j][i % PANEL] = from->q[j];
            }
        }
    }
}
