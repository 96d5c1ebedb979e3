#include "weights/foreign/languini.h"

#include "model/base/err.h"
#include "weights/hf/vocab.h"

#define LAYER "layers." NAMING_LAYER "."
static const struct naming_row rows[] = {
    {"wte.weight", {"input_embedding.weight"}},
    {"wpe.weight", {"position_embedding.weight"}},
    {"ln_1.weight", {LAYER "ln1.weight"}},
    {"ln_1.bias", {LAYER "ln1.bias"}},
    {"attn.c_attn.weight",
     {LAYER "attn.linear_Q.weight", LAYER "attn.linear_K.weight", LAYER "attn.linear_V.weight"}},
    {"attn.c_attn.bias",
     {LAYER "attn.linear_Q.bias", LAYER "attn.linear_K.bias", LAYER "attn.linear_V.bias"}},
    {"attn.c_proj.weight", {LAYER "attn.linear_O.weight"}},
    {"attn.c_proj.bias", {LAYER "attn.linear_O.bias"}},
    {"ln_2.weight", {LAYER "ln2.weight"}},
    {"ln_2.bias", {LAYER "ln2.bias"}},
    {"mlp.c_fc.weight", {LAYER "mlp.c_fc.weight"}},
    {"mlp.c_fc.bias", {LAYER "mlp.c_fc.bias"}},
    {"mlp.c_proj.weight", {LAYER "mlp.c_proj.weight"}},
    {"mlp.c_proj.bias", {LAYER "mlp.c_proj.bias"}},
    {"lm_head.weight", {"linear.weight"}},
};
static const struct naming naming = {.title = "Languini",
                                     .out_major = true,
                                     .scales_embedding = true,
                                     .rows = rows,
                                     .n_rows = sizeof rows / sizeof *rows};

static bool is_languini(const struct checkpoint *k)
{
    return hf_files_entry(&k->files, "input_embedding.weight") != NULL &&
           hf_files_entry(&k->files, "layers.0.attn.linear_Q.weight") != NULL;
}

static int read_languini(struct config *c, struct naming *n, const struct checkpoint *k)
{
    const struct foreign_size sizes[] = {{"n_layers", &c->n_layer},   {"n_heads", &c->n_head},
                                         {"h_dim", &c->n_embd},       {"mlp_dim", &c->n_inner},
                                         {"head_dim", &c->head_size}, {"seq_len", &c->n_ctx},
                                         {"vocab_size", &c->n_vocab}};
    (void)n;
    if (k->beside == NULL)
        return err_set(ERR_MISSING, "it is a checkpoint of Languini, whose config.pickle, in its "
                                    "folder or the one above, says the shape of the model");
    c->tie_word_embeddings = false;
    c->embd_pdrop = c->attn_pdrop = c->resid_pdrop = 0;
    c->bos_token_id = c->eos_token_id = TOKEN_NONE;
    return foreign_read_sizes(k->beside, sizes, sizeof sizes / sizeof *sizes);
}

static int open_vocab(struct tokenizer **out, const struct checkpoint *k, const struct config *c,
                      const struct progress *p)
{
    return vocab_open_folder(out, k->files.folder, c, p);
}

const struct foreign_kind foreign_languini = {is_languini, read_languini, &naming, open_vocab};
