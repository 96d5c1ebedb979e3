#include "sampling/generate.h"

#include "sampling/search/search.h"
#include "sampling/scheduler.h"

/* The text to go on from: the sequence's or the prompt's as it is, else put together in
 * `made`. */
static int choose_text(const struct ids **text, struct ids *made, bool *slid,
                       const struct sequence *s, const struct prompt *prompt,
                       const struct generate_config *g)
{
    *slid = false;
    *text = prompt == NULL ? &s->ids : &prompt->ids;
    if ((prompt == NULL || !prompt->append) && (*text)->n > 0 &&
        kvcache_text_room(&s->engine->cache, (*text)->n) > 0)
        return 0;
    int rc = 0;
    if (prompt == NULL || prompt->append)
        rc = ids_add(made, s->ids.data, s->ids.n);
    if (rc == 0 && prompt != NULL)
        rc = ids_add(made, prompt->ids.data, prompt->ids.n);
    *text = made;
    return rc == 0 ? prompt_fit(made, slid, s->engine, g) : rc;
}

static void say_slid(const struct sequence *s, const struct generate_callbacks *callbacks)
{
    char sentence[128];
    prompt_slid_sentence(sentence, sizeof sentence, s->engine->model);
    if (callbacks->status != NULL)
        callbacks->status(callbacks->user, sentence);
}

/* The only request of a scheduler. */
struct single {
    struct generate_request request;
    bool given;
};

static int give_request(void *user, struct generate_request *request, bool wait)
{
    struct single *single = user;
    (void)wait;
    if (single->given)
        return REQUEST_END;
    single->given = true;
    *request = single->request;
    return REQUEST_READY;
}

static int take_answers(void *user, const struct generate_request *request, int rc,
                        struct answer *answers, int n)
{
    (void)user;
    (void)request;
    (void)answers;
    (void)n;
    return rc;
}

/* Greedy and sampling: all answers at once, or as many as the engine holds. */
static int sample_answers(struct sequence *s, bool held_space, const struct generate_config *g,
                          const struct sampler_config *c,
                          const struct generate_callbacks *callbacks, struct answer *answers)
{
    int n = g->num_return_sequences, most = s->engine->max_seqs;
    struct single single = {
        .request = {.sequence = s, .held_space = held_space, .answers = answers}};
    const struct scheduler_callbacks through = {
        .next = give_request, .done = take_answers, .live = callbacks, .user = &single};
    return scheduler_run(s->engine, g, c, n < most ? n : most, &through, NULL);
}

int generate(struct sequence *s, const struct prompt *prompt, const struct generate_config *g,
             const struct sampler_config *c, const struct generate_callbacks *callbacks,
             struct answer *answers)
{
    static const struct generate_callbacks SILENT = {0};
    const struct ids *text;
    struct ids made = {0};
    bool slid, held_space = prompt != NULL && prompt->held_space;
    callbacks = callbacks == NULL ? &SILENT : callbacks;
    int rc = generate_config_check(g, c);
    if (rc == 0)
        rc = choose_text(&text, &made, &slid, s, prompt, g);
    if (rc == 0 && slid)
        say_slid(s, callbacks);
    if (rc == 0)
        rc = prompt_read(s, text, slid, g, callbacks->progress, answers);
    ids_release(&made);
    if (rc != 0)
        return rc;
    return search_wanted(g) ? search_run(s, held_space, g, c, callbacks, answers)
                            : sample_answers(s, held_space, g, c, callbacks, answers);
}
