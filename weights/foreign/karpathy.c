#include "weights/foreign/karpathy.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "model/schema.h"
#include "weights/foreign/meta_vocab.h"
#include "weights/hf/vocab.h"

#include <stdio.h>
#include <string.h>

/* GPT-2's names; matrices are nn.Linear's. */
static const struct naming naming = {
    .title = "nanoGPT", .out_major = true, .may_lack_biases = true};

static const json_t *model_args(const struct checkpoint *k)
{
    return json_object_get(k->about, "model_args");
}

static bool is_nanogpt(const struct checkpoint *k)
{
    return json_is_object(model_args(k)) && json_object_get(model_args(k), "block_size") != NULL;
}

/* Whether the head is another matrix than the embedding; a tied one has the same storage. */
static int compare_heads(bool *same, const struct checkpoint *k)
{
    const struct hf_entry *a = hf_files_entry(&k->files, SCHEMA_HEAD),
                          *b = hf_files_entry(&k->files, SCHEMA_EMBEDDING);
    *same = a == NULL || b == NULL || a->entry->offset == b->entry->offset;
    if (*same || a->entry->bytes != b->entry->bytes || a->entry->dtype != b->entry->dtype)
        return 0;
    return file_compare(same, &a->in->file, a->entry->offset, &b->in->file, b->entry->offset,
                        a->entry->bytes);
}

static void set_end(struct config *c)
{
    c->bos_token_id = c->eos_token_id = c->n_vocab > 50256 ? 50256 : TOKEN_NONE;
}

static int read_nanogpt(struct config *c, struct naming *n, const struct checkpoint *k)
{
    const json_t *o = model_args(k);
    const struct foreign_size sizes[] = {{"n_layer", &c->n_layer},
                                         {"n_head", &c->n_head},
                                         {"n_embd", &c->n_embd},
                                         {"block_size", &c->n_ctx},
                                         {"vocab_size", &c->n_vocab}};
    (void)n;
    int rc = foreign_read_sizes(o, sizes, sizeof sizes / sizeof *sizes);
    if (rc == 0)
        rc = foreign_read_dropout(o, "dropout", &c->resid_pdrop);
    c->embd_pdrop = c->attn_pdrop = c->resid_pdrop;
    /* nn.GELU since May 2023. Before, it was OpenAI's; of those checkpoints only the ones from
     * before there was a choice of biases show it. */
    c->activation = json_object_get(o, "bias") == NULL ? ACTIVATION_GELU_TANH : ACTIVATION_GELU_ERF;
    set_end(c);
    return rc == 0 ? compare_heads(&c->tie_word_embeddings, k) : rc;
}

/* Where nanoGPT has the characters of its data: out-char/ckpt.pt was trained on data/NAME/, both in
 * one folder. NULL with 0: it does not say a NAME. */
static int find_data(char **out, const struct checkpoint *k)
{
    const char *name =
        json_string_value(json_object_get(json_object_get(k->about, "config"), "dataset"));
    *out = NULL;
    if (name == NULL || *name == '\0' || *name == '.' || strchr(name, '/') != NULL)
        return 0;
    *out = mem_sprintf("%s/../data/%s", k->files.folder, name);
    return *out == NULL ? ERR_NOMEM : 0;
}

/* They are no part of the checkpoint: what is wrong with them is no reason not to load it. */
static int open_data_characters(struct tokenizer **out, const struct checkpoint *k,
                                const struct config *c, const struct progress *p)
{
    char *folder, shown[200];
    int rc = find_data(&folder, k);
    if (rc == 0 && folder != NULL && (rc = meta_vocab_open(out, folder, c, p)) != 0 &&
        rc != ERR_NOMEM) {
        progress_note(p, "left out: %s", err_text());
        err_clear();
        rc = 0;
    }
    if (rc == 0 && *out != NULL)
        progress_note(p, "the characters are those of %s/meta.pkl",
                      file_show(shown, sizeof shown, folder));
    mem_free(folder);
    return rc;
}

/* In the checkpoint's folder, or else of its data. */
static int open_characters(struct tokenizer **out, const struct checkpoint *k,
                           const struct config *c, const struct progress *p)
{
    int rc = meta_vocab_open(out, k->files.folder, c, p);
    if (rc == 0 && *out == NULL)
        rc = vocab_open_folder(out, k->files.folder, c, p);
    return rc != 0 || *out != NULL ? rc : open_data_characters(out, k, c, p);
}

const struct foreign_kind foreign_nanogpt = {is_nanogpt, read_nanogpt, &naming, open_characters};

/* ---- minGPT ---- */

static bool is_mingpt(const struct checkpoint *k)
{
    return json_is_object(json_object_get(k->beside, "model")) &&
           hf_files_entry(&k->files, SCHEMA_EMBEDDING) != NULL;
}

/* mingpt/model.py's names of sizes. */
static int heads_of(const char *type)
{
    static const struct {
        const char *type;
        int n_head;
    } rows[] = {{"openai-gpt", 12}, {"gpt2", 12},    {"gpt2-medium", 16},
                {"gpt2-large", 20}, {"gpt2-xl", 25}, {"gpt-mini", 6},
                {"gpt-micro", 4},   {"gpt-nano", 3}, {"gopher-44m", 16}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (type != NULL && strcmp(rows[i].type, type) == 0)
            return rows[i].n_head;
    return 0;
}

/* The shapes are those of the tensors; only the heads do not show. */
static int read_mingpt(struct config *c, struct naming *n, const struct checkpoint *k)
{
    const json_t *o = json_object_get(k->beside, "model");
    const struct hf_entry *wte = hf_files_entry(&k->files, SCHEMA_EMBEDDING);
    const char *type = NULL;
    char name[NAMES_BYTES];
    int64_t heads = 0;
    (void)n;
    int rc = json_take_text(o, "model_type", &type);
    if (rc == 0)
        rc = json_take_int(o, "n_head", 1, INT32_MAX, &heads);
    if (rc == 0 && heads == 0 && (heads = heads_of(type)) == 0)
        rc = err_set(ERR_MISSING, "config.json beside the checkpoint says neither n_head nor a "
                                  "model_type of minGPT");
    if (rc != 0)
        return rc;
    c->n_head = (int)heads;
    c->n_vocab = foreign_rows(k, SCHEMA_EMBEDDING);
    c->n_ctx = foreign_rows(k, "wpe.weight");
    c->n_embd =
        wte->entry->rank == 2 && wte->entry->shape[1] < INT32_MAX ? (int)wte->entry->shape[1] : 0;
    for (c->n_layer = 0; c->n_layer < CONFIG_MAX_LAYERS; c->n_layer++) {
        snprintf(name, sizeof name, "h.%d.ln_1.weight", c->n_layer);
        if (hf_files_entry(&k->files, name) == NULL)
            break;
    }
    c->tie_word_embeddings = false;
    set_end(c);
    return 0;
}

const struct foreign_kind foreign_mingpt = {is_mingpt, read_mingpt, &naming, open_characters};
