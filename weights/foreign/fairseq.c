#include "weights/foreign/fairseq.h"

#include "model/base/err.h"
#include "model/base/json.h"
#include "weights/foreign/dict_vocab.h"

#define LAYER "decoder.layers." NAMING_LAYER "."
#define ATTENTION LAYER "self_attn."
static const struct naming_row rows[] = {
    {"wte.weight", {"decoder.embed_tokens.weight"}},
    {"wpe.weight", {"decoder.embed_positions.weight"}},
    {"ln_1.weight", {LAYER "self_attn_layer_norm.weight"}},
    {"ln_1.bias", {LAYER "self_attn_layer_norm.bias"}},
    {"attn.c_attn.weight",
     {ATTENTION "q_proj.weight", ATTENTION "k_proj.weight", ATTENTION "v_proj.weight"}},
    {"attn.c_attn.bias",
     {ATTENTION "q_proj.bias", ATTENTION "k_proj.bias", ATTENTION "v_proj.bias"}},
    {"attn.c_proj.weight", {ATTENTION "out_proj.weight"}},
    {"attn.c_proj.bias", {ATTENTION "out_proj.bias"}},
    {"ln_2.weight", {LAYER "final_layer_norm.weight"}},
    {"ln_2.bias", {LAYER "final_layer_norm.bias"}},
    {"mlp.c_fc.weight", {LAYER "fc1.weight"}},
    {"mlp.c_fc.bias", {LAYER "fc1.bias"}},
    {"mlp.c_proj.weight", {LAYER "fc2.weight"}},
    {"mlp.c_proj.bias", {LAYER "fc2.bias"}},
    {"ln_f.weight", {"decoder.layer_norm.weight"}},
    {"ln_f.bias", {"decoder.layer_norm.bias"}},
    {"lm_head.weight", {"decoder.output_projection.weight"}},
};
/* Positions are counted from behind the padding's id, 1. */
static const struct naming naming = {.title = "fairseq",
                                     .out_major = true,
                                     .skip_positions = 2,
                                     .rows = rows,
                                     .n_rows = sizeof rows / sizeof *rows};

static const json_t *model_settings(const struct checkpoint *k)
{
    const json_t *cfg = json_object_get(json_object_get(k->about, "cfg"), "model");
    return json_is_object(cfg) ? cfg : json_object_get(k->about, "args");
}

static bool is_fairseq(const struct checkpoint *k)
{
    return hf_files_entry(&k->files, "decoder.embed_tokens.weight") != NULL &&
           hf_files_entry(&k->files, "encoder.embed_tokens.weight") == NULL;
}

/* What GPT-2 does not have: switches that must be off, and settings that must be missing or 0. */
static int refuse_settings(const json_t *o)
{
    static const char *const keys[] = {"adaptive_input",
                                       "adaptive_softmax_cutoff",
                                       "character_embeddings",
                                       "layernorm_embedding",
                                       "no_token_positional_embeddings",
                                       "no_decoder_final_norm",
                                       "base_layers",
                                       "scale_fc",
                                       "scale_attn",
                                       "scale_heads",
                                       "scale_resids"};
    char shown[60];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *v = json_object_get(o, keys[i]);
        if (v != NULL && !json_is_null(v) && !json_is_false(v) &&
            !(json_is_integer(v) && json_integer_value(v) == 0))
            return err_set(ERR_UNSUPPORTED, "fairseq's %s is %s, which GPT-2 does not have",
                           keys[i], json_shown(shown, sizeof shown, v));
    }
    return 0;
}

static int read_activation(struct config *c, const json_t *o)
{
    const char *name = "relu"; /* fairseq's default */
    int rc = json_take_text(o, "activation_fn", &name);
    if (rc != 0 || activation_find(&c->activation, name))
        return rc;
    char shown[60], names[ACTIVATION_NAMES_BYTES];
    return err_set(ERR_UNSUPPORTED, "activation_fn is %s, must be %s",
                   json_shown(shown, sizeof shown, json_object_get(o, "activation_fn")),
                   activation_names(names, sizeof names));
}

/* The length of a text: of learned positions the tensor's, else tokens_per_sample. */
static int read_positions(struct config *c, struct naming *n, const json_t *o,
                          const struct checkpoint *k)
{
    const json_t *task = json_object_get(json_object_get(k->about, "cfg"), "task");
    bool learned = false;
    int64_t tokens = 0;
    int rc = json_take_bool(o, "decoder_learned_pos", &learned);
    if (rc == 0 && !learned) {
        n->sinusoidal = true;
        if ((rc = json_take_int(o, "tokens_per_sample", 1, INT32_MAX, &tokens)) == 0 && tokens == 0)
            rc = json_take_int(task, "tokens_per_sample", 1, INT32_MAX, &tokens);
        c->n_ctx = tokens == 0 ? 1024 : (int)tokens;
    } else if (rc == 0) {
        c->n_ctx = foreign_rows(k, "decoder.embed_positions.weight") - n->skip_positions;
    }
    return rc;
}

static int read_fairseq(struct config *c, struct naming *n, const struct checkpoint *k)
{
    const json_t *o = model_settings(k);
    const struct foreign_size sizes[] = {{"decoder_layers", &c->n_layer},
                                         {"decoder_attention_heads", &c->n_head},
                                         {"decoder_embed_dim", &c->n_embd},
                                         {"decoder_ffn_embed_dim", &c->n_inner}};
    bool shared = false, unscaled = false;
    if (!json_is_object(o))
        return err_set(ERR_MISSING, "it is a checkpoint of fairseq without the model's settings "
                                    "(cfg or args)");
    int rc = refuse_settings(o);
    if (rc == 0)
        rc = foreign_read_sizes(o, sizes, sizeof sizes / sizeof *sizes);
    if (rc == 0)
        rc = read_activation(c, o);
    if (rc == 0)
        rc = read_positions(c, n, o, k);
    if (rc == 0)
        rc = json_take_bool(o, "share_decoder_input_output_embed", &shared);
    if (rc == 0)
        rc = json_take_bool(o, "no_scale_embedding", &unscaled);
    if (rc == 0)
        rc = foreign_read_dropout(o, "dropout", &c->resid_pdrop);
    c->embd_pdrop = c->resid_pdrop;
    if (rc == 0)
        rc = foreign_read_dropout(o, "attention_dropout", &c->attn_pdrop);
    /* A shared matrix is scaled as embedding and not as head: two matrices here. */
    n->scales_embedding = !unscaled;
    c->tie_word_embeddings = shared && unscaled;
    c->n_vocab = foreign_rows(k, "decoder.embed_tokens.weight");
    c->bos_token_id = c->eos_token_id = c->n_vocab > 2 ? 2 : TOKEN_NONE; /* </s> */
    return rc;
}

static int open_dictionary(struct tokenizer **out, const struct checkpoint *k,
                           const struct config *c, const struct progress *p)
{
    return dict_vocab_open(out, k->files.folder, c, p);
}

const struct foreign_kind foreign_fairseq = {is_fairseq, read_fairseq, &naming, open_dictionary};
