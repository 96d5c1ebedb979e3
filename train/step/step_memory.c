/* The memory of a step: sized first, then mapped and carved. */
#include "train/step/step_memory.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/mem_room.h"
#include "model/base/par.h"
#include "train/step/backward_attention.h"
#include "train/step/step_inside.h"
#include "train/step/weights_disk.h"

static const char *const block_names[N_BLOCKS] = {
    "gradients",       "activations",        "training scratch", "training logits",
    "gradient window", "embedding gradient", "gradient blocks"};

/* Those of the first chunk come first. */
static int slot_chunk(const struct step *x, int slot)
{
    int chunk = 0;
    for (; chunk + 1 < x->stage.n_chunks && slot >= x->config.slots[chunk]; chunk++)
        slot -= x->config.slots[chunk];
    return chunk;
}

static void carve_slots(struct step *x, struct arena *a, const struct config *c, size_t rows)
{
    const size_t gradient = rows * (size_t)c->n_embd * sizeof(float);
    x->slots = arena_take(a, (size_t)x->n_slots * sizeof *x->slots);
    for (int i = 0; i < x->n_slots; i++) {
        const int chunk = slot_chunk(x, i);
        struct slot s = {.range = x->stage.chunks[chunk], .ends = x->stage.ends && chunk == 0};
        s.layers = arena_take(a, ((size_t)c->n_layer + 1) * sizeof *s.layers);
        s.seqs = arena_take(a, (size_t)x->config.batch * sizeof *s.seqs);
        if (!x->stage.alone) {
            s.own_ids = arena_take(a, rows * sizeof *s.own_ids);
            s.own_labels = arena_take(a, rows * sizeof *s.own_labels);
            s.gradient = arena_take(a, gradient);
        }
        if (!x->stage.alone && s.ends)
            s.head_gradient = arena_take(a, gradient);
        if (x->slots != NULL)
            x->slots[i] = s;
    }
}

static void carve_scratch(struct step *x, struct arena *a, const struct config *c)
{
    struct backward *b = &x->backward;
    size_t rows = (size_t)x->config.batch * (size_t)x->config.length, C = (size_t)c->n_embd;
    const size_t A = (size_t)config_heads_width(c);
    struct kv_layout pages;
    kv_layout_init(&pages, c, DTYPE_F32);
    kv_layout_share(&pages);
    x->n_pages = (x->config.length + KV_BLOCK - 1) / KV_BLOCK;
    size_t n_pages = (size_t)x->config.batch * (size_t)x->n_pages;
    b->dx = arena_take(a, rows * C * sizeof(float));
    b->branch = arena_take(a, rows * C * sizeof(float));
    b->datt = arena_take(a, rows * A * sizeof(float));
    b->dqkv = arena_take(a, rows * 3 * A * sizeof(float));
    b->dfc = arena_take(a, rows * (size_t)c->n_inner * sizeof(float));
    const size_t runs = ((size_t)x->config.length + NORM_ROWS - 1) / NORM_ROWS;
    b->norm_sums = arena_take(a, (size_t)x->config.batch * runs * 2 * C * sizeof(float));
    b->length = x->config.length;
    b->attention_pieces = x->config.attention_pieces;
    const size_t attention = backward_attention_scratch_bytes(c, b->length, b->attention_pieces),
                 matrices = product_scratch_bytes();
    b->thread_bytes = attention > matrices ? attention : matrices;
    b->thread_scratch = arena_take(a, (size_t)par_threads() * b->thread_bytes);
    if (x->config.adapter != NULL) {
        size_t rank = (size_t)x->config.adapter->rank;
        b->dinner = arena_take(a, rows * rank * sizeof(float));
        x->low_rank.inner = arena_take(a, rows * rank * sizeof(float));
        if (x->config.adapter->dropout > 0)
            x->low_rank.dropped = arena_take(a, rows * (size_t)config_widest(c) * sizeof(float));
    }
    x->loss.row_loss = arena_take(a, rows * sizeof *x->loss.row_loss);
    x->loss.row_correct = arena_take(a, rows * sizeof *x->loss.row_correct);
    x->loss.running = arena_take(a, (size_t)x->loss.slice_rows * sizeof *x->loss.running);
    carve_slots(x, a, c, rows);
    x->pages = arena_take(a, n_pages * sizeof *x->pages);
    char *page = arena_take(a, n_pages * pages.page_bytes);
    for (size_t i = 0; page != NULL && i < n_pages; i++)
        x->pages[i] = page + i * pages.page_bytes;
}

/* One set for all layers; their inputs are placed there, or loaded from where they are, when a
 * layer is at work. */
static void carve_shared(struct step *x, struct arena *a, const struct config *c, enum dtype dtype)
{
    const struct activation_range range = {.last = 1, .end = true};
    struct saved_common half = {0};
    struct slot none = {0}, *s = a->base == NULL ? &none : x->slots;
    struct activations sets[2];
    struct config one = *c;
    const bool recompute = true;
    const int rows = x->config.batch * x->config.length;
    one.n_layer = 1;
    if (dtype == DTYPE_F16) {
        saved_carve(&s->saved, a->base == NULL ? NULL : sets, a, &one, rows, &recompute, range,
                    &half);
        s->saved.layers = arena_take(a, ((size_t)c->n_layer + 1) * sizeof *s->saved.layers);
    } else {
        activations_carve(a->base == NULL ? NULL : sets, a, &one, rows, &recompute);
    }
    for (int i = 0; i <= c->n_layer && a->base != NULL; i++) {
        s->layers[i] = sets[0];
        s->layers[i].x = sets[i % 2].x;
    }
}

static void begin_inputs(struct step *x, const struct config *c, enum dtype dtype)
{
    x->inputs = (struct input_parts){
        .shard = x->config.rts_activations ? x->config.shard : NULL,
        .n_rows = x->config.batch * x->config.length,
        .row_bytes = (size_t)c->n_embd * dtype_bytes(dtype == DTYPE_F16 ? dtype : DTYPE_F32)};
}

/* All slots have the same. */
static void take_place(struct step *x, const struct slot *s, struct arena *a, int n_layer)
{
    struct input_parts *k = &x->inputs;
    if (!x->stage.alone && !k->taken)
        k->place = arena_take(a, (size_t)k->n_rows * k->row_bytes);
    else if (x->stage.alone && a->base != NULL)
        k->place = s->saved.layers != NULL ? (void *)s->saved.layers[n_layer].x
                                           : (void *)s->layers[n_layer].x;
    k->taken = true;
}

/* Those of a slot that are in parts, and the place where they are whole. */
static void carve_inputs(struct step *x, struct slot *s, struct arena *a,
                         const struct activation_range *range, int n_layer)
{
    struct input_parts *k = &x->inputs;
    const bool half = s->saved.layers != NULL;
    if (k->shard == NULL)
        return;
    s->parts = arena_take(a, ((size_t)n_layer + 1) * sizeof *s->parts); /* zero, as mapped */
    for (int i = range->first; i < range->last; i++) {
        if (!activation_elsewhere(range, i))
            continue;
        take_place(x, s, a, n_layer);
        void *part = input_parts_take(k, a);
        if (s->parts == NULL)
            continue;
        s->parts[i] = part;
        if (half)
            s->saved.layers[i].x = k->place;
        else
            s->layers[i].x = k->place;
    }
}

static void carve_activations(struct step *x, struct arena *a, const struct config *c,
                              enum dtype dtype)
{
    const int rows = x->config.batch * x->config.length;
    struct common_activations common = {0};
    struct saved_common half = {0};
    if (x->config.phased)
        carve_shared(x, a, c, dtype);
    begin_inputs(x, c, dtype);
    for (int i = 0; i < x->n_slots && !x->config.phased; i++) {
        const int chunk = slot_chunk(x, i);
        const struct layer_range layers = x->stage.chunks[chunk];
        bool divided[CONFIG_MAX_LAYERS] = {false};
        struct activation_range range = {layers.first, layers.last, x->stage.ends && chunk == 0,
                                         x->inputs.shard != NULL ? divided : NULL};
        input_parts_find(divided, x->recompute, &range);
        struct slot none = {0}, *s = a->base == NULL ? &none : &x->slots[i];
        if (dtype == DTYPE_F16)
            saved_carve(&s->saved, s->layers, a, c, rows, x->recompute, range, &half);
        else
            activations_carve_range(s->layers, a, c, rows, x->recompute, range, &common);
        carve_inputs(x, s, a, &range, c->n_layer);
    }
}

static void carve_embedding(struct step *x, struct arena *a, const struct config *c)
{
    gradient_carve_embedding(&x->embedding, a, c->n_vocab, c->n_embd, x->config.step_tokens);
}

static void size_blocks(struct step *x)
{
    struct gradient_blocks *b = &x->gradient_blocks;
    b->n = x->config.gradient_blocks > 1 ? x->config.gradient_blocks : 1;
    b->first = x->config.first_block;
    b->last = x->config.last_block > 0 ? x->config.last_block : b->n;
    b->n_waiting = x->config.taken ? 0 : gradient_blocks_waiting(b->n, b->first, b->last);
}

/* Of those that go back, no more layers than these are there at once, and what mem_clear_part
 * leaves at the ends of the others. */
static size_t resident_gradients(const struct step *x, const struct config *c, enum dtype dtype)
{
    struct config few = *c;
    const int others = c->n_layer - GRADIENTS_PENDING - 1;
    if (!step_gives_back(x) || others <= 0)
        return x->n_trainable;
    few.n_layer = GRADIENTS_PENDING + 1;
    const size_t n =
        (size_t)config_params(&few) + (size_t)others * MEM_HUGE_PAGE / dtype_bytes(dtype);
    return n < x->n_trainable ? n : x->n_trainable;
}

/* Of a step larger than memory: blocks wait layer by layer, or outside the layers. */
static size_t waiting_bytes(const struct step *x, const struct config *c, enum dtype dtype)
{
    struct config none = *c, one = *c;
    none.n_layer = 0;
    one.n_layer = 1;
    const uint64_t outside = config_params(&none), layer = config_params(&one) - outside;
    return x->config.phased ? (size_t)(outside > layer ? outside : layer) * dtype_bytes(dtype)
                            : x->gradient_bytes;
}

static void size_step(struct step *x, const struct config *c, enum dtype dtype)
{
    const bool staged = x->config.slots[0] > 0;
    x->stage = staged ? x->config.stage : stage_whole(c->n_layer);
    x->n_slots = staged ? 0 : 1;
    for (int i = 0; i < x->stage.n_chunks && staged; i++)
        x->n_slots += x->config.slots[i];
    struct arena scratch = {0}, activations = {0}, embedding = {0};
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
        .gradients = resident_gradients(x, c, adapted ? DTYPE_F32 : dtype) *
                     dtype_bytes(adapted ? DTYPE_F32 : dtype),
        .scratch = scratch.used + forward,
        .logits = x->stage.ends
                      ? (size_t)x->loss.slice_rows * (size_t)x->loss.slice_columns * sizeof(float)
                      : 0};
    x->gradient_bytes = x->n_trainable * dtype_bytes(adapted ? DTYPE_F32 : dtype);
    carve_embedding(x, &embedding, c);
    if (!adapted)
        x->bytes.embedding = embedding.used;
    size_blocks(x);
    x->bytes.waiting = (size_t)x->gradient_blocks.n_waiting * waiting_bytes(x, c, dtype);
    if (x->config.phased) /* they are weights' (weights_disk.h) */
        x->bytes.gradients = x->gradient_bytes = 0;
    if (dtype == DTYPE_F16 && !adapted)
        x->bytes.window = weights_window(c, dtype) * sizeof(float);
}

/* Bytes of each block. */
static void list_blocks(const struct step *x, size_t bytes[N_BLOCKS])
{
    bytes[GRADIENTS] = x->gradient_bytes;
    bytes[ACTIVATIONS] = x->bytes.activations;
    bytes[SCRATCH] = x->bytes.scratch;
    bytes[LOGITS_BLOCK] = x->bytes.logits;
    bytes[WINDOW] = x->bytes.window;
    bytes[EMBEDDING] = x->bytes.embedding;
    bytes[WAITING] = x->bytes.waiting;
}

double stage_params(const struct config *c, const struct model_stage *stage)
{
    struct config none = *c, one = *c;
    none.n_layer = 1;
    one.n_layer = 2;
    const double layer = (double)config_params(&one) - (double)config_params(&none),
                 outside = (double)config_params(&none) - layer;
    int n = 0;
    for (int i = 0; i < stage->n_chunks; i++)
        n += stage->chunks[i].last - stage->chunks[i].first;
    return layer * n + (stage->ends ? outside : 0);
}

/* What is touched of what is mapped. */
static struct step_bytes touched_bytes(const struct step *x, const struct config *c,
                                       enum dtype dtype)
{
    struct step_bytes out = x->bytes;
    if (x->stage.alone)
        return out;
    const struct model_stage layer = {.n_chunks = 1, .chunks = {{0, 1}}, .ends = x->stage.ends};
    out.gradients = (size_t)stage_params(c, &x->stage) * dtype_bytes(dtype);
    out.waiting = (size_t)x->gradient_blocks.n_waiting * out.gradients;
    out.embedding = x->stage.ends ? out.embedding : 0;
    if (out.window > 0)
        out.window = (size_t)stage_params(c, &layer) * sizeof(float);
    return out;
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
        *out = touched_bytes(&x, c, dtype);
    }
    return rc;
}

static int check_memory(const struct step_bytes *b)
{
    const struct mem_limit here = mem_limit_find();
    double all = (double)b->activations + (double)b->gradients + (double)b->scratch +
                 (double)b->logits + (double)b->window + (double)b->embedding + (double)b->waiting;
    if (all > (double)here.memory)
        return err_set(ERR_NOMEM,
                       "a micro-batch needs %.1f GB of memory (%.1f GB of activations), %s has "
                       "%.1f GB: use a smaller one, or recomputation",
                       all / 1e9, (double)b->activations / 1e9, here.owner,
                       (double)here.memory / 1e9);
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

int step_memory_map(struct step *x, struct weights *w)
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
                 scratch = {.base = x->blocks[SCRATCH]}, embedding = {.base = x->blocks[EMBEDDING]};
    carve_scratch(x, &scratch, c);
    carve_activations(x, &activations, c, w->dtype);
    carve_embedding(x, &embedding, c);
    x->backward.embedding = &x->embedding;
    x->backward.half = w->dtype == DTYPE_F16 && w->adapter == NULL;
    x->loss.logits = x->blocks[LOGITS_BLOCK];
    x->gradients = w->disk != NULL ? disk_array_data(w->disk->gradients) : x->blocks[GRADIENTS];
    x->gradient_blocks.dtype = w->adapter != NULL ? DTYPE_F32 : w->dtype;
    x->gradient_blocks.half = x->config.half_partials;
    x->gradient_blocks.n_gradients = x->n_trainable;
    x->own = x->stage.alone ? (struct spans){.n = 1, .at = {{0, x->n_trainable}}}
                            : weights_spans(w, &x->stage);
    x->gradient_blocks.own = x->own;
    for (int i = 0; i < x->gradient_blocks.n_waiting; i++)
        x->gradient_blocks.waiting[i] =
            (char *)x->blocks[WAITING] +
            (size_t)i * (x->bytes.waiting / (size_t)x->gradient_blocks.n_waiting);
    x->backward.f = &x->forward;
    x->backward.frozen = w->adapter != NULL;
    x->backward.weights = x->backward.frozen ? w->adapter->data : w->window;
    x->backward.gradients = x->bytes.window > 0 ? x->blocks[WINDOW] : x->gradients;
    x->forward.low_rank = x->low_rank;
    x->forward.shard = x->config.shard;
    x->slot = x->slots;
    x->forward.layers = x->slot->layers;
    x->backward.seqs = x->slot->seqs;
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

int step_memory_size(struct step *x, const struct config *c, enum dtype dtype)
{
    size_step(x, c, dtype);
    const struct step_bytes touched = touched_bytes(x, c, dtype);
    return check_memory(&touched);
}

void step_memory_unmap(struct step *x)
{
    size_t bytes[N_BLOCKS];
    list_blocks(x, bytes);
    for (int i = 0; i < N_BLOCKS; i++)
        mem_unmap(x->blocks[i], bytes[i]);
    forward_release(&x->forward);
}
