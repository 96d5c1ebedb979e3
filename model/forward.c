/*
 * The plan of a pass: embedding, layers, last norm, each by every thread of the team
 * (pass_thread.h), in scratch that is sized first and then carved out of one block.
 */
#include "model/forward.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/kernels/attention.h"
#include "model/layer_stream.h"

#include <string.h>

/* The one list of what the scratch holds, for sizing and for carving. */
static void carve_forward(struct forward *f, struct arena *a)
{
    const struct config *c = &f->params->config;
    size_t C = (size_t)c->n_embd, F = (size_t)c->n_inner, rows = (size_t)f->max_rows;
    size_t A = (size_t)config_heads_width(c);
    struct activations *layers = arena_take(a, ((size_t)c->n_layer + 1) * sizeof *layers);
    struct activations one = {.x = arena_take(a, rows * C * sizeof(float)),
                              .qkv = arena_take(a, rows * 3 * A * sizeof(float)),
                              .att = arena_take(a, rows * A * sizeof(float))};
    one.mid = one.x;
    for (int i = 0; layers != NULL && i <= c->n_layer; i++)
        layers[i] = one;
    f->layers = layers;
    f->normed = arena_take(a, rows * C * sizeof(float));
    f->fc = arena_take(a, rows * F * sizeof(float));
    f->hidden = arena_take(a, rows * C * sizeof(float));
    f->thread_scratch = arena_take(a, (size_t)f->n_threads * f->thread_bytes);
}

static struct activations take_layer(struct arena *a, const struct config *c, int rows)
{
    size_t C = (size_t)c->n_embd, F = (size_t)c->n_inner, T = (size_t)rows;
    size_t A = (size_t)config_heads_width(c);
    return (struct activations){.qkv = arena_take(a, T * 3 * A * sizeof(float)),
                                .att = arena_take(a, T * A * sizeof(float)),
                                .mid = arena_take(a, T * C * sizeof(float)),
                                .fc = arena_take(a, T * F * sizeof(float)),
                                .lse = arena_take(a, T * (size_t)c->n_head * sizeof(float))};
}

void activations_carve(struct activations *layers, struct arena *a, const struct config *c,
                       int rows, const bool *shared)
{
    struct common_activations common = {0};
    const struct activation_range all = {.last = c->n_layer, .end = true};
    activations_carve_range(layers, a, c, rows, shared, all, &common);
}

void activations_carve_range(struct activations *layers, struct arena *a, const struct config *c,
                             int rows, const bool *shared, struct activation_range range,
                             struct common_activations *common)
{
    for (int i = range.first; i <= c->n_layer; i++) {
        struct activations set = {0};
        if (i > range.last && !(range.end && i == c->n_layer))
            continue;
        if (i < range.last && shared != NULL && shared[i]) {
            if (!common->taken)
                *common = (struct common_activations){take_layer(a, c, rows), true};
            set = common->set;
        } else if (i < range.last) {
            set = take_layer(a, c, rows);
        }
        if (!activation_elsewhere(&range, i))
            set.x = arena_take(a, (size_t)rows * (size_t)c->n_embd * sizeof(float));
        if (layers != NULL)
            layers[i] = set;
    }
}

static void size_thread_scratch(struct forward *f)
{
    const struct config *c = &f->params->config;
    struct arena one = {0};
    size_t linear = linear_scratch_bytes(config_widest(c));
    size_t attention = attention_scratch_bytes(config_head_size(c));
    arena_take(&one, linear > attention ? linear : attention);
    f->kernel_bytes = one.used;
    arena_take(&one, PASS_FEW_ROWS * (size_t)c->n_embd * sizeof(float));
    f->thread_bytes = one.used;
}

int forward_init(struct forward *f, const struct params *p, int max_rows)
{
    *f = (struct forward){.params = p, .max_rows = max_rows, .n_threads = par_threads()};
    kv_layout_init(&f->layout, &p->config, kv_dtype_of(p->dtype));
    size_thread_scratch(f);
    struct arena a = {0};
    carve_forward(f, &a);
    f->block_bytes = a.used;
    f->block = mem_map("forward scratch", f->block_bytes);
    if (f->block == NULL)
        return ERR_NOMEM;
    a = (struct arena){.base = f->block};
    carve_forward(f, &a);
    return 0;
}

void forward_release(struct forward *f)
{
    if (f == NULL)
        return;
    mem_unmap(f->block, f->block_bytes);
    *f = (struct forward){0};
}

/* Stage 0 is the embedding, 1 .. L the layers, L + 1 the last norm. */
static void run_stage(struct pass_thread *p, int stage)
{
    if (stage == 0) {
        profile_begin(SPAN_EMBEDDING, -1);
        pass_thread_embed(p);
        profile_end();
    } else if (stage == forward_stages(&p->f->params->config) - 1) {
        pass_thread_normalize_last(p);
    } else if (p->rows > 0) {
        layer_stream_enter(p->f->params->stream, stage - 1, p->thread);
        profile_begin(SPAN_LAYER, stage - 1);
        pass_thread_attend(p, stage - 1);
        if (p->rows > 0)
            pass_thread_run_mlp(p, stage - 1);
        profile_end();
    }
}

int forward_stages(const struct config *c)
{
    return c->n_layer + 2;
}

int forward_pass(struct forward *f, const struct forward_seq *seqs, int n_seqs, int thread,
                 int n_threads)
{
    struct pass_thread p = pass_thread_begin(f, seqs, n_seqs, thread, n_threads);
    layer_stream_begin(f->params->stream, thread);
    for (int stage = 0; stage < forward_stages(&f->params->config); stage++)
        run_stage(&p, stage);
    return p.rows;
}

void forward_stage(struct forward *f, const struct forward_seq *seqs, int n_seqs, int stage,
                   int thread, int n_threads)
{
    struct pass_thread p = pass_thread_begin(f, seqs, n_seqs, thread, n_threads);
    run_stage(&p, stage);
}

void forward_recompute(struct forward *f, const struct forward_seq *seqs, int n_seqs, int layer,
                       int thread, int n_threads)
{
    struct pass_thread p = pass_thread_begin(f, seqs, n_seqs, thread, n_threads);
    profile_begin(SPAN_LAYER, layer);
    pass_thread_attend(&p, layer);
    pass_thread_expand(&p, layer);
    profile_end();
}

/* The rows as a run of f->hidden, or else copied to f->normed. */
static const float *gather_rows(struct forward *f, const int *rows, int n, int thread,
                                int n_threads)
{
    size_t C = (size_t)f->params->config.n_embd;
    bool run = true;
    for (int i = 1; rows != NULL && i < n; i++)
        run = run && rows[i] == rows[0] + i;
    if (run)
        return f->hidden + (rows == NULL ? 0 : (size_t)rows[0] * C);
    int first, last;
    par_split(n, thread, n_threads, &first, &last);
    for (int i = first; i < last; i++)
        memcpy(f->normed + (size_t)i * C, f->hidden + (size_t)rows[i] * C, C * sizeof(float));
    par_barrier();
    return f->normed;
}

void forward_head(struct forward *f, float *logits, size_t ld, const int *rows, int n, int thread,
                  int n_threads)
{
    struct layer_stream *stream = f->params->stream;
    const float *x = gather_rows(f, rows, n, thread, n_threads);
    const int n_slices = layer_stream_slices(stream);
    for (int i = 0; i == 0 || i < n_slices; i++) {
        struct linear w = f->params->lm_head;
        int first = 0;
        if (n_slices > 0)
            w = layer_stream_slice(stream, i, &first, thread);
        profile_set(PART_HEAD);
        linear_rows(&w, logits + first, ld, x, (size_t)w.K, n, EPILOGUE_STORE, thread, n_threads,
                    f->thread_scratch + (size_t)thread * f->thread_bytes);
        par_barrier();
    }
}
