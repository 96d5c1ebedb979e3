#include "weights/hf/hf_config.h"

#include "model/base/decimal.h"
#include "model/base/err.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "weights/hf/neo_config.h"
#include "weights/tensors/sniff.h"

#include <stdio.h>
#include <string.h>

enum { MAX_BYTES = 16 << 20 };

static int read_activation(struct config *c, const json_t *o)
{
    const char *name = NULL;
    int rc = json_take_text(o, "activation_function", &name);
    if (rc != 0 || name == NULL || activation_find(&c->activation, name))
        return rc;
    char shown[60], names[ACTIVATION_NAMES_BYTES];
    return err_set(ERR_UNSUPPORTED, "activation_function is %s, must be %s",
                   json_shown(shown, sizeof shown, json_object_get(o, "activation_function")),
                   activation_names(names, sizeof names));
}

/* Sizes, under the type's names or their aliases in transformers. */
static int read_sizes(struct config *c, const json_t *o)
{
    const struct {
        const char *key[2], *alias; /* key: by type */
        int64_t least;
        int *to;
    } sizes[] = {
        {{"n_layer", "num_layers"}, "num_hidden_layers", 1, &c->n_layer},
        {{"n_head", "num_heads"}, "num_attention_heads", 1, &c->n_head},
        {{"n_embd", "hidden_size"}, "hidden_size", 1, &c->n_embd},
        {{"n_positions", "max_position_embeddings"}, "max_position_embeddings", 1, &c->n_ctx},
        {{"n_inner", "intermediate_size"}, NULL, 0, &c->n_inner},
        {{"vocab_size", "vocab_size"}, NULL, 1, &c->n_vocab},
        {{"head_dim", "head_dim"}, NULL, 1, &c->head_size}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *key = sizes[i].key[c->type];
        if (sizes[i].alias != NULL && json_object_get(o, key) == NULL)
            key = sizes[i].alias;
        int64_t value = *sizes[i].to;
        int rc = json_take_int(o, key, sizes[i].least, INT32_MAX, &value);
        if (rc != 0)
            return rc;
        *sizes[i].to = (int)value;
    }
    return 0;
}

/* The key's id; of a list, the first that is not -1. -1: none. */
static int read_id(const json_t *o, const char *key, int64_t *id)
{
    const json_t *list = json_object_get(o, key);
    size_t n = json_array_size(list);
    if (n == 0)
        return json_take_int(o, key, TOKEN_NONE, INT32_MAX, id);
    int rc = 0;
    *id = TOKEN_NONE;
    for (size_t i = 0; i < n && *id == TOKEN_NONE && rc == 0; i++) {
        json_t *one = json_pack("{sO}", key, json_array_get(list, i));
        rc = one == NULL ? ERR_NOMEM : json_take_int(one, key, TOKEN_NONE, INT32_MAX, id);
        json_decref(one);
    }
    return rc;
}

/*
 * Only here null differs from a missing key: it means that there is no such token, as -1 does. So
 * does an id beyond the vocabulary: transformers writes its default 50256 for the smallest models
 * too.
 */
static int read_ids(struct config *c, const json_t *o)
{
    const struct {
        const char *key;
        token_id *to;
    } ids[] = {{"bos_token_id", &c->bos_token_id},
               {"eos_token_id", &c->eos_token_id},
               {"pad_token_id", &c->pad_token_id}};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        int64_t id = *ids[i].to;
        if (json_is_null(json_object_get(o, ids[i].key)))
            id = TOKEN_NONE;
        int rc = read_id(o, ids[i].key, &id);
        if (rc != 0)
            return rc;
        *ids[i].to = id < c->n_vocab ? (token_id)id : TOKEN_NONE;
    }
    return 0;
}

static int read_numbers(struct config *c, const json_t *o)
{
    const struct {
        const char *key[2]; /* by type */
        double most;
        float *to;
    } numbers[] = {{{"layer_norm_epsilon", "layer_norm_epsilon"}, 1, &c->layer_norm_epsilon},
                   {{"initializer_range", "initializer_range"}, 1e3, &c->initializer_range},
                   {{"embd_pdrop", "embed_dropout"}, 1, &c->embd_pdrop},
                   {{"attn_pdrop", "attention_dropout"}, 1, &c->attn_pdrop},
                   {{"resid_pdrop", "resid_dropout"}, 1, &c->resid_pdrop}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double value = (double)*numbers[i].to;
        int rc = json_take_number(o, numbers[i].key[c->type], 0, numbers[i].most, &value);
        if (rc != 0)
            return rc;
        *numbers[i].to = (float)value + 0.0f; /* -0 would read back as another number */
    }
    return 0;
}

static int read_switches(struct config *c, const json_t *o)
{
    bool crossed = false;
    const struct {
        const char *key;
        bool *to;
    } switches[] = {{"tie_word_embeddings", &c->tie_word_embeddings},
                    {"scale_attn_weights", &c->scale_attn_weights},
                    {"scale_attn_by_inverse_layer_idx", &c->scale_attn_by_inverse_layer_idx},
                    {"reorder_and_upcast_attn", &c->reorder_and_upcast_attn},
                    {"add_cross_attention", &crossed}};
    /* GPT-Neo has the first alone. */
    const size_t n = c->type == MODEL_GPT2 ? sizeof switches / sizeof *switches : 1;
    for (size_t i = 0; i < n; i++) {
        int rc = json_take_bool(o, switches[i].key, switches[i].to);
        if (rc != 0)
            return rc;
    }
    if (crossed)
        return err_set(ERR_UNSUPPORTED, "add_cross_attention is true, must be false: a GPT-2 with "
                                        "an encoder is not read");
    return 0;
}

/* Set *c to the defaults of the type that the file says. */
static int read_type(struct config *c, const json_t *o)
{
    const char *type = NULL;
    int rc = json_take_text(o, "model_type", &type);
    if (rc != 0 || type == NULL || strcmp(type, "gpt2") == 0)
        return rc;
    if (strcmp(type, "gpt_neo") == 0) {
        neo_config_init(c);
        return 0;
    }
    char shown[60];
    return err_set(ERR_UNSUPPORTED, "model_type is %s, must be \"gpt2\" or \"gpt_neo\"",
                   json_shown(shown, sizeof shown, json_object_get(o, "model_type")));
}

static int read_object(struct config *c, const json_t *o)
{
    if (!json_is_object(o)) {
        char shown[60];
        return err_set(ERR_FORMAT, "the file holds %s, must be an object of a model's settings",
                       json_shown(shown, sizeof shown, o));
    }
    int rc = read_type(c, o);
    if (rc == 0)
        rc = read_sizes(c, o);
    if (rc == 0 && c->type == MODEL_GPT_NEO)
        rc = neo_config_read_layers(c, o);
    if (rc == 0)
        rc = read_activation(c, o);
    if (rc == 0)
        rc = read_numbers(c, o);
    if (rc == 0)
        rc = read_switches(c, o);
    if (rc == 0)
        rc = read_ids(c, o);
    return rc == 0 ? config_check(c) : rc;
}

int hf_config_parse(struct config *c, const char *text, size_t n)
{
    json_t *o = NULL;
    int rc = json_read_any_numbers(&o, text, n);
    struct config read;
    config_init(&read);
    if (rc == 0)
        rc = read_object(&read, o);
    json_decref(o);
    if (rc == 0)
        *c = read;
    return rc;
}

int hf_config_read_file(struct config *c, struct buf *text, const struct file *file)
{
    int rc = file_read_whole(text, file, MAX_BYTES);
    if (rc == 0 && ((rc = sniff_refuse_text(buf_text(text), text->n)) != 0 ||
                    (rc = hf_config_parse(c, buf_text(text), text->n)) != 0))
        rc = file_wrap(file->path);
    return rc;
}

int hf_config_read(struct config *c, const char *path)
{
    struct buf text = {0};
    struct file file;
    int rc = file_open(&file, path);
    if (rc != 0)
        return rc;
    rc = hf_config_read_file(c, &text, &file);
    file_close(&file);
    buf_release(&text);
    return rc;
}

static int write_float(struct buf *out, const char *key, float value)
{
    char text[DECIMAL_BYTES];
    return buf_printf(out, "  \"%s\": %s,\n", key, decimal_of_float(text, value));
}

static int write_id(struct buf *out, const char *key, token_id id)
{
    return id == TOKEN_NONE ? buf_printf(out, "  \"%s\": null,\n", key)
                            : buf_printf(out, "  \"%s\": %d,\n", key, id);
}

static const char *json_truth(bool b)
{
    return b ? "true" : "false";
}

static int write_shape(struct buf *out, const struct config *c)
{
    return buf_printf(out,
                      "{\n  \"architectures\": [\"GPT2LMHeadModel\"],\n"
                      "  \"model_type\": \"gpt2\",\n  \"vocab_size\": %d,\n"
                      "  \"n_positions\": %d,\n  \"n_ctx\": %d,\n  \"n_embd\": %d,\n"
                      "  \"n_layer\": %d,\n  \"n_head\": %d,\n  \"n_inner\": %d,\n"
                      "  \"activation_function\": \"%s\",\n  \"tie_word_embeddings\": %s,\n"
                      "  \"scale_attn_weights\": %s,\n"
                      "  \"scale_attn_by_inverse_layer_idx\": %s,\n"
                      "  \"reorder_and_upcast_attn\": %s,\n",
                      c->n_vocab, c->n_ctx, c->n_ctx, c->n_embd, c->n_layer, c->n_head, c->n_inner,
                      activation_name(c->activation), json_truth(c->tie_word_embeddings),
                      json_truth(c->scale_attn_weights),
                      json_truth(c->scale_attn_by_inverse_layer_idx),
                      json_truth(c->reorder_and_upcast_attn));
}

int hf_config_write(struct buf *out, const struct config *c, enum dtype dtype)
{
    const bool neo = c->type == MODEL_GPT_NEO;
    size_t before = out->n;
    int rc = neo ? neo_config_write_shape(out, c) : write_shape(out, c);
    if (rc == 0 && config_heads_width(c) != c->n_embd)
        rc = buf_printf(out, "  \"head_dim\": %d,\n", c->head_size);
    if (rc == 0)
        rc = write_float(out, "layer_norm_epsilon", c->layer_norm_epsilon);
    if (rc == 0)
        rc = write_float(out, "initializer_range", c->initializer_range);
    if (rc == 0)
        rc = write_float(out, neo ? "embed_dropout" : "embd_pdrop", c->embd_pdrop);
    if (rc == 0)
        rc = write_float(out, neo ? "attention_dropout" : "attn_pdrop", c->attn_pdrop);
    if (rc == 0)
        rc = write_float(out, neo ? "resid_dropout" : "resid_pdrop", c->resid_pdrop);
    if (rc == 0)
        rc = write_id(out, "bos_token_id", c->bos_token_id);
    if (rc == 0)
        rc = write_id(out, "eos_token_id", c->eos_token_id);
    if (rc == 0)
        rc = write_id(out, "pad_token_id", c->pad_token_id);
    if (rc == 0)
        rc = buf_printf(out, "  \"torch_dtype\": \"%s\"\n}\n", dtype_torch_name(dtype));
    if (rc != 0 && out->data != NULL)
        out->data[out->n = before] = '\0';
    return rc;
}
