#include "model/tokenizer/random_vocab.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/tokenizer/byte_text.h"

#include <stdint.h>
#include <string.h>

enum { WORD_BYTES = 16 };

/*
 * Word number k, spelled in bijective base 80, so that no two are the same: " ba", " be",
 * ..., " zu", " baba". At most five syllables.
 */
static void make_word(char out[WORD_BYTES], uint32_t k)
{
    static const char consonants[] = "bdfghjklmnprstvz", vowels[] = "aeiou";
    enum { BASE = 80, SPACE_BYTES = 2 };
    int n = SPACE_BYTES, at;
    for (uint32_t left = k + 1; left > 0; left = (left - 1) / BASE)
        n += 2;
    memcpy(out, "\xc4\xa0", SPACE_BYTES);
    out[at = n] = '\0';
    for (uint32_t left = k + 1; left > 0; left = (left - 1) / BASE) {
        uint32_t digit = (left - 1) % BASE;
        out[--at] = vowels[digit % 5];
        out[--at] = consonants[digit / 5];
    }
}

int random_vocab_new(struct tokenizer **out, int n)
{
    int n_bytes = n < 256 ? n : 256, id = 0;
    token_id end = n > 256 ? n - 1 : TOKEN_NONE;
    int n_words = n > 257 ? n - 257 : 0;
    char signs[256][BYTE_SIGN_BYTES];
    const char **tokens = mem_array((size_t)n, sizeof *tokens);
    unsigned char *special = mem_alloc((size_t)n);
    char(*words)[WORD_BYTES] = mem_array((size_t)n_words, sizeof *words);
    int rc = ERR_NOMEM;
    if (tokens == NULL || special == NULL || words == NULL)
        goto out;
    for (int b = 0; b < 256; b++)
        byte_text_sign(signs[b], b);
    for (int pass = 0; pass < 2; pass++)
        for (int b = 0; b < 256 && id < n_bytes; b++)
            if (((unsigned char)signs[b][0] < 0xc4) == (pass == 0)) /* below U+0100 */
                tokens[id++] = signs[b];
    for (int k = 0; k < n_words; k++) {
        make_word(words[k], (uint32_t)k);
        tokens[id++] = words[k];
    }
    if (end != TOKEN_NONE) {
        tokens[end] = "<|endoftext|>";
        special[end] = 1;
    }
    struct vocab v = {.n_tokens = n, .tokens = tokens, .special = special, .eos = end};
    rc = tokenizer_new(out, &v);
out:
    mem_free(tokens);
    mem_free(special);
    mem_free(words);
    return rc;
}
