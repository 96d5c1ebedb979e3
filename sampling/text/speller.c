#include "sampling/text/speller.h"

#include "model/base/err.h"
#include "model/base/mem.h"

int speller_init(struct speller *sp, const struct generate_config *g, const struct model *m,
                 size_t n)
{
    *sp = (struct speller){0};
    int rc = generate_stop_tokens(&sp->stop_tokens, g, m);
    if (rc != 0 || (rc = stop_strings_new(&sp->stops, g->stop)) != 0)
        return rc;
    if (sp->stops != NULL && m->tokenizer == NULL)
        return err_set(ERR_MISSING, "stop strings need a tokenizer, and this model has none");
    if ((rc = stream_init(&sp->stream, m->tokenizer, sp->stops)) != 0)
        return rc;
    sp->n_bytes = stream_run_bytes(&sp->stream, n);
    sp->bytes = mem_map("text to show", sp->n_bytes);
    return sp->bytes == NULL ? ERR_NOMEM : 0;
}

void speller_release(struct speller *sp)
{
    if (sp == NULL)
        return;
    mem_unmap(sp->bytes, sp->n_bytes);
    stream_release(&sp->stream);
    stop_strings_free(sp->stops);
    *sp = (struct speller){0};
}

void speller_end(const struct speller *sp, struct answer *a)
{
    if (!sp->stream.stopped)
        return;
    a->finish = FINISH_STOP_STRING;
    a->n_whole = stream_shown(&sp->stream, a->ids.data, a->ids.n, &a->n_part);
}
