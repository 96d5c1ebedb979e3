#include "train/step/step_stage.h"

#include "model/base/err.h"
#include "model/base/par.h"
#include "model/base/profile.h"
#include "train/step/step_inside.h"

#include <string.h>

void step_take(struct step *x, int slot, const token_id *ids, const token_id *labels, int batch,
               int length, uint64_t sequence)
{
    struct slot *s = &x->slots[slot];
    const size_t n = (size_t)batch * (size_t)length;
    memcpy(s->own_ids, ids, n * sizeof *ids);
    memcpy(s->own_labels, labels, n * sizeof *labels);
    s->ids = s->own_ids;
    s->labels = s->own_labels;
    s->n_seqs = batch;
    s->length = length;
    s->sequence = sequence;
}

void step_take_again(struct step *x, int slot, int from)
{
    const struct slot *s = &x->slots[from];
    step_take(x, slot, s->ids, s->labels, s->n_seqs, s->length, s->sequence);
}

struct step_message step_message(struct step *x, int slot, enum step_content content)
{
    const struct slot *s = &x->slots[slot];
    const struct config *c = &x->weights->view.config;
    const size_t n = (size_t)x->config.batch * (size_t)x->config.length * (size_t)c->n_embd;
    int layer = s->range.first;
    if (content == STEP_GRADIENT)
        return (struct step_message){s->gradient, n * sizeof(float)};
    if (content == STEP_HEAD_GRADIENT)
        return (struct step_message){s->head_gradient, n * sizeof(float)};
    if (content == STEP_HEAD_INPUT)
        layer = c->n_layer;
    else if (content == STEP_OUTPUT)
        layer = s->range.last;
    if (x->weights->dtype == DTYPE_F16) /* rounded already: nothing is lost */
        return (struct step_message){s->saved.layers[layer].x, n * sizeof(uint16_t)};
    return (struct step_message){s->layers[layer].x, n * sizeof(float)};
}

/* The pieces of a part, in the list of those of a whole pass (step.c). */
static void find_pieces(struct step_pass *pass, enum step_part part)
{
    const struct step *x = pass->x;
    const struct slot *s = x->slot;
    const struct pieces n = step_pieces(x, true);
    const int n_layer = x->weights->view.config.n_layer, backward = n.forward + n.loss + 1;
    switch (part) {
    case STEP_FORWARD:
        pass->first = s->ends ? 0 : s->range.first + 1;
        pass->last = s->range.last + 1;
        break;
    case STEP_HEAD:
        pass->first = n_layer + 1;
        pass->last = backward;
        break;
    case STEP_BACKWARD:
        pass->first = backward + 2 * (n_layer - s->range.last);
        pass->last = backward + 2 * (n_layer - s->range.first) + s->ends;
        break;
    }
}

static void copy_share(float *to, const float *from, const struct backward_thread *p)
{
    size_t first, count, n = (size_t)p->b->rows * (size_t)p->b->f->params->config.n_embd;
    par_split_units(n, 1024, p->thread, p->n_threads, &first, &count);
    memcpy(to + first, from + first, count * sizeof *to);
}

struct part_job {
    struct step_pass pass;
    enum step_part part;
};

/* What the part reads, from the slot. */
static void enter_part(const struct part_job *j, struct backward_thread *p)
{
    struct step *x = j->pass.x;
    const struct slot *s = x->slot;
    profile_set(PART_REST);
    if (j->part == STEP_FORWARD && !s->ends)
        saved_load_x(&s->saved, s->layers, s->range.first, p->thread, p->n_threads);
    if (j->part == STEP_HEAD) {
        saved_load_x(&s->saved, s->layers, x->weights->view.config.n_layer, p->thread,
                     p->n_threads);
        step_load_gradients(p, x, -1);
    }
    if (j->part == STEP_BACKWARD)
        copy_share(x->backward.dx, s->gradient, p);
    par_barrier();
}

static void leave_part(const struct part_job *j, struct backward_thread *p)
{
    struct step *x = j->pass.x;
    if (j->part == STEP_HEAD) {
        step_store_gradients(p, x, -1);
        copy_share(x->slot->head_gradient, x->backward.dx, p);
    }
    if (j->part == STEP_BACKWARD)
        copy_share(x->slot->gradient, x->backward.dx, p);
}

static void part_share(void *arg, int thread, int n_threads)
{
    struct part_job *j = arg;
    struct backward_thread p = {
        .b = &j->pass.x->backward, .thread = thread, .n_threads = n_threads};
    enter_part(j, &p);
    step_run_pieces(&j->pass, thread, n_threads);
    par_barrier();
    leave_part(j, &p);
}

int step_run_part(struct step *x, const struct step_part_call *c)
{
    static const double LOOK_S = 0.002;
    struct slot *s = &x->slots[c->slot];
    struct part_job j = {.pass = {.x = x, .labels = s->labels, .scale = c->scale, .backward = true},
                         .part = c->part};
    x->ends_block = c->ends_block;
    step_enter_slot(x, s, true);
    find_pieces(&j.pass, c->part);
    par_start(part_share, &j);
    while (!par_wait_s(LOOK_S))
        c->meanwhile(c->user);
    if (x->piece > 0)
        return err_set(ERR_INTERRUPTED, "interrupted");
    if (c->part == STEP_HEAD)
        loss_sum(&x->loss, c->sums, s->labels, s->n_seqs * s->length);
    return 0;
}
