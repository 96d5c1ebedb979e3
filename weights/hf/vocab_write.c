#include "weights/hf/vocab_write.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "weights/sentencepiece/sentencepiece.h"

#include <stdio.h>

/* A JSON string; text is valid UTF-8 without NUL. */
static int add_string(struct buf *b, const char *text)
{
    int rc = buf_char(b, '"');
    for (const char *c = text; *c != '\0' && rc == 0; c++) {
        if (*c == '"' || *c == '\\')
            rc = buf_char(b, '\\');
        if (rc == 0)
            rc = (unsigned char)*c < 0x20 || *c == 0x7f ? buf_printf(b, "\\u%04x", *c)
                                                        : buf_char(b, *c);
    }
    return rc == 0 ? buf_char(b, '"') : rc;
}

static int add_vocab(struct buf *b, const struct tokenizer *t, token_id begin)
{
    (void)begin;
    int rc = buf_char(b, '{');
    const char *comma = "";
    for (int id = 0; id < tokenizer_size(t) && rc == 0; id++) {
        const char *text = tokenizer_text(t, id);
        if (text == NULL)
            continue;
        if ((rc = buf_str(b, comma)) == 0 && (rc = add_string(b, text)) == 0)
            rc = buf_printf(b, ": %d", id);
        comma = ", ";
    }
    return rc == 0 ? buf_char(b, '}') : rc;
}

static int add_merges(struct buf *b, const struct tokenizer *t, token_id begin)
{
    (void)begin;
    int rc = buf_str(b, "#version: 0.2\n");
    for (int i = 0; i < tokenizer_merges(t) && rc == 0; i++)
        if ((rc = buf_str(b, tokenizer_merge(t, i))) == 0)
            rc = buf_char(b, '\n');
    return rc;
}

static int add_special(struct buf *b, const struct tokenizer *t)
{
    const char *comma = "";
    int rc = 0;
    for (int id = 0; id < tokenizer_size(t) && rc == 0; id++) {
        if (!tokenizer_is_special(t, id))
            continue;
        if ((rc = buf_printf(b, "%s{\"id\": %d, \"content\": ", comma, id)) == 0 &&
            (rc = add_string(b, tokenizer_text(t, id))) == 0)
            rc = buf_str(b, ", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, "
                            "\"normalized\": false, \"special\": true}");
        comma = ", ";
    }
    return rc;
}

/* {"id": "<|endoftext|>"NAME VALUE} within a template. */
static int add_begin(struct buf *b, const struct tokenizer *t, token_id begin, const char *rest)
{
    int rc = buf_str(b, "{\"id\": ");
    if (rc == 0)
        rc = add_string(b, tokenizer_text(t, begin));
    return rc == 0 ? buf_str(b, rest) : rc;
}

/* The template of the token before a text. */
static int add_template(struct buf *b, const struct tokenizer *t, token_id begin)
{
    int rc = buf_str(b, ",\n{\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": ");
    if (rc == 0)
        rc = add_begin(b, t, begin,
                       ", \"type_id\": 0}}, {\"Sequence\": {\"id\": \"A\", "
                       "\"type_id\": 0}}], \"pair\": [{\"SpecialToken\": ");
    if (rc == 0)
        rc = add_begin(b, t, begin,
                       ", \"type_id\": 0}}, {\"Sequence\": {\"id\": \"A\", "
                       "\"type_id\": 0}}, {\"SpecialToken\": ");
    if (rc == 0)
        rc = add_begin(b, t, begin,
                       ", \"type_id\": 1}}, {\"Sequence\": {\"id\": \"B\", "
                       "\"type_id\": 1}}], \"special_tokens\": {");
    if (rc == 0 && (rc = add_string(b, tokenizer_text(t, begin))) == 0 &&
        (rc = buf_str(b, ": ")) == 0)
        rc = add_begin(b, t, begin, ", \"ids\": [");
    if (rc == 0 && (rc = buf_printf(b, "%d], \"tokens\": [", begin)) == 0 &&
        (rc = add_string(b, tokenizer_text(t, begin))) == 0)
        rc = buf_str(b, "]}}}");
    return rc;
}

/* ByteLevel alone, as GPT-2's, or with the template of a token before a text. */
static int add_post_processor(struct buf *b, const struct tokenizer *t, token_id begin)
{
    static const char bytes[] = "{\"type\": \"ByteLevel\", \"add_prefix_space\": true, "
                                "\"trim_offsets\": false, \"use_regex\": true}";
    if (begin == TOKEN_NONE)
        return buf_str(b, bytes);
    int rc = buf_printf(b, "{\"type\": \"Sequence\", \"processors\": [%s", bytes);
    if (rc == 0)
        rc = add_template(b, t, begin);
    return rc == 0 ? buf_str(b, "]}") : rc;
}

/* As the tokenizers library writes GPT-2's. */
static int add_tokenizer(struct buf *b, const struct tokenizer *t, token_id begin)
{
    int rc = buf_str(b, "{\"version\": \"1.0\", \"truncation\": null, \"padding\": null,\n"
                        "\"added_tokens\": [");
    if (rc == 0 && (rc = add_special(b, t)) == 0)
        rc = buf_str(b, "],\n\"normalizer\": null,\n"
                        "\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": ");
    if (rc == 0 && (rc = buf_str(b, tokenizer_adds_prefix_space(t) ? "true" : "false")) == 0)
        rc = buf_str(b, ", \"trim_offsets\": true, \"use_regex\": true},\n"
                        "\"post_processor\": ");
    if (rc == 0 && (rc = add_post_processor(b, t, begin)) == 0)
        rc = buf_str(b, ",\n\"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true, "
                        "\"trim_offsets\": true, \"use_regex\": true},\n"
                        "\"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": null, "
                        "\"continuing_subword_prefix\": \"\", \"end_of_word_suffix\": \"\", "
                        "\"fuse_unk\": false, \"byte_fallback\": false,\n\"vocab\": ");
    if (rc == 0 && (rc = add_vocab(b, t, begin)) == 0)
        rc = buf_str(b, ",\n\"merges\": [");
    for (int i = 0; i < tokenizer_merges(t) && rc == 0; i++)
        if ((rc = buf_str(b, i == 0 ? "" : ", ")) == 0)
            rc = add_string(b, tokenizer_merge(t, i));
    return rc == 0 ? buf_str(b, "]}}\n") : rc;
}

/* In transformers, GPT2TokenizerFast takes add_prefix_space from here (or false), not from
 * tokenizer.json; and GPT2Tokenizer, which does not read that file, add_bos_token. */
static int add_config(struct buf *b, const struct tokenizer *t, token_id begin)
{
    int rc = buf_printf(b, "{\"tokenizer_class\": \"GPT2Tokenizer\", \"add_prefix_space\": %s",
                        tokenizer_adds_prefix_space(t) ? "true" : "false");
    if (rc == 0 && begin != TOKEN_NONE &&
        (rc = buf_str(b, ", \"add_bos_token\": true, \"bos_token\": ")) == 0)
        rc = add_string(b, tokenizer_text(t, begin));
    return rc == 0 ? buf_str(b, "}\n") : rc;
}

static const struct {
    const char *name;
    int (*add)(struct buf *b, const struct tokenizer *t, token_id begin);
} files[] = {{"vocab.json", add_vocab},
             {"merges.txt", add_merges},
             {"tokenizer.json", add_tokenizer},
             {"tokenizer_config.json", add_config}};
enum { N = sizeof files / sizeof *files, N_ALWAYS = N - 1 };

/* An old tokenizer_config.json is always replaced: it describes another tokenizer. */
static bool is_wanted(int i, const struct tokenizer *t, token_id begin, const char *path)
{
    return i < N_ALWAYS || file_exists(path) || begin != TOKEN_NONE ||
           (t != NULL && tokenizer_adds_prefix_space(t));
}

int vocab_check_folder(const char *folder, bool force)
{
    struct file_writer w;
    int rc = 0;
    for (int i = 0; i < N && rc == 0; i++) {
        char *path = file_join(folder, files[i].name);
        const bool wanted = path != NULL && is_wanted(i, NULL, TOKEN_NONE, path);
        rc = path == NULL ? ERR_NOMEM : wanted ? file_create(&w, path, force) : 0;
        mem_free(path);
        if (rc == 0 && wanted)
            file_abandon(&w);
    }
    return rc;
}

/* Of pieces: the file that they came from. */
static int write_pieces(const struct tokenizer *t, const char *folder, bool force)
{
    size_t n;
    const char *file = tokenizer_file(t, &n);
    char *path = file_join(folder, sentencepiece_names[0]);
    int rc = path == NULL ? ERR_NOMEM : file_write_whole(path, file, n, force);
    mem_free(path);
    return rc;
}

int vocab_write_folder(const struct tokenizer *t, token_id begin, const char *folder, bool force)
{
    size_t n_file;
    if (begin != TOKEN_NONE && tokenizer_text(t, begin) == NULL)
        begin = TOKEN_NONE;
    if (tokenizer_kept(t)->n > 0)
        return kept_files_write(tokenizer_kept(t), folder, force);
    if (tokenizer_file(t, &n_file) != NULL)
        return write_pieces(t, folder, force);
    struct file_writer writers[N] = {{.fd = -1}, {.fd = -1}, {.fd = -1}, {.fd = -1}};
    struct buf text = {0};
    bool wanted[N] = {false};
    int rc = 0;
    for (int i = 0; i < N && rc == 0; i++) {
        char *path = file_join(folder, files[i].name);
        wanted[i] = path != NULL && is_wanted(i, t, begin, path);
        rc = path == NULL ? ERR_NOMEM : wanted[i] ? file_create(&writers[i], path, force) : 0;
        mem_free(path);
        text.n = 0;
        if (rc == 0 && wanted[i] && (rc = files[i].add(&text, t, begin)) == 0)
            rc = file_write(&writers[i], text.data, text.n);
    }
    for (int i = 0; i < N && rc == 0; i++)
        rc = wanted[i] ? file_commit(&writers[i]) : 0;
    for (int i = 0; i < N; i++)
        file_abandon(&writers[i]);
    buf_release(&text);
    return rc;
}
