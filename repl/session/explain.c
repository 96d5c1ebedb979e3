#include "repl/session/explain.h"

#include "model/base/err.h"
#include "model/base/file_show.h"
#include "model/base/mem.h"
#include "sampling/score.h"
#include "sampling/search/search.h"
#include "sampling/text/prompt.h"

#include <string.h>

void chooser_plain(struct chooser *c)
{
    sampler_config_init(&c->config);
    c->config.temperature = c->config.top_p = 1;
    c->note = NULL;
}

/* Temperature 0 leaves one token alone, whatever it was taken from: that is what is shown. */
static void unfilter_sampler(struct sampler_config *c)
{
    c->temperature = c->top_p = c->typical_p = 1;
    c->dynatemp_range = c->min_p = c->top_n_sigma = c->xtc_probability = 0;
    c->top_k = c->mirostat = 0;
    c->topk_uniform = false;
}

void chooser_init(struct chooser *c, const struct settings *s)
{
    chooser_plain(c);
    if (s->generate.num_beams > 1) {
        c->note = "chosen by beam search, not sampled; the numbers are the model's own";
    } else if (s->generate.penalty_alpha > 0) {
        c->note = "chosen by contrastive search, not sampled; the numbers are the model's own";
    } else {
        c->config = s->sampler;
        if (s->sampler.temperature == 0) {
            c->note =
                "temperature 0 takes the likeliest token; the numbers are those it is taken from";
            unfilter_sampler(&c->config);
        }
    }
}

void chooser_of_next(struct chooser *c, const struct settings *s)
{
    chooser_init(c, s);
    if (s->sampler.temperature > 0 || search_wanted(&s->generate))
        return;
    c->config = s->sampler;
    c->note = "temperature 0 takes the likeliest token";
}

/* In whose place Mirostat cuts. */
static bool is_cut(const struct setting *row)
{
    const struct setting *const cuts[] = {
        OPTION(sampler.top_k),         OPTION(sampler.top_p),       OPTION(sampler.min_p),
        OPTION(sampler.typical_p),     OPTION(sampler.top_n_sigma), OPTION(sampler.xtc_probability),
        OPTION(sampler.xtc_threshold), OPTION(sampler.topk_uniform)};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
        if (row == cuts[i])
            return true;
    return false;
}

int chooser_describe(const struct settings *s, struct buf *out)
{
    struct chooser plain;
    struct settings neutral;
    const struct setting *row;
    int rc = buf_str(out, "% after");
    const size_t before = out->n;
    settings_init(&neutral); /* borrows its texts */
    chooser_plain(&plain);
    plain.config.chain = neutral.sampler.chain;
    plain.config.dry_breakers = neutral.sampler.dry_breakers;
    neutral.sampler = plain.config;
    for (int i = 0; rc == 0 && (row = settings_table_at(&options_table, i)) != NULL; i++) {
        const size_t first = offsetof(struct settings, sampler);
        struct buf value = {0}, off = {0};
        char shown[64]; /* a grammar may have many lines */
        if (row->offset < first || row->offset >= first + sizeof s->sampler || row->draws ||
            row->type == SETTING_SHORTHAND || (s->sampler.mirostat > 0 && is_cut(row)))
            continue;
        rc = setting_format(row, s, &value);
        if (rc == 0)
            rc = setting_format(row, &neutral, &off);
        if (rc == 0 && strcmp(buf_text(&value), buf_text(&off)) != 0)
            rc = buf_printf(out, "%s %s %s", out->n > before ? "," : "", row->name,
                            row->json ? file_show(shown, sizeof shown, buf_text(&value))
                                      : buf_text(&value));
        buf_release(&value);
        buf_release(&off);
    }
    if (rc == 0 && out->n == before)
        rc = buf_str(out, " the sampling settings");
    return rc == 0 ? buf_str(out, " and the model's own") : rc;
}

void explanation_release(struct explanation *e)
{
    mem_free(e->list);
    mem_free(e->others);
    *e = (struct explanation){0};
}

size_t explain_context(const struct kvcache *c, size_t begin, size_t n)
{
    return kvcache_text_room(c, n - begin) > 0 ? begin : n - (size_t)prompt_slide_length(c->n_ctx);
}

struct replay {
    const struct explained *text;
    const struct model *model;
    struct sampler *sampler;
    struct explanation *out;
    size_t begin;   /* of the context */
    float *logits;  /* [V], a copy that may be masked */
    bool remembers; /* the sampler depends on what was drawn (Mirostat) */
};

static void replay_token(void *user, size_t at, const float *logits)
{
    struct replay *p = user;
    const struct explained *t = p->text;
    const token_id *context = t->ids + p->begin;
    const size_t i = p->begin + at;
    const int n_new = (int)(i - t->start);
    memcpy(p->logits, logits, (size_t)p->model->config.n_vocab * sizeof *logits);
    if (n_new == 0 && t->held_space)
        prompt_mask_logits(p->model, p->logits);
    if (i >= t->first) {
        struct choice *c = &p->out->list[p->out->n++];
        c->number = i - t->start + 1;
        c->others = p->out->others + (i - t->first) * (size_t)t->max;
        c->n_others = sampler_explain(p->sampler, p->logits, context, at, n_new, t->ids[i],
                                      &c->chosen, c->others, t->max);
    }
    if (p->remembers)
        sampler_pick(p->sampler, p->logits, context, at, n_new);
}

/* Context by context, from the answer's first token where the sampler remembers them. */
static int replay_text(struct replay *p, struct engine *e, const struct progress *progress)
{
    const struct explained *t = p->text;
    int rc = 0;
    for (size_t i = t->start; i < t->last && rc == 0;) {
        p->begin = explain_context(&e->cache, p->begin, i);
        size_t end = i + kvcache_text_room(&e->cache, i - p->begin);
        end = end < t->last ? end : t->last;
        size_t from = !p->remembers && i < t->first ? t->first : i;
        if (from < end)
            rc = score_text(e, t->ids + p->begin, end - p->begin, from - p->begin, replay_token, p,
                            progress);
        i = end;
    }
    return rc;
}

static int new_sampler(struct sampler **out, const struct chooser *by, const struct settings *s,
                       const struct model *m)
{
    struct stop_tokens stop;
    int rc = generate_stop_tokens(&stop, &s->generate, m);
    return rc != 0 ? rc
                   : sampler_new(out, &by->config, m->config.n_vocab, m->config.n_ctx, m->tokenizer,
                                 &stop);
}

int explain(struct explanation *out, struct engine *e, const struct explained *text,
            const struct chooser *by, const struct settings *s, const struct progress *p)
{
    const size_t n = text->last - text->first;
    struct replay replay = {
        .text = text, .model = e->model, .out = out, .remembers = by->config.mirostat != 0};
    *out = (struct explanation){0};
    out->list = mem_array(n, sizeof *out->list);
    out->others = mem_array(n * (size_t)text->max, sizeof *out->others);
    replay.logits = mem_array((size_t)e->model->config.n_vocab, sizeof *replay.logits);
    int rc = out->list == NULL || out->others == NULL || replay.logits == NULL ? ERR_NOMEM : 0;
    if (rc == 0)
        rc = new_sampler(&replay.sampler, by, s, e->model);
    if (rc == 0) {
        sampler_reset(replay.sampler, by->config.draw, text->held_space);
        rc = replay_text(&replay, e, p);
    }
    sampler_free(replay.sampler);
    mem_free(replay.logits);
    if (rc != 0)
        explanation_release(out);
    return rc;
}

static void copy_logits(void *user, size_t i, const float *logits)
{
    struct replay *p = user;
    (void)i;
    memcpy(p->logits, logits, (size_t)p->model->config.n_vocab * sizeof *logits);
}

int explain_logits(float *logits, struct engine *e, const struct ids *text,
                   const struct progress *p)
{
    struct replay out = {.model = e->model, .logits = logits};
    struct ids whole = {0};
    if (text->n > (size_t)e->cache.n_ctx)
        return err_set(ERR_FULL, "the text has %zu tokens, the context holds %d", text->n,
                       e->cache.n_ctx);
    int rc = ids_add(&whole, text->data, text->n);
    if (rc == 0) /* whatever it is: a score's last id is not read */
        rc = ids_add(&whole, &(token_id){0}, 1);
    if (rc == 0)
        rc = score_text(e, whole.data, whole.n, text->n, copy_logits, &out, p);
    ids_release(&whole);
    return rc;
}

int explain_next(struct alternative *out, int max, float *logits, const struct model *m,
                 const struct ids *text, bool held_space, const struct chooser *by,
                 const struct settings *s)
{
    struct sampler *sampler = NULL;
    struct alternative none;
    int rc = new_sampler(&sampler, by, s, m);
    if (rc != 0)
        return rc;
    sampler_reset(sampler, by->config.draw, held_space);
    if (held_space)
        prompt_mask_logits(m, logits);
    int n = sampler_explain(sampler, logits, text->data, text->n, 0, 0, &none, out, max);
    sampler_free(sampler);
    return n;
}
