/*
 * A pass over a micro-batch is a list of pieces:
 *
 *   forward     embedding | layer 0 | ... | layer L - 1 | ln_f
 *   loss        loss.h
 *   backward    ln_f | layer L - 1: activations | gradients | ... | layer 0 | embedding
 *
 * Between two pieces every buffer is complete in all threads, so a pass may stop there at Ctrl-C:
 * x->piece is then the piece at which the next call resumes, and otherwise 0. In float16 a layer's
 * weights and gradients are in their windows from its first piece to its last, the tensors outside
 * the layers during the whole pass; gradients are rounded to binary16 once in each pass.
 */
#include "train/step/step.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/base/progress.h"
#include "train/step/backward.h"
#include "train/step/backward_attention.h"
#include "train/step/saved.h"
#include "train/step/loss.h"
#include "train/step/weights.h"
#include "train/step/activation_stats.h"

#include <string.h>
#include <unistd.h>

enum block { GRADIENTS, ACTIVATIONS, SCRATCH, LOGITS_BLOCK, WINDOW, N_BLOCKS };
static const char *const block_names[N_BLOCKS] = {"gradients", "activations", "training scratch",
                                                  "training logits", "gradient window"};

struct step {
    struct step_config config;
    bool recompute[CONFIG_MAX_LAYERS]; /* the layer is recomputed */
    struct weights *weights;
    size_t n_trainable; /* parameters that have gradients */
    struct forward forward;
    struct low_rank_scratch low_rank;
    struct forward_dropout dropout;
    struct activations *layers; /* [L+1] */
    struct saved saved;         /* float16 */
    void *gradients;            /* [n]; backward.gradients is their window */
    struct forward_seq *seqs;   /* [batch] */
    char **pages;               /* [batch][n_pages] */
    int n_pages;                /* of one sequence */
    struct backward backward;
    struct loss loss;
    struct activation_stats *activation_stats; /* NULL: none are collected */
    int piece; /* where an interrupted pass resumes; 0: none is interrupted */
    bool stop; /* what thread 0 saw of Ctrl-C, for all threads */
    void *blocks[N_BLOCKS];
    struct step_bytes bytes;
};

/* ---- memory ---- */

static void carve_scratch(struct step *x, struct arena *a, const struct config *c)
{
    struct backward *b = &x->backward;
    size_t rows = (size_t)x->config.batch * (size_t)x->config.length, C = (size_t)c->n_embd;
    struct kv_layout pages;
    kv_layout_init(&pages, c, true);
    kv_layout_share(&pages);
    x->n_pages = (x->config.length + KV_BLOCK - 1) / KV_BLOCK;
    size_t n_pages = (size_t)x->config.batch * (size_t)x->n_pages;
    b->dx = arena_take(a, rows * C * sizeof(float));
    b->branch = arena_take(a, rows * C * sizeof(float));
    b->datt = arena_take(a, rows * C * sizeof(float));
    b->dqkv = arena_take(a, rows * 3 * C * sizeof(float));
    b->dfc = arena_take(a, rows * (size_t)c->n_inner * sizeof(float));
    b->norm_sums = arena_take(a, (rows + NORM_ROWS - 1) / NORM_ROWS * 2 * C * sizeof(float));
    b->length = x->config.length;
    b->attention_pieces = x->config.attention_pieces;
    b->thread_bytes = backward_attention_scratch_bytes(c, b->length, b->attention_pieces);
    b->thread_scratch = arena_take(a, (size_t)par_threads() * b->thread_bytes);
    if (x->config.adapter != NULL) {
        size_t rank = (size_t)x->config.adapter->rank;
        size_t widest = C > (size_t)c->n_inner ? C : (size_t)c->n_inner;
        b->dinner = arena_take(a, rows * rank * sizeof(float));
        x->low_rank.inner = arena_take(a, rows * rank * sizeof(float));
        if (x->config.adapter->dropout > 0)
            x->low_rank.dropped = arena_take(a, rows * widest * sizeof(float));
    }
    x->loss.row_loss = arena_take(a, rows * sizeof *x->loss.row_loss);
    x->loss.row_correct = arena_take(a, rows * sizeof *x->loss.row_correct);
    x->loss.running = arena_take(a, (size_t)x->loss.slice_rows * sizeof *x->loss.running);
    x->layers = arena_take(a, ((size_t)c->n_layer + 1) * sizeof *x->layers);
    x->seqs = arena_take(a, (size_t)x->config.batch * sizeof *x->seqs);
    x->pages = arena_take(a, n_pages * sizeof *x->pages);
    char *page = arena_take(a, n_pages * pages.page_bytes);
    for (size_t i = 0; page != NULL && i < n_pages; i++)
        x->pages[i] = page + i * pages.page_bytes;
}

static void carve_activations(struct step *x, struct arena *a, const struct config *c,
                              enum dtype dtype)
{
    int rows = x->config.batch * x->config.length;
    if (dtype == DTYPE_F16)
        saved_carve(&x->saved, x->layers, a, c, rows, x->recompute);
    else
        activations_carve(x->layers, a, c, rows, x->recompute);
}

static void size_step(struct step *x, const struct config *c, enum dtype dtype)
{
    struct arena scratch = {0}, activations = {0};
    const bool adapted = x->config.adapter != NULL;
    x->loss.slice_columns = step_loss_columns(c, &x->config);
    x->loss.slice_rows = step_loss_rows(c, &x->config);
    carve_scratch(x, &scratch, c);
    carve_activations(x, &activations, c, dtype);
    size_t rows = (size_t)x->config.batch * (size_t)x->config.length;
    /* What forward_init allocates: normed, fc and hidden. */
    size_t forward = rows * (2 * (size_t)c->n_embd + (size_t)c->n_inner) * sizeof(float);
    x->bytes = (struct step_bytes){
        .activations = activations.used,
        .gradients = x->n_trainable * dtype_bytes(adapted ? DTYPE_F32 : dtype),
        .scratch = scratch.used + forward,
        .logits = (size_t)x->loss.slice_rows * (size_t)x->loss.slice_columns * sizeof(float)};
    if (dtype == DTYPE_F16 && !adapted)
        x->bytes.window = weights_window(c, dtype) * sizeof(float);
}

/* Bytes of each block. */
static void list_blocks(const struct step *x, size_t bytes[N_BLOCKS])
{
    bytes[GRADIENTS] = x->bytes.gradients;
    bytes[ACTIVATIONS] = x->bytes.activations;
    bytes[SCRATCH] = x->bytes.scratch;
    bytes[LOGITS_BLOCK] = x->bytes.logits;
    bytes[WINDOW] = x->bytes.window;
}

int step_bytes(struct step_bytes *out, const struct config *c, enum dtype dtype,
               const struct step_config *s)
{
    struct step x = {.config = *s, .n_trainable = (size_t)config_params(c)};
    int rc = step_config_check(s, c, x.recompute);
    if (rc == 0 && s->adapter != NULL)
        rc = adapter_count(&x.n_trainable, s->adapter, c);
    if (rc == 0) {
        size_step(&x, c, dtype);
        *out = x.bytes;
    }
    return rc;
}

/* ---- life ---- */

static int check_memory(const struct step_bytes *b)
{
    double machine = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double all = (double)b->activations + (double)b->gradients + (double)b->scratch +
                 (double)b->logits + (double)b->window;
    if (all > machine)
        return err_set(ERR_NOMEM,
                       "a micro-batch needs %.1f GB of memory (%.1f GB of activations), this "
                       "machine has %.1f GB: use a smaller one, or recomputation",
                       all / 1e9, (double)b->activations / 1e9, machine / 1e9);
    return 0;
}

static struct dropout dropout_of(float p, uint64_t seed)
{
    struct dropout d = {.seed = seed, .scale = 1};
    if (p > 0) {
        double keep = (1 - (double)p) * 0x1p32;
        d.keep = keep >= UINT32_MAX ? UINT32_MAX : keep < 1 ? 1 : (uint32_t)keep;
        d.scale = (float)(0x1p32 / d.keep);
    }
    return d;
}

static int set_up_step(struct step *x, struct weights *w)
{
    const struct config *c = &w->view.config;
    size_t bytes[N_BLOCKS];
    list_blocks(x, bytes);
    int rc = forward_init(&x->forward, &w->view, x->config.batch * x->config.length);
    if (rc != 0)
        return rc;
    for (int i = 0; i < N_BLOCKS; i++)
        if (bytes[i] > 0 && (x->blocks[i] = mem_map(block_names[i], bytes[i])) == NULL)
            return ERR_NOMEM;
    struct arena activations = {.base = x->blocks[ACTIVATIONS]},
                 scratch = {.base = x->blocks[SCRATCH]};
    carve_scratch(x, &scratch, c);
    carve_activations(x, &activations, c, w->dtype);
    x->loss.logits = x->blocks[LOGITS_BLOCK];
    x->gradients = x->blocks[GRADIENTS];
    x->backward.f = &x->forward;
    x->backward.seqs = x->seqs;
    x->backward.frozen = w->adapter != NULL;
    x->backward.weights = x->backward.frozen ? w->adapter->data : w->window;
    x->backward.gradients = x->blocks[x->bytes.window > 0 ? WINDOW : GRADIENTS];
    x->forward.low_rank = x->low_rank;
    x->forward.layers = x->layers;
    x->forward.half = w->dtype == DTYPE_F16;
    kv_layout_share(&x->forward.layout);
    const struct dropout_config *d = &x->config.dropout;
    x->dropout = (struct forward_dropout){.embd = dropout_of(d->embd, d->seed),
                                          .attn = dropout_of(d->attn, d->seed),
                                          .resid = dropout_of(d->resid, d->seed)};
    if (w->adapter != NULL)
        x->dropout.adapter = dropout_of(w->adapter->config.dropout, d->seed);
    return 0;
}

int step_new(struct step **out, struct weights *w, const struct step_config *s)
{
    *out = NULL;
    struct step *x = mem_alloc(sizeof *x);
    if (x == NULL)
        return ERR_NOMEM;
    x->config = *s;
    x->config.recompute = NULL;
    x->config.adapter = w->adapter == NULL ? NULL : &w->adapter->config;
    x->weights = w;
    x->n_trainable = weights_trainable(w).n;
    int rc = step_config_check(s, &w->view.config, x->recompute);
    if (rc == 0) {
        size_step(x, &w->view.config, w->dtype);
        rc = check_memory(&x->bytes);
    }
    if (rc == 0)
        rc = set_up_step(x, w);
    if (rc != 0) {
        step_free(x);
        return rc;
    }
    *out = x;
    return 0;
}

void step_free(struct step *x)
{
    if (x == NULL)
        return;
    size_t bytes[N_BLOCKS];
    list_blocks(x, bytes);
    for (int i = 0; i < N_BLOCKS; i++)
        mem_unmap(x->blocks[i], bytes[i]);
    forward_release(&x->forward);
    mem_free(x);
}

/* ---- running ---- */

void *step_gradients(struct step *x)
{
    return x->gradients;
}

void step_collect(struct step *x, struct activation_stats *stats)
{
    x->activation_stats = stats;
}

static void zero_share(void *arg, int thread, int n_threads)
{
    const struct step *x = arg;
    size_t first, count;
    par_split_units(x->bytes.gradients, 1 << 18, thread, n_threads, &first, &count);
    profile_set(PART_OPTIMIZER);
    memset((char *)x->gradients + first, 0, count);
}

void step_zero(struct step *x)
{
    x->piece = 0;
    par_run(zero_share, x);
}

struct step_pass {
    struct step *x;
    const token_id *labels;
    float scale;
    bool backward;
};

/* How many pieces a pass has of each kind. */
struct pieces {
    int forward, loss, backward;
};

static struct pieces pieces_of(const struct step *x, bool backward)
{
    const struct config *c = &x->weights->view.config;
    return (struct pieces){forward_stages(c), loss_pieces(&x->loss, &x->backward, backward),
                           backward ? 2 * c->n_layer + 2 : 0};
}

/*
 * Float16: bring a layer's weights, and its gradients too, into the windows; layer -1: the tensors
 * outside the layers.
 */
static void load_windows(struct backward_thread *p, struct step *x, int layer, bool gradients)
{
    const struct weights *w = x->weights;
    if (w->dtype == DTYPE_F32)
        return;
    profile_set(PART_REST);
    weights_load_window(w, w->window, w->half, layer, p->thread, p->n_threads);
    if (gradients && !x->backward.frozen)
        weights_load_window(w, x->backward.gradients, x->gradients, layer, p->thread, p->n_threads);
    par_barrier();
}

static void store_gradients(struct backward_thread *p, struct step *x, int layer)
{
    if (x->weights->dtype == DTYPE_F32 || x->backward.frozen)
        return;
    profile_set(PART_REST);
    weights_store_window(x->weights, x->gradients, x->backward.gradients, layer, p->thread,
                         p->n_threads);
    par_barrier();
}

/* piece 0: embedding; then the layers; then last norm. */
static void run_forward(struct backward_thread *p, const struct step_pass *pass, int piece)
{
    struct step *x = pass->x;
    int layer = piece - 1, n_layer = x->weights->view.config.n_layer;
    if (layer < n_layer)
        load_windows(p, x, layer, piece == 0 && pass->backward);
    forward_stage(&x->forward, x->seqs, x->backward.n_seqs, piece, p->thread, p->n_threads);
    if (x->activation_stats != NULL && pass->backward && layer >= 0 && layer < n_layer)
        activation_stats_add(x->activation_stats, &x->forward, layer, x->backward.rows, p->thread,
                             p->n_threads);
    if (pass->backward && piece == 0)
        saved_store_first(&x->saved, x->layers, p->thread, p->n_threads);
    else if (pass->backward && layer < n_layer)
        saved_store(&x->saved, x->layers, layer, p->thread, p->n_threads);
}

static void restore_activations(struct backward_thread *p, struct step *x, int layer)
{
    saved_load(&x->saved, x->layers, layer, p->thread, p->n_threads);
    load_windows(p, x, layer, true);
    if (x->recompute[layer])
        forward_recompute(&x->forward, x->seqs, x->backward.n_seqs, layer, p->thread, p->n_threads);
}

/* piece 0: last norm; then the layers, two pieces each; then the embedding. */
static void run_backward(struct backward_thread *p, struct step *x, int piece)
{
    int layer = x->weights->view.config.n_layer - (piece + 1) / 2;
    if (piece == 0) {
        backward_final_norm(p);
    } else if (layer >= 0 && piece % 2 == 1) {
        restore_activations(p, x, layer);
    } else if (layer >= 0) {
        backward_layer(p, layer);
        store_gradients(p, x, layer);
    } else {
        backward_embedding(p);
        store_gradients(p, x, -1);
    }
}

static void run_piece(struct backward_thread *p, const struct step_pass *pass, struct pieces n,
                      int piece)
{
    struct step *x = pass->x;
    if (piece < n.forward)
        run_forward(p, pass, piece);
    else if (piece < n.forward + n.loss)
        loss_piece(&x->loss, p, piece - n.forward, pass->labels, pass->scale, pass->backward);
    else
        run_backward(p, x, piece - n.forward - n.loss);
}

/* Whether to stop before this piece. Thread 0 decides for all, so that none goes on alone. */
static bool stops_before(struct step *x, const struct step_pass *pass, int piece, int thread)
{
    if (!pass->backward || piece == 0)
        return false;
    if (thread == 0)
        x->stop = interrupt_pending();
    par_barrier();
    bool stop = x->stop;
    par_barrier();
    return stop;
}

static void run_pass(void *arg, int thread, int n_threads)
{
    const struct step_pass *pass = arg;
    struct step *x = pass->x;
    struct backward *b = &x->backward;
    struct backward_thread p = {.b = b,
                                .thread = thread,
                                .n_threads = n_threads,
                                .scratch = b->thread_scratch + (size_t)thread * b->thread_bytes};
    struct pieces n = pieces_of(x, pass->backward);
    int piece = x->piece, all = n.forward + n.loss + n.backward;
    for (; piece < all && !stops_before(x, pass, piece, thread); piece++)
        run_piece(&p, pass, n, piece);
    if (thread == 0)
        x->piece = piece < all ? piece : 0;
}

int step_run(struct step *x, struct step_result *out, const token_id *ids, const token_id *labels,
             int batch, int length, float scale, uint64_t sequence, bool backward)
{
    struct step_pass pass = {.x = x, .labels = labels, .scale = scale, .backward = backward};
    x->dropout.sequence = sequence;
    x->forward.dropout = backward ? &x->dropout : NULL;
    x->backward.n_seqs = batch;
    x->backward.rows = batch * length;
    for (int i = 0; i < batch; i++)
        x->seqs[i] = (struct forward_seq){.ids = ids + (size_t)i * (size_t)length,
                                          .n = length,
                                          .kv = {.pages = x->pages + (size_t)i * x->n_pages}};
    par_run(run_pass, &pass);
    if (x->piece > 0)
        return err_set(ERR_INTERRUPTED, "interrupted");
    loss_sum(&x->loss, out, labels, batch * length);
    return 0;
}
