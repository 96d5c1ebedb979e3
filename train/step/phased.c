/*
 * A unit is one stage of one micro-batch; the thread that calls phased_run brings what it needs
 * into memory, and the team computes. Between two units nothing is in memory that is not in its
 * array, so that a step may stop there: it leaves what it has entered, and enters it again.
 *
 *   stage    0: embedding | 1 .. L: layers | L + 1: loss |
 *            L + 2 .. 2 L + 1: layers back | 2 L + 2: embedding back
 */
#include "train/step/phased.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/base/progress.h"
#include "model/kernels/product.h"
#include "train/step/activation_stats.h"
#include "train/step/backward.h"
#include "train/step/phased_inside.h"

#include <string.h>

/* ---- where a step is ---- */

enum unit_kind { UNIT_EMBED, UNIT_FORWARD, UNIT_LOSS, UNIT_BACKWARD, UNIT_EMBEDDING };

struct unit {
    struct phased_step *k;
    struct step *x; /* k's */
    enum unit_kind kind;
    int layer, micro; /* layer: of UNIT_FORWARD and UNIT_BACKWARD; else -1 */
    float scale;
};

static int layers_of(const struct step *x)
{
    return x->weights->view.config.n_layer;
}

static int64_t count_units(const struct phased_step *k)
{
    return (2 * (int64_t)layers_of(k->step) + 3) * k->place.micro_batches;
}

static struct unit find_unit(struct phased_step *k, int64_t at)
{
    const int M = k->place.micro_batches, L = layers_of(k->step);
    const int stage = (int)(at / M);
    struct unit u = {.k = k, .x = k->step, .micro = (int)(at % M), .layer = -1};
    if (stage == 0) {
        u.kind = UNIT_EMBED;
    } else if (stage <= L) {
        u.kind = UNIT_FORWARD;
        u.layer = stage - 1;
    } else if (stage == L + 1) {
        u.kind = UNIT_LOSS;
    } else if (stage <= 2 * L + 1) {
        u.kind = UNIT_BACKWARD;
        u.layer = 2 * L + 1 - stage;
    } else {
        u.kind = UNIT_EMBEDDING;
    }
    return u;
}

/* Micro-batches of a block. */
static int of_block(const struct phased_step *k)
{
    return k->place.micro_batches / k->step->gradient_blocks.n;
}

static bool begins_block(const struct unit *u)
{
    return u->micro % of_block(u->k) == 0;
}

static bool ends_block(const struct unit *u)
{
    return begins_block(&(struct unit){.k = u->k, .micro = u->micro + 1});
}

static const token_id *labels_of(const struct unit *u)
{
    return u->k->labels + (size_t)u->micro * phased_rows(u->x);
}

/* ---- what a unit needs in memory ---- */

static int input_of(const struct unit *u)
{
    const int L = layers_of(u->x);
    const int layer = u->kind == UNIT_LOSS ? L : u->layer;
    return layer < 0 ? -1 : layer * u->k->place.micro_batches + u->micro;
}

static int output_of(const struct unit *u)
{
    const int M = u->k->place.micro_batches;
    return u->kind == UNIT_EMBED     ? u->micro
           : u->kind == UNIT_FORWARD ? (u->layer + 1) * M + u->micro
                                     : -1;
}

static bool reads_residual(const struct unit *u)
{
    return u->kind == UNIT_BACKWARD || u->kind == UNIT_EMBEDDING;
}

/* The layer's weights, and its gradients in the backward, in the place of those before. */
static int enter_layer(const struct unit *u)
{
    struct phased_step *k = u->k;
    struct weights_disk *d = u->x->weights->disk;
    const bool back = u->kind == UNIT_BACKWARD;
    int rc = 0;
    if (u->layer < 0)
        return 0;
    if (u->layer != k->layer) {
        if (k->layer >= 0)
            disk_array_leave(d->block, weights_section(k->layer), false);
        rc = disk_array_enter(d->block, weights_section(u->layer));
        k->layer = u->layer;
        const int next = u->layer + (back ? -1 : 1);
        if (next >= 0 && next < layers_of(u->x))
            disk_array_fetch(d->block, weights_section(next));
    }
    if (rc != 0 || !back || u->layer == k->gradient_layer)
        return rc;
    if (k->gradient_layer >= 0)
        disk_array_leave(d->gradients, weights_section(k->gradient_layer), true);
    k->gradient_layer = u->layer;
    if (u->micro == 0)
        gradient_blocks_begin(&k->of_layer);
    return (u->micro == 0 ? disk_array_enter_zero : disk_array_enter)(d->gradients,
                                                                      weights_section(u->layer));
}

/* A pause: all is left as it is, to be entered again. */
static int leave_layers(struct phased_step *k)
{
    struct weights_disk *d = k->step->weights->disk;
    if (k->layer >= 0)
        disk_array_leave(d->block, weights_section(k->layer), false);
    if (k->gradient_layer >= 0)
        disk_array_leave(d->gradients, weights_section(k->gradient_layer), true);
    k->layer = k->gradient_layer = -1;
    int rc = disk_array_flush(d->block);
    if (rc == 0)
        rc = disk_array_flush(d->gradients);
    if (rc == 0)
        rc = disk_array_flush(k->inputs);
    return rc == 0 ? disk_array_flush(k->residuals) : rc;
}

/* In float16 the arrays have what passes load from there. */
static void place_input(struct phased_step *k, int layer, int section)
{
    struct step *x = k->step;
    char *at = (char *)disk_array_data(k->inputs) + (size_t)section * k->input_bytes;
    if (x->slot->saved.layers != NULL)
        x->slot->saved.layers[layer].x = (uint16_t *)(void *)at;
    else
        x->slot->layers[layer].x = (float *)(void *)at;
}

static int enter_unit(const struct unit *u)
{
    struct step *x = u->x;
    struct phased_step *k = u->k;
    const int in = input_of(u), out = output_of(u), M = k->place.micro_batches;
    int rc = enter_layer(u);
    if (rc == 0 && in >= 0) {
        rc = disk_array_enter(k->inputs, in);
        place_input(k, in / M, in);
    }
    if (rc == 0 && out >= 0) {
        rc = disk_array_enter_zero(k->inputs, out);
        place_input(k, out / M, out);
    }
    if (rc == 0 && reads_residual(u))
        rc = disk_array_enter(k->residuals, u->micro);
    else if (rc == 0 && u->kind == UNIT_LOSS)
        rc = disk_array_enter_zero(k->residuals, u->micro);
    x->backward.dx = (float *)(void *)((char *)disk_array_data(k->residuals) +
                                       (size_t)u->micro * k->residual_bytes);
    return rc;
}

static void fetch_unit(const struct unit *u)
{
    const int in = input_of(u);
    if (in >= 0)
        disk_array_fetch(u->k->inputs, in);
    if (reads_residual(u))
        disk_array_fetch(u->k->residuals, u->micro);
}

static void leave_unit(const struct unit *u)
{
    struct phased_step *k = u->k;
    const int in = input_of(u), out = output_of(u);
    if (in >= 0)
        disk_array_leave(k->inputs, in, false);
    if (out >= 0)
        disk_array_leave(k->inputs, out, true);
    if (u->kind == UNIT_LOSS || u->kind == UNIT_BACKWARD)
        disk_array_leave(k->residuals, u->micro, true);
    else if (u->kind == UNIT_EMBEDDING)
        disk_array_leave(k->residuals, u->micro, false);
}

/* ---- what the team computes ---- */

static void run_loss(const struct unit *u, struct backward_thread *p)
{
    struct step *x = u->x;
    const int L = layers_of(x), n = loss_pieces(&x->loss, &x->backward, true);
    const token_id *labels = labels_of(u);
    saved_load(&x->slot->saved, x->slot->layers, L, p->thread, p->n_threads);
    par_barrier();
    step_load_weights(p, x, -1);
    step_load_gradients(p, x, -1);
    forward_stage(&x->forward, x->slot->seqs, x->backward.n_seqs, L + 1, p->thread, p->n_threads);
    for (int piece = 0; piece < n; piece++)
        loss_piece(&x->loss, p, piece, labels, u->scale, true);
    backward_final_norm(p);
    step_store_gradients(p, x, -1);
}

static void run_forward(const struct unit *u, struct backward_thread *p)
{
    struct step *x = u->x;
    if (u->layer >= 0)
        saved_load(&x->slot->saved, x->slot->layers, u->layer, p->thread, p->n_threads);
    par_barrier();
    step_load_weights(p, x, u->layer);
    forward_stage(&x->forward, x->slot->seqs, x->backward.n_seqs, u->layer + 1, p->thread,
                  p->n_threads);
    if (x->activation_stats != NULL && u->layer >= 0)
        activation_stats_add(x->activation_stats, &x->forward, u->layer, x->backward.rows,
                             p->thread, p->n_threads);
    if (u->layer < 0)
        saved_store_first(&x->slot->saved, x->slot->layers, p->thread, p->n_threads);
    else
        saved_store(&x->slot->saved, x->slot->layers, u->layer, p->thread, p->n_threads);
}

static void run_backward(const struct unit *u, struct backward_thread *p)
{
    struct step *x = u->x;
    saved_load(&x->slot->saved, x->slot->layers, u->layer, p->thread, p->n_threads);
    par_barrier();
    step_load_weights(p, x, u->layer);
    step_load_gradients(p, x, u->layer);
    forward_recompute(&x->forward, x->slot->seqs, x->backward.n_seqs, u->layer, p->thread,
                      p->n_threads);
    backward_layer(p, u->layer);
    step_store_gradients(p, x, u->layer);
}

static void run_unit(void *arg, int thread, int n_threads)
{
    const struct unit *u = arg;
    struct step *x = u->x;
    struct backward *b = &x->backward;
    struct backward_thread p = {.b = b,
                                .thread = thread,
                                .n_threads = n_threads,
                                .scratch = b->thread_scratch + (size_t)thread * b->thread_bytes};
    const bool forward = u->kind == UNIT_EMBED || u->kind == UNIT_FORWARD;
    profile_begin(forward ? SPAN_FORWARD : u->kind == UNIT_LOSS ? SPAN_LOSS : SPAN_BACKWARD, -1);
    if (forward) {
        run_forward(u, &p);
    } else if (u->kind == UNIT_LOSS) {
        run_loss(u, &p);
    } else if (u->kind == UNIT_BACKWARD) {
        run_backward(u, &p);
    } else {
        step_load_weights(&p, x, -1);
        step_load_gradients(&p, x, -1);
        backward_embedding(&p);
        step_store_gradients(&p, x, -1);
    }
    profile_end();
}

/* ---- blocks of gradients ---- */

/* A block of the gradients outside the layers waits between the loss and the embedding. */
static int move_outside(const struct unit *u, bool back)
{
    struct step *x = u->x;
    struct phased_step *k = u->k;
    const int block = u->micro / of_block(k);
    char *gradients = x->gradients;
    if (x->gradient_blocks.n == 1)
        return 0;
    int rc = back ? disk_array_enter(k->outside, block) : disk_array_enter_zero(k->outside, block);
    char *kept = (char *)disk_array_data(k->outside) + (size_t)block * k->outside_bytes;
    for (int i = 0; i < 2; i++) {
        char *at = gradients + k->span_first[i];
        if (back) {
            memcpy(at, kept, k->span_bytes[i]);
        } else {
            memcpy(kept, at, k->span_bytes[i]);
            memset(at, 0, k->span_bytes[i]);
        }
        kept += k->span_bytes[i];
    }
    disk_array_leave(k->outside, block, !back);
    return rc;
}

/* The last block's: the step's. */
static void end_outside(struct phased_step *k, int block)
{
    struct step *x = k->step;
    struct step_result sums = k->sums[block], unused = {0};
    step_end_embedding(x);
    gradient_blocks_end(&k->of_span[0], (char *)x->gradients + k->span_first[0], &sums);
    gradient_blocks_end(&k->of_span[1], (char *)x->gradients + k->span_first[1], &unused);
    k->result = sums;
}

static int begin_unit(const struct unit *u)
{
    return u->kind == UNIT_EMBEDDING && begins_block(u) ? move_outside(u, true) : 0;
}

static int end_unit(const struct unit *u)
{
    struct step *x = u->x;
    struct phased_step *k = u->k;
    const int block = u->micro / of_block(k);
    struct step_result unused = {0};
    if (u->kind == UNIT_LOSS)
        loss_sum(&x->loss, &k->sums[block], labels_of(u), x->backward.rows);
    if (!ends_block(u))
        return 0;
    if (u->kind == UNIT_LOSS)
        return move_outside(u, false);
    if (u->kind == UNIT_BACKWARD)
        gradient_blocks_end(&k->of_layer, (char *)x->gradients + phased_layer_first(k, u->layer),
                            &unused);
    else if (u->kind == UNIT_EMBEDDING)
        end_outside(k, block);
    return 0;
}

/* ---- the step ---- */

static void set_batch(const struct unit *u)
{
    struct step *x = u->x;
    const struct phased_step *k = u->k;
    const int batch = x->config.batch, length = x->config.length;
    const token_id *ids = k->ids + (size_t)u->micro * phased_rows(x);
    x->dropout.sequence = k->sequences[u->micro];
    for (int i = 0; i < batch; i++)
        x->slot->seqs[i] = (struct forward_seq){.ids = ids + (size_t)i * (size_t)length,
                                                .n = length,
                                                .kv = {.pages = x->pages + (size_t)i * x->n_pages}};
}

static int take_unit(struct phased_step *k, int64_t at, float scale)
{
    struct unit u = find_unit(k, at);
    u.scale = scale;
    set_batch(&u);
    const enum profile_part was = profile_set(PART_FILES);
    int rc = enter_unit(&u);
    if (rc == 0)
        rc = begin_unit(&u);
    profile_resume(was);
    if (rc != 0)
        return rc;
    if (at + 1 < count_units(k)) {
        const struct unit next = find_unit(k, at + 1);
        fetch_unit(&next);
    }
    par_run(run_unit, &u);
    rc = end_unit(&u);
    leave_unit(&u);
    return rc;
}

int phased_run(struct phased_step *k, struct step_result *sums, float scale,
               const struct phased_tick *tick)
{
    struct step *x = k->step;
    const int64_t n = count_units(k);
    int rc = 0;
    product_select(x->config.matrices, x->config.factors);
    x->forward.dropout = &x->dropout;
    x->backward.n_seqs = x->config.batch;
    x->backward.rows = x->config.batch * x->config.length;
    for (; k->unit < n && rc == 0; k->unit += rc == 0) {
        if (tick != NULL && tick->f != NULL)
            tick->f(tick->user, (double)k->unit / (double)n);
        rc =
            interrupt_pending() ? err_set(ERR_INTERRUPTED, "paused") : take_unit(k, k->unit, scale);
    }
    const bool paused = rc == ERR_INTERRUPTED;
    const int left = rc == 0 || paused ? leave_layers(k) : 0;
    if (left != 0)
        return left;
    if (rc == 0)
        *sums = k->result;
    return paused ? err_set(ERR_INTERRUPTED, "paused") : rc;
}

struct step *phased_step(struct phased_step *k)
{
    return k->step;
}

void phased_zero(struct phased_step *k)
{
    struct step *x = k->step;
    struct disk_array *g = x->weights->disk->gradients;
    step_zero(x);
    leave_layers(k);
    k->n_added = 0;
    k->unit = 0;
    k->result = (struct step_result){0};
    memset(k->sums, 0, (size_t)x->gradient_blocks.n * sizeof *k->sums);
    gradient_blocks_begin(&k->of_layer);
    gradient_blocks_begin(&k->of_span[0]);
    gradient_blocks_begin(&k->of_span[1]);
    disk_array_enter_zero(g, 0);
    disk_array_enter_zero(g, layers_of(x) + 1);
}

void phased_add(struct phased_step *k, const token_id *ids, const token_id *labels,
                uint64_t sequence)
{
    const size_t n = phased_rows(k->step);
    const size_t at = (size_t)k->n_added * n;
    memcpy(k->ids + at, ids, n * sizeof *ids);
    memcpy(k->labels + at, labels, n * sizeof *labels);
    k->sequences[k->n_added++] = sequence;
}
