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
 * Gradients of weights are chains of sums over tokens (gradient.h). Each function ends with a
 * barrier unless it says otherwise.
 */
#include "train/step/backward.h"

#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/kernels/prefetch.h"
#include "model/kernels/product.h"
#include "model/kernels/row_kernels.h"
#include "model/kernels/training_kernels.h"
#include "train/step/backward_attention.h"
#include "train/step/backward_low_rank.h"
#include "train/step/gradient.h"

#include <string.h>

enum { UNIT = 16 /* a thread's share is whole units of columns */ };

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

/* For y = x W + b: add the gradients of W and b, from dy. No barrier. */
static void linear_weights(const struct backward_thread *p, const struct linear *w, const float *x,
                           const float *dy)
{
    if (p->b->frozen)
        return;
    struct product m = {.transpose_a = true,
                        .m = w->K,
                        .n = w->N,
                        .alpha = 1,
                        .lda = w->K,
                        .ldb = w->N,
                        .ldc = w->N};
    profile_set(PART_MATRICES);
    for (int row = 0; row < p->b->rows; row += m.k) {
        m.k = gradient_run(p->b, row, p->b->rows);
        m.a = x + (size_t)row * (size_t)w->K;
        m.b = dy + (size_t)row * (size_t)w->N;
        gradient_add_product(p, &m, backward_gradient(p->b, w->data), row);
    }
    profile_set(PART_REST);
    if (w->bias != NULL)
        gradient_add_rows(p, backward_gradient(p->b, w->bias), dy, w->N);
}

/* The LoRA branch of w, if there is one: add its gradients, and store its contribution in dx.
 * Returns whether there is one, so that the matrix's own contribution is added. */
static bool lora_branch(const struct backward_thread *p, const struct linear *w, float *dx,
                        const float *x, const float *dy)
{
    if (w->lora == NULL)
        return false;
    backward_low_rank(p, w->lora, dx, x, dy);
    return true;
}

/* dx = dy W^T, or dx += if add. */
static struct product input_product(const struct backward_thread *p, const struct linear *w,
                                    float *dx, const float *dy, bool add)
{
    return (struct product){.transpose_b = true,
                            .add = add,
                            .m = p->b->rows,
                            .n = w->K,
                            .k = w->N,
                            .alpha = 1,
                            .a = dy,
                            .lda = w->N,
                            .b = w->data,
                            .ldb = w->N,
                            .c = dx,
                            .ldc = w->K};
}

/* For y = x W + b: dx = or += the gradient of x, from dy. No barrier. */
static void linear_input(const struct backward_thread *p, const struct linear *w, float *dx,
                         const float *dy, bool add)
{
    profile_set(PART_MATRICES);
    const struct product m = input_product(p, w, dx, dy, add);
    product_share(&m, p->thread, p->n_threads, p->scratch);
}

/* dx = dy W^T, whose columns N several processes have. */
struct column_sum {
    const struct backward_thread *p;
    struct product whole; /* this process's columns, in so many groups */
    int groups;
};

static void add_own_columns(void *user, int round, bool fresh, int first, int last)
{
    const struct column_sum *j = user;
    const int width = j->whole.k / j->groups, at = round * width;
    struct product m = j->whole;
    m.add = !fresh;
    m.m = last - first;
    m.k = width;
    m.a += (size_t)first * (size_t)m.lda + (size_t)at;
    m.b += at;
    m.c += (size_t)first * (size_t)m.ldc;
    profile_set(PART_MATRICES);
    product_share(&m, j->p->thread, j->p->n_threads, j->p->scratch);
}

/* The same as linear_input for such a matrix, of which each process has columns of so many groups;
 * ends with a barrier. */
static void sum_input(const struct backward_thread *p, const struct linear *w, float *dx,
                      const float *dy, bool add, int groups)
{
    const struct shard *s = p->b->f->shard;
    if (s == NULL) {
        linear_input(p, w, dx, dy, add);
        par_barrier();
        return;
    }
    struct column_sum j = {p, input_product(p, w, dx, dy, false), groups};
    const struct shard_sum sum = {.rows = dx,
                                  .row_bytes = (size_t)w->K * sizeof *dx,
                                  .n_rows = p->b->rows,
                                  .rounds = groups,
                                  .add = add_own_columns,
                                  .user = &j};
    shard_add(s, &sum, p->thread);
}

/* Runs of NORM_ROWS rows; a sequence begins with a run. */
static int norm_runs(const struct backward *b)
{
    return b->n_seqs * ((b->seqs[0].n + NORM_ROWS - 1) / NORM_ROWS);
}

static void norm_span(const struct backward *b, int run, int *first, int *last)
{
    const int n = b->seqs[0].n, runs = (n + NORM_ROWS - 1) / NORM_ROWS;
    const int end = (run / runs + 1) * n;
    *first = run / runs * n + run % runs * NORM_ROWS;
    *last = *first + NORM_ROWS < end ? *first + NORM_ROWS : end;
}

/*
 * For y = LayerNorm(x): dx += the gradient of x, from branch, that of y. The gradients of weight
 * and bias are summed over each run into norm_sums, which add_norm_sums then adds up.
 */
static void layernorm_input(const struct backward_thread *p, const float *x, const float *weight)
{
    const struct backward *b = p->b;
    const size_t C = (size_t)model_config(p)->n_embd;
    int first, last;
    par_split(norm_runs(b), p->thread, p->n_threads, &first, &last);
    profile_set(PART_LAYERNORM);
    for (int run = first; run < last; run++) {
        float *sums = b->norm_sums + (size_t)run * 2 * C;
        int row, end;
        norm_span(b, run, &row, &end);
        memset(sums, 0, 2 * C * sizeof *sums);
        for (int r = row; r < end; r++) {
            const size_t at = (size_t)r * C, next = at + C;
            if (r + 1 < end) {
                prefetch_floats(x + next, C);
                prefetch_floats(b->branch + next, C);
                prefetch_floats(b->dx + next, C);
            }
            training_kernels()->layernorm_grad(b->dx + at, sums, sums + C, b->branch + at, x + at,
                                               weight, C, model_config(p)->layer_norm_epsilon);
        }
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
    const int runs = norm_runs(b), of_sequence = runs / b->n_seqs;
    for (int run = 0; run < runs; run++) {
        const float *sums = b->norm_sums + (size_t)run * 2 * C + first;
        row_kernels()->add(dweight, sums, (size_t)(last - first));
        row_kernels()->add(dbias, sums + C, (size_t)(last - first));
        if ((run + 1) % of_sequence == 0) {
            gradient_round(b, dweight, (size_t)(last - first));
            gradient_round(b, dbias, (size_t)(last - first));
        }
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
    for (int r = first; r < last; r++) {
        if (r + 1 < last)
            prefetch_floats(x + (size_t)(r + 1) * C, C);
        row_kernels()->layernorm(y + (size_t)r * C, x + (size_t)r * C, weight, bias, C,
                                 model_config(p)->layer_norm_epsilon);
    }
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

struct activation_finish {
    float *dfc;
    const float *fc;
    size_t F;
    enum activation activation;
};

static void finish_activation(void *user, int row, int rows, int col, int cols)
{
    const struct activation_finish *f = user;
    size_t at = (size_t)row * f->F + (size_t)col;
    const enum profile_part was = profile_within(PART_ACTIVATION);
    for (int r = 0; r < rows; r++, at += f->F)
        training_kernels()->activation_grad(f->dfc + at, f->fc + at, (size_t)cols, f->activation);
    profile_within(was);
}

/* For f(fc) W + b, f the activation: dfc = dy W^T f'(fc), or (dfc + dy W^T) f'(fc) if add. No
 * barrier. */
static void activation_input(const struct backward_thread *p, const struct linear *w, float *dfc,
                             const float *dy, const float *fc, bool add)
{
    struct activation_finish finish = {dfc, fc, (size_t)w->K, model_config(p)->activation};
    struct product m = input_product(p, w, dfc, dy, add);
    m.finish = finish_activation;
    m.user = &finish;
    profile_set(PART_MATRICES);
    product_share(&m, p->thread, p->n_threads, p->scratch);
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
    bool add = lora_branch(p, &w->mlp_proj, b->dfc, activated, dy);
    activation_input(p, &w->mlp_proj, b->dfc, dy, a->fc, add);
    par_barrier();
    linear_weights(p, &w->c_fc, normed, b->dfc);
    add = lora_branch(p, &w->c_fc, b->branch, normed, b->dfc);
    sum_input(p, &w->c_fc, b->branch, b->dfc, add, 1);
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
    bool add = lora_branch(p, &w->attn_proj, b->datt, a->att, dy);
    linear_input(p, &w->attn_proj, b->datt, dy, add);
    par_barrier();
    backward_attention(p, layer);
    linear_weights(p, &w->c_attn, normed, b->dqkv);
    add = lora_branch(p, &w->c_attn, b->branch, normed, b->dqkv);
    sum_input(p, &w->c_attn, b->branch, b->dqkv, add, 3);
    layernorm_input(p, a->x, w->ln_1_weight);
    add_norm_sums(p, w->ln_1_weight, w->ln_1_bias);
}

void backward_layer(const struct backward_thread *p, int layer)
{
    profile_begin(SPAN_LAYER, layer);
    mlp_block(p, layer);
    attention_block(p, layer);
    par_barrier();
    profile_end();
}

void backward_final_norm(const struct backward_thread *p)
{
    const struct params *w = p->b->f->params;
    const size_t C = (size_t)w->config.n_embd;
    int first, last;
    par_split(norm_runs(p->b), p->thread, p->n_threads, &first, &last);
    if (first < last) {
        int end;
        norm_span(p->b, last - 1, &last, &end);
        norm_span(p->b, first, &first, &last);
        last = end;
    }
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
    if (p->thread == 0)
        gradient_place_tokens(b);
    par_barrier();
    float *wpe = backward_gradient(b, w->wpe);
    int first, last;
    thread_columns(p, (int)C, &first, &last);
    const size_t n = first < last ? (size_t)(last - first) : 0;
    const float *dx = b->dx + first;
    for (int s = 0; s < b->n_seqs && n > 0; s++)
        for (int i = 0; i < b->seqs[s].n; i++, dx += C) {
            const int own = shard_token(b->f->shard, b->seqs[s].ids[i]);
            float *to = wpe + (size_t)(b->seqs[s].kv.n_past + i) * C + first,
                  *row = own < 0 ? NULL : gradient_token_row(b->embedding, own);
            if (row != NULL)
                row_kernels()->add(row + first, dx, n);
            row_kernels()->add(to, dx, n);
            gradient_round(b, to, n);
        }
    par_barrier();
}
