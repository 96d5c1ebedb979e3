#include "weights/gguf/gguf_vocab.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <string.h>

enum { TOKEN_CONTROL = 3, TOKEN_USER_DEFINED = 4, TOKEN_UNUSED = 5 };

static int read_special_ids(struct config *c, const struct gguf *g)
{
    const struct {
        const char *key;
        token_id *to;
    } ids[] = {
        {"tokenizer.ggml.bos_token_id", &c->bos_token_id},
        {"tokenizer.ggml.eos_token_id", &c->eos_token_id},
        {"tokenizer.ggml.padding_token_id", &c->pad_token_id},
    };
    int rc = 0;
    for (size_t i = 0; i < sizeof ids / sizeof *ids && rc == 0; i++) {
        int64_t id = TOKEN_NONE;
        rc = gguf_int(g, ids[i].key, false, 0, c->n_vocab - 1, &id);
        *ids[i].to = (token_id)id;
    }
    return rc;
}

/* Mark control tokens in special [n], and remove unused tokens. */
static int mark_tokens(const struct gguf *g, const char **tokens, unsigned char *special, int n)
{
    const unsigned char *types;
    int n_types;
    int rc = gguf_ints(g, "tokenizer.ggml.token_type", &types, &n_types);
    if (rc != 0)
        return rc;
    if (types == NULL) {
        for (int i = 0; i < n; i++)
            special[i] = strcmp(tokens[i], "<|endoftext|>") == 0;
        return 0;
    }
    if (n_types != n)
        return err_set(ERR_FORMAT,
                       "tokenizer.ggml.token_type has %d elements, tokenizer.ggml.tokens %d",
                       n_types, n);
    for (int i = 0; i < n; i++) {
        int32_t type;
        memcpy(&type, types + 4 * (size_t)i, sizeof type);
        special[i] = type == TOKEN_CONTROL || type == TOKEN_USER_DEFINED;
        if (type == TOKEN_UNUSED)
            tokens[i] = NULL;
    }
    return 0;
}

static int build_tokenizer(struct source *s, const struct gguf *g, const char **tokens,
                           int n_tokens)
{
    const char **merges = NULL;
    struct vocab v = {.n_tokens = n_tokens, .tokens = tokens, .eos = s->config.eos_token_id};
    unsigned char *special = mem_alloc((size_t)n_tokens);
    int rc = special == NULL ? ERR_NOMEM : mark_tokens(g, tokens, special, n_tokens);
    if (rc == 0)
        rc = gguf_bool(g, "tokenizer.ggml.add_space_prefix", &v.add_prefix_space);
    if (rc == 0)
        rc = gguf_bool(g, "tokenizer.ggml.add_bos_token", &v.begins);
    v.begins = v.begins && (s->config.bos_token_id != TOKEN_NONE || v.eos != TOKEN_NONE);
    if (rc == 0)
        rc = gguf_texts(g, "tokenizer.ggml.merges", &merges, &v.n_merges);
    /* Unused tokens at the end only pad the vocabulary to the embedding's rows. */
    while (rc == 0 && v.n_tokens > 0 && tokens[v.n_tokens - 1] == NULL)
        v.n_tokens--;
    v.special = special;
    v.merges = merges;
    if (rc == 0)
        rc = tokenizer_new(&s->tokenizer, &v);
    mem_free(merges);
    mem_free(special);
    return rc;
}

static int check_tokens(const struct source *s, int n_tokens, const struct progress *p)
{
    if (n_tokens == 0)
        return err_set(ERR_MISSING, "key tokenizer.ggml.tokens is missing");
    if (n_tokens > s->config.n_vocab)
        return err_set(ERR_MISMATCH, "the tokenizer has %d tokens, token_embd.weight has %d rows",
                       n_tokens, s->config.n_vocab);
    if (n_tokens < s->config.n_vocab)
        progress_note(p, "the tokenizer has %d tokens, the model %d: the others have no text",
                      n_tokens, s->config.n_vocab);
    return 0;
}

int gguf_read_vocab(struct source *s, const struct gguf *g, const struct progress *p)
{
    const char **tokens = NULL;
    char *model, *pre = NULL;
    int n_tokens;
    bool ends = false;
    int rc = gguf_text(g, "tokenizer.ggml.model", false, &model);
    if (rc != 0)
        return rc;
    bool none = model == NULL || strcmp(model, "none") == 0 || strcmp(model, "no_vocab") == 0;
    if ((rc = none ? 0 : gguf_check_text(g, "tokenizer.ggml.model", true, "gpt2")) != 0 ||
        (rc = gguf_text(g, "tokenizer.ggml.pre", false, &pre)) != 0 ||
        (rc = gguf_texts(g, "tokenizer.ggml.tokens", &tokens, &n_tokens)) != 0)
        goto out;
    if (s->config.n_vocab == 0)
        s->config.n_vocab = n_tokens;
    if (s->config.n_vocab == 0) {
        rc = err_set(ERR_MISSING, "there is no token_embd.weight and no tokenizer.ggml.tokens");
        goto out;
    }
    if ((rc = read_special_ids(&s->config, g)) != 0 || none)
        goto out;
    if (pre != NULL && strcmp(pre, "gpt-2") != 0 && strcmp(pre, "default") != 0) {
        char shown[80];
        progress_note(p, "the file asks for pretokenizer %s: text is cut as GPT-2 does it instead",
                      file_show(shown, sizeof shown, pre));
    }
    if ((rc = check_tokens(s, n_tokens, p)) == 0)
        rc = build_tokenizer(s, g, tokens, n_tokens);
    if (rc == 0 && (rc = gguf_bool(g, "tokenizer.ggml.add_eos_token", &ends)) == 0 && ends)
        progress_note(p, "the file asks for the end-of-text token after a text: left out");
out:
    mem_free(tokens);
    mem_free(model);
    mem_free(pre);
    return rc;
}
