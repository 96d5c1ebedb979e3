/*
 * What the drafter has read of a text, `read`, is always its beginning:
 *
 *     |------- read.n -------|-- pending --|
 *     |----------- the text, n ------------|-- made --|-- to make --|
 *
 * A pass reads what is pending, and the draft so far but its last token; then the draft has one
 * more. When drafts were verified, only those that were right stay read (n_right).
 */
#include "sampling/draft_model.h"

#include "model/base/par.h"
#include "model/kernels/sampling_kernels.h"

int draft_model_begin(struct draft *d, const struct engine *e)
{
    if (d->drafter == NULL) {
        int rc = kv_seq_init(&d->read, &e->drafter->cache);
        if (rc != 0)
            return rc;
        d->drafter = e->drafter;
    }
    d->share = e->drafter_share;
    d->n_vocab = e->model->config.n_vocab < e->drafter->model->config.n_vocab
                     ? e->model->config.n_vocab
                     : e->drafter->model->config.n_vocab;
    return 0;
}

int draft_begin_as_set(struct draft **d, const struct engine *e, const char *setting)
{
    const enum speculate how = speculate_of(setting);
    const bool by_model = how == SPECULATE_MODEL && e->drafter != NULL;
    int rc = draft_begin(d, e->model, how == SPECULATE_MODEL ? SPECULATE_AUTO : how);
    return rc == 0 && by_model ? draft_model_begin(*d, e) : rc;
}

/* Whether the drafter has these ids, and the positions. */
static bool can_read(const struct draft *d, const token_id *text, size_t n)
{
    if (n > (size_t)d->drafter->model->config.n_ctx)
        return false;
    for (size_t i = (size_t)d->read.n; i < n; i++)
        if (text[i] >= d->drafter->model->config.n_vocab)
            return false;
    return true;
}

int draft_model_plan(struct draft *d, token_id *text, size_t n, int most, int texts, int rows)
{
    const int right = d->n_right < (int)n - 1 ? d->n_right : (int)n - 1;
    if (d->read.n > right)
        kv_seq_truncate(&d->read, &d->drafter->cache, right);
    d->text = text;
    d->n_text = n;
    d->n_right = (int)n;
    d->row = -1;
    d->n_made = 0;
    /* The last token of a draft is not read. */
    const int room = d->drafter->model->config.n_ctx + 1 - (int)n;
    most = most < room ? most : room;
    d->n_wanted = can_read(d, text, n) ? draft_choose(d, (int)n - d->read.n, most, texts, rows) : 0;
    return d->n_wanted;
}

/* The most likely token after each text whose end was in the pass. */
static void take_tokens(struct engine *drafter, struct draft *const *list, int n)
{
    const size_t n_vocab = (size_t)drafter->model->config.n_vocab;
    for (int i = 0; i < n; i++) {
        struct draft *d = list[i];
        if (d->row < 0)
            continue;
        const float *logits = drafter->logits + (size_t)d->row * n_vocab;
        d->text[d->n_text + (size_t)d->n_made++] =
            (token_id)sampling_kernels()->argmax(logits, (size_t)d->n_vocab);
        d->row = -1;
    }
}

static void add_text(struct engine *drafter, struct draft *d)
{
    const int pending = (int)d->n_text + d->n_made - d->read.n, room = engine_room(drafter);
    const int n = pending < room ? pending : room;
    if (n == 0)
        return;
    if (engine_add(drafter, &d->read, d->text + d->read.n, n, n == pending ? n - 1 : n) != 0)
        d->n_wanted = d->n_made; /* no page is left */
    else if (n == pending)
        d->row = drafter->n_hidden - 1;
}

/* Between two passes, by thread 0. */
static void plan_pass(struct engine *drafter, struct draft *const *list, int n)
{
    take_tokens(drafter, list, n);
    engine_begin(drafter);
    for (int i = 0; i < n; i++)
        if (list[i]->n_made < list[i]->n_wanted)
            add_text(drafter, list[i]);
    engine_advance(drafter);
}

void draft_model_run(struct engine *drafter, struct draft *const *list, int n, int thread,
                     int n_threads)
{
    for (;;) {
        if (thread == 0)
            plan_pass(drafter, list, n);
        par_barrier();
        if (drafter->n_pass == 0)
            return;
        engine_pass(drafter, drafter->logits, thread, n_threads);
    }
}
