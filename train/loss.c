#include "train/loss.h"

#include "model/base/par.h"
#include "model/base/parts.h"
#include "model/kernels/blas.h"

#include <math.h>
#include <string.h>

/* Positions row .. row + rows - 1, columns col .. col + cols - 1. */
struct slice {
    int row, rows, col, cols;
};

/* The slice's logits, whole in every thread on return. */
static void head(const struct loss *l, const struct backward_part *p, struct slice s)
{
    const struct linear *w = &p->b->f->params->lm_head;
    const size_t C = (size_t)w->K;
    parts_set(PART_MATRICES);
    blas_gemm_share(false, true, s.rows, s.cols, w->K, 1, p->b->f->hidden + (size_t)s.row * C, w->K,
                    (const float *)w->panels + (size_t)s.col * C, w->K, 0, l->logits, s.cols,
                    p->thread, p->n_threads);
    par_barrier();
}

/* The gradients of hidden and of the head's columns from those of the logits. */
static void head_grad(const struct loss *l, const struct backward_part *p, struct slice s)
{
    const struct linear *w = &p->b->f->params->lm_head;
    const size_t hidden = (size_t)s.row * (size_t)w->K, column = (size_t)s.col * (size_t)w->K;
    parts_set(PART_MATRICES);
    blas_gemm_share(false, false, s.rows, w->K, s.cols, 1, l->logits, s.cols,
                    (const float *)w->panels + column, w->K, s.col == 0 ? 0 : 1,
                    p->b->branch + hidden, w->K, p->thread, p->n_threads);
    if (!p->b->frozen)
        blas_gemm_share(true, false, s.cols, w->K, s.rows, 1, l->logits, s.cols,
                        p->b->f->hidden + hidden, w->K, 1,
                        backward_gradient(p->b, w->panels) + column, w->K, p->thread, p->n_threads);
    par_barrier();
}

/* More columns of a row's softmax. */
static void take_columns(struct loss_row *run, const float *logits, struct slice s, token_id label)
{
    const struct kernels *k = kernels_active();
    size_t best = k->argmax(logits, (size_t)s.cols);
    if (s.col == 0 || logits[best] > run->greatest) {
        run->sum = s.col == 0 ? 0 : run->sum * exp((double)run->greatest - (double)logits[best]);
        run->greatest = logits[best];
        run->best = s.col + (token_id)best;
    }
    run->sum += k->exp_sum(NULL, logits, (size_t)s.cols, run->greatest, 1);
    if (label >= s.col && label < s.col + s.cols)
        run->label = logits[label - s.col];
}

/* Logits of a row become the gradients of its loss * scale. */
static void make_gradients(const struct loss_row *run, float *logits, struct slice s,
                           token_id label, float scale)
{
    const struct kernels *k = kernels_active();
    k->exp_sum(logits, logits, (size_t)s.cols, run->greatest, 1);
    k->scale(logits, (float)((double)scale / run->sum), (size_t)s.cols);
    if (label >= s.col && label < s.col + s.cols)
        logits[label - s.col] -= scale;
}

static void gradients(const struct loss *l, const struct backward_part *p, struct slice s,
                      const token_id *labels, float scale)
{
    int first, last;
    par_split(s.rows, p->thread, p->n_threads, &first, &last);
    parts_set(PART_LOSS);
    for (int r = first; r < last; r++) {
        float *logits = l->logits + (size_t)r * (size_t)s.cols;
        token_id label = labels[s.row + r];
        if (label == LABEL_NONE)
            memset(logits, 0, (size_t)s.cols * sizeof *logits);
        else
            make_gradients(&l->running[r], logits, s, label, scale);
    }
    par_barrier();
    head_grad(l, p, s);
}

static void take_slice(const struct loss *l, const struct backward_part *p, struct slice s,
                       const token_id *labels)
{
    int first, last;
    par_split(s.rows, p->thread, p->n_threads, &first, &last);
    parts_set(PART_LOSS);
    for (int r = first; r < last; r++) {
        struct loss_row *run = &l->running[r];
        token_id label = labels[s.row + r];
        if (label == LABEL_NONE)
            continue;
        take_columns(run, l->logits + (size_t)r * (size_t)s.cols, s, label);
        l->row_loss[s.row + r] = log(run->sum) + (double)run->greatest - (double)run->label;
        l->row_correct[s.row + r] = run->best == label;
    }
}

void loss_slice(const struct loss *l, const struct backward_part *p, int row,
                const token_id *labels, float scale, bool backward)
{
    const int V = p->b->f->params->config.n_vocab;
    struct slice s = {.row = row, .rows = l->slice_rows};
    if (row + s.rows > p->b->rows)
        s.rows = p->b->rows - row;
    for (s.col = 0; s.col < V; s.col += l->slice_columns) {
        s.cols = V - s.col < l->slice_columns ? V - s.col : l->slice_columns;
        head(l, p, s);
        take_slice(l, p, s, labels);
        par_barrier();
    }
    for (s.col = 0; s.col < V && backward; s.col += l->slice_columns) {
        s.cols = V - s.col < l->slice_columns ? V - s.col : l->slice_columns;
        if (l->slice_columns < V)
            head(l, p, s);
        gradients(l, p, s, labels, scale);
    }
}

void loss_sum(const struct loss *l, struct step_result *out, const token_id *labels, int rows)
{
    *out = (struct step_result){0};
    for (int r = 0; r < rows; r++)
        if (labels[r] != LABEL_NONE) {
            out->loss_sum += l->row_loss[r];
            out->n_targets++;
            out->n_correct += l->row_correct[r];
        }
}
