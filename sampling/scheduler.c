#include "sampling/scheduler.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "sampling/search/search.h"
#include "sampling/slots.h"
#include "sampling/text/listener.h"
#include "sampling/text/prompt.h"

#include <limits.h>
#include <string.h>

/*
 * A queue of requests in order of input, in which they are also delivered:
 *
 *     first ----------- waiting ----------- last
 *     begun, or done    some answers        not begun
 *     out of order      not begun
 *
 * A request is done when n_ended == n. n_started counts the answers that got a slot; an error
 * counts the others as started and ended, since they never begin. A search waits until all slots
 * are idle.
 */

/* While slots are free and more input may come, input is polled this often. */
enum { STEPS_BETWEEN_LOOKS = 8 };

/* One request in the queue. */
struct pending {
    struct pending *next;
    struct generate_request request;
    int64_t draw;
    const struct generate_config *generate;
    const struct sampler_config *sampler;
    struct prompt prompt;
    struct answer *answers; /* [n] */
    int n, n_started, n_ended;
    int rc;
    char *sentence; /* the message of rc */
};

struct scheduler {
    struct engine *engine;
    const struct generate_config *generate;
    const struct sampler_config *sampler;
    const struct scheduler_callbacks *callbacks;
    struct listener listener;
    struct slots *slots; /* [n_slots]; NULL: all were searches so far */
    int n_slots;
    struct pending *first, **last; /* in order of input; the first is the next to deliver */
    struct pending *waiting;       /* the first that has not begun all its answers */
    int64_t n_draws;               /* one for each answer, and for each request without any */
    bool at_end;
    int input_rc; /* how the input ended */
    char *input_sentence;
    uint64_t n_done;
    struct scheduler_stats stats;
};

static void free_pending(struct pending *j)
{
    if (j->request.answers == NULL) {
        for (int i = 0; j->answers != NULL && i < j->n; i++)
            answer_release(&j->answers[i]);
        mem_free(j->answers);
    }
    prompt_release(&j->prompt);
    mem_free(j->sentence);
    mem_free(j);
}

/* Record the error in the request. Its answers that have begun run to their end. */
static void fail_request(struct pending *j, int rc)
{
    mem_free(j->sentence);
    j->sentence = mem_strdup(err_text());
    j->rc = rc;
    j->n_ended += j->n - j->n_started;
    j->n_started = j->n;
}

static int encode_prompt(const struct scheduler *b, struct pending *j)
{
    const struct generate_request *r = &j->request;
    if (r->text != NULL)
        return prompt_encode(&j->prompt, b->engine->model, j->generate, r->text, r->n);
    j->prompt.held_space = r->held_space;
    return ids_add(&j->prompt.ids, r->ids, r->n_ids);
}

/* Check and encode a request: everything that can be wrong with it is found here. */
static int prepare_request(struct scheduler *b, struct pending *j)
{
    const struct generate_request *r = &j->request;
    int n = j->generate->num_return_sequences;
    bool slid;
    if (r->rc != 0)
        return err_set(r->rc, "%s", r->error == NULL ? "no memory" : r->error);
    int rc = generate_config_check(j->generate, j->sampler);
    if (rc != 0 || (rc = encode_prompt(b, j)) != 0 ||
        (rc = prompt_fit(&j->prompt.ids, &slid, b->engine, j->generate)) != 0)
        return rc;
    j->answers = r->answers != NULL ? r->answers : mem_array((size_t)n, sizeof *j->answers);
    if (j->answers == NULL)
        return ERR_NOMEM;
    for (j->n = 0; j->n < n; j->n++)
        j->answers[j->n].slid = slid;
    if (slid)
        listener_report_slide(&b->listener);
    return 0;
}

static void end_input(struct scheduler *b, int rc)
{
    b->at_end = true;
    b->input_rc = rc;
    if (rc != 0)
        b->input_sentence = mem_strdup(err_text());
}

/* Append the next request to the queue, if there is one now. */
static int take_request(struct scheduler *b, bool wait)
{
    struct pending *j = mem_alloc(sizeof *j);
    if (j == NULL)
        return ERR_NOMEM;
    int got = b->callbacks->next(b->callbacks->user, &j->request, wait);
    if (got != REQUEST_READY) {
        mem_free(j);
        if (got != REQUEST_LATER)
            end_input(b, got);
        return 0;
    }
    j->generate = j->request.generate != NULL ? j->request.generate : b->generate;
    j->sampler = j->request.sampler != NULL ? j->request.sampler : b->sampler;
    j->draw = j->sampler->draw + (j->request.own_draw ? 0 : b->n_draws);
    j->request.draw = j->draw;
    int rc = prepare_request(b, j);
    if (rc != 0)
        fail_request(j, rc);
    else if (j->request.elsewhere)
        j->n_started = j->n_ended = j->n;
    b->n_draws += rc == 0 ? j->n : 1;
    *b->last = j;
    b->last = &j->next;
    b->waiting = b->waiting == NULL ? j : b->waiting;
    return 0;
}

static void count_request(struct scheduler_stats *stats, const struct pending *j)
{
    stats->n_prompts++;
    for (int i = 0; i < j->n; i++) {
        stats->n_new_tokens += (long)j->answers[i].ids.n;
        stats->n_drafted_tokens += j->answers[i].n_drafted;
        stats->n_accepted_tokens += j->answers[i].n_accepted;
    }
    if (j->n > 0) {
        stats->n_prompt_tokens += j->answers[0].n_prompt;
        stats->n_reused_tokens += j->answers[0].n_reused;
    }
}

/* Deliver requests from the front of the queue, up to the first that is not done. */
static int deliver_requests(struct scheduler *b)
{
    while (b->first != NULL && b->first->n_ended == b->first->n) {
        struct pending *j = b->first;
        if (j->rc != 0)
            err_set(j->rc, "%s", j->sentence == NULL ? "no memory" : j->sentence);
        count_request(&b->stats, j);
        int rc = b->callbacks->done(b->callbacks->user, &j->request, j->rc, j->answers,
                                    j->rc == 0 ? j->n : 0);
        b->waiting = b->waiting == j ? j->next : b->waiting;
        b->first = j->next;
        b->last = b->first == NULL ? &b->first : b->last;
        free_pending(j);
        if (rc != 0)
            return rc;
        b->n_done++;
        if (b->callbacks->progress != NULL && b->callbacks->progress->step != NULL)
            b->callbacks->progress->step(b->callbacks->progress->user, "prompts", b->n_done, 0);
    }
    return 0;
}

/* Make the prompt the text of a sequence. On Ctrl-C the sequence keeps the text it had, and the
 * answers are marked unread. */
static int read_prompt(const struct scheduler *b, struct pending *j, struct sequence *s)
{
    const struct ids *text = &j->prompt.ids;
    double start = clock_s();
    int n_reused = (int)sequence_common(s, text->data, text->n);
    int rc = sequence_set(s, text->data, text->n, b->listener.callbacks.progress);
    double prefill_s = clock_s() - start;
    for (int i = 0; i < j->n; i++) {
        struct answer *a = &j->answers[i];
        a->n_prompt = (int)text->n;
        a->n_reused = n_reused;
        a->prefill_s = prefill_s;
        a->unread = rc != 0;
        a->finish = rc == ERR_INTERRUPTED ? FINISH_INTERRUPTED : FINISH_ERROR;
    }
    return rc;
}

/* End all answers of a request at once. Returns an interrupt, which also ends the run. */
static int end_request(struct pending *j, int rc)
{
    j->n_started = j->n_ended = j->n;
    if (rc != 0 && rc != ERR_INTERRUPTED)
        fail_request(j, rc);
    return rc == ERR_INTERRUPTED ? rc : 0;
}

/* A search uses the engine alone: all slots are idle. */
static int run_search(struct scheduler *b, struct pending *j)
{
    struct sequence own = {0}, *sequence = j->request.sequence;
    struct engine larger = {0}; /* for a request with more texts than the engine holds */
    struct sampler_config sampler = *j->sampler;
    const int n = generate_texts(j->generate, j->sampler);
    int rc = 0;
    sampler.draw = j->draw;
    slots_clear(b->slots);
    double start = clock_s();
    if (sequence == NULL) {
        if (n > b->engine->max_seqs)
            rc = engine_init_as(&larger, b->engine->model, n, b->engine->cache.layout.dtype);
        if (rc == 0)
            rc = sequence_init(&own, larger.model != NULL ? &larger : b->engine);
        sequence = &own;
    }
    if (rc == 0)
        rc = read_prompt(b, j, sequence);
    if (rc == 0)
        rc = search_run(sequence, j->prompt.held_space, j->generate, &sampler, &b->listener,
                        j->answers);
    sequence_release(&own);
    engine_release(&larger);
    b->stats.decode_s += clock_s() - start;
    return end_request(j, rc);
}

static void end_answer(void *owner, int rc)
{
    struct pending *j = owner;
    j->n_ended++;
    if (rc != 0)
        fail_request(j, rc);
}

static int make_slots(struct scheduler *b)
{
    return b->slots != NULL
               ? 0
               : slots_new(&b->slots, b->engine, b->n_slots, b->generate, b->sampler, &b->listener);
}

/* Start the next answer of a request in a free slot. */
static int start_sample(struct scheduler *b, struct pending *j)
{
    struct sequence *read = j->request.sequence;
    const bool first = j->n_started == 0;
    int rc = make_slots(b);
    if (rc != 0)
        return rc;
    if (read != NULL && first && (rc = read_prompt(b, j, read)) != 0)
        return end_request(j, rc);
    /* Once the first answer has extended the sequence, the prompt is shared from a slot. */
    if (read != NULL && read->n_logits != j->prompt.ids.n)
        read = NULL;
    struct sample sample = {.ids = j->prompt.ids.data,
                            .n_ids = j->prompt.ids.n,
                            .read = read,
                            .in_place = read != NULL && first,
                            .held_space = j->prompt.held_space,
                            .generate = j->generate,
                            .sampler = j->sampler,
                            .draw = j->draw + j->n_started,
                            .answer = &j->answers[j->n_started],
                            .number = j->n_started,
                            .ended = end_answer,
                            .owner = j};
    if ((rc = slots_start(b->slots, &sample)) == 0)
        j->n_started++;
    else
        fail_request(j, rc);
    return 0;
}

/* Start answers while there are free slots and requests. */
static int fill_slots(struct scheduler *b)
{
    int rc = 0;
    while (rc == 0 && slots_room(b->slots)) {
        struct pending *j = b->waiting;
        bool idle = slots_busy(b->slots) == 0;
        if (j == NULL && b->at_end)
            return 0;
        if (j == NULL) {
            if ((idle && (rc = deliver_requests(b)) != 0) || (rc = take_request(b, idle)) != 0)
                return rc;
            if (b->waiting == NULL)
                return 0;
        } else if (j->n_started == j->n) {
            b->waiting = j->next;
        } else if (!search_wanted(j->generate)) {
            rc = start_sample(b, j);
        } else if (idle) {
            rc = run_search(b, j);
        } else {
            return 0;
        }
    }
    return rc;
}

/* End the answers that have not begun; the others have ended already. */
static void abandon_requests(struct scheduler *b)
{
    err_set(ERR_INTERRUPTED, "interrupted");
    for (struct pending *j = b->first; j != NULL; j = j->next) {
        if (j->n_started == 0 && j->n > 0)
            fail_request(j, ERR_INTERRUPTED);
        for (; j->n_started < j->n; j->n_started++, j->n_ended++)
            j->answers[j->n_started].finish = FINISH_INTERRUPTED;
    }
}

static int run_requests(struct scheduler *b)
{
    for (;;) {
        int rc = fill_slots(b);
        if (rc == 0 && (rc = deliver_requests(b)) != 0)
            return rc;
        if (rc == 0 && slots_busy(b->slots) > 0)
            rc = slots_step(b->slots,
                            slots_room(b->slots) && !b->at_end ? STEPS_BETWEEN_LOOKS : INT_MAX);
        else if (rc == 0 && b->first == NULL && b->at_end)
            return b->input_rc == 0 ? 0 : err_set(b->input_rc, "%s", b->input_sentence);
        if (rc == ERR_INTERRUPTED) {
            abandon_requests(b);
            rc = deliver_requests(b);
            return rc != 0 ? rc : err_set(ERR_INTERRUPTED, "interrupted");
        }
        if (rc != 0)
            return rc;
    }
}

static void note_status(void *user, const char *sentence)
{
    const struct scheduler *b = user;
    progress_note(b->callbacks->progress, "%s", sentence);
}

int scheduler_run(struct engine *e, const struct generate_config *g, const struct sampler_config *c,
                  int n_slots, const struct scheduler_callbacks *callbacks,
                  struct scheduler_stats *stats)
{
    struct scheduler b = {.engine = e,
                          .generate = g,
                          .sampler = c,
                          .callbacks = callbacks,
                          .n_slots = n_slots,
                          .listener = {.callbacks = {.status = note_status,
                                                     .want_logprobs = callbacks->want_logprobs},
                                       .model = e->model}};
    double start = clock_s();
    int rc = generate_config_check(g, c);
    if (rc != 0)
        return rc;
    b.listener.callbacks.user = &b;
    if (callbacks->live != NULL)
        b.listener.callbacks = *callbacks->live;
    b.last = &b.first;
    if (!search_wanted(g) && (rc = make_slots(&b)) != 0)
        return rc;
    rc = run_requests(&b);
    b.stats.wall_s = clock_s() - start;
    b.stats.prefill_s = slots_times(b.slots).prefill_s;
    b.stats.decode_s += slots_times(b.slots).decode_s;
    if (stats != NULL)
        *stats = b.stats;
    slots_free(b.slots);
    while (b.first != NULL) {
        struct pending *j = b.first;
        b.first = j->next;
        free_pending(j);
    }
    mem_free(b.input_sentence);
    return rc;
}
