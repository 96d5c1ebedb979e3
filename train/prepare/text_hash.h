#ifndef PRATTLE_TRAIN_PREPARE_TEXT_HASH_H
#define PRATTLE_TRAIN_PREPARE_TEXT_HASH_H
/*
 * A hash of a text's letters and digits, for finding texts that are the same but for case, spaces
 * and punctuation. Two polynomials over the integers modulo 2^61 - 1, so that the hash of a text is
 * known from those of its parts, wherever it was cut. Or of token IDs, each of which counts.
 */
#include "model/base/ids.h"

#include <stddef.h>
#include <stdint.h>

struct text_hash {
    uint64_t sum[2], power[2]; /* of the empty text: 0 and 1 */
};
/* The letter or digit that counts for a byte, in lower case; bytes beyond ASCII count as they are.
 * 0: none. */
static inline unsigned text_hash_fold(unsigned char c)
{
    if (c >= 'A' && c <= 'Z')
        return c + ('a' - 'A');
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c >= 0x80 ? c : 0;
}

void text_hash_begin(struct text_hash *h);
void text_hash_add(struct text_hash *h, const char *text, size_t n);
void text_hash_add_ids(struct text_hash *h, const token_id *ids, size_t n);
/* What `next` is of stands behind what h is of. */
void text_hash_join(struct text_hash *h, const struct text_hash *next);

#endif
