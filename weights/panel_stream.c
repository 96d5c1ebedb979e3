#include "weights/panel_stream.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/mem_room.h"
#include "weights/panel_file.h"
#include "weights/panel_make.h"

#include <math.h>
#include <stdio.h>

/* ---- the plan ---- */

/* What else a pass and its text need: scratch and logits of as many rows as a pass has, the keys
 * and values of a full text, and the program. */
static uint64_t other_bytes(const struct params *p)
{
    enum { ROWS = 512, PROGRAM = 64 << 20, LOGITS = 18 };
    const struct config *c = &p->config;
    const uint64_t A = (uint64_t)config_heads_width(c), C = (uint64_t)c->n_embd;
    const uint64_t row = 3 * C + 4 * A + (uint64_t)c->n_inner,
                   element = p->dtype == DTYPE_F32 ? 4 : 2;
    return PROGRAM + ROWS * row * sizeof(float) + LOGITS * (uint64_t)c->n_vocab * sizeof(float) +
           (uint64_t)c->n_layer * (uint64_t)c->n_ctx * 2 * A * element;
}

/* For the weights: of what is allowed, or available, less what else is needed. */
static uint64_t weights_room(const struct params *p, const struct load_memory *m)
{
    uint64_t room = mem_room_bytes();
    const uint64_t used = mem_resident_bytes(), other = other_bytes(p);
    const uint64_t limit = m->limit_bytes > used ? m->limit_bytes - used : 0;
    if (m->limit_bytes > 0 && limit < room)
        room = limit;
    return room > other ? room - other : 0;
}

/* ERR_NOMEM as set, and what `memory` would have to be, where that is less than the machine has. */
static int say_least(const struct params *p, const struct load_memory *m)
{
    const struct layer_stream_plan least = layer_stream_least(p);
    const uint64_t kept = m->phased == PHASED_ON ? 0 : least.kept_bytes,
                   more = other_bytes(p) + kept + least.slot_bytes;
    const double gb = ceil((double)(mem_resident_bytes() + more) / 1e7 + 1) / 100;
    if (m->limit_bytes == 0 || more > mem_room_bytes())
        return ERR_NOMEM;
    char *why = mem_strdup(err_text());
    const int rc = err_set(ERR_NOMEM, "%s; with all else: memory=%.2f", why == NULL ? "" : why, gb);
    mem_free(why);
    return rc;
}

int panel_stream_plan(struct layer_stream_plan *out, const struct params *p,
                      const struct load_memory *m)
{
    if (m->plan != NULL) {
        *out = *m->plan;
        return 0;
    }
    const uint64_t room = m->phased == PHASED_OFF ? UINT64_MAX : weights_room(p, m);
    if (m->phased == PHASED_ON) {
        *out = layer_stream_least(p);
        if (out->slot_bytes <= room)
            return 0;
    }
    const int rc = layer_stream_plan(out, p, room);
    return rc == ERR_NOMEM ? say_least(p, m) : rc;
}

/* ---- loading ---- */

/* The entry's file. ERR_MISSING: there is none that is whole. */
static int open_entry(struct layer_stream_file *out, const char *key, const struct params *p)
{
    struct panel_check check = {.bytes = p->block_bytes, .path = panel_cache_path(key)};
    struct disk_file disk = {0};
    struct file f = {.fd = -1};
    int rc = check.path == NULL ? ERR_MISSING : file_open(&f, check.path);
    if (rc == 0)
        rc = panel_file_front(&check.front, &f, key, p->block_bytes);
    if (rc == ERR_FORMAT)
        panel_file_drop(check.path);
    if (rc == 0)
        rc = disk_file_open(&disk, check.path);
    file_close(&f);
    if (rc == 0)
        return panel_check_file(out, &disk, &check);
    mem_free(check.front);
    mem_free(check.path);
    return rc == ERR_NOMEM ? rc : ERR_MISSING;
}

static int load_entry(struct params *p, const struct layer_stream_plan *plan, const char *key)
{
    struct layer_stream_file file;
    int rc = open_entry(&file, key, p);
    return rc == 0 ? layer_stream_open(p, plan, &file) : rc;
}

static void note_rate(const struct params *p, const struct source *s,
                      const struct progress *progress)
{
    const struct layer_stream_plan *plan = layer_stream_planned(p->stream);
    const double pass = (double)plan->pass_bytes, rate = layer_stream_rate(p->stream);
    const int L = p->config.n_layer;
    char speed[64] = "";
    if (rate > 0)
        snprintf(speed, sizeof speed, ", %.2f GB/s: %.2g s a token", rate / 1e9, pass / rate);
    progress_note(progress, "%s: %d of %d layers stay on disk; %.2f GB a token from disk%s",
                  file_quote(s->name), L - plan->n_kept, L, pass / 1e9, speed);
}

int panel_stream_load(struct params *p, const struct layer_stream_plan *plan,
                      const struct source *s, const struct panel_cache *c,
                      const struct progress *progress)
{
    char key[SHA256_HEX] = "";
    struct layer_stream_file file;
    int rc = ERR_MISSING;
    layer_stream_prepare(p, plan);
    if (p->block_bytes <= c->limit_bytes)
        panel_cache_key(key, p, s);
    if (key[0] != '\0')
        rc = load_entry(p, plan, key);
    /* A damaged entry is gone now (panel_make.c). */
    if (rc == ERR_MISSING || rc == ERR_FORMAT) {
        rc = panel_make(&file, p, plan, s, key, c, progress);
        if (rc == 0)
            rc = layer_stream_open(p, plan, &file);
    }
    if (rc == 0)
        note_rate(p, s, progress);
    return rc;
}

/* ---- other weights ---- */

int panel_stream_replace(struct params *p, const struct source *s, struct layer_stream_file *before)
{
    const struct layer_stream_plan plan = *layer_stream_planned(p->stream);
    const struct panel_cache none = {0};
    struct layer_stream_file file;
    layer_stream_detach(p, before);
    int rc = panel_make(&file, p, &plan, s, "", &none, NULL);
    if (rc == 0)
        rc = layer_stream_open(p, &plan, &file);
    if (rc == 0)
        return 0;
    /* The first failure is the one to tell. */
    struct err_kept why;
    err_keep(&why);
    const int again = layer_stream_open(p, &plan, before);
    *before = (struct layer_stream_file){0};
    p->lost = again != 0;
    if (again != 0)
        return again;
    err_restore(&why);
    return rc;
}

int panel_stream_restore(struct params *p, struct layer_stream_file *before)
{
    struct layer_stream_file now;
    const struct layer_stream_plan plan = *layer_stream_planned(p->stream);
    layer_stream_detach(p, &now);
    layer_stream_close(&now);
    int rc = layer_stream_open(p, &plan, before);
    *before = (struct layer_stream_file){0};
    p->lost = rc != 0;
    return rc;
}
