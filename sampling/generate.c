#include "sampling/generate.h"

#include "sampling/scheduler.h"

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

int generate(struct sequence *s, const struct prompt *prompt, const struct generate_config *g,
             const struct sampler_config *c, const struct generate_callbacks *callbacks,
             struct answer *answers)
{
    static const struct generate_callbacks SILENT = {0};
    const struct ids *text = prompt == NULL ? &s->ids : &prompt->ids;
    int n = g->num_return_sequences, most = s->engine->max_seqs;
    struct single single = {.request = {.ids = text->data,
                                        .n_ids = text->n,
                                        .held_space = prompt != NULL && prompt->held_space,
                                        .sequence = s,
                                        .answers = answers}};
    const struct scheduler_callbacks through = {.next = give_request,
                                                .done = take_answers,
                                                .live = callbacks == NULL ? &SILENT : callbacks,
                                                .user = &single};
    return scheduler_run(s->engine, g, c, n < most ? n : most, &through, NULL);
}
