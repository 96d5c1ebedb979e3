#include "sampling/search/search.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/profile.h"
#include "sampling/search/beam.h"
#include "sampling/search/contrastive.h"
#include "sampling/text/prompt.h"
#include "sampling/text/speller.h"

#include <string.h>

/* Decode an answer's ids up to the first stop string, where they end. */
static int spell_answer(struct answer *a, int index, struct speller *sp,
                        const struct listener *listener)
{
    size_t n = 0;
    int rc = 0;
    while (rc == 0 && n < a->ids.n && !sp->stream.stopped)
        rc = listener_add_text(listener, a, index, sp->bytes,
                               stream_push(&sp->stream, a->ids.data[n++], sp->bytes));
    if (sp->stream.stopped) {
        a->ids.n = n;
        speller_end(sp, a);
    }
    return rc != 0 ? rc
                   : listener_add_text(listener, a, index, sp->bytes,
                                       stream_finish(&sp->stream, sp->bytes));
}

static int search_beams(struct sequence *s, bool held_space, const struct generate_config *g,
                        const struct sampler_config *c, struct listener *listener,
                        struct answer *answers)
{
    struct speller sp;
    size_t n_prompt = s->ids.n;
    double start = clock_s();
    int interrupted = 0, rc = speller_init(&sp, g, s->engine->model, 1);
    if (rc != 0)
        goto out;
    for (int i = 0; i < g->num_return_sequences; i++)
        answers[i].finish = FINISH_LENGTH;
    if (g->max_new_tokens == 0)
        goto out;
    rc = beam_search(s, g, c, &sp.stop_tokens, held_space, &listener->callbacks, answers);
    if (rc != 0 && rc != ERR_INTERRUPTED)
        goto out;
    interrupted = rc;
    rc = 0;
    for (int i = 0; rc == 0 && i < g->num_return_sequences; i++) {
        answers[i].decode_s = clock_s() - start;
        stream_reset(&sp.stream, held_space);
        rc = spell_answer(&answers[i], i, &sp, listener);
    }
    sequence_truncate(s, n_prompt + answers[0].ids.n);
    if (answers[0].finish == FINISH_CONTEXT && g->on_full == ON_FULL_SLIDE)
        listener_report(listener, "context full: a beam search ends there, its beams cannot slide");
out:
    speller_release(&sp);
    return rc != 0 ? rc : interrupted;
}

/* Continue from the newest half of a full context. */
static int slide_context(struct contrastive **k, struct sequence *s,
                         const struct generate_config *g, const struct sampler_config *c,
                         const struct stop_tokens *stop, struct listener *listener,
                         struct answer *a)
{
    int n_ctx = s->engine->model->config.n_ctx;
    contrastive_free(*k);
    *k = NULL;
    listener_report_slide(listener);
    a->slid = true;
    int rc = sequence_slide(s, (size_t)prompt_slide_length(n_ctx), listener->callbacks.progress);
    return rc != 0 ? rc
                   : contrastive_new(k, s, g, c, stop, (int)a->ids.n, false,
                                     listener->callbacks.progress);
}

/* Allocate the log-probabilities of a whole answer, if wanted. */
static int reserve_logprobs(struct answer *a, const struct generate_config *g,
                            const struct listener *listener)
{
    if (!listener->callbacks.want_logprobs)
        return 0;
    a->logprobs = mem_array((size_t)g->max_new_tokens, sizeof *a->logprobs);
    return a->logprobs == NULL ? ERR_NOMEM : 0;
}

static int append_token(struct answer *a, const struct sampled *token, struct speller *sp,
                        const struct listener *listener)
{
    if (a->logprobs != NULL)
        a->logprobs[a->ids.n] = token->logprob;
    int rc = ids_add(&a->ids, &token->id, 1);
    return rc != 0 ? rc
                   : listener_add_text(listener, a, 0, sp->bytes,
                                       stream_push(&sp->stream, token->id, sp->bytes));
}

static int search_contrastive(struct sequence *s, bool held_space, const struct generate_config *g,
                              const struct sampler_config *c, struct listener *listener,
                              struct answer *a)
{
    struct speller sp;
    struct contrastive *k = NULL;
    struct sampled token;
    double start = clock_s();
    int rc = speller_init(&sp, g, s->engine->model, 1);
    if (rc != 0 || (rc = reserve_logprobs(a, g, listener)) != 0 ||
        (rc = contrastive_new(&k, s, g, c, &sp.stop_tokens, 0, held_space,
                              listener->callbacks.progress)) != 0)
        goto out;
    stream_reset(&sp.stream, held_space);
    a->finish = FINISH_LENGTH;
    while (rc == 0 && a->ids.n < (size_t)g->max_new_tokens && !sp.stream.stopped) {
        bool full = kvcache_text_room(&s->engine->cache, s->ids.n) == 0;
        if (full && g->on_full == ON_FULL_STOP) {
            a->finish = FINISH_CONTEXT;
            break;
        }
        if ((full && (rc = slide_context(&k, s, g, c, &sp.stop_tokens, listener, a)) != 0) ||
            (rc = progress_step(NULL, NULL, 0, 0)) != 0 || (rc = contrastive_next(k, &token)) != 0)
            break;
        if (token.id == TOKEN_NONE) {
            a->finish = finish_of(contrastive_end(k));
            break;
        }
        if (stop_tokens_has(&sp.stop_tokens, token.id)) {
            sequence_truncate(s, s->ids.n - 1);
            a->finish = FINISH_STOP_TOKEN;
            break;
        }
        rc = append_token(a, &token, &sp, listener);
    }
    speller_end(&sp, a);
    if (rc == 0 || rc == ERR_INTERRUPTED) {
        int shown =
            listener_add_text(listener, a, 0, sp.bytes, stream_finish(&sp.stream, sp.bytes));
        rc = shown != 0 ? shown : rc;
    }
    a->decode_s = clock_s() - start;
out:
    if (rc == ERR_INTERRUPTED)
        a->finish = FINISH_INTERRUPTED;
    contrastive_free(k);
    speller_release(&sp);
    return rc;
}

/* Copy the first answer; decode_s is that of all answers together. */
static int repeat_answer(struct answer *a, int index, const struct answer *first,
                         const struct listener *listener)
{
    a->finish = first->finish;
    a->n_whole = first->n_whole;
    a->n_part = first->n_part;
    a->slid = first->slid;
    a->decode_s = first->decode_s;
    if (first->logprobs != NULL && first->ids.n > 0) {
        a->logprobs = mem_array(first->ids.n, sizeof *a->logprobs);
        if (a->logprobs == NULL)
            return ERR_NOMEM;
        memcpy(a->logprobs, first->logprobs, first->ids.n * sizeof *a->logprobs);
    }
    int rc = ids_add(&a->ids, first->ids.data, first->ids.n);
    return rc != 0 ? rc
                   : listener_add_text(listener, a, index, buf_text(&first->text), first->text.n);
}

static int run_search(struct sequence *s, bool held_space, const struct generate_config *g,
                      const struct sampler_config *c, struct listener *listener,
                      struct answer *answers)
{
    if (g->num_beams > 1)
        return search_beams(s, held_space, g, c, listener, answers);
    int rc = search_contrastive(s, held_space, g, c, listener, &answers[0]);
    for (int i = 1; i < g->num_return_sequences && (rc == 0 || rc == ERR_INTERRUPTED); i++) {
        int repeated = repeat_answer(&answers[i], i, &answers[0], listener);
        rc = repeated != 0 ? repeated : rc;
    }
    return rc;
}

int search_run(struct sequence *s, bool held_space, const struct generate_config *g,
               const struct sampler_config *c, struct listener *listener, struct answer *answers)
{
    profile_begin(SPAN_DECODE, -1);
    profile_set(PART_SAMPLING);
    int rc = run_search(s, held_space, g, c, listener, answers);
    profile_end();
    return rc;
}
