#include "tests/lib/tiny_text.h"

#include "model/base/buf.h"
#include "model/tokenizer/byte_text.h"

static const char *const TINY_MERGES[TINY_N_MERGES] = {"t h",   "th e", "Ġ the", "Ġ a", "Ġ b",
                                                       "a b",   "ab c", "Ġ Ġ",   "o n", "Ġ on",
                                                       "Ġon e", "e n",  "en d",  "Ġ e", "x y"};

struct tokenizer *tiny_tokenizer_with(bool prefix_space)
{
    char *tokens[TINY_V];
    struct tokenizer *t = NULL;
    tokens[0] = mem_strdup("<|endoftext|>");
    for (int b = 0; b < 256; b++) {
        struct buf text = {0};
        char byte = (char)b;
        assert_ok(byte_text_encode(&text, &byte, 1));
        tokens[1 + b] = text.data;
    }
    for (int i = 0; i < TINY_N_MERGES; i++) {
        const char *space = strchr(TINY_MERGES[i], ' ');
        tokens[257 + i] =
            mem_sprintf("%.*s%s", (int)(space - TINY_MERGES[i]), TINY_MERGES[i], space + 1);
    }
    struct vocab v = {.n_tokens = TINY_V,
                      .tokens = (const char *const *)tokens,
                      .n_merges = TINY_N_MERGES,
                      .merges = TINY_MERGES,
                      .eos = 0,
                      .add_prefix_space = prefix_space};
    assert_ok(tokenizer_new(&t, &v));
    for (int i = 0; i < TINY_V; i++)
        mem_free(tokens[i]);
    return t;
}

struct tokenizer *tiny_tokenizer(void)
{
    return tiny_tokenizer_with(false);
}

void tiny_speaker(struct model *m, uint64_t seed)
{
    struct config c = tiny_config();
    c.n_layer = 2;
    c.n_ctx = 150;
    c.n_vocab = TINY_V;
    tiny_init(m, &c, DTYPE_F16, seed);
    m->tokenizer = tiny_tokenizer();
}

void tiny_speaker_release(struct model *m)
{
    tokenizer_free(m->tokenizer);
    tiny_release(m);
}
