#include "train/data/left_out.h"

#include "model/base/err.h"
#include "model/base/file_show.h"

enum { NAMED = 5, NAME_BYTES = 120 };

int left_out_add(struct left_out *l, const char *name)
{
    char shown[NAME_BYTES];
    if (l->n++ == 0)
        return buf_str(&l->first, err_text());
    return l->n > NAMED ? 0 : buf_printf(&l->more, ", %s", file_show(shown, sizeof shown, name));
}

void left_out_note(const struct left_out *l, const struct progress *p)
{
    if (l->n > NAMED)
        progress_note(p, "left out: %s; also%s and %zu more", buf_text(&l->first),
                      buf_text(&l->more) + 1, l->n - NAMED);
    else if (l->n > 1)
        progress_note(p, "left out: %s; also%s", buf_text(&l->first), buf_text(&l->more) + 1);
    else if (l->n == 1)
        progress_note(p, "left out: %s", buf_text(&l->first));
}

void left_out_release(struct left_out *l)
{
    buf_release(&l->first);
    buf_release(&l->more);
    *l = (struct left_out){0};
}
