/*
 * Slots form a ring. slots[at] is in use or was; those behind it hold, or are being sent, the
 * pieces that follow in the order of passes. Thread 0 alone turns the ring, between two barriers:
 *
 *     layer_stream_enter(k)    slots[at] is free now: the piece after the last in the ring is
 *                              started into it; at moves on. Is it k? else all are started anew,
 *                              from k on. Wait for it.
 */
#include "model/layer_stream.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/schema.h"

#include <stdio.h>
#include <string.h>

enum { SLOTS = LAYER_STREAM_SLOTS };

struct stream_piece {
    size_t first, bytes; /* in the block */
    int layer;           /* -1: a slice of the head */
    int column, columns; /* of the slice */
};

struct stream_slot {
    char *data; /* in the stream's memory */
    int piece;  /* -1: none */
    struct disk_piece io;
};

struct layer_stream {
    struct params *params;
    struct layer_stream_plan plan;
    struct layer_stream_file file;
    struct disk_queue *queue;
    struct stream_piece *pieces; /* [n_pieces] in the order of a pass */
    int *piece_of;               /* [L], -1: in memory */
    int n_pieces, first_slice;   /* slices come last */
    struct stream_slot slots[SLOTS];
    int at;
    char *memory; /* slots, then one panel of the embedding */
    size_t memory_bytes, slot_bytes;
    size_t panel_first, panel_bytes; /* of the block, in the panel's place; 0 bytes: none */
    double rate;
    int error;
    char text[256];
};

/* ---- pieces ---- */

static int count_slices(const struct layer_stream *s, int *panels)
{
    const struct linear *w = &s->params->lm_head;
    const size_t panel = linear_bytes(w->dtype, w->K, PANEL);
    size_t first, layer = layer_stream_span(s->params, 0, &first);
    *panels = layer / panel < 1 ? 1 : (int)(layer / panel);
    return (linear_panels(w->N) + *panels - 1) / *panels;
}

static void add_slices(struct layer_stream *s)
{
    const struct linear *w = &s->params->lm_head;
    int panels, n = count_slices(s, &panels);
    for (int i = 0; i < n; i++) {
        const int column = i * panels * PANEL;
        const int columns = w->N - column < panels * PANEL ? w->N - column : panels * PANEL;
        s->pieces[s->n_pieces++] = (struct stream_piece){
            .first = layer_stream_offset(s->params, w->data) + linear_bytes(w->dtype, w->K, column),
            .bytes = linear_bytes(w->dtype, w->K, columns),
            .layer = -1,
            .column = column,
            .columns = columns};
    }
}

static int list_pieces(struct layer_stream *s)
{
    const int L = s->params->config.n_layer;
    int panels;
    s->piece_of = mem_array((size_t)L, sizeof *s->piece_of);
    s->pieces = mem_array((size_t)(L + count_slices(s, &panels)), sizeof *s->pieces);
    if (s->piece_of == NULL || s->pieces == NULL)
        return ERR_NOMEM;
    for (int layer = 0; layer < L; layer++) {
        s->piece_of[layer] = -1;
        if (layer_stream_keeps(&s->plan, &s->params->config, layer))
            continue;
        struct stream_piece *piece = &s->pieces[s->n_pieces];
        s->piece_of[layer] = s->n_pieces++;
        piece->layer = layer;
        piece->bytes = layer_stream_span(s->params, layer, &piece->first);
    }
    s->first_slice = s->n_pieces;
    if (!s->plan.keeps_head)
        add_slices(s);
    return 0;
}

/* The units that hold bytes first .. first + n - 1 of the block. */
static size_t round_out(const struct layer_stream *s, size_t *first, size_t n)
{
    const size_t unit = s->file.unit, begin = *first / unit * unit;
    size_t end = (*first + n + unit - 1) / unit * unit;
    if (end > s->params->block_bytes)
        end = s->params->block_bytes;
    *first = begin;
    return end - begin;
}

static int carve_slots(struct layer_stream *s)
{
    const struct linear *w = &s->params->wte;
    size_t panel = linear_bytes(w->dtype, w->K, PANEL) + 2 * s->file.unit;
    for (int i = 0; i < s->n_pieces; i++) {
        size_t first = s->pieces[i].first, bytes = round_out(s, &first, s->pieces[i].bytes);
        s->slot_bytes = bytes > s->slot_bytes ? bytes : s->slot_bytes;
    }
    s->slot_bytes = (size_t)disk_round(s->slot_bytes);
    s->memory_bytes = SLOTS * s->slot_bytes + (size_t)disk_round(panel);
    if ((s->memory = mem_map("weights from disk", s->memory_bytes)) == NULL)
        return ERR_NOMEM;
    for (int i = 0; i < SLOTS; i++)
        s->slots[i] =
            (struct stream_slot){.data = s->memory + (size_t)i * s->slot_bytes, .piece = -1};
    return 0;
}

/* ---- reading ---- */

static struct disk_piece units_of(struct layer_stream *s, char *data, size_t first, size_t bytes)
{
    return (struct disk_piece){.file = &s->file.disk,
                               .at = s->file.block_at + first,
                               .bytes = bytes,
                               .data = data,
                               .check = s->file.check,
                               .user = s->file.user};
}

/* The units in which bytes of the block lie, into their own place in it. */
static int keep_bytes(struct layer_stream *s, size_t first, size_t n)
{
    n = round_out(s, &first, n);
    struct disk_piece p = units_of(s, (char *)s->params->block + first, first, n);
    return disk_queue_run(s->queue, &p);
}

static int keep_layer(struct layer_stream *s, int layer)
{
    size_t first, n = layer_stream_span(s->params, layer, &first);
    return layer_stream_keeps(&s->plan, &s->params->config, layer) ? keep_bytes(s, first, n) : 0;
}

/* What the plan keeps, and what lies beside it in the units at its ends. */
static int read_kept(struct layer_stream *s)
{
    const struct params *p = s->params;
    int rc = keep_bytes(s, 0, layer_stream_offset(p, p->layers[0].ln_1_weight));
    for (int layer = 0; layer < p->config.n_layer && rc == 0; layer++)
        rc = keep_layer(s, layer);
    if (rc == 0)
        rc = keep_bytes(s, layer_stream_offset(p, p->ln_f_weight),
                        2 * (size_t)p->config.n_embd * sizeof(float));
    return rc == 0 && s->plan.keeps_head
               ? keep_bytes(s, layer_stream_offset(p, p->lm_head.data), layer_stream_head_bytes(p))
               : rc;
}

static void start_slot(struct layer_stream *s, struct stream_slot *slot, int piece)
{
    size_t first = s->pieces[piece].first, bytes = round_out(s, &first, s->pieces[piece].bytes);
    slot->piece = piece;
    slot->io = units_of(s, slot->data, first, bytes);
    disk_queue_start(s->queue, &slot->io);
}

static void start_from(struct layer_stream *s, int piece)
{
    for (int i = 0; i < SLOTS; i++)
        disk_queue_wait(s->queue, &s->slots[i].io);
    s->at = 0;
    for (int i = 0; i < SLOTS; i++)
        start_slot(s, &s->slots[i], (piece + i) % s->n_pieces);
}

/* Into the open file: how fast it is, what stays, and what the first pass needs first. */
static int begin_reading(struct layer_stream *s)
{
    const uint64_t from = s->file.block_at;
    int rc =
        disk_queue_measure(s->queue, &s->file.disk, from, from + s->params->block_bytes, &s->rate);
    if (rc == 0)
        rc = read_kept(s);
    if (rc == 0)
        start_from(s, 0);
    return rc;
}

int layer_stream_open(struct params *p, const struct layer_stream_plan *plan,
                      struct layer_stream_file *file)
{
    struct layer_stream *s = mem_alloc(sizeof *s);
    if (s == NULL) {
        disk_file_close(&file->disk);
        if (file->release != NULL)
            file->release(file->user);
        return ERR_NOMEM;
    }
    *s = (struct layer_stream){.params = p, .plan = *plan, .file = *file};
    int rc = list_pieces(s);
    if (rc == 0)
        rc = carve_slots(s);
    if (rc == 0)
        rc = disk_queue_open(&s->queue);
    if (rc == 0)
        rc = begin_reading(s);
    if (rc == 0)
        p->stream = s;
    else
        layer_stream_free(s);
    return rc;
}

void layer_stream_free(struct layer_stream *s)
{
    if (s == NULL)
        return;
    disk_queue_close(s->queue);
    disk_file_close(&s->file.disk);
    if (s->file.release != NULL)
        s->file.release(s->file.user);
    mem_unmap(s->memory, s->memory_bytes);
    mem_free(s->pieces);
    mem_free(s->piece_of);
    mem_free(s);
}

void layer_stream_close(struct layer_stream_file *file)
{
    disk_file_close(&file->disk);
    if (file->release != NULL)
        file->release(file->user);
    *file = (struct layer_stream_file){0};
}

const struct layer_stream_plan *layer_stream_planned(const struct layer_stream *s)
{
    return &s->plan;
}

double layer_stream_rate(const struct layer_stream *s)
{
    return s->rate;
}

/* ---- in a pass ---- */

static void note_error(struct layer_stream *s, int rc)
{
    if (rc == 0 || s->error != 0)
        return;
    snprintf(s->text, sizeof s->text, "%s", err_text());
    s->error = rc;
}

/* Thread 0: the slot with this piece, read. */
static struct stream_slot *turn_to(struct layer_stream *s, int piece)
{
    struct stream_slot *slot = &s->slots[s->at];
    if (slot->piece != piece) {
        const int last = s->slots[(s->at + SLOTS - 1) % SLOTS].piece;
        s->at = (s->at + 1) % SLOTS;
        if (s->slots[s->at].piece == piece)
            start_slot(s, slot, (last + 1) % s->n_pieces);
        else
            start_from(s, piece);
        slot = &s->slots[s->at];
    }
    const enum profile_part was = profile_set(PART_FILES);
    note_error(s, disk_queue_wait(s->queue, &slot->io));
    profile_resume(was);
    return slot;
}

/* The address of the piece's first byte. */
static char *piece_data(const struct layer_stream *s, const struct stream_slot *slot)
{
    size_t first = s->pieces[slot->piece].first;
    round_out(s, &first, s->pieces[slot->piece].bytes);
    return slot->data + (s->pieces[slot->piece].first - first);
}

/* Let the fields of a layer point to `to`, where its bytes are. */
static void place_layer(struct params *p, int layer, char *to)
{
    const struct config *c = &p->config;
    const int each = schema_tensors_per_layer(c), first = schema_first_of_layers(c) + layer * each;
    const char *from = (const char *)p->layers[layer].ln_1_weight;
    for (int i = first; i < first + each; i++) {
        const struct schema_tensor t = schema_tensor(c, i);
        if (schema_is_linear(t.row)) {
            struct linear *w = schema_linear(t, p);
            w->data = to + ((const char *)w->data - from);
        } else {
            const char *data = (const char *)schema_data(t, p);
            schema_set_data(t, p, (float *)(void *)(to + (data - from)));
        }
    }
}

void layer_stream_detach(struct params *p, struct layer_stream_file *file)
{
    struct layer_stream *s = p->stream;
    for (int i = 0; i < SLOTS; i++)
        disk_queue_wait(s->queue, &s->slots[i].io);
    for (int layer = 0; layer < p->config.n_layer; layer++)
        if (s->piece_of[layer] >= 0)
            place_layer(p, layer, (char *)p->block + s->pieces[s->piece_of[layer]].first);
    *file = s->file;
    s->file = (struct layer_stream_file){.disk = {.fd = -1, .direct = -1}};
    p->stream = NULL;
    layer_stream_free(s);
}

void layer_stream_begin(struct layer_stream *s, int thread)
{
    if (s == NULL || thread != 0 || s->error == 0)
        return;
    s->error = 0;
    /* What was read ahead may have failed too. */
    for (int i = 0; i < SLOTS; i++) {
        disk_queue_wait(s->queue, &s->slots[i].io);
        s->slots[i].piece = -1;
    }
}

void layer_stream_enter(struct layer_stream *s, int layer, int thread)
{
    if (s == NULL || s->piece_of[layer] < 0)
        return;
    if (thread == 0)
        place_layer(s->params, layer, piece_data(s, turn_to(s, s->piece_of[layer])));
    par_barrier();
}

int layer_stream_slices(const struct layer_stream *s)
{
    return s == NULL ? 0 : s->n_pieces - s->first_slice;
}

struct linear layer_stream_slice(struct layer_stream *s, int slice, int *first, int thread)
{
    const struct stream_piece *piece = &s->pieces[s->first_slice + slice];
    struct linear w = s->params->lm_head;
    if (thread == 0)
        turn_to(s, s->first_slice + slice);
    par_barrier();
    w.data = piece_data(s, &s->slots[s->at]);
    w.N = piece->columns;
    *first = piece->column;
    return w;
}

bool layer_stream_embeds(const struct layer_stream *s)
{
    return s != NULL && !(s->plan.keeps_head && s->params->config.tie_word_embeddings);
}

void layer_stream_column(struct layer_stream *s, int token, float *out)
{
    const struct linear *w = &s->params->wte;
    const size_t bytes = linear_bytes(w->dtype, w->K, PANEL);
    const size_t panel = layer_stream_offset(s->params, w->data) + (size_t)(token / PANEL) * bytes;
    char *data = s->memory + SLOTS * s->slot_bytes;
    size_t first = panel, n = round_out(s, &first, bytes);
    if (s->panel_bytes != n || s->panel_first != first) {
        const struct disk_piece p = units_of(s, data, first, n);
        int rc = disk_file_read(p.file, data, p.at, n);
        if (rc == 0 && p.check != NULL)
            rc = p.check(p.user, p.at, data, n);
        note_error(s, rc);
        s->panel_first = first;
        s->panel_bytes = rc == 0 ? n : 0;
    }
    struct linear one = *w;
    one.data = data + (panel - first);
    one.N = PANEL;
    linear_column(&one, token % PANEL, out);
}

bool layer_stream_failed(const struct layer_stream *s)
{
    return s != NULL && s->error != 0;
}

int layer_stream_error(const struct layer_stream *s)
{
    return layer_stream_failed(s) ? err_set(s->error, "cannot read the model's layers: %s", s->text)
                                  : 0;
}

int layer_stream_read(struct layer_stream *s, char *dst, size_t first, size_t n)
{
    struct disk_piece p = units_of(s, dst, first, n);
    return disk_queue_run(s->queue, &p);
}
