#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/shard.h"
#include "train/parallel/jitter.h"
#include "train/run/scaling_parts.h"
#include "train/step/loss.h"

#include <math.h>

enum { SUM_BLOCKS = 64, EXCHANGED = 1 << 20 /* bytes, shard_exchange.c */ };
/* To bring a product's other factor into panels takes as long as so many rows of it: 7 or 8 by
 * what products of 32 to 256 rows take on Zen 4, and 24 where the factor is 256 wide. */
static const double PANEL_ROWS = 8;

/* A process of the replica: until when it is at work, and its link; its part of what is divided. */
struct shard_clock {
    double now, busy, sends, receives, sent;
    double heads, inner, vocab;
    struct jitter_moments moments;
    float at_moment; /* of these */
};

/* All of them. */
struct replica {
    const struct scaling_work *w;
    struct shard_clock *of; /* [n] */
    int n, rows;            /* rows: of a micro-batch */
    double jitter;
    int moment; /* of it: from one sum to the next */
    double latency, link;
};

enum divided { BY_HEADS, BY_INNER, BY_VOCAB };

static double part_of(const struct shard_clock *s, enum divided by)
{
    return by == BY_HEADS ? s->heads : by == BY_INNER ? s->inner : s->vocab;
}

/* How long a process is at `seconds` of work now. */
static double at_work(const struct replica *r, int process, double seconds)
{
    return jitter_at(r->jitter, r->of[process].at_moment, seconds);
}

static void find_moment(struct replica *r)
{
    for (int i = 0; i < r->n && r->jitter != 0; i++)
        r->of[i].at_moment = jitter_moment(&r->of[i].moments, i, r->moment);
}

/* Nobody waits for it. */
static void compute_own(struct replica *r, enum divided by, double seconds)
{
    for (int i = 0; i < r->n; i++) {
        struct shard_clock *s = &r->of[i];
        const double own = seconds * part_of(s, by);
        s->now += at_work(r, i, own);
        s->busy += own;
    }
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* When what a process sends now is at the next one. */
static double send_block(struct replica *r, int from, double bytes)
{
    struct shard_clock *s = &r->of[from], *next = &r->of[(from + 1) % r->n];
    const double end = later(s->now, later(s->sends, next->receives)) + bytes / r->link;
    s->sends = next->receives = end;
    s->sent += bytes;
    return end + r->latency;
}

/* As shard_add and sum_ring: `seconds` of products, whose blocks go from process to process in each
 * round, and from the last on to the others. */
static void compute_sum(struct replica *r, enum divided by, double seconds, int rows,
                        double row_bytes, int rounds)
{
    const int blocks = shard_blocks(rows);
    const double bytes = rows * row_bytes / blocks;
    seconds *= (rows + blocks * PANEL_ROWS) / (rows + PANEL_ROWS);
    double there[SUM_BLOCKS] = {0};
    for (int round = 0; round <= rounds; round++)
        for (int block = 0; block < blocks; block++)
            for (int i = 0; i < r->n - (round == rounds); i++) {
                struct shard_clock *s = &r->of[i];
                const double own = round < rounds ? seconds * part_of(s, by) / rounds / blocks : 0;
                s->now = later(s->now, there[block]) + at_work(r, i, own);
                s->busy += own;
                if (round < rounds || i < r->n - 2)
                    there[block] = send_block(r, i, bytes);
            }
    for (int i = 0; i < r->n; i++)
        r->of[i].now = later(r->of[i].now, r->of[i].sends);
    r->moment++;
    find_moment(r);
}

/* Before a micro-batch all say that they are ready. */
static void meet(struct replica *r)
{
    double all = 0;
    for (int i = 0; i < r->n; i++)
        all = fmax(all, r->of[i].now);
    for (int i = 0; i < r->n; i++)
        r->of[i].now = all + 2 * r->latency;
}

/* Of rows that each keeps a part of, to all others, at once. */
static void compute_gather(struct replica *r, double bytes)
{
    const double sent = bytes * (r->n - 1) / r->n;
    double all = 0;
    for (int i = 0; i < r->n; i++)
        all = fmax(all, r->of[i].now);
    for (int i = 0; i < r->n; i++) {
        struct shard_clock *s = &r->of[i];
        s->now = s->sends = s->receives = all + r->latency + sent / r->link;
        s->sent += sent;
    }
}

/* ---- a micro-batch ---- */

/* What the products of a layer take forward, and its attention. */
struct layer_seconds {
    double c_attn, attention, attn_proj, c_fc, mlp_proj;
};

static struct layer_seconds divide_layer(const struct scaling_work *w)
{
    const struct config *c = w->shape;
    const double C = c->n_embd, A = config_heads_width(c), F = c->n_inner,
                 T = w->c->training.sequence_length,
                 each = w->micro.forward / (3 * C * A + A * T + A * C + 2 * C * F);
    return (struct layer_seconds){3 * C * A * each, A * T * each, A * C * each, C * F * each,
                                  C * F * each};
}

static void layer_forward(struct replica *r, const struct layer_seconds *s)
{
    const double row = 4.0 * r->w->shape->n_embd;
    compute_own(r, BY_HEADS, s->c_attn + s->attention);
    compute_sum(r, BY_HEADS, s->attn_proj, r->rows, row, 1);
    compute_own(r, BY_INNER, s->c_fc);
    compute_sum(r, BY_INNER, s->mlp_proj, r->rows, row, 1);
}

/* recomputed: what part of it, on average. */
static void layer_backward(struct replica *r, const struct layer_seconds *s, double recomputed)
{
    const double row = 4.0 * r->w->shape->n_embd;
    if (recomputed > 0) {
        compute_own(r, BY_HEADS, recomputed * s->c_attn);
        compute_sum(r, BY_HEADS, recomputed * s->attn_proj, r->rows, recomputed * row, 1);
        compute_own(r, BY_INNER, recomputed * s->c_fc);
    }
    compute_own(r, BY_INNER, 2 * s->mlp_proj + s->c_fc);
    compute_sum(r, BY_INNER, s->c_fc, r->rows, row, 1);
    compute_own(r, BY_HEADS, 2 * s->attn_proj + 2 * s->attention + s->c_attn);
    compute_sum(r, BY_HEADS, s->c_attn, r->rows, row, 3);
}

/* The loss takes some rows at once. */
static void head_both(struct replica *r, int most)
{
    const double row = 4.0 * r->w->shape->n_embd;
    for (int done = 0; done < r->rows; done += most) {
        const int rows = r->rows - done < most ? r->rows - done : most;
        const double product = r->w->micro.head / 3 * rows / r->rows;
        compute_own(r, BY_VOCAB, product);
        compute_sum(r, BY_VOCAB, 0, rows, sizeof(struct loss_row), 1);
        compute_sum(r, BY_VOCAB, product, rows, row, 1);
        compute_own(r, BY_VOCAB, product);
    }
}

static int loss_rows(const struct replica *r)
{
    struct step_config step;
    struct config here;
    struct shard first;
    run_config_step(r->w->c, r->w->shape, &step);
    shard_init(&first, r->w->shape, r->n, 0);
    shard_config(&here, r->w->shape, &first);
    return step_loss_rows(&here, &step);
}

/* Of how many layers inputs are gathered, and bytes of an element of these. */
static int inputs_in_parts(const struct scaling_work *w)
{
    const struct execution_section *e = &w->c->execution;
    int n = 0;
    return e->rts_activations && step_recomputed(&n, e->recompute, w->shape->n_layer) == 0 ? n : 0;
}

static double inputs_each(const struct scaling_work *w)
{
    return (double)dtype_bytes((enum dtype)w->c->training.precision);
}

static void layers_forward(struct replica *r, int n, bool ends)
{
    const struct layer_seconds s = divide_layer(r->w);
    if (ends) /* tokens */
        compute_sum(r, BY_VOCAB, 0, r->rows, 4.0 * r->w->shape->n_embd, 1);
    for (int i = 0; i < n; i++)
        layer_forward(r, &s);
}

/* Of those that are gathered and recomputed, as many among n as among all. */
static void layers_backward(struct replica *r, int n)
{
    const struct layer_seconds s = divide_layer(r->w);
    const int all = r->w->shape->n_layer, gathered = inputs_in_parts(r->w);
    const double again = all * (s.c_attn + s.attn_proj + s.c_fc),
                 input = r->rows * (double)r->w->shape->n_embd * inputs_each(r->w);
    for (int i = 0; i < n; i++) {
        if (i * gathered / all < (i + 1) * gathered / all)
            compute_gather(r, input);
        layer_backward(r, &s, r->w->micro.again / again);
    }
}

static void compute_micro(struct replica *r)
{
    const int n = r->w->shape->n_layer;
    meet(r);
    layers_forward(r, n, true);
    head_both(r, loss_rows(r));
    layers_backward(r, n);
}

/* ---- a step ---- */

static struct shard_clock find_most(const struct replica *r)
{
    struct shard_clock most = {.now = 0};
    for (int i = 0; i < r->n; i++) {
        most.now = fmax(most.now, r->of[i].now);
        most.busy = fmax(most.busy, r->of[i].busy);
        most.sent = fmax(most.sent, r->of[i].sent);
    }
    return most;
}

static void init_shards(struct replica *r)
{
    const struct config *c = r->w->shape;
    for (int i = 0; i < r->n; i++) {
        struct shard s;
        shard_init(&s, c, r->n, i);
        r->of[i].heads = (double)(s.heads.last - s.heads.first) / c->n_head;
        r->of[i].inner = (double)(s.inner.last - s.inner.first) / c->n_inner;
        r->of[i].vocab = (double)(s.vocab.last - s.vocab.first) / c->n_vocab;
    }
}

double scaling_params(const struct config *shape, const struct layout *l)
{
    double most = 0;
    for (int i = 0; i < l->stages; i++) {
        const struct model_stage stage = layout_stage(l, i);
        most = fmax(most, stage_params(shape, &stage));
    }
    return most / l->tensor;
}

/* To each process a part, in pieces; with zero=1 of what the replica updates. */
void scaling_slices(struct step_time *out, const struct scaling_work *w)
{
    const int n = w->l->over.tensor, parts = w->l->zero > 0 ? w->l->over.replicas : 1;
    const double each = (double)dtype_bytes((enum dtype)w->c->training.precision),
                 part = scaling_params(w->shape, &w->l->over) * each / parts / n,
                 one = part / w->k->link + ceil(part / EXCHANGED) * w->k->latency_s;
    out->gradients += (n - 1) * one;
    out->weights += (n - 1) * one;
    out->sent += 2 * (n - 1) * part;
}

static int open_replica(struct replica *r, const struct scaling_work *w, double jitter)
{
    const struct training_section *t = &w->c->training;
    *r = (struct replica){.w = w,
                          .n = w->l->over.tensor,
                          .rows = t->micro_batch_size * t->sequence_length,
                          .jitter = jitter,
                          .latency = w->k->latency_s,
                          .link = w->k->link};
    if ((r->of = mem_array((size_t)r->n, sizeof *r->of)) == NULL)
        return ERR_NOMEM;
    init_shards(r);
    find_moment(r);
    return 0;
}

/* Few sums may all find the same processes fast: also with every process slow where it was fast,
 * and the mean of both, which is never below what it is without jitter. */
static void add_mirrored(struct shard_clock *of, const struct shard_clock *mirrored)
{
    of->now = (of->now + mirrored->now) / 2;
}

static int time_shards(struct shard_clock *out, const struct scaling_work *w, double jitter,
                       enum pipeline_work work, int n_layers, bool ends)
{
    struct replica r;
    int rc = open_replica(&r, w, jitter);
    if (rc != 0)
        return rc;
    meet(&r);
    if (work == PIPELINE_FORWARD)
        layers_forward(&r, n_layers, ends);
    else if (work == PIPELINE_HEAD)
        head_both(&r, loss_rows(&r));
    else
        layers_backward(&r, n_layers);
    *out = find_most(&r);
    mem_free(r.of);
    return 0;
}

int scaling_shards(struct shard_time *out, const struct scaling_work *w, enum pipeline_work work,
                   int n_layers, bool ends)
{
    const double jitter = w->k->jitter;
    struct shard_clock most, mirrored;
    int rc = time_shards(&most, w, jitter, work, n_layers, ends);
    if (rc == 0 && jitter > 0 &&
        (rc = time_shards(&mirrored, w, -jitter, work, n_layers, ends)) == 0)
        add_mirrored(&most, &mirrored);
    if (rc == 0)
        *out = (struct shard_time){most.now, most.busy, most.sent};
    return rc;
}

/* After one micro-batch, and after two. */
static int time_two(struct shard_clock out[2], const struct scaling_work *w, double jitter)
{
    struct replica r;
    int rc = open_replica(&r, w, jitter);
    for (int i = 0; i < 2 && rc == 0; i++) {
        compute_micro(&r);
        out[i] = find_most(&r);
    }
    mem_free(r.of);
    return rc;
}

/* All micro-batches but the first take what the second does. */
int scaling_tensor(struct step_time *out, const struct scaling_work *w)
{
    const double jitter = w->k->jitter;
    struct shard_clock after[2], mirrored[2];
    int rc = time_two(after, w, jitter);
    if (rc == 0 && jitter > 0 && (rc = time_two(mirrored, w, -jitter)) == 0)
        for (int i = 0; i < 2; i++)
            add_mirrored(&after[i], &mirrored[i]);
    if (rc != 0)
        return rc;
    const int more = w->rounds * w->of_block - 1;
    out->compute = after[0].busy + more * (after[1].busy - after[0].busy);
    out->sums = fmax(0, after[0].now + more * (after[1].now - after[0].now) - out->compute);
    out->sent += after[0].sent + more * (after[1].sent - after[0].sent);
    return 0;
}
