#include "model/pass_thread.h"

#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/kernels/attention.h"
#include "model/kernels/prefetch.h"
#include "model/kernels/row_kernels.h"
#include "model/kernels/training_kernels.h"
#include "model/layer_stream.h"
#include "model/pass_sum.h"

#include <math.h>
#include <string.h>

/*
 * Layer i reads layers[i].x and writes layers[i + 1].x, which in inference are one buffer. A
 * function that writes what other threads read next ends with a barrier.
 */

enum { QUERY_ROWS = 64 }; /* of one unit of attention, where heads alone do not fill the team */

_Static_assert((int)KV_BLOCK == (int)ATTENTION_BLOCK && (int)KV_BLOCK == (int)PANEL,
               "a page of keys is a block of attention and a panel of a matrix");

struct pass_thread pass_thread_begin(struct forward *f, const struct forward_seq *seqs, int n_seqs,
                                     int thread, int n_threads)
{
    char *scratch = f->thread_scratch + (size_t)thread * f->thread_bytes;
    struct pass_thread p = {.f = f,
                            .seqs = seqs,
                            .n_seqs = n_seqs,
                            .thread = thread,
                            .n_threads = n_threads,
                            .scratch = scratch,
                            .few_normed = (float *)(scratch + f->kernel_bytes)};
    for (int s = 0; s < n_seqs; s++)
        p.rows += seqs[s].n;
    return p;
}

float pass_thread_score_scale(const struct config *c, int layer)
{
    float scale = 1.0f;
    if (c->scale_attn_weights)
        scale /= sqrtf((float)config_head_size(c));
    if (c->scale_attn_by_inverse_layer_idx)
        scale /= (float)(layer + 1);
    return scale;
}

/* Round n elements to binary16 where activations are saved in it (f->half). */
static void round_saved(const struct pass_thread *p, float *y, size_t n)
{
    enum { PART = 512 };
    const struct row_kernels *k = row_kernels();
    uint16_t half[PART];
    for (size_t i = 0, count; p->f->half && i < n; i += count) {
        count = n - i < PART ? n - i : PART;
        k->half_from_f32(half, y + i, count);
        k->half_to_f32(y + i, half, count);
    }
}

/* The same for all rows [rows,N]; ends with a barrier. */
static void round_rows(const struct pass_thread *p, float *y, int N)
{
    int first, last;
    if (!p->f->half)
        return;
    par_split(p->rows, p->thread, p->n_threads, &first, &last);
    round_saved(p, y + (size_t)first * (size_t)N, (size_t)(last - first) * (size_t)N);
    par_barrier();
}

/* Drop elements of row x of sequence s. */
static void drop_row(const struct pass_thread *p, const struct dropout *d, float *x, int s,
                     int position, int layer, enum dropout_point point)
{
    int C = p->f->params->config.n_embd;
    if (d->keep != 0)
        training_kernels()->dropout(
            x, x, (size_t)C, d, dropout_stream(p->f->dropout->sequence + (uint64_t)s, layer, point),
            dropout_row(position, C));
}

/* How the pass's sums go on from what others have. */
static struct pass_sum sum_of(const struct pass_thread *p)
{
    return (struct pass_sum){p->f->shard, p->rows, p->thread, p->n_threads, p->scratch};
}

void pass_thread_embed(const struct pass_thread *p)
{
    const struct params *params = p->f->params;
    size_t C = (size_t)params->config.n_embd;
    /* One thread alone reads a file. */
    const int sharing = layer_stream_embeds(params->stream) ? 1 : p->n_threads;
    const struct pass_sum sum = sum_of(p);
    int row = 0;
    profile_set(PART_REST);
    if (p->f->shard != NULL)
        pass_sum_tokens(&sum, &params->wte, p->f->layers[0].x, p->seqs, p->n_seqs);
    for (int s = 0; s < p->n_seqs; s++)
        for (int i = 0; i < p->seqs[s].n; i++, row++) {
            if (row % sharing != p->thread)
                continue;
            float *x = p->f->layers[0].x + (size_t)row * C;
            int position = p->seqs[s].kv.n_past + i;
            if (layer_stream_embeds(params->stream))
                layer_stream_column(params->stream, p->seqs[s].ids[i], x);
            else if (p->f->shard == NULL)
                linear_column(&params->wte, p->seqs[s].ids[i], x);
            row_kernels()->add(x, params->wpe + (size_t)position * C, C);
            if (p->f->dropout != NULL)
                drop_row(p, &p->f->dropout->embd, x, s, position, -1, DROPOUT_EMBD);
            round_saved(p, x, C);
        }
    par_barrier();
}

/* LayerNorm of x; the result can be read at once by this thread. */
static const float *normalize_rows(const struct pass_thread *p, const float *x, const float *weight,
                                   const float *bias)
{
    const struct config *c = &p->f->params->config;
    size_t C = (size_t)c->n_embd;
    bool few = p->rows <= PASS_FEW_ROWS;
    float *y = few ? p->few_normed : p->f->normed;
    int first = 0, last = p->rows;
    if (!few)
        par_split(p->rows, p->thread, p->n_threads, &first, &last);
    profile_set(PART_LAYERNORM);
    profile_work(0, 2.0 * sizeof(float) * (double)C * (last - first));
    for (int r = first; r < last; r++) {
        if (r + 1 < last)
            prefetch_floats(x + (size_t)(r + 1) * C, C);
        row_kernels()->layernorm(y + (size_t)r * C, x + (size_t)r * C, weight, bias, C,
                                 c->layer_norm_epsilon);
    }
    if (!few)
        par_barrier();
    return y;
}

/* y [rows,N] = x [rows,K] W + b, with the LoRA branch; ends with a barrier. */
static void multiply_rows(const struct pass_thread *p, const struct linear *w, float *y,
                          const float *x, enum epilogue epilogue)
{
    profile_set(PART_MATRICES);
    linear_rows(w, y, (size_t)w->N, x, (size_t)w->K, p->rows, epilogue, p->thread, p->n_threads,
                p->scratch);
    par_barrier();
    if (w->lora != NULL)
        low_rank_add(w->lora, &p->f->low_rank, p->f->dropout, y, x, p->seqs, p->n_seqs, p->thread,
                     p->n_threads, p->scratch);
}

/* One head of one sequence in one layer, and its rows of qkv and att. */
struct head {
    int layer, s, h;  /* which */
    int heads;        /* it and heads - 1 more after it, where one call computes a few */
    int row, out_row; /* where the sequence begins in qkv and in att */
    int n, skip;      /* new positions, and how many of them get no attention */
    int n_past;
    struct attention a;
};

/* Advance h to the next head; the first from before_heads. False at the end. */
static const struct head before_heads = {.h = -1, .heads = 1};
static bool next_head(const struct pass_thread *p, int layer, struct head *h)
{
    const struct forward *f = p->f;
    const struct config *c = &f->params->config;
    h->h += h->heads;
    h->heads = 1;
    if (h->h == c->n_head) {
        h->row += h->n;
        h->out_row += h->n - h->skip;
        h->h = 0;
        h->s++;
    }
    if (h->s == p->n_seqs)
        return false;
    const struct forward_seq *seq = &p->seqs[h->s];
    h->layer = layer;
    h->n = seq->n;
    h->skip = layer == c->n_layer - 1 ? seq->skip : 0;
    h->n_past = seq->kv.n_past;
    h->a = (struct attention){.dtype = f->layout.dtype,
                              .D = f->layout.head_size,
                              .scale = pass_thread_score_scale(c, layer),
                              .window = config_window(c, layer),
                              .pages = seq->kv.pages,
                              .key_offset = kv_key_offset(&f->layout, layer, h->h),
                              .value_offset = kv_value_offset(&f->layout, layer, h->h)};
    if (f->dropout != NULL && f->dropout->attn.keep != 0) {
        h->a.dropout = &f->dropout->attn;
        h->a.stream = dropout_stream(f->dropout->sequence + (uint64_t)h->s, layer, DROPOUT_ATTN);
        h->a.mask = dropout_head(c, shard_first_head(f->shard) + h->h);
        h->a.n_ctx = c->n_ctx;
    }
    return true;
}

static void store_head(const struct pass_thread *p, const struct head *h)
{
    size_t A = (size_t)config_heads_width(&p->f->params->config);
    const float *qkv = p->f->layers[h->layer].qkv;
    const float *k = qkv + ((size_t)h->row * 3 + 1) * A + (size_t)(h->h * h->a.D);
    attention_store(&h->a, k, k + A, 3 * A, h->n, h->n_past);
}

/* A score and a sum for each key that a row sees; keys and values once. */
static void note_attention(const struct head *h, int first, int n)
{
    const double before = h->n_past + first, window = h->a.window;
    double keys = before + (n + 1) / 2.0, all = before + n;
    if (window > 0 && keys > window)
        keys = window;
    if (window > 0 && all > window + n)
        all = window + n;
    const size_t page =
        attention_key_bytes(h->a.dtype, h->a.D) + attention_value_bytes(h->a.dtype, h->a.D);
    profile_work(4.0 * h->a.D * keys * n * h->heads, all * (double)page / KV_BLOCK * h->heads);
}

/* New positions first .. first + n - 1 of the sequence. */
static void attend_rows(const struct pass_thread *p, const struct head *h, int first, int n)
{
    size_t A = (size_t)config_heads_width(&p->f->params->config), at = (size_t)(h->h * h->a.D);
    const struct activations *to = &p->f->layers[h->layer];
    size_t row = (size_t)(h->out_row + first - h->skip), H = (size_t)p->f->layout.n_head;
    const float *q = to->qkv + (size_t)(h->row + first) * 3 * A + at;
    struct attention a = h->a;
    note_attention(h, first, n);
    if (to->lse != NULL) {
        a.lse = to->lse + row * H + (size_t)h->h;
        a.ld_lse = H;
    }
    attention_rows(&a, to->att + row * A + at, A, q, 3 * A, n, h->n_past + first, p->scratch);
}

/* The keys that the head reads first. */
static const char *first_keys(const struct head *h)
{
    return h->a.pages[attention_first_page(&h->a, h->n_past + h->skip)] + h->a.key_offset;
}

/* Whether a head of a sequence is a small enough unit to keep the whole team busy. */
static bool heads_suffice(const struct pass_thread *p)
{
    int heads = p->n_seqs * p->f->layout.n_head, longest = 0;
    int rounds = (heads + p->n_threads - 1) / p->n_threads;
    for (int s = 0; s < p->n_seqs; s++)
        if (p->seqs[s].n > longest)
            longest = p->seqs[s].n;
    return longest <= QUERY_ROWS || 10 * heads >= 9 * rounds * p->n_threads;
}

/* A thread's share of the heads of all sequences in one layer: those whose work begins within
 * from .. to - 1, if each goes on where the one before it ends. */
struct share {
    size_t from, to;
    size_t at; /* where the next head begins */
};

/* About how many keys the rows of a head see, and some for what comes with a row. */
static size_t head_work(const struct forward_seq *seq, int window)
{
    enum { ROW = 32 };
    int keys = seq->kv.n_past + (seq->n + 1) / 2;
    if (window > 0 && keys > window)
        keys = window;
    return (size_t)seq->n * (size_t)(keys + ROW);
}

static struct share share_heads(const struct pass_thread *p, int layer)
{
    const int window = config_window(&p->f->params->config, layer);
    const size_t thread = (size_t)p->thread, n = (size_t)p->n_threads;
    size_t all = 0;
    for (int s = 0; s < p->n_seqs; s++)
        all += (size_t)p->f->layout.n_head * head_work(&p->seqs[s], window);
    return (struct share){.from = all * thread / n, .to = all * (thread + 1) / n};
}

/* Whether the head has one new row and attention_step computes it. */
static bool is_step(const struct pass_thread *p, const struct head *h)
{
    return h->n == 1 && h->skip == 0 && h->a.dropout == NULL && p->f->layers[h->layer].lse == NULL;
}

/* Advance h to this thread's next head, of steps to as many of a sequence as go together; false at
 * the end. Adjacent heads are adjacent in memory, so a thread reads it in long runs. */
static bool next_own_head(const struct pass_thread *p, int layer, struct share *share,
                          struct head *h)
{
    while (next_head(p, layer, h)) {
        const size_t work = head_work(&p->seqs[h->s], h->a.window);
        const bool own = share->from <= share->at && share->at < share->to;
        share->at += work;
        if (!own)
            continue;
        while (is_step(p, h) && h->heads < ATTENTION_HEADS &&
               h->h + h->heads < p->f->layout.n_head && share->at < share->to) {
            h->heads++;
            share->at += work;
        }
        return true;
    }
    return false;
}

/* One new row of the head and those that go with it. */
static void attend_step(const struct pass_thread *p, const struct head *h)
{
    const size_t A = (size_t)config_heads_width(&p->f->params->config),
                 at = (size_t)(h->h * h->a.D);
    const struct activations *to = &p->f->layers[h->layer];
    const float *q = to->qkv + (size_t)h->row * 3 * A + at;
    const struct attention_row new = {q, q + A, q + 2 * A};
    note_attention(h, 0, 1);
    attention_step(&h->a, to->att + (size_t)h->out_row * A + at, &new, h->heads, h->n_past,
                   p->scratch);
}

/* A head of several rows is stored while the one before it is next: a key's elements go to 64
 * lines, which the scores would wait for, and all heads of a batch do not stay in the cache. */
static void attend_own_heads(const struct pass_thread *p, int layer)
{
    struct share share = share_heads(p, layer);
    struct head h, next = before_heads;
    bool more = next_own_head(p, layer, &share, &next);
    if (more && !is_step(p, &next))
        store_head(p, &next);
    while (more) {
        h = next;
        more = next_own_head(p, layer, &share, &next);
        if (more && !is_step(p, &next))
            store_head(p, &next);
        h.a.prefetch = more ? first_keys(&next) : NULL;
        if (is_step(p, &h))
            attend_step(p, &h);
        else if (h.skip < h.n)
            attend_rows(p, &h, h.skip, h.n - h.skip);
    }
}

/*
 * Store the keys and values of the new rows and fill att. Heads are divided among the team; where
 * there are too few, runs of query rows are, after all keys are stored.
 */
static void attend_heads(const struct pass_thread *p, int layer)
{
    profile_set(PART_ATTENTION);
    if (heads_suffice(p)) {
        attend_own_heads(p, layer);
        par_barrier();
        return;
    }
    int unit = 0;
    for (struct head h = before_heads; next_head(p, layer, &h);)
        if (unit++ % p->n_threads == p->thread)
            store_head(p, &h);
    par_barrier();
    unit = 0;
    for (struct head h = before_heads; next_head(p, layer, &h);)
        for (int first = h.skip; first < h.n; first += QUERY_ROWS)
            if (unit++ % p->n_threads == p->thread)
                attend_rows(p, &h, first, h.n - first < QUERY_ROWS ? h.n - first : QUERY_ROWS);
    par_barrier();
}

/* Remove the rows to skip from x. Rows only move towards the front, so each thread moves its own
 * columns in order. */
static void close_up_rows(struct pass_thread *p, float *x)
{
    size_t C = (size_t)p->f->params->config.n_embd;
    int first, last, row = 0, kept = 0;
    par_split((int)C, p->thread, p->n_threads, &first, &last);
    for (int s = 0; s < p->n_seqs; row += p->seqs[s++].n)
        for (int i = p->seqs[s].skip; i < p->seqs[s].n; i++, kept++)
            if (kept != row + i)
                memcpy(x + (size_t)kept * C + first, x + (size_t)(row + i) * C + first,
                       (size_t)(last - first) * sizeof(float));
    p->rows = kept;
}

/* y = x + a W + b. Where y is not x (training), dropout applies to what is added. */
static void add_residual(const struct pass_thread *p, const struct linear *w, float *y,
                         const float *x, const float *a, int layer, enum dropout_point point)
{
    const struct forward_dropout *d = p->f->dropout;
    const struct pass_sum sum = sum_of(p);
    const size_t C = (size_t)w->N;
    if (y == x) {
        multiply_rows(p, w, y, a, EPILOGUE_ADD);
        return;
    }
    if (p->f->shard == NULL)
        multiply_rows(p, w, y, a, EPILOGUE_STORE);
    else
        pass_sum_rows(&sum, w, y, a);
    profile_set(PART_REST);
    int first, last, row = 0;
    par_split(p->rows, p->thread, p->n_threads, &first, &last);
    for (int s = 0; s < p->n_seqs && d != NULL; row += p->seqs[s++].n)
        for (int i = row > first ? row : first; i < row + p->seqs[s].n && i < last; i++)
            drop_row(p, &d->resid, y + (size_t)i * C, s, p->seqs[s].kv.n_past + i - row, layer,
                     point);
    const size_t at = (size_t)first * C, n = (size_t)(last - first) * C;
    row_kernels()->add(y + at, x + at, n);
    round_saved(p, y + at, n);
    par_barrier();
}

/* f->fc = activation(x W + b); saved, if not NULL, receives x W + b for the backward. */
static void feed_forward(const struct pass_thread *p, const struct linear *w, float *saved,
                         const float *x)
{
    enum epilogue epilogue = epilogue_activation(p->f->params->config.activation);
    if (saved == NULL) {
        multiply_rows(p, w, p->f->fc, x, epilogue);
        return;
    }
    multiply_rows(p, w, saved, x, EPILOGUE_STORE);
    profile_set(PART_ACTIVATION);
    int first, last;
    par_split(p->rows, p->thread, p->n_threads, &first, &last);
    const size_t at = (size_t)first * (size_t)w->N, n = (size_t)(last - first) * (size_t)w->N;
    round_saved(p, saved + at, n);
    matrix_kernels()->epilogue(p->f->fc + at, 0, saved + at, 0, NULL, 1, n, epilogue);
    par_barrier();
}

void pass_thread_attend(struct pass_thread *p, int layer)
{
    const struct config *c = &p->f->params->config;
    const struct layer *w = &p->f->params->layers[layer];
    const struct activations *a = &p->f->layers[layer];
    const float *normed = normalize_rows(p, a->x, w->ln_1_weight, w->ln_1_bias);
    multiply_rows(p, &w->c_attn, a->qkv, normed, EPILOGUE_STORE);
    round_rows(p, a->qkv, w->c_attn.N);
    /* Columns of x are this thread's own until the barrier of attend. */
    if (layer == c->n_layer - 1)
        close_up_rows(p, a->x);
    attend_heads(p, layer);
    round_rows(p, a->att, w->attn_proj.K);
    if (p->rows > 0)
        add_residual(p, &w->attn_proj, a->mid, a->x, a->att, layer, DROPOUT_ATTN_PROJ);
}

void pass_thread_expand(const struct pass_thread *p, int layer)
{
    const struct layer *w = &p->f->params->layers[layer];
    const struct activations *a = &p->f->layers[layer];
    const float *normed = normalize_rows(p, a->mid, w->ln_2_weight, w->ln_2_bias);
    feed_forward(p, &w->c_fc, a->fc, normed);
}

void pass_thread_run_mlp(const struct pass_thread *p, int layer)
{
    const struct layer *w = &p->f->params->layers[layer];
    const struct activations *a = &p->f->layers[layer];
    pass_thread_expand(p, layer);
    add_residual(p, &w->mlp_proj, a[1].x, a->mid, p->f->fc, layer, DROPOUT_MLP_PROJ);
}

void pass_thread_normalize_last(const struct pass_thread *p)
{
    const struct forward *f = p->f;
    const struct config *c = &f->params->config;
    const float *x = f->layers[c->n_layer].x;
    size_t C = (size_t)c->n_embd;
    int first, last;
    par_split(p->rows, p->thread, p->n_threads, &first, &last);
    profile_set(PART_LAYERNORM);
    profile_work(0, 2.0 * sizeof(float) * (double)C * (last - first));
    for (int r = first; r < last; r++)
        row_kernels()->layernorm(f->hidden + (size_t)r * C, x + (size_t)r * C,
                                 f->params->ln_f_weight, f->params->ln_f_bias, C,
                                 c->layer_norm_epsilon);
    par_barrier();
}
