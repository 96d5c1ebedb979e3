#include "model/tokenizer/word_cache.h"

#include "model/base/err.h"
#include "model/base/mem.h"

_Static_assert(CACHED_WORDS == 1 << 15, "word_cache_place takes 15 bits");
_Static_assert(sizeof(struct cached_word) == 64, "a line of the processor's cache");

int word_cache_reserve(struct word_cache *c)
{
    if (c->words == NULL)
        c->words = mem_array(CACHED_WORDS, sizeof *c->words);
    return c->words == NULL ? ERR_NOMEM : 0;
}

void word_cache_release(struct word_cache *c)
{
    mem_free(c->words);
    c->words = NULL;
}
