#include "repl/session/turn.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <stdio.h>

static void drop_answers(struct turn *t)
{
    for (int i = 0; i < t->n_answers; i++)
        ids_release(&t->answers[i]);
    mem_free(t->answers);
    t->answers = NULL;
    t->n_answers = 0;
}

void turn_release(struct turn *t)
{
    ids_release(&t->replaced);
    ids_release(&t->prompt);
    drop_answers(t);
    settings_release(&t->settings);
    *t = (struct turn){0};
}

int turn_begin(struct turn *t, const struct ids *text, bool held_space, bool more)
{
    t->before_held = held_space;
    t->n_before = more ? text->n : 0;
    return more ? 0 : ids_add(&t->replaced, text->data, text->n);
}

void turn_take_prompt(struct turn *t, struct prompt *p, const struct ids *text,
                      const struct answer *a)
{
    ids_release(&t->prompt);
    t->held_space = p->held_space;
    t->begun = p->begun;
    t->slid = a->slid;
    t->n_prompt = text->n - a->ids.n;
    if (a->slid || a->unread) {
        t->prompt = p->ids;
        t->n_prompt = p->ids.n;
        p->ids = (struct ids){0};
    }
}

int turn_take_answers(struct turn *t, const struct answer *answers, int n)
{
    drop_answers(t);
    t->answers = mem_array((size_t)n, sizeof *t->answers);
    if (t->answers == NULL)
        return ERR_NOMEM;
    t->ended = answers[0].finish == FINISH_STOP_TOKEN;
    t->n_answers = n;
    int rc = 0;
    for (int i = 0; i < n && rc == 0; i++)
        rc = ids_add(&t->answers[i], answers[i].ids.data, answers[i].ids.n);
    return rc;
}

/* More is of no session: numbers are counted on from there. */
static const long long MOST_DRAWN = 1LL << 52;

/* A comment to whoever reads the settings. */
#define ANSWER_LINE                                                                                \
    "# answer: text %zu prompt %zu of %zu seed %llu draw %lld position %lld drawn %lld "           \
    "held %d begun %d ended %d\n"

int turn_format(const struct turn *t, const struct ids *text, struct buf *out)
{
    const struct sampler_config *c = &t->settings.sampler;
    if (t->prompt.n > 0 || t->n_prompt >= text->n)
        return 0;
    return buf_printf(out, ANSWER_LINE, t->replaced.n > 0 ? (size_t)0 : t->n_before, t->n_prompt,
                      text->n, (unsigned long long)c->seed, (long long)c->draw,
                      (long long)c->position, (long long)t->n_drawn, t->held_space, t->begun,
                      t->ended);
}

bool turn_parse(struct turn *t, const char *settings, const struct ids *text)
{
    struct sampler_config *c = &t->settings.sampler;
    size_t before, prompt, n;
    unsigned long long seed;
    long long draw, position, drawn;
    int held, begun, ended;
    if (sscanf(settings, ANSWER_LINE, &before, &prompt, &n, &seed, &draw, &position, &drawn, &held,
               &begun, &ended) != 10 ||
        n != text->n || prompt == 0 || prompt >= n || before > prompt || draw < 0 ||
        draw > MOST_DRAWN || position < 0 || position > MOST_DRAWN || drawn < 0 ||
        drawn > MOST_DRAWN)
        return false;
    const struct answer answer = {.ids = {.data = text->data + prompt, .n = n - prompt},
                                  .finish = ended ? FINISH_STOP_TOKEN : FINISH_LENGTH};
    if (turn_take_answers(t, &answer, 1) != 0)
        return false;
    t->n_before = before;
    t->n_prompt = prompt;
    t->held_space = held != 0;
    t->begun = begun != 0;
    t->n_drawn = drawn;
    c->seed = seed;
    c->draw = draw;
    c->position = position;
    return true;
}

const token_id *turn_prompt(const struct turn *t, const struct ids *text, size_t *n)
{
    *n = t->n_prompt;
    return t->prompt.n > 0 ? t->prompt.data : text->data;
}

int turn_copy_prompt(const struct turn *t, const struct ids *text, struct prompt *p)
{
    size_t n;
    const token_id *ids = turn_prompt(t, text, &n);
    p->held_space = t->held_space;
    p->begun = t->begun;
    return ids_add(&p->ids, ids, n);
}

const token_id *turn_before(const struct turn *t, const token_id *prompt, size_t *n)
{
    *n = t->replaced.n > 0 ? t->replaced.n : t->n_before;
    return t->replaced.n > 0 ? t->replaced.data : prompt;
}
