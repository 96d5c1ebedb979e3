#include "sampling/search/beam.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/kernels/log_sum_exp.h"
#include "model/kernels/sampling_kernels.h"
#include "sampling/chain/logits.h"
#include "sampling/text/prompt.h"

#include <float.h>
#include <math.h>
#include <string.h>

/*
 * One step:
 *
 *     feed_beams    logits of all open beams in one pass
 *     extend_beam   for each: its best continuations, into the 2 n_beams best steps of all
 *     choose_beams  steps that end in a stop token become finished hypotheses, the others the beams
 *                   of the next step, which fork the pages of those they continue
 *
 * A beam is a kv_seq and its new ids, not a sequence: its logits are a row of the pass, and all
 * beams share the prompt's ids. An open beam's kv holds the prompt and all new ids but the last.
 */

/* A hypothesis: open (a beam, with keys and values) or ended. */
struct hypothesis {
    token_id *ids;   /* [room], new tokens */
    float *logprobs; /* [room], under the model */
    int n;
    double sum;         /* of processed log-probabilities, the stop token's too */
    double score;       /* sum / length ^ length_penalty, once finished */
    enum finish finish; /* the same */
    struct kv_seq seq;
};

/* A beam and a token to go on with. */
struct step {
    double sum;
    int beam;
    token_id id;
    float logprob;
};

struct search {
    struct sequence *sequence;
    const struct generate_config *config;
    struct sampler *sampler;
    const struct stop_tokens *stop;
    int n_vocab, n_prompt;
    int room;                    /* new tokens at most */
    struct hypothesis *beams;    /* [n_beams], the first n_open in use */
    struct hypothesis *next;     /* [n_beams], the beams of the step after */
    struct hypothesis *finished; /* [n_beams], the first n_finished in use */
    int n_beams, n_open, n_finished;
    int n_new;          /* tokens of every open beam */
    struct step *steps; /* [2 n_beams], the best first */
    int n_steps;
    float *scores;             /* [V] */
    int32_t *index;            /* [V] */
    token_id *text;            /* [n_prompt + room]: what the stages look at */
    struct engine_feed *feeds; /* [n_beams] */
    void *block;               /* the arrays above */
};

static int carve_hypotheses(struct search *b, struct hypothesis **list, int n, bool open,
                            struct arena *a)
{
    *list = arena_take(a, (size_t)n * sizeof **list);
    for (int i = 0; i < n; i++) {
        token_id *ids = arena_take(a, (size_t)b->room * sizeof *ids);
        float *logprobs = arena_take(a, (size_t)b->room * sizeof *logprobs);
        if (!a->base)
            continue;
        (*list)[i].ids = ids;
        (*list)[i].logprobs = logprobs;
        if (open && kv_seq_init(&(*list)[i].seq, &b->sequence->engine->cache) != 0)
            return ERR_NOMEM;
    }
    return 0;
}

static int carve_beams(struct search *b, struct arena *a)
{
    size_t n = (size_t)b->n_beams, n_vocab = (size_t)b->n_vocab;
    b->steps = arena_take(a, 2 * n * sizeof *b->steps);
    b->scores = arena_take(a, n_vocab * sizeof *b->scores);
    b->index = arena_take(a, n_vocab * sizeof *b->index);
    b->text = arena_take(a, (size_t)(b->n_prompt + b->room) * sizeof *b->text);
    b->feeds = arena_take(a, n * sizeof *b->feeds);
    int rc = carve_hypotheses(b, &b->beams, b->n_beams, true, a);
    if (rc == 0)
        rc = carve_hypotheses(b, &b->next, b->n_beams, true, a);
    return rc ? rc : carve_hypotheses(b, &b->finished, b->n_beams, false, a);
}

static void release_search(struct search *b)
{
    struct kvcache *cache = &b->sequence->engine->cache;
    for (int i = 0; b->beams && i < b->n_beams; i++)
        kv_seq_release(&b->beams[i].seq, cache);
    for (int i = 0; b->next && i < b->n_beams; i++)
        kv_seq_release(&b->next[i].seq, cache);
    sampler_free(b->sampler);
    mem_free(b->block);
}

static int init_search(struct search *b, const struct sampler_config *c, bool held_space)
{
    const struct config *model = &b->sequence->engine->model->config;
    struct arena size = {0};
    b->n_vocab = model->n_vocab;
    b->n_prompt = (int)b->sequence->ids.n;
    b->n_beams = b->config->num_beams;
    b->room = (int)kvcache_text_room(&b->sequence->engine->cache, b->sequence->ids.n);
    if (b->config->max_new_tokens < b->room)
        b->room = b->config->max_new_tokens;
    if (b->config->num_return_sequences > b->n_beams)
        return err_set(ERR_RANGE, "num_return_sequences must be at most num_beams (%d), not %d",
                       b->n_beams, b->config->num_return_sequences);
    carve_beams(b, &size);
    b->block = mem_alloc(size.used);
    b->beams = b->next = NULL; /* sized, not there */
    int rc = b->block ? carve_beams(b, &(struct arena){.base = b->block}) : ERR_NOMEM;
    if (rc == 0)
        rc = sampler_new(&b->sampler, c, b->n_vocab, model->n_ctx,
                         b->sequence->engine->model->tokenizer, b->stop);
    if (rc)
        return rc;
    sampler_reset(b->sampler, c->draw, held_space);
    memcpy(b->text, b->sequence->ids.data, b->sequence->ids.n * sizeof *b->text);
    kv_seq_fork(&b->beams[0].seq, &b->sequence->kv, &b->sequence->engine->cache, b->n_prompt);
    b->n_open = 1;
    return 0;
}

static double length_score(const struct search *b, double sum, int length)
{
    return sum / pow(length > 1 ? length : 1, (double)b->config->length_penalty);
}

static void copy_beam(struct hypothesis *to, const struct hypothesis *from)
{
    memcpy(to->ids, from->ids, (size_t)from->n * sizeof *to->ids);
    memcpy(to->logprobs, from->logprobs, (size_t)from->n * sizeof *to->logprobs);
    to->n = from->n;
    to->sum = from->sum;
}

/* The earliest of several. */
static int worst_finished(const struct search *b)
{
    int worst = 0;
    for (int i = 1; i < b->n_finished; i++)
        if (b->finished[i].score < b->finished[worst].score)
            worst = i;
    return worst;
}

/* Its memory stays, behind the others. */
static struct hypothesis take_finished(struct search *b, int at)
{
    const struct hypothesis taken = b->finished[at];
    b->n_finished--;
    memmove(&b->finished[at], &b->finished[at + 1], (size_t)(b->n_finished - at) * sizeof taken);
    b->finished[b->n_finished] = taken;
    return taken;
}

/* Add a hypothesis to the finished ones; where they are n_beams, the worst goes for one that is
 * better, as in transformers. length counts the stop token. */
static void finish_hypothesis(struct search *b, const struct hypothesis *h, double sum, int length,
                              enum finish finish)
{
    const double score = length_score(b, sum, length);
    if (b->n_finished == b->n_beams) {
        const int worst = worst_finished(b);
        if (score <= b->finished[worst].score)
            return;
        take_finished(b, worst);
    }
    struct hypothesis *last = &b->finished[b->n_finished++];
    copy_beam(last, h);
    last->sum = sum;
    last->score = score;
    last->finish = finish;
}

/* ---- one step ---- */

/* Of equal sums, the earlier beam and then the lower id come first. */
static void add_step(struct search *b, struct step step)
{
    int most = 2 * b->n_beams, at = b->n_steps;
    if (b->n_steps < most)
        b->n_steps++;
    else if (step.sum <= b->steps[--at].sum)
        return;
    for (; at > 0 && b->steps[at - 1].sum < step.sum; at--)
        b->steps[at] = b->steps[at - 1];
    b->steps[at] = step;
}

/* Add the best continuations of one beam to b->steps. */
static int extend_beam(struct search *b, int beam, const float *logits)
{
    const struct sampling_kernels *k = sampling_kernels();
    const struct hypothesis *h = &b->beams[beam];
    size_t n = (size_t)b->n_vocab;
    if (!logits_are_finite(logits, n))
        return logits_refuse(b->sequence->engine->model, (size_t)(b->n_prompt + h->n));
    double log_sum = log_sum_exp(logits, n);
    for (size_t i = 0; i < n; i++)
        b->scores[i] = (float)((double)logits[i] - log_sum);
    memcpy(b->text + b->n_prompt, h->ids, (size_t)h->n * sizeof *h->ids);
    int rc = sampler_adjust(b->sampler, b->scores, b->text, (size_t)(b->n_prompt + h->n), h->n);
    if (rc != 0)
        return rc;

    /* Skip what cannot be among the best; the bound is rounded towards keeping. */
    float least = -FLT_MAX;
    if (b->n_steps == 2 * b->n_beams)
        least = nextafterf((float)(b->steps[b->n_steps - 1].sum - h->sum), -FLT_MAX);
    int found = (int)k->select(b->index, b->scores, n, least, INFINITY);
    const enum sampler_end end = sampler_end(b->sampler);
    if (found == 0 && end != SAMPLER_GOES_ON && k->max(b->scores, n) == -INFINITY)
        finish_hypothesis(b, h, end == SAMPLER_COMPLETE ? h->sum : -INFINITY, h->n, finish_of(end));
    for (int i = 0; i < found; i++) {
        token_id id = b->index[i];
        add_step(b, (struct step){h->sum + (double)b->scores[id], beam, id,
                                  (float)((double)logits[id] - log_sum)});
    }
    return 0;
}

/* Whether no open beam can beat the finished ones. best: the highest sum of this step. */
static bool is_search_done(const struct search *b, double best)
{
    if (b->n_finished < b->n_beams)
        return false;
    if (b->config->early_stopping == EARLY_STOPPING_TRUE)
        return true;
    const double worst = b->finished[worst_finished(b)].score;
    bool at_most =
        b->config->early_stopping == EARLY_STOPPING_NEVER && b->config->length_penalty > 0;
    return worst >= length_score(b, best, at_most ? b->room : b->n_new + 1);
}

/* The best steps become finished hypotheses and the beams that stay open. */
static void choose_beams(struct search *b)
{
    struct kvcache *cache = &b->sequence->engine->cache;
    int n_next = 0;
    for (int rank = 0; rank < b->n_steps && n_next < b->n_beams; rank++) {
        const struct step *step = &b->steps[rank];
        const struct hypothesis *from = &b->beams[step->beam];
        if (stop_tokens_has(b->stop, step->id)) {
            if (rank < b->n_beams)
                finish_hypothesis(b, from, step->sum, b->n_new + 1, FINISH_STOP_TOKEN);
            continue;
        }
        struct hypothesis *to = &b->next[n_next++];
        copy_beam(to, from);
        to->sum = step->sum;
        to->ids[to->n] = step->id;
        to->logprobs[to->n++] = step->logprob;
        kv_seq_fork(&to->seq, &from->seq, cache, from->seq.n);
    }
    for (int i = 0; i < b->n_open; i++)
        kv_seq_truncate(&b->beams[i].seq, cache, 0);
    struct hypothesis *was = b->beams;
    b->beams = b->next;
    b->next = was;
    b->n_open = n_next;
}

/* The logits of all open beams, in one pass. */
static int feed_beams(struct search *b)
{
    for (int i = 0; i < b->n_open; i++) {
        struct hypothesis *h = &b->beams[i];
        b->feeds[i] = (struct engine_feed){.seq = &h->seq, .ids = &h->ids[h->n - 1], .n = 1};
    }
    return engine_feed(b->sequence->engine, b->feeds, b->n_open, b->sequence->engine->logits, NULL);
}

static int run_search(struct search *b, bool held_space, const struct progress *progress)
{
    struct engine *e = b->sequence->engine;
    float *logits = e->logits;
    memcpy(logits, b->sequence->logits, (size_t)b->n_vocab * sizeof *logits);
    if (held_space)
        prompt_mask_logits(e->model, logits);
    bool done = false;
    while (!done && b->n_open > 0 && b->n_new < b->room) {
        int rc = progress_step(progress, "searching", (uint64_t)b->n_new, (uint64_t)b->room);
        if (rc == 0 && b->n_new > 0)
            rc = feed_beams(b);
        if (rc)
            return rc;
        b->n_steps = 0;
        for (int i = 0; i < b->n_open && rc == 0; i++)
            rc = extend_beam(b, i, logits + (size_t)i * (size_t)b->n_vocab);
        if (rc)
            return rc;
        double best = b->n_steps ? b->steps[0].sum : -INFINITY;
        choose_beams(b);
        done = is_search_done(b, best);
        b->n_new++;
    }
    if (done)
        b->n_open = 0;
    return 0;
}

/* ---- the answers ---- */

static enum finish open_finish(const struct search *b, bool interrupted)
{
    if (interrupted)
        return FINISH_INTERRUPTED;
    return b->room < b->config->max_new_tokens ? FINISH_CONTEXT : FINISH_LENGTH;
}

static int fill_answer(struct answer *a, const struct hypothesis *h, bool logprobs)
{
    int rc = ids_add(&a->ids, h->ids, (size_t)h->n);
    if (rc == 0 && logprobs) {
        a->logprobs = mem_array((size_t)h->n, sizeof *a->logprobs);
        if (!a->logprobs)
            return ERR_NOMEM;
        memcpy(a->logprobs, h->logprobs, (size_t)h->n * sizeof *a->logprobs);
    }
    a->score = h->score;
    a->finish = h->finish;
    return rc;
}

/* Best first; of equal scores the latest, as in transformers. */
static int fill_answers(struct search *b, struct answer *answers, bool logprobs, bool interrupted)
{
    const enum finish open = open_finish(b, interrupted);
    for (int i = 0; i < b->n_open; i++)
        finish_hypothesis(b, &b->beams[i], b->beams[i].sum, b->beams[i].n, open);
    for (int k = 0; k < b->config->num_return_sequences; k++) {
        answers[k].n_prompt = b->n_prompt;
        answers[k].finish = interrupted ? open : FINISH_NO_TOKEN;
        answers[k].score = -INFINITY;
        if (b->n_finished == 0) /* fewer texts were allowed than were asked for */
            continue;
        int best = 0;
        for (int i = 1; i < b->n_finished; i++)
            if (b->finished[i].score >= b->finished[best].score)
                best = i;
        const struct hypothesis h = take_finished(b, best);
        int rc = fill_answer(&answers[k], &h, logprobs);
        if (rc)
            return rc;
    }
    return ids_add(&b->sequence->ids, answers[0].ids.data, answers[0].ids.n);
}

int beam_search(struct sequence *s, const struct generate_config *g, const struct sampler_config *c,
                const struct stop_tokens *stop, bool held_space,
                const struct generate_callbacks *callbacks, struct answer *answers)
{
    const struct progress *progress = callbacks ? callbacks->progress : NULL;
    struct search b = {.sequence = s, .config = g, .stop = stop};
    if (g->num_beams > s->engine->max_seqs)
        return err_set(ERR_RANGE, "num_beams is %d, the engine was made for %d texts at once",
                       g->num_beams, s->engine->max_seqs);
    int rc = sequence_feed(s, NULL, 0, progress);
    if (rc)
        return rc;
    rc = init_search(&b, c, held_space);
    if (rc == 0)
        rc = run_search(&b, held_space, progress);
    if (rc == 0 || rc == ERR_INTERRUPTED) {
        int answered =
            fill_answers(&b, answers, callbacks && callbacks->want_logprobs, rc == ERR_INTERRUPTED);
        rc = answered ? answered : rc;
    }
    release_search(&b);
    return rc;
}
