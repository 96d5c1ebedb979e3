/*
 * Pieces of a slice of positions: first the logits of all columns, which leave each row's loss and
 * the maximum and sum of its softmax; then, with a backward, two pieces for each slice of columns,
 * the gradients of the logits and of hidden, and the gradient of the head. Where one slice has all
 * columns, the logits stay in memory from the first piece; otherwise they are computed again.
 *
 * Where others have columns too, there are three pieces for each slice of positions, since slices
 * of columns may differ in number: what goes round, the softmax of a row and the gradient of
 * hidden, goes on through all slices of columns of this process.
 */
#include "train/step/loss.h"

#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/kernels/product.h"
#include "model/kernels/row_kernels.h"
#include "model/kernels/sampling_kernels.h"
#include "train/step/gradient.h"

#include <math.h>
#include <string.h>

/* Positions row .. row + rows - 1, vocabulary columns col .. col + cols - 1 of those that are here;
 * at: the first position's row in l->logits and l->running. */
struct slice {
    int row, rows, col, cols, at;
};

static struct shard_range own_tokens(const struct backward_thread *p)
{
    return shard_tokens(p->b->f->shard, p->b->f->params->config.n_vocab);
}

static int own_columns(const struct backward_thread *p)
{
    const struct shard_range own = own_tokens(p);
    return own.last - own.first;
}

static float *slice_logits(const struct loss *l, struct slice s)
{
    return l->logits + (size_t)s.at * (size_t)s.cols;
}

/* The slice's logits. Ends with a barrier, as the functions below. */
static void head_logits(const struct loss *l, const struct backward_thread *p, struct slice s)
{
    const struct linear *w = &p->b->f->params->lm_head;
    const size_t C = (size_t)w->K;
    profile_set(PART_HEAD);
    const struct product m = {.transpose_b = true,
                              .m = s.rows,
                              .n = s.cols,
                              .k = w->K,
                              .alpha = 1,
                              .a = p->b->f->hidden + (size_t)s.row * C,
                              .lda = w->K,
                              .b = (const float *)w->data + (size_t)s.col * C,
                              .ldb = w->K,
                              .c = slice_logits(l, s),
                              .ldc = s.cols};
    product_share(&m, p->thread, p->n_threads, p->scratch);
    par_barrier();
}

/* The slice's contribution to the gradient of hidden; fresh: the first of all. */
static void head_input(const struct loss *l, const struct backward_thread *p, struct slice s,
                       bool fresh)
{
    const struct linear *w = &p->b->f->params->lm_head;
    const size_t C = (size_t)w->K;
    profile_set(PART_HEAD);
    const struct product m = {.add = !fresh,
                              .m = s.rows,
                              .n = w->K,
                              .k = s.cols,
                              .alpha = 1,
                              .a = slice_logits(l, s),
                              .lda = s.cols,
                              .b = (const float *)w->data + (size_t)s.col * C,
                              .ldb = w->K,
                              .c = p->b->branch + (size_t)s.row * C,
                              .ldc = w->K};
    product_share(&m, p->thread, p->n_threads, p->scratch);
    par_barrier();
}

/* The slice's contribution to the gradient of the head. */
static void head_weights(const struct loss *l, const struct backward_thread *p, struct slice s)
{
    const struct linear *w = &p->b->f->params->lm_head;
    const size_t C = (size_t)w->K;
    struct product m = {.transpose_a = true,
                        .m = s.cols,
                        .n = w->K,
                        .alpha = 1,
                        .lda = s.cols,
                        .ldb = w->K,
                        .ldc = w->K};
    float *gradient = backward_gradient(p->b, w->data) + (size_t)s.col * C;
    profile_set(PART_HEAD);
    for (int row = 0; row < s.rows; row += m.k) {
        m.k = gradient_run(p->b, s.row + row, s.row + s.rows);
        m.a = slice_logits(l, s) + (size_t)row * (size_t)s.cols;
        m.b = p->b->f->hidden + (size_t)(s.row + row) * C;
        gradient_add_product(p, &m, gradient, s.row + row);
    }
    par_barrier();
}

static bool is_whole(const struct loss *l, const struct backward_thread *p)
{
    return l->slice_columns >= own_columns(p);
}

/* Add columns to a row's running softmax, LOSS_COLUMNS at a time: the bits do not depend on how the
 * vocabulary is divided into slices. before: how many tokens lie before those that are here. */
static void accumulate_columns(struct loss_row *run, const float *logits, struct slice s,
                               token_id label, int before)
{
    const struct sampling_kernels *k = sampling_kernels();
    for (int c = 0; c < s.cols; c += LOSS_COLUMNS) {
        const size_t n = (size_t)(s.cols - c < LOSS_COLUMNS ? s.cols - c : LOSS_COLUMNS);
        const float greatest = k->max(logits + c, n);
        if (greatest > run->greatest) {
            run->sum *= exp((double)run->greatest - (double)greatest);
            run->greatest = greatest;
            run->best = before + s.col + c + (token_id)k->argmax(logits + c, n);
        }
        run->sum += k->exp_sum(NULL, logits + c, n, run->greatest, 1);
    }
    label -= before;
    if (label >= s.col && label < s.col + s.cols)
        run->label = logits[label - s.col];
}

static void accumulate_slice(const struct loss *l, const struct backward_thread *p, struct slice s,
                             const token_id *labels)
{
    const int before = own_tokens(p).first;
    int first, last;
    par_split(s.rows, p->thread, p->n_threads, &first, &last);
    profile_set(PART_LOSS);
    for (int r = first; r < last; r++)
        if (labels[s.row + r] != LABEL_NONE)
            accumulate_columns(&l->running[s.at + r],
                               slice_logits(l, s) + (size_t)r * (size_t)s.cols, s,
                               labels[s.row + r], before);
    par_barrier();
}

static void begin_rows(const struct loss *l, const struct backward_thread *p, struct slice s)
{
    int first, last;
    par_split(s.rows, p->thread, p->n_threads, &first, &last);
    for (int r = first; r < last; r++)
        l->running[s.at + r] = (struct loss_row){.greatest = -INFINITY};
    par_barrier();
}

static void end_rows(const struct loss *l, const struct backward_thread *p, struct slice s,
                     const token_id *labels)
{
    int first, last;
    par_split(s.rows, p->thread, p->n_threads, &first, &last);
    for (int r = first; r < last; r++) {
        const struct loss_row *run = &l->running[s.at + r];
        if (labels[s.row + r] == LABEL_NONE)
            continue;
        l->row_loss[s.row + r] = log(run->sum) + (double)run->greatest - (double)run->label;
        l->row_correct[s.row + r] = run->best == labels[s.row + r];
    }
    par_barrier();
}

/* A row's logits become their gradients: scale (softmax - one-hot label). */
static void make_gradients(const struct loss_row *run, float *logits, struct slice s,
                           token_id label, float scale)
{
    sampling_kernels()->exp_sum(logits, logits, (size_t)s.cols, run->greatest, 1);
    row_kernels()->scale(logits, (float)((double)scale / run->sum), (size_t)s.cols);
    if (label >= s.col && label < s.col + s.cols)
        logits[label - s.col] -= scale;
}

static void logit_gradients(const struct loss *l, const struct backward_thread *p, struct slice s,
                            const token_id *labels, float scale)
{
    const int before = own_tokens(p).first;
    int first, last;
    par_split(s.rows, p->thread, p->n_threads, &first, &last);
    profile_set(PART_LOSS);
    for (int r = first; r < last; r++) {
        float *logits = slice_logits(l, s) + (size_t)r * (size_t)s.cols;
        token_id label = labels[s.row + r];
        if (label == LABEL_NONE)
            memset(logits, 0, (size_t)s.cols * sizeof *logits);
        else
            make_gradients(&l->running[s.at + r], logits, s, label - before, scale);
    }
    par_barrier();
}

/* The number of pieces for one slice of positions. */
static int slice_pieces(const struct loss *l, const struct backward *b, bool backward)
{
    const int V = b->f->params->config.n_vocab;
    if (b->f->shard != NULL)
        return backward ? 3 : 1;
    return backward ? 1 + 2 * ((V + l->slice_columns - 1) / l->slice_columns) : 1;
}

int loss_pieces(const struct loss *l, const struct backward *b, bool backward)
{
    return (b->rows + l->slice_rows - 1) / l->slice_rows * slice_pieces(l, b, backward);
}

static void set_slice_columns(struct slice *s, const struct loss *l, int V)
{
    s->cols = V - s->col < l->slice_columns ? V - s->col : l->slice_columns;
}

/* All columns that are here: the logits of a slice's rows, and what the softmax makes of them. */
static void sum_softmax(const struct loss *l, const struct backward_thread *p, struct slice s,
                        const token_id *labels)
{
    const int V = own_columns(p);
    for (s.col = 0; s.col < V; s.col += l->slice_columns) {
        set_slice_columns(&s, l, V);
        head_logits(l, p, s);
        accumulate_slice(l, p, s, labels);
    }
}

/* ---- some of the vocabulary ---- */

/* A slice of positions whose columns several processes have, as a thread sees it. */
struct slice_sum {
    const struct loss *l;
    const struct backward_thread *p;
    struct slice
        s; /* cols: all that are here, where they fit at once and their logits stay; else 0 */
    const token_id *labels;
    float scale;
};

static struct slice rows_within(const struct slice_sum *j, int first, int last)
{
    return (struct slice){
        .row = j->s.row + first, .rows = last - first, .cols = j->s.cols, .at = first};
}

static void add_softmax(void *user, int round, bool fresh, int first, int last)
{
    const struct slice_sum *j = user;
    const struct slice s = rows_within(j, first, last);
    (void)round;
    if (fresh)
        begin_rows(j->l, j->p, s);
    if (j->s.cols > 0)
        accumulate_slice(j->l, j->p, rows_within(j, first, last), j->labels);
    else
        sum_softmax(j->l, j->p, s, j->labels);
}

/* Where not all of the columns fit at once, the logits again, and the head's gradient while they
 * are there. */
static void add_input(void *user, int round, bool fresh, int first, int last)
{
    const struct slice_sum *j = user;
    const int V = own_columns(j->p);
    struct slice s = rows_within(j, first, last);
    (void)round;
    if (s.cols > 0) {
        head_input(j->l, j->p, s, fresh);
        return;
    }
    for (; s.col < V; s.col += j->l->slice_columns) {
        set_slice_columns(&s, j->l, V);
        head_logits(j->l, j->p, s);
        logit_gradients(j->l, j->p, s, j->labels, j->scale);
        head_input(j->l, j->p, s, fresh && s.col == 0);
        head_weights(j->l, j->p, s);
    }
}

/* Logits and their gradients wait for nobody: only what is added to a sum does. */
static void shared_piece(const struct slice_sum *own, int piece)
{
    struct slice_sum j = *own;
    const struct backward_thread *p = j.p;
    const struct shard *shard = p->b->f->shard;
    const size_t C = (size_t)p->b->f->params->config.n_embd;
    struct shard_sum sum = {.rows = j.l->running,
                            .row_bytes = sizeof *j.l->running,
                            .n_rows = j.s.rows,
                            .rounds = 1,
                            .add = add_softmax,
                            .user = &j};
    j.s.cols = is_whole(j.l, p) ? own_columns(p) : 0;
    if (piece == 0) {
        if (j.s.cols > 0)
            head_logits(j.l, p, j.s);
        shard_add(shard, &sum, p->thread);
        end_rows(j.l, p, j.s, j.labels);
    } else if (piece == 1) {
        sum.rows = p->b->branch + (size_t)j.s.row * C;
        sum.row_bytes = C * sizeof(float);
        sum.add = add_input;
        if (j.s.cols > 0)
            logit_gradients(j.l, p, j.s, j.labels, j.scale);
        shard_add(shard, &sum, p->thread);
    } else if (j.s.cols > 0) {
        head_weights(j.l, p, j.s);
    }
}

/* ---- pieces ---- */

void loss_piece(const struct loss *l, const struct backward_thread *p, int piece,
                const token_id *labels, float scale, bool backward)
{
    const int V = p->b->f->params->config.n_vocab, each = slice_pieces(l, p->b, backward);
    struct slice s = {.row = piece / each * l->slice_rows, .rows = l->slice_rows};
    piece %= each;
    if (s.row + s.rows > p->b->rows)
        s.rows = p->b->rows - s.row;
    if (p->b->f->shard != NULL) {
        shared_piece(&(struct slice_sum){l, p, s, labels, scale}, piece);
        return;
    }
    if (piece == 0) {
        begin_rows(l, p, s);
        sum_softmax(l, p, s, labels);
        end_rows(l, p, s, labels);
        return;
    }
    s.col = (piece - 1) / 2 * l->slice_columns;
    set_slice_columns(&s, l, V);
    if (piece % 2 == 0) {
        if (!p->b->frozen)
            head_weights(l, p, s);
        return;
    }
    if (!is_whole(l, p))
        head_logits(l, p, s);
    logit_gradients(l, p, s, labels, scale);
    head_input(l, p, s, s.col == 0);
}

void loss_sum(const struct loss *l, struct step_result *out, const token_id *labels, int rows)
{
    for (int r = 0; r < rows; r++)
        if (labels[r] != LABEL_NONE) {
            out->loss_sum += l->row_loss[r];
            out->n_targets++;
            out->n_correct += l->row_correct[r];
        }
}
