#include "train/data/tokenizer_hash.h"

#include <string.h>

void tokenizer_hash_text(struct sha256 *h, const char *s)
{
    const uint64_t n = s == NULL ? 0 : strlen(s);
    sha256_add(h, &n, sizeof n);
    if (n > 0)
        sha256_add(h, s, n);
}

void tokenizer_hash(struct sha256 *h, const struct tokenizer *t)
{
    token_id end = tokenizer_eos(t);
    sha256_add(h, &end, sizeof end);
    for (token_id i = 0; i < tokenizer_size(t); i++)
        tokenizer_hash_text(h, tokenizer_text(t, i));
    for (int i = 0; i < tokenizer_merges(t); i++)
        tokenizer_hash_text(h, tokenizer_merge(t, i));
    size_t n;
    const char *file = tokenizer_file(t, &n);
    if (file != NULL)
        sha256_add(h, file, n);
    if (tokenizer_adds_prefix_space(t))
        tokenizer_hash_text(h, "add_prefix_space");
}
