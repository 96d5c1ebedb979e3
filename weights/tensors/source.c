#include "weights/tensors/source.h"

#include "model/base/mem.h"

void source_close(struct source *s)
{
    if (s == NULL)
        return;
    if (s->close != NULL)
        s->close(s->format);
    if (!s->tokenizer_borrowed)
        tokenizer_free(s->tokenizer);
    params_release(&s->table);
    mem_free(s->readers);
    mem_free(s->name);
    mem_free(s->defaults);
    *s = (struct source){0};
}
