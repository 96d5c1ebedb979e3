#include "weights/foreign/dict_vocab.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "weights/hf/vocab.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 64 << 20, N_SPECIAL = 4 };

/* ---- GPT-2's own ---- */

static int read_text(struct buf *out, const char *folder, const char *name)
{
    char *path = file_join(folder, name);
    int rc = path == NULL ? ERR_NOMEM : file_read_all(out, path, MAX_BYTES);
    mem_free(path);
    return rc;
}

static int open_base(struct tokenizer **out, const char *folder, const struct progress *p)
{
    struct buf vocab = {0}, merges = {0};
    *out = NULL;
    if (!file_exists_in(folder, "encoder.json") || !file_exists_in(folder, "vocab.bpe"))
        return vocab_open_folder(out, folder, NULL, p);
    int rc = read_text(&vocab, folder, "encoder.json");
    if (rc == 0)
        rc = read_text(&merges, folder, "vocab.bpe");
    if (rc == 0) {
        const struct vocab_text text = {.vocab = buf_text(&vocab),
                                        .n_vocab = vocab.n,
                                        .merges = buf_text(&merges),
                                        .n_merges = merges.n};
        rc = vocab_parse(out, &text, NULL, p);
    }
    buf_release(&vocab);
    buf_release(&merges);
    return rc;
}

/* ---- in fairseq's order ---- */

struct reordered {
    const struct tokenizer *base;
    const char **tokens;    /* [n] */
    unsigned char *special; /* [n] */
    bool *present;          /* [of base] */
    const char **merges;    /* [n_merges] */
    int n, n_merges;
};

static int add_symbol(struct reordered *r, const char *line, const struct config *c)
{
    char *end;
    const long id = strtol(line, &end, 10);
    if (r->n >= c->n_vocab)
        return err_set(ERR_MISMATCH, "it has more than %d symbols, the model has %d tokens",
                       c->n_vocab - N_SPECIAL, c->n_vocab);
    /* Others, as madeupword0000, fill up the vocabulary. */
    if (end != line && *end == ' ' && id >= 0 && id < tokenizer_size(r->base) && !r->present[id]) {
        r->present[id] = true;
        r->special[r->n] = tokenizer_is_special(r->base, (token_id)id);
        r->tokens[r->n] = tokenizer_text(r->base, (token_id)id);
    }
    r->n++;
    return 0;
}

/* text is cut into lines. */
static int add_symbols(struct reordered *r, char *text, const struct config *c)
{
    static const char *const names[] = {"<s>", "<pad>", "</s>", "<unk>"};
    int rc = 0;
    for (; r->n < N_SPECIAL && r->n < c->n_vocab; r->n++) {
        r->tokens[r->n] = names[r->n];
        r->special[r->n] = 1;
    }
    for (char *line = text, *end; *line != '\0' && rc == 0; line = end + 1) {
        if ((end = strchr(line, '\n')) == NULL)
            return add_symbol(r, line, c);
        *end = '\0';
        rc = add_symbol(r, line, c);
    }
    return rc;
}

static bool has_token(const struct reordered *r, const char *text, size_t n)
{
    const token_id id = tokenizer_find(r->base, text, n);
    return id != TOKEN_NONE && r->present[id];
}

/* Those whose parts and result are symbols. */
static void keep_merges(struct reordered *r)
{
    for (int i = 0; i < tokenizer_merges(r->base); i++) {
        const char *merge = tokenizer_merge(r->base, i), *space = strchr(merge, ' ');
        char whole[512];
        const size_t left = (size_t)(space - merge), right = strlen(space + 1);
        if (left + right > sizeof whole)
            continue;
        memcpy(whole, merge, left);
        memcpy(whole + left, space + 1, right);
        if (has_token(r, merge, left) && has_token(r, space + 1, right) &&
            has_token(r, whole, left + right))
            r->merges[r->n_merges++] = merge;
    }
}

static int reorder(struct tokenizer **out, const struct tokenizer *base, char *text,
                   const struct config *c)
{
    struct reordered r = {.base = base};
    r.tokens = mem_array((size_t)c->n_vocab, sizeof *r.tokens);
    r.special = mem_alloc((size_t)c->n_vocab);
    r.present = mem_array((size_t)tokenizer_size(base), sizeof *r.present);
    r.merges = mem_array((size_t)tokenizer_merges(base) + 1, sizeof *r.merges);
    int rc = r.tokens == NULL || r.special == NULL || r.present == NULL || r.merges == NULL
                 ? ERR_NOMEM
                 : add_symbols(&r, text, c);
    if (rc == 0) {
        keep_merges(&r);
        const struct vocab v = {.n_tokens = r.n,
                                .tokens = r.tokens,
                                .special = r.special,
                                .n_merges = r.n_merges,
                                .merges = r.merges,
                                .eos = r.n > 2 ? 2 : TOKEN_NONE};
        rc = tokenizer_new(out, &v);
    }
    mem_free(r.tokens);
    mem_free(r.special);
    mem_free(r.present);
    mem_free(r.merges);
    return rc;
}

int dict_vocab_open(struct tokenizer **out, const char *folder, const struct config *c,
                    const struct progress *p)
{
    struct tokenizer *base = NULL;
    struct buf text = {0};
    *out = NULL;
    if (!file_exists_in(folder, "dict.txt"))
        return 0;
    int rc = open_base(&base, folder, p);
    if (rc == 0 && base == NULL)
        progress_note(p, "dict.txt has the numbers of GPT-2's tokens: with its vocab.json and "
                         "merges.txt (or encoder.json and vocab.bpe) beside it texts can be read");
    if (rc == 0 && base != NULL && (rc = read_text(&text, folder, "dict.txt")) == 0 &&
        (rc = buf_char(&text, '\0')) == 0 && (rc = reorder(out, base, text.data, c)) != 0)
        rc = err_wrap("cannot load dict.txt");
    buf_release(&text);
    tokenizer_free(base);
    return rc;
}
