#include "weights/hf/vocab.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "weights/hf/post_processor.h"
#include "weights/hf/tokenizer_config.h"
#include "weights/hf/vocab_draft.h"
#include "weights/sentencepiece/sentencepiece.h"
#include "weights/tensors/sniff.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/*
 * The files fill one draft: tokenizer.json, or vocab.json with added_tokens.json and merges.txt;
 * then tokenizer_config.json. The tokenizer is built from the draft. Until then nothing is copied:
 * tokens point into the JSON of `roots`, merges into that or into `lines`, which therefore has its
 * final size before the first merge points into it. An id that two files give must have the same
 * text in both.
 */

#define FILE_MAX_BYTES ((uint64_t)32 << 20)

enum { SHOWN = 96 };

/* {"text": id, ...} */
static int put_tokens(struct vocab_draft *d, json_t *tokens, bool special)
{
    const char *text;
    json_t *id;
    int rc = vocab_draft_reserve(d, json_object_size(tokens));
    if (!special)
        d->vocab = tokens;
    json_object_foreach(tokens, text, id) if (rc == 0) rc =
        vocab_draft_put(d, text, id, special || strcmp(text, "<|endoftext|>") == 0);
    return rc;
}

static int read_vocab(struct vocab_draft *d, const struct vocab_text *text)
{
    int rc = vocab_parse_object(&d->roots[0], "vocab.json", text->vocab, text->n_vocab);
    if (rc == 0 && (rc = put_tokens(d, d->roots[0], false)) != 0)
        err_wrap("vocab.json");
    if (rc != 0 || text->added == NULL)
        return rc;
    rc = vocab_parse_object(&d->roots[1], "added_tokens.json", text->added, text->n_added);
    if (rc == 0 && (rc = put_tokens(d, d->roots[1], true)) != 0)
        err_wrap("added_tokens.json");
    return rc;
}

/* Lines of "left right", after a first line with the version. */
static int read_merges(struct vocab_draft *d, const char *text, size_t n)
{
    vocab_skip_bom(&text, &n);
    if (memchr(text, '\0', n) != NULL)
        return err_set(ERR_FORMAT, "merges.txt is not text: it has a NUL byte");
    size_t lines = 1;
    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    if (lines > INT_MAX)
        return err_set(ERR_RANGE, "merges.txt has %zu lines, at most %d", lines, INT_MAX);
    int rc = buf_add(&d->lines, text, n);
    if (rc != 0 || (d->merges = mem_array(lines, sizeof *d->merges)) == NULL)
        return ERR_NOMEM;
    char *at = d->lines.data, *end = at + n;
    for (bool first = true; at < end; first = false) {
        char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop == NULL ? end : stop;
        *stop = '\0';
        if (stop > at && stop[-1] == '\r')
            stop[-1] = '\0';
        if (*at != '\0' && !(first && strncmp(at, "#version", 8) == 0))
            d->merges[d->n_merges++] = at;
        at = stop + 1;
    }
    return 0;
}

static const char *type_of(const json_t *object)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    return type == NULL ? "" : type;
}

static bool is_empty_value(const json_t *value)
{
    return value == NULL || json_is_null(value) || json_is_false(value) ||
           (json_is_string(value) && json_string_length(value) == 0);
}

/* The pre_tokenizer, or the only one of a list. */
static const json_t *pre_tokenizer(const json_t *root)
{
    const json_t *pre = json_object_get(root, "pre_tokenizer");
    const json_t *list = json_object_get(pre, "pretokenizers");
    const bool one = strcmp(type_of(pre), "Sequence") == 0 && json_array_size(list) == 1;
    return one ? json_array_get(list, 0) : pre;
}

/* What makes this tokenizer.json something else than GPT-2's, or NULL. */
static const char *find_strangeness(const json_t *root, const json_t *model)
{
    static const struct {
        const char *name, *complaint;
    } switches[] = {{"dropout", "it has dropout"},
                    {"continuing_subword_prefix", "it has continuing_subword_prefix"},
                    {"end_of_word_suffix", "it has end_of_word_suffix"},
                    {"byte_fallback", "it has byte_fallback"},
                    {"ignore_merges", "it has ignore_merges"}};
    const json_t *pre = pre_tokenizer(root);
    if (type_of(model)[0] != '\0' && strcmp(type_of(model), "BPE") != 0)
        return "its model is not BPE";
    if (strcmp(type_of(pre), "ByteLevel") != 0)
        return "its pre_tokenizer is not ByteLevel alone";
    if (json_is_false(json_object_get(pre, "use_regex")))
        return "it has use_regex false";
    if (!is_empty_value(json_object_get(root, "normalizer")))
        return "it has a normalizer";
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        if (!is_empty_value(json_object_get(model, switches[i].name)))
            return switches[i].complaint;
    return NULL;
}

static int add_pair(struct buf *lines, const json_t *left, const json_t *right)
{
    int rc = buf_add(lines, json_string_value(left), json_string_length(left));
    if (rc == 0 && (rc = buf_char(lines, ' ')) == 0)
        rc = buf_add(lines, json_string_value(right), json_string_length(right) + 1);
    return rc;
}

/* "a b", or ["a", "b"] as newer files have it. */
static int read_merge_list(struct vocab_draft *d, const json_t *merges)
{
    size_t n = json_array_size(merges);
    if (!json_is_array(merges) || n > INT_MAX)
        return err_set(ERR_FORMAT, "tokenizer.json: model.merges is missing or not a list");
    if ((d->merges = mem_array(n, sizeof *d->merges)) == NULL)
        return ERR_NOMEM;
    /* The pairs are joined in one buffer, sized first so that it does not move. */
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < 2; k++)
            bytes += json_string_length(json_array_get(json_array_get(merges, i), k)) + 1;
    int rc = buf_reserve(&d->lines, bytes);
    for (size_t i = 0; i < n && rc == 0; i++) {
        const json_t *merge = json_array_get(merges, i);
        const json_t *left = json_array_get(merge, 0), *right = json_array_get(merge, 1);
        d->merges[i] = json_string_value(merge);
        if (json_is_string(left) && json_is_string(right)) {
            d->merges[i] = d->lines.data + d->lines.n;
            rc = add_pair(&d->lines, left, right);
        }
        if (d->merges[i] == NULL)
            return err_set(ERR_FORMAT, "tokenizer.json: merge %zu is neither \"a b\" nor a pair",
                           i);
    }
    d->n_merges = (int)n;
    return rc;
}

/* Of an added token: what encoding does not do here. */
static bool is_strange(const json_t *token)
{
    return json_is_true(json_object_get(token, "lstrip")) ||
           json_is_true(json_object_get(token, "rstrip")) ||
           json_is_true(json_object_get(token, "single_word"));
}

static int read_added(struct vocab_draft *d, const json_t *added, const struct progress *p)
{
    char shown[SHOWN];
    const char *strange = NULL;
    size_t i;
    const json_t *token;
    int rc = vocab_draft_reserve(d, json_array_size(added));
    json_array_foreach(added, i, token)
    {
        const char *text = json_string_value(json_object_get(token, "content"));
        if (rc == 0 && text == NULL)
            rc = err_set(ERR_FORMAT, "added token %zu has no content", i);
        if (rc == 0)
            rc = vocab_draft_put(d, text, json_object_get(token, "id"), true);
        if (strange == NULL && is_strange(token))
            strange = text;
    }
    if (rc == 0 && strange != NULL)
        progress_note(
            p,
            "tokenizer.json: lstrip, rstrip and single_word of added tokens, as of %s, are "
            "left out: with special on, spaces beside them stay",
            file_show(shown, sizeof shown, strange));
    return rc;
}

static int read_tokenizer(struct vocab_draft *d, const char *text, size_t n,
                          const struct progress *p)
{
    int rc = vocab_parse_object(&d->roots[0], "tokenizer.json", text, n);
    if (rc != 0)
        return rc;
    const json_t *model = json_object_get(d->roots[0], "model");
    json_t *vocab = json_object_get(model, "vocab");
    const char *strange = find_strangeness(d->roots[0], model);
    if (strange != NULL)
        return err_set(ERR_UNSUPPORTED, "tokenizer.json is not GPT-2's byte-level BPE: %s",
                       strange);
    if (!json_is_object(vocab))
        return err_set(ERR_FORMAT, "tokenizer.json: model.vocab is missing or not an object");
    d->add_prefix_space =
        json_is_true(json_object_get(pre_tokenizer(d->roots[0]), "add_prefix_space"));
    rc = put_tokens(d, vocab, false);
    if (rc == 0)
        rc = read_added(d, json_object_get(d->roots[0], "added_tokens"), p);
    if (rc != 0)
        return err_wrap("tokenizer.json");
    post_processor_read(d, d->roots[0], p);
    return read_merge_list(d, json_object_get(model, "merges"));
}

static token_id known_id(const struct vocab_draft *d, token_id id, token_id otherwise)
{
    return id >= 0 && id < d->n && d->tokens[id] != NULL ? id : otherwise;
}

/* Whether texts are to begin with the model's begin-of-text token: `begin` adds no other. */
static bool begins_texts(const struct vocab_draft *d, token_id eos, const struct progress *p)
{
    const struct config *c = d->config;
    const token_id bos = c != NULL && c->bos_token_id != TOKEN_NONE ? c->bos_token_id : eos;
    if (d->begin == TOKEN_NONE || d->begin == bos)
        return bos != TOKEN_NONE && (d->begins || d->begin == bos);
    char shown[SHOWN];
    const char *text = d->tokens[d->begin];
    progress_note(p,
                  "the tokenizer puts %s before a text, which is not the model's begin-of-text "
                  "token: left out",
                  file_show(shown, sizeof shown, text == NULL ? "a token without text" : text));
    return false;
}

/* A file of merges that was cut short is one of fewer, and encodes texts as other tokens. Ordinary
 * tokens of several bytes are made by merges, where texts are encoded from bytes at all, or there
 * are no merges and texts are bytes; a few that are not may have been added. */
static void note_few_merges(const struct tokenizer *t, const struct vocab *v,
                            const struct progress *p)
{
    enum { PART = 100 };
    int single = 0, longer = 0;
    size_t n;
    for (token_id id = 0; id < v->n_tokens; id++) {
        const bool there = tokenizer_bytes(t, id, &n) != NULL && !tokenizer_is_special(t, id);
        single += there && n == 1;
        longer += there && n > 1;
    }
    if (single == 256 && v->n_merges > 0 && longer - v->n_merges > longer / PART)
        progress_note(
            p, "the tokenizer has %d merges for %d tokens of several bytes: is its file whole?",
            v->n_merges, longer);
}

static int build_tokenizer(struct tokenizer **out, const struct vocab_draft *d,
                           const struct progress *p)
{
    int holes = 0, first = -1;
    token_id end = TOKEN_NONE;
    for (int id = 0; id < d->n; id++) {
        if (d->tokens[id] == NULL && holes++ == 0)
            first = id;
        if (d->tokens[id] != NULL && strcmp(d->tokens[id], "<|endoftext|>") == 0)
            end = id;
    }
    if (d->n == 0)
        return err_set(ERR_FORMAT, "the tokenizer has no tokens");
    const struct config *c = d->config;
    struct vocab v = {.n_tokens = d->n,
                      .tokens = d->tokens,
                      .special = d->special,
                      .n_merges = d->n_merges,
                      .merges = d->merges,
                      .add_prefix_space = d->add_prefix_space,
                      .eos = known_id(d, c == NULL ? TOKEN_NONE : c->eos_token_id, end)};
    v.begins = begins_texts(d, v.eos, p);
    int rc = tokenizer_new(out, &v);
    if (rc == 0 && holes > 0)
        progress_note(p, "the tokenizer has no text for %d of its ids, the first is %d", holes,
                      first);
    if (rc == 0 && c != NULL && d->n < c->n_vocab)
        progress_note(p, "the tokenizer has %d tokens, the model %d: ids from %d on have no text",
                      d->n, c->n_vocab, d->n);
    if (rc == 0)
        note_few_merges(*out, &v, p);
    return rc;
}

int vocab_parse(struct tokenizer **out, const struct vocab_text *text, const struct config *c,
                const struct progress *p)
{
    struct vocab_draft d = {.config = c, .begin = TOKEN_NONE};
    int rc;
    if (text->tokenizer != NULL)
        rc = read_tokenizer(&d, text->tokenizer, text->n_tokenizer, p);
    else if ((rc = read_vocab(&d, text)) == 0)
        rc = read_merges(&d, text->merges, text->n_merges);
    if (rc == 0 && text->config != NULL)
        rc = tokenizer_config_read(&d, text->config, text->n_config, p);
    if (rc == 0)
        rc = build_tokenizer(out, &d, p);
    vocab_draft_release(&d);
    return rc;
}

/* Of the last error: which file of the folder it is about. */
static int wrap_file(const char *folder, const char *name)
{
    char *path = file_join(folder, name);
    int rc = path == NULL ? ERR_NOMEM : file_wrap(path);
    mem_free(path);
    return rc;
}

/* The text of a file of the folder; *text stays NULL when it is not there. */
static int read_text(struct buf *b, const char **text, size_t *n, const struct file_set *open,
                     const char *folder, const char *name)
{
    bool found;
    int rc = file_set_read(b, &found, open, folder, name, FILE_MAX_BYTES);
    if (rc == 0 && b->n > 0 && (rc = sniff_refuse_text(b->data, b->n)) != 0)
        return wrap_file(folder, name);
    if (rc == 0 && found) {
        *text = buf_text(b);
        *n = b->n;
    }
    return rc;
}

/* SentencePiece's, of a folder without GPT-2's; *out stays NULL where there is none. */
static int open_pieces(struct tokenizer **out, const char *folder, const struct file_set *open,
                       const struct config *c, const struct progress *p)
{
    int rc = 0;
    for (int i = 0; sentencepiece_names[i] != NULL && *out == NULL && rc == 0; i++) {
        struct buf b = {0};
        bool found;
        rc = file_set_read(&b, &found, open, folder, sentencepiece_names[i], FILE_MAX_BYTES);
        if (rc == 0 && b.n > 0 && (rc = sniff_refuse_text(b.data, b.n)) == 0 &&
            (rc = sentencepiece_open(out, b.data, b.n, c, p)) == 0)
            rc = tokenizer_keep(*out, sentencepiece_names[i], b.data, b.n);
        if (rc != 0)
            wrap_file(folder, sentencepiece_names[i]);
        buf_release(&b);
    }
    return rc;
}

int vocab_open_folder(struct tokenizer **out, const char *folder, const struct config *c,
                      const struct progress *p)
{
    return vocab_open_files(out, folder, NULL, c, p);
}

/* The files of a tokenizer: those of struct vocab_text, then what others read. */
enum { TOKENIZER, VOCAB, MERGES, ADDED, CONFIG, N_TEXTS, N_FILES = N_TEXTS + 2 };
static const char *const file_names[N_FILES] = {"tokenizer.json",
                                                "vocab.json",
                                                "merges.txt",
                                                "added_tokens.json",
                                                "tokenizer_config.json",
                                                "special_tokens_map.json",
                                                "chat_template.jinja"};

/* Keep what has been read, b [N_TEXTS], and what else is there. A file that says nothing here is no
 * reason to refuse a tokenizer. */
static int keep_files(struct tokenizer *t, const struct buf *b, const char *folder,
                      const struct file_set *open, const struct progress *p)
{
    int rc = 0;
    for (int i = 0; i < N_FILES && rc == 0; i++) {
        struct buf more = {0};
        bool found = false;
        if (i < N_TEXTS && b[i].n > 0)
            rc = tokenizer_keep(t, file_names[i], b[i].data, b[i].n);
        else if ((rc = file_set_read(&more, &found, open, folder, file_names[i], FILE_MAX_BYTES)) ==
                     0 &&
                 found)
            rc = tokenizer_keep(t, file_names[i], more.data, more.n);
        if (rc != 0 && rc != ERR_NOMEM && rc != ERR_INTERRUPTED) {
            progress_note(p, "%s is not saved with the model: %s", file_names[i], err_text());
            err_clear();
            rc = 0;
        }
        buf_release(&more);
    }
    return rc;
}

static int read_texts(struct vocab_text *t, struct buf b[N_TEXTS], const struct file_set *open,
                      const char *folder)
{
    int rc =
        read_text(&b[TOKENIZER], &t->tokenizer, &t->n_tokenizer, open, folder, "tokenizer.json");
    if (rc == 0 && t->tokenizer == NULL) {
        rc = read_text(&b[VOCAB], &t->vocab, &t->n_vocab, open, folder, "vocab.json");
        if (rc == 0)
            rc = read_text(&b[MERGES], &t->merges, &t->n_merges, open, folder, "merges.txt");
        if (rc == 0)
            rc = read_text(&b[ADDED], &t->added, &t->n_added, open, folder, "added_tokens.json");
    }
    return rc != 0 ? rc
                   : read_text(&b[CONFIG], &t->config, &t->n_config, open, folder,
                               "tokenizer_config.json");
}

int vocab_open_files(struct tokenizer **out, const char *folder, const struct file_set *open,
                     const struct config *c, const struct progress *p)
{
    struct vocab_text t = {0};
    struct buf b[N_TEXTS] = {{0}};
    char shown[SHOWN];
    *out = NULL;
    int rc = read_texts(&t, b, open, folder);
    file_show(shown, sizeof shown, folder);
    if (rc == 0 && t.tokenizer == NULL && (t.vocab == NULL) != (t.merges == NULL))
        rc = err_set(ERR_MISSING, "%s has %s but no %s, and one is no use without the other", shown,
                     t.vocab != NULL ? "vocab.json" : "merges.txt",
                     t.vocab != NULL ? "merges.txt" : "vocab.json");
    else if (rc == 0 && (t.tokenizer != NULL || t.vocab != NULL) &&
             (rc = vocab_parse(out, &t, c, p)) != 0)
        err_wrap("cannot load the tokenizer of %s", shown);
    else if (rc == 0 && t.tokenizer == NULL && t.vocab == NULL)
        rc = open_pieces(out, folder, open, c, p);
    if (rc == 0 && *out != NULL)
        rc = keep_files(*out, b, folder, open, p);
    for (int i = 0; i < N_TEXTS; i++)
        buf_release(&b[i]);
    if (rc != 0) {
        tokenizer_free(*out);
        *out = NULL;
    }
    return rc;
}
