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
#include "model/kernels/product.h"
#include "train/step/backward.h"
#include "train/step/step_inside.h"
#include "train/step/activation_stats.h"

#include <string.h>

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
    int rc = product_select(s->matrices, s->factors);
    if (rc == 0)
        rc = step_config_check(s, &w->view.config, x->recompute);
    if (rc == 0)
        rc = step_memory_size(x, &w->view.config, w->dtype);
    if (rc == 0)
        rc = step_memory_map(x, w);
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
    step_memory_unmap(x);
    mem_free(x);
}

void step_end_embedding(struct step *x)
{
    const size_t wte = (size_t)((const float *)x->weights->view.wte.data - x->weights->window);
    if (x->embedding.n > 0)
        gradient_join_embedding(&x->embedding,
                                (char *)x->gradients + wte * dtype_bytes(x->weights->dtype),
                                x->weights->dtype);
}

void step_end_block(struct step *x, struct step_result *sums)
{
    step_end_embedding(x);
    x->batches = 0;
    if (x->config.taken)
        x->taker.take(x->taker.user, -1);
    else
        gradient_blocks_end(&x->gradient_blocks, x->gradients, sums);
}

void step_set_taker(struct step *x, const struct gradient_taker *t)
{
    x->taker = *t;
}

void step_set_waiter(struct step *x, const struct weights_waiter *w)
{
    x->waiter = *w;
}

struct gradient_blocks *step_blocks(struct step *x)
{
    return &x->gradient_blocks;
}

void *step_gradients(struct step *x)
{
    step_end_embedding(x);
    return x->gradients;
}

void step_collect(struct step *x, struct activation_stats *stats)
{
    x->activation_stats = stats;
}

static void zero_share(void *arg, int thread, int n_threads)
{
    const struct step *x = arg;
    const size_t each = dtype_bytes(x->gradient_blocks.dtype);
    profile_set(PART_OPTIMIZER);
    for (int i = 0; i < x->own.n; i++) {
        size_t first, count;
        par_split_units(x->own.at[i].n * each, 1 << 18, thread, n_threads, &first, &count);
        memset((char *)x->gradients + x->own.at[i].first * each + first, 0, count);
    }
}

void step_zero(struct step *x)
{
    x->piece = x->batches = 0;
    gradient_forget_embedding(&x->embedding);
    gradient_blocks_begin(&x->gradient_blocks);
    if (!x->stage.alone) /* others' may have been anyone's memory */
        stage_drop_others(&x->own, x->gradients, x->n_trainable,
                          dtype_bytes(x->gradient_blocks.dtype));
    if (step_gives_back(x))
        mem_clear_map(x->gradients, x->gradient_bytes);
    else if (x->bytes.gradients > 0)
        par_run(zero_share, x);
}

struct pieces step_pieces(const struct step *x, bool backward)
{
    const struct config *c = &x->weights->view.config;
    return (struct pieces){forward_stages(c), loss_pieces(&x->loss, &x->backward, backward),
                           backward ? 2 * c->n_layer + 2 : 0};
}

void step_load_weights(struct backward_thread *p, struct step *x, int layer)
{
    const struct weights *w = x->weights;
    if (w->dtype == DTYPE_F32)
        return;
    profile_set(PART_REST);
    weights_load_window(w, w->window, w->half, layer, p->thread, p->n_threads);
    par_barrier();
}

void step_load_gradients(struct backward_thread *p, struct step *x, int layer)
{
    const struct weights *w = x->weights;
    if (w->dtype == DTYPE_F32 || x->backward.frozen)
        return;
    profile_set(PART_REST);
    weights_load_window(w, x->backward.gradients, x->gradients, layer, p->thread, p->n_threads);
    par_barrier();
}

void step_store_gradients(struct backward_thread *p, struct step *x, int layer)
{
    if (x->weights->dtype == DTYPE_F32 || x->backward.frozen)
        return;
    profile_set(PART_REST);
    weights_store_window(x->weights, x->gradients, x->backward.gradients, layer, p->thread,
                         p->n_threads);
    par_barrier();
}

static void *input_part(const struct step *x, int layer)
{
    return x->slot->parts == NULL ? NULL : x->slot->parts[layer];
}

/* piece 0: embedding; then the layers; then last norm. */
static void run_forward(struct backward_thread *p, const struct step_pass *pass, int piece)
{
    struct step *x = pass->x;
    int layer = piece - 1, n_layer = x->weights->view.config.n_layer;
    if (x->waiter.await != NULL)
        x->waiter.await(x->waiter.user, layer < n_layer ? layer : -1);
    if (layer < n_layer)
        step_load_weights(p, x, layer);
    forward_stage(&x->forward, x->slot->seqs, x->backward.n_seqs, piece, p->thread, p->n_threads);
    if (x->activation_stats != NULL && pass->backward && layer >= 0 && layer < n_layer)
        activation_stats_add(x->activation_stats, &x->forward, layer, x->backward.rows, p->thread,
                             p->n_threads);
    if (pass->backward && piece == 0)
        saved_store_first(&x->slot->saved, x->slot->layers, p->thread, p->n_threads);
    else if (pass->backward && layer < n_layer)
        saved_store(&x->slot->saved, x->slot->layers, layer, p->thread, p->n_threads);
    if (pass->backward && piece <= n_layer)
        input_parts_keep(&x->inputs, input_part(x, piece), p->thread, p->n_threads);
}

static void restore_activations(struct backward_thread *p, struct step *x, int layer)
{
    input_parts_gather(&x->inputs, input_part(x, layer), p->thread, p->n_threads);
    saved_load(&x->slot->saved, x->slot->layers, layer, p->thread, p->n_threads);
    step_load_weights(p, x, layer);
    step_load_gradients(p, x, layer);
    if (x->recompute[layer])
        forward_recompute(&x->forward, x->slot->seqs, x->backward.n_seqs, layer, p->thread,
                          p->n_threads);
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
        step_store_gradients(p, x, layer);
        if (p->thread == 0 && x->config.taken && x->ends_block)
            x->taker.take(x->taker.user, layer);
    } else {
        if (!x->stage.alone)
            step_load_gradients(p, x, -1);
        backward_embedding(p);
        step_store_gradients(p, x, -1);
    }
}

static int phase_of(struct pieces n, int piece)
{
    return piece < n.forward            ? SPAN_FORWARD
           : piece < n.forward + n.loss ? SPAN_LOSS
                                        : SPAN_BACKWARD;
}

/* Of the profile; -1: none. */
static void enter_phase(int *now, int next)
{
    if (*now == next)
        return;
    if (*now >= 0)
        profile_end();
    if (next >= 0)
        profile_begin((enum profile_span)next, -1);
    *now = next;
}

static void run_piece(struct backward_thread *p, const struct step_pass *pass, struct pieces n,
                      int piece)
{
    struct step *x = pass->x;
    if (piece < n.forward)
        run_forward(p, pass, piece);
    else if (piece < n.forward + n.loss) {
        if (piece == n.forward && pass->backward && x->stage.alone)
            step_load_gradients(p, x, -1);
        loss_piece(&x->loss, p, piece - n.forward, pass->labels, pass->scale, pass->backward);
    } else
        run_backward(p, x, piece - n.forward - n.loss);
}

/* Whether the gradients that a piece is the first of its pass to add to have their memory. */
static bool await_gradients(struct step *x, struct pieces n, int piece)
{
    const int backward = piece - n.forward - n.loss;
    if (!x->config.taken || x->config.slots[0] > 0)
        return true;
    if (piece == n.forward)
        return x->taker.await(x->taker.user, -1);
    return backward < 1 || backward % 2 == 0 || backward > 2 * x->weights->view.config.n_layer ||
           x->taker.await(x->taker.user, x->weights->view.config.n_layer - (backward + 1) / 2);
}

/* Whether to stop before this piece. Thread 0 decides for all, so that none goes on alone. */
static bool stops_before(struct step *x, const struct step_pass *pass, struct pieces n, int piece,
                         int thread)
{
    if (!pass->backward || piece == pass->first || x->config.shard != NULL)
        return false;
    if (thread == 0)
        x->stop = interrupt_pending() || !await_gradients(x, n, piece);
    par_barrier();
    bool stop = x->stop;
    par_barrier();
    return stop;
}

void step_run_pieces(void *arg, int thread, int n_threads)
{
    const struct step_pass *pass = arg;
    struct step *x = pass->x;
    struct backward *b = &x->backward;
    struct backward_thread p = {.b = b,
                                .thread = thread,
                                .n_threads = n_threads,
                                .scratch = b->thread_scratch + (size_t)thread * b->thread_bytes};
    struct pieces n = step_pieces(x, pass->backward);
    int piece = x->piece > 0 ? x->piece : pass->first, phase = -1;
    for (; piece < pass->last && !stops_before(x, pass, n, piece, thread); piece++) {
        enter_phase(&phase, phase_of(n, piece));
        run_piece(&p, pass, n, piece);
    }
    enter_phase(&phase, -1);
    if (thread == 0)
        x->piece = piece < pass->last ? piece : 0;
}

void step_enter_slot(struct step *x, struct slot *s, bool backward)
{
    product_select(x->config.matrices, x->config.factors);
    x->slot = s;
    x->dropout.sequence = s->sequence;
    x->forward.dropout = backward ? &x->dropout : NULL;
    x->forward.layers = s->layers;
    x->backward.seqs = s->seqs;
    x->backward.n_seqs = s->n_seqs;
    x->backward.rows = s->n_seqs * s->length;
    for (int i = 0; i < s->n_seqs; i++)
        s->seqs[i] = (struct forward_seq){.ids = s->ids + (size_t)i * (size_t)s->length,
                                          .n = s->length,
                                          .kv = {.pages = x->pages + (size_t)i * x->n_pages}};
}

int step_run(struct step *x, struct step_result *sums, const token_id *ids, const token_id *labels,
             int batch, int length, float scale, uint64_t sequence, bool backward)
{
    struct step_pass pass = {.x = x, .labels = labels, .scale = scale, .backward = backward};
    struct slot *s = x->slots;
    s->n_seqs = batch;
    s->length = length;
    s->sequence = sequence;
    s->ids = ids;
    step_enter_slot(x, s, backward);
    x->ends_block = x->batches + 1 == x->config.block_batches;
    const struct pieces n = step_pieces(x, backward);
    pass.last = n.forward + n.loss + n.backward;
    par_run(step_run_pieces, &pass);
    if (x->piece > 0)
        return err_set(ERR_INTERRUPTED, "interrupted");
    loss_sum(&x->loss, sums, labels, batch * length);
    x->batches += backward;
    return 0;
}
