/*
 * A pass runs in the reverse order of the forward, with dx the gradient of the residual stream:
 *
 *   ln_f           dx = d ln_f(branch)              branch: gradient of hidden, from loss.c
 *   layers L - 1 .. 0
 *     mlp          forward   mid + drop(f(ln_2(mid) c_fc) mlp_proj)
 *                  backward  dx -> dy -> dfc -> branch -> dx += d ln_2(branch)
 *     attention    forward   x + drop(att(ln_1(x) c_attn) attn_proj)
 *                  backward  dx -> dy -> datt -> dqkv -> branch -> dx += d ln_1(branch)
 *   embeddings     dx is added to the rows of wte and wpe
 *
 * dy, in branch where dropout changes dx, else dx itself, is read before branch is written again.
 * Gradients of weights are added to, so that micro-batches sum up. Threads share rows, columns or
 * tiles in a way that depends on shapes alone; each function ends with a barrier unless it says
 * otherwise.
 */
#include "train/step/backward.h"

#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/kernels/blas.h"
#include "model/kernels/row_kernels.h"
#include "model/kernels/training_kernels.h"
#include "train/step/backward_attention.h"
#include "train/step/backward_low_rank.h"

#include <string.h>

enum {
    COLUMNS = 256, /* of a bias that are summed at once, on the stack */
    UNIT = 16      /* a thread's share is whole units of columns */
};

static const struct config *model_config(const struct backward_thread *p)
{
    return &p->b->f->params->config;
}

static void thread_rows(const struct backward_thread *p, int *first, int *last)
{
    par_split(p->b->rows, p->thread, p->n_threads, first, last);
}

static void thread_columns(const struct backward_thread *p, int n, int *first, int *last)
{
    par_split((n + UNIT - 1) / UNIT, p->thread, p->n_threads, first, last);
    *first *= UNIT;
    *last = *last * UNIT < n ? *last * UNIT : n;
}

/* bias [N] += the sum of the rows of dy [rows,N]. No barrier. */
static void sum_rows(const struct backward_thread *p, float *bias, const float *dy, int N)
{
    int first, last;
    thread_columns(p, N, &first, &last);
    profile_set(PART_REST);
    for (int c = first, n; c < last; c += n) {
        float sum[COLUMNS] = {0};
        n = last - c < COLUMNS ? last - c : COLUMNS;
        for (int r = 0; r < p->b->rows; r++)
            row_kernels()->add(sum, dy + (size_t)r * (size_t)N + c, (size_t)n);
        row_kernels()->add(bias + c, sum, (size_t)n);
    }
}

/* For y = x W + b: add the gradients of W and b, from dy. No barrier. */
static void linear_weights(const struct backward_thread *p, const struct linear *w, const float *x,
                           const float *dy)
{
    if (p->b->frozen)
        return;
    profile_set(PART_MATRICES);
    blas_gemm_share(true, false, w->K, w->N, p->b->rows, 1, x, w->K, dy, w->N, 1,
                    backward_gradient(p->b, w->data), w->N, p->thread, p->n_threads);
    sum_rows(p, backward_gradient(p->b, w->bias), dy, w->N);
}

/* The LoRA branch of w, if there is one: add its gradients, and store its contribution in dx.
 * Returns the factor of dx, 0 or 1, when the matrix's own contribution is added. */
static float lora_branch(const struct backward_thread *p, const struct linear *w, float *dx,
                         const float *x, const float *dy)
{
    if (w->lora == NULL)
        return 0;
    backward_low_rank(p, w->lora, dx, x, dy);
    return 1;
}

/* For y = x W + b: dx = keep dx + the gradient of x, from dy. No barrier. */
static void linear_input(const struct backward_thread *p, const struct linear *w, float *dx,
                         const float *dy, float keep)
{
    profile_set(PART_MATRICES);
    blas_gemm_share(false, true, p->b->rows, w->K, w->N, 1, dy, w->N, w->data, w->N, keep, dx, w->K,
                    p->thread, p->n_threads);
}

/*
 * For y = LayerNorm(x): dx += the gradient of x, from branch, that of y. The gradients of weight
 * and bias are summed over NORM_ROWS rows at a time into norm_sums, which add_norm_sums then adds
 * up.
 */
static void layernorm_input(const struct backward_thread *p, const float *x, const float *weight)
{
    const struct backward *b = p->b;
    const size_t C = (size_t)model_config(p)->n_embd;
    int first, last;
    par_split((b->rows + NORM_ROWS - 1) / NORM_ROWS, p->thread, p->n_threads, &first, &last);
    profile_set(PART_LAYERNORM);
    for (int run = first; run < last; run++) {
        float *sums = b->norm_sums + (size_t)run * 2 * C;
        memset(sums, 0, 2 * C * sizeof *sums);
        for (int r = run * NORM_ROWS; r < (run + 1) * NORM_ROWS && r < b->rows; r++)
            training_kernels()->layernorm_grad(b->dx + (size_t)r * C, sums, sums + C,
                                               b->branch + (size_t)r * C, x + (size_t)r * C, weight,
                                               C, model_config(p)->layer_norm_epsilon);
    }
    par_barrier();
}

/* Add norm_sums to the gradients of weight and bias. No barrier: each thread owns its columns. */
static void add_norm_sums(const struct backward_thread *p, const float *weight, const float *bias)
{
    const struct backward *b = p->b;
    const size_t C = (size_t)model_config(p)->n_embd;
    int first, last;
    thread_columns(p, (int)C, &first, &last);
    if (first >= last || b->frozen)
        return;
    float *dweight = backward_gradient(b, weight) + first,
          *dbias = backward_gradient(b, bias) + first;
    for (int run = 0; run < (b->rows + NORM_ROWS - 1) / NORM_ROWS; run++) {
        const float *sums = b->norm_sums + (size_t)run * 2 * C + first;
        row_kernels()->add(dweight, sums, (size_t)(last - first));
        row_kernels()->add(dbias, sums + C, (size_t)(last - first));
    }
}

/* y = dx with the forward's dropout mask at this point applied; y may be dx. This thread's rows; no
 * barrier. */
static void drop_rows(const struct backward_thread *p, const struct dropout *d, float *y, int layer,
                      enum dropout_point point)
{
    const struct backward *b = p->b;
    const int C = model_config(p)->n_embd;
    int first, last, row = 0;
    thread_rows(p, &first, &last);
    for (int s = 0; s < b->n_seqs; row += b->seqs[s++].n)
        for (int r = row > first ? row : first; r < row + b->seqs[s].n && r < last; r++)
            training_kernels()->dropout(
                y + (size_t)r * (size_t)C, b->dx + (size_t)r * (size_t)C, (size_t)C, d,
                dropout_stream(b->f->dropout->sequence + (uint64_t)s, layer, point),
                dropout_row(b->seqs[s].kv.n_past + r - row, C));
}

/* For x + dropout(y): dy, from dx. This thread's rows; no barrier. */
static const float *residual_gradient(const struct backward_thread *p, int layer,
                                      enum dropout_point point)
{
    const struct forward_dropout *d = p->b->f->dropout;
    profile_set(PART_REST);
    if (d == NULL || d->resid.keep == 0)
        return p->b->dx;
    drop_rows(p, &d->resid, p->b->branch, layer, point);
    return p->b->branch;
}

/* Recompute a layer norm's output in the forward's scratch. This thread's rows; no barrier. */
static const float *recompute_norm(const struct backward_thread *p, const float *x,
                                   const float *weight, const float *bias)
{
    const size_t C = (size_t)model_config(p)->n_embd;
    float *y = p->b->f->normed;
    int first, last;
    thread_rows(p, &first, &last);
    profile_set(PART_LAYERNORM);
    for (int r = first; r < last; r++)
        row_kernels()->layernorm(y + (size_t)r * C, x + (size_t)r * C, weight, bias, C,
                                 model_config(p)->layer_norm_epsilon);
    return y;
}

/* Recompute the activation's output in the forward's scratch. This thread's rows; no barrier. */
static const float *recompute_activation(const struct backward_thread *p, const float *fc)
{
    const size_t F = (size_t)model_config(p)->n_inner;
    int first, last;
    thread_rows(p, &first, &last);
    size_t at = (size_t)first * F;
    profile_set(PART_ACTIVATION);
    matrix_kernels()->epilogue(p->b->f->fc + at, 0, fc + at, 0, NULL, 1, (size_t)(last - first) * F,
                               epilogue_activation(model_config(p)->activation));
    return p->b->f->fc;
}

/* For f(fc) W + b, f the activation: dfc = (keep dfc + dy W^T) f'(fc), a tile at a time while it is
 * in the cache. No barrier. */
static void activation_input(const struct backward_thread *p, const struct linear *w, float *dfc,
                             const float *dy, const float *fc, float keep)
{
    const int F = w->K;
    int first, last;
    par_split(blas_tiles(p->b->rows, F), p->thread, p->n_threads, &first, &last);
    for (int i = first; i < last; i++) {
        struct blas_tile t = blas_tile(p->b->rows, F, i);
        size_t at = (size_t)t.row * (size_t)F + (size_t)t.col;
        profile_set(PART_MATRICES);
        blas_gemm(false, true, t.rows, t.cols, w->N, 1, dy + (size_t)t.row * (size_t)w->N, w->N,
                  (const float *)w->data + (size_t)t.col * (size_t)w->N, w->N, keep, dfc + at, F);
        profile_set(PART_ACTIVATION);
        for (int r = 0; r < t.rows; r++, at += (size_t)F)
            training_kernels()->activation_grad(dfc + at, fc + at, (size_t)t.cols,
                                                model_config(p)->activation);
    }
}

static void mlp_block(const struct backward_thread *p, int layer)
{
    const struct backward *b = p->b;
    const struct layer *w = &b->f->params->layers[layer];
    const struct activations *a = &b->f->layers[layer];
    const float *dy = residual_gradient(p, layer, DROPOUT_MLP_PROJ);
    const float *activated = recompute_activation(p, a->fc);
    const float *normed = recompute_norm(p, a->mid, w->ln_2_weight, w->ln_2_bias);
    par_barrier();
    linear_weights(p, &w->mlp_proj, activated, dy);
    float keep = lora_branch(p, &w->mlp_proj, b->dfc, activated, dy);
    activation_input(p, &w->mlp_proj, b->dfc, dy, a->fc, keep);
    par_barrier();
    linear_weights(p, &w->c_fc, normed, b->dfc);
    keep = lora_branch(p, &w->c_fc, b->branch, normed, b->dfc);
    linear_input(p, &w->c_fc, b->branch, b->dfc, keep);
    par_barrier();
    layernorm_input(p, a->mid, w->ln_2_weight);
    add_norm_sums(p, w->ln_2_weight, w->ln_2_bias);
}

static void attention_block(const struct backward_thread *p, int layer)
{
    const struct backward *b = p->b;
    const struct layer *w = &b->f->params->layers[layer];
    const struct activations *a = &b->f->layers[layer];
    const float *dy = residual_gradient(p, layer, DROPOUT_ATTN_PROJ);
    const float *normed = recompute_norm(p, a->x, w->ln_1_weight, w->ln_1_bias);
    par_barrier();
    linear_weights(p, &w->attn_proj, a->att, dy);
    float keep = lora_branch(p, &w->attn_proj, b->datt, a->att, dy);
    linear_input(p, &w->attn_proj, b->datt, dy, keep);
    par_barrier();
    backward_attention(p, layer);
    linear_weights(p, &w->c_attn, normed, b->dqkv);
    keep = lora_branch(p, &w->c_attn, b->branch, normed, b->dqkv);
    linear_input(p, &w->c_attn, b->branch, b->dqkv, keep);
    par_barrier();
    layernorm_input(p, a->x, w->ln_1_weight);
    add_norm_sums(p, w->ln_1_weight, w->ln_1_bias);
}

void backward_layer(const struct backward_thread *p, int layer)
{
    mlp_block(p, layer);
    attention_block(p, layer);
    par_barrier();
}

void backward_final_norm(const struct backward_thread *p)
{
    const struct params *w = p->b->f->params;
    const size_t C = (size_t)w->config.n_embd;
    int first, last;
    par_split((p->b->rows + NORM_ROWS - 1) / NORM_ROWS, p->thread, p->n_threads, &first, &last);
    last = last * NORM_ROWS < p->b->rows ? last * NORM_ROWS : p->b->rows;
    first *= NORM_ROWS;
    memset(p->b->dx + (size_t)first * C, 0, (size_t)(last - first) * C * sizeof(float));
    layernorm_input(p, p->b->f->layers[w->config.n_layer].x, w->ln_f_weight);
    add_norm_sums(p, w->ln_f_weight, w->ln_f_bias);
    par_barrier();
}

void backward_embedding(const struct backward_thread *p)
{
    const struct backward *b = p->b;
    const struct params *w = b->f->params;
    const size_t C = (size_t)w->config.n_embd;
    const struct forward_dropout *d = b->f->dropout;
    if (b->frozen)
        return;
    profile_set(PART_REST);
    if (d != NULL && d->embd.keep != 0)
        drop_rows(p, &d->embd, b->dx, -1, DROPOUT_EMBD);
    par_barrier();
    float *wte = backward_gradient(b, w->wte.data), *wpe = backward_gradient(b, w->wpe);
    int first, last;
    thread_columns(p, (int)C, &first, &last);
    if (first < last) {
        const float *dx = b->dx + first;
        for (int s = 0; s < b->n_seqs; s++)
            for (int i = 0; i < b->seqs[s].n; i++, dx += C) {
                size_t id = (size_t)b->seqs[s].ids[i], t = (size_t)(b->seqs[s].kv.n_past + i);
                row_kernels()->add(wte + id * C + first, dx, (size_t)(last - first));
                row_kernels()->add(wpe + t * C + first, dx, (size_t)(last - first));
            }
    }
    par_barrier();
}
