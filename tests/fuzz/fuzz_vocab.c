/*
 * Tokenizer files of any bytes: a tokenizer.json, or vocab.json, merges.txt, a text
 * to encode and a tokenizer_config.json, with 0xff between. What opens must give back any text it
 * can say.
 */
#include "model/base/mem.h"
#include "weights/hf/vocab.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void round_trip(const struct tokenizer *t, const char *text, size_t n)
{
    for (int flags = ENCODE_TEXT; flags <= ENCODE_SPECIAL; flags++) {
        /* Behind each special token a space may come in between. */
        if (flags == ENCODE_SPECIAL && tokenizer_adds_prefix_space(t))
            continue;
        struct ids ids = {0};
        struct buf back = {0};
        if (tokenizer_encode(t, &ids, text, n, flags | ENCODE_GOES_ON) == 0 &&
            (tokenizer_decode(t, &back, ids.data, ids.n) != 0 || back.n != n ||
             (n > 0 && memcmp(back.data, text, n) != 0)))
            abort();
        ids_release(&ids);
        buf_release(&back);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *part[4] = {(const char *)data, "", "", NULL};
    size_t n[4] = {size, 0, 0, 0};
    int parts = 1;
    for (; parts < 4; parts++) {
        const char *end = memchr(part[parts - 1], 0xff, n[parts - 1]);
        if (end == NULL)
            break;
        part[parts] = end + 1;
        n[parts] = (size_t)(part[parts - 1] + n[parts - 1] - end - 1);
        n[parts - 1] = (size_t)(end - part[parts - 1]);
    }
    struct vocab_text text = {.tokenizer = part[0], .n_tokenizer = n[0]};
    if (parts > 1)
        text = (struct vocab_text){.vocab = part[0],
                                   .n_vocab = n[0],
                                   .merges = part[1],
                                   .n_merges = n[1],
                                   .config = part[3],
                                   .n_config = n[3]};
    struct tokenizer *t = NULL;
    if (vocab_parse(&t, &text, NULL, NULL) != 0)
        return 0;
    round_trip(t, part[2], n[2]);
    round_trip(t, (const char *)data, size);
    tokenizer_free(t);
    return 0;
}
