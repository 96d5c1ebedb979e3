#include "repl/session/turn.h"

void turn_release(struct turn *t)
{
    ids_release(&t->replaced);
    ids_release(&t->prompt);
    ids_release(&t->answer);
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
