#include "train/eval/windows.h"

#include "model/base/err.h"
#include "model/base/mem.h"

/* The first target that counts in any window: before it come `length` ids and no step. */
static size_t first_target(const struct windows *w)
{
    return w->whole ? 1 : (size_t)(w->length - w->step) + 1;
}

size_t windows_count(const struct windows *w)
{
    size_t length = (size_t)w->length, step = (size_t)w->step;
    if (w->n_ids <= first_target(w))
        return 0;
    size_t behind = w->n_ids - 1; /* the last target; the first window reaches target `length` */
    return behind <= length ? 1 : 1 + (behind - length + step - 1) / step;
}

static struct passage cut_window(const struct windows *w, const token_id *ids, size_t i)
{
    size_t at = i * (size_t)w->step, last = at + (size_t)w->length;
    size_t first = i == 0 ? first_target(w) : last - (size_t)w->step + 1;
    if (last > w->n_ids - 1)
        last = w->n_ids - 1;
    return (struct passage){.ids = ids + at, .n = last - at + 1, .first = first - at};
}

int windows_check(const struct windows *w, const char *name)
{
    if (w->step >= 1 && w->step <= w->length)
        return 0;
    return err_set(ERR_RANGE, "%s must be 1 to seq_length (%d), not %d", name, w->length, w->step);
}

int windows_cut(struct passage **list, size_t *n, const struct windows *w, const token_id *ids,
                struct evaluation *ev)
{
    ev->result->total = windows_count(w);
    *n = eval_limited(ev, ev->result->total);
    *list = mem_array(*n, sizeof **list);
    for (size_t i = 0; *list != NULL && i < *n; i++)
        (*list)[i] = cut_window(w, ids, i);
    return *list == NULL ? ERR_NOMEM : 0;
}
