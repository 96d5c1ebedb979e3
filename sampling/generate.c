#include "sampling/generate.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "sampling/search/search.h"
#include "sampling/slots.h"

#include <limits.h>

/* The whole text to go on from: the sequence's, the prompt's, or one behind the other. */
static int put_together(struct ids *text, const struct sequence *s, const struct prompt *prompt)
{
    int rc = 0;
    if (prompt == NULL || prompt->append)
        rc = ids_add(text, s->ids.data, s->ids.n);
    if (rc == 0 && prompt != NULL)
        rc = ids_add(text, prompt->ids.data, prompt->ids.n);
    return rc;
}

static void say_slid(const struct sequence *s, const struct generate_host *host)
{
    char sentence[128];
    prompt_slid_sentence(sentence, sizeof sentence, s->engine->model);
    if (host->status != NULL)
        host->status(host->user, sentence);
}

/* Into the sequence, of which only what is new is computed. */
static int read_prompt(struct sequence *s, const struct ids *text, const struct generate_host *host,
                       struct answer *first)
{
    double start = clock_s();
    size_t cached = sequence_cached(s), n = 0;
    while (n < cached && n < text->n && text->data[n] == s->ids.data[n])
        n++;
    first->n_prompt = (int)text->n;
    first->n_reused = (int)n;
    int rc = sequence_set(s, text->data, text->n, host->progress);
    first->prefill_s = clock_s() - start;
    return rc;
}

/* The sequence goes on with the first answer. */
static int adopt(void *user, const struct desk *d)
{
    struct sequence *s = user;
    if (d->writing.index == 0)
        sequence_become(s, &d->seq, d->text, (size_t)d->slot->n_text, NULL);
    return 0;
}

/* Greedy and sampling: all answers at once, or as many as the engine holds. */
static int sample(struct sequence *s, const struct ids *text, bool held_blank,
                  const struct generate_config *g, const struct sampler_config *c,
                  const struct generate_host *host, struct answer *answers)
{
    struct engine *e = s->engine;
    struct slots slots;
    int n = g->num_return_sequences, at_once = n < e->max_seqs ? n : e->max_seqs, started = 0;
    int rc = slots_init(&slots, e, at_once, g, c, host);
    if (rc != 0)
        return rc;
    slots.ended = adopt;
    slots.user = s;
    while (rc == 0 && (started < n || slots.n_busy > 0)) {
        /* Once the sequence has gone on with its answer, the prompt is shared from a slot. */
        const struct sequence *read = s->n_logits == text->n ? s : NULL;
        while (rc == 0 && started < n && slots.n_busy < at_once) {
            struct writing w = {.ids = text->data,
                                .n_ids = (int)text->n,
                                .held_blank = held_blank,
                                .generate = g,
                                .sampler = c,
                                .draw = c->draw + started,
                                .read = read,
                                .answer = &answers[started],
                                .index = started};
            rc = slots_start(&slots, &w);
            started += rc == 0;
        }
        if (rc == 0)
            rc = slots_step(&slots, INT_MAX);
    }
    for (; started < n; started++)
        answers[started].finish = rc == ERR_INTERRUPTED ? FINISH_INTERRUPTED : FINISH_ERROR;
    slots_release(&slots);
    return rc;
}

int generate(struct sequence *s, const struct prompt *prompt, const struct generate_config *g,
             const struct sampler_config *c, const struct generate_host *host,
             struct answer *answers)
{
    static const struct generate_host SILENT = {0};
    struct ids text = {0};
    bool slid = false, held_blank = prompt != NULL && prompt->held_blank;
    int rc;
    host = host == NULL ? &SILENT : host;
    if ((rc = generate_config_check(g, c)) != 0 || (rc = put_together(&text, s, prompt)) != 0 ||
        (rc = prompt_fit(&text, &slid, s->engine, g)) != 0)
        goto out;
    if (slid)
        say_slid(s, host);
    rc = read_prompt(s, &text, host, &answers[0]);
    for (int i = 0; i < g->num_return_sequences; i++) {
        answers[i].n_prompt = answers[0].n_prompt;
        answers[i].n_reused = answers[0].n_reused;
        answers[i].prefill_s = answers[0].prefill_s;
        answers[i].slid = slid;
        answers[i].finish = rc == ERR_INTERRUPTED ? FINISH_INTERRUPTED : FINISH_ERROR;
    }
    if (rc != 0)
        goto out;
    if (g->num_beams > 1)
        rc = search_beams(s, held_blank, g, c, host, answers);
    else if (g->penalty_alpha > 0)
        rc = search_contrastive(s, held_blank, g, c, host, &answers[0]);
    else
        rc = sample(s, &text, held_blank, g, c, host, answers);
out:
    ids_release(&text);
    return rc;
}
