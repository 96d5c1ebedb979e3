#include "weights/llmc/llmc.h"
#include "weights/llmc/source_llmc.h"

#include "model/base/err.h"
#include "model/gpt2_vocab.h"
#include "model/schema.h"
#include "weights/tensors/tensor_copy.h"

#include <math.h>

/* llm.c has GPT-2's own architecture built in. */
static int check_config(const struct config *c)
{
    const struct {
        bool is;
        const char *what;
    } all[] = {{c->type != MODEL_GPT2, "another model than GPT-2"},
               {!c->tie_word_embeddings, "an untied head"},
               {config_heads_width(c) != c->n_embd, "heads of another width than the model"},
               {c->activation != ACTIVATION_GELU_TANH, "another activation than tanh GELU"},
               {c->n_inner != 4 * c->n_embd, "a feed-forward width other than 4 n_embd"},
               {!c->scale_attn_weights, "attention without scaling"},
               {c->scale_attn_by_inverse_layer_idx, "attention scaled by the layer"},
               {c->layer_norm_epsilon < 0.99e-5f || c->layer_norm_epsilon > 1.01e-5f,
                "a layer_norm_epsilon other than 1e-5"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].is)
            return err_set(ERR_UNSUPPORTED, "llm.c cannot compute %s: name a folder%s", all[i].what,
                           c->type == MODEL_GPT2 ? " or a file that ends in .gguf" : "");
    return 0;
}

static int choose_dtype(struct llmc *h, const struct source *s, const struct save_config *c)
{
    bool all_bf16 = true;
    for (int i = 0; i < s->table.n_tensors; i++)
        all_bf16 = all_bf16 && s->readers[i].dtype == DTYPE_BF16;
    if (c->convert && c->dtype == DTYPE_F16)
        return err_set(ERR_UNSUPPORTED, "llm.c has no fp16 files: --dtype fp32 or bf16");
    h->dtype = c->convert ? c->dtype : all_bf16 ? DTYPE_BF16 : DTYPE_F32;
    h->version = h->dtype == DTYPE_BF16 ? LLMC_BF16 : LLMC_F32;
    return 0;
}

/* The rows of wte beyond the vocabulary. */
static int write_padding(struct file_writer *f, const struct llmc *h)
{
    static const char zeros[4096];
    size_t n =
        (size_t)(h->padded - h->config.n_vocab) * (size_t)h->config.n_embd * dtype_bytes(h->dtype);
    int rc = 0;
    for (size_t part; n > 0 && rc == 0; n -= part) {
        part = n < sizeof zeros ? n : sizeof zeros;
        rc = file_write(f, zeros, part);
    }
    return rc;
}

static int write_tensor(struct tensor_copy *copy, const struct source *s, const struct llmc *h,
                        int i)
{
    int rc = tensor_copy_write(copy, &s->table.tensors[i], &s->readers[i], h->dtype, true);
    return rc == 0 && i == 0 ? write_padding(copy->to, h) : rc;
}

static int write_tensors(struct tensor_copy *copy, const struct source *s, const struct llmc *h)
{
    const int first = schema_first_of_layers(&h->config);
    const int each = schema_tensors_per_layer(&h->config), after = first + each * h->config.n_layer;
    int rc = 0;
    for (int i = 0; i < first && rc == 0; i++)
        rc = write_tensor(copy, s, h, i);
    for (int k = 0; k < each; k++)
        for (int i = first + k; i < after && rc == 0; i += each)
            rc = write_tensor(copy, s, h, i);
    for (int i = after; i < s->table.n_tensors && rc == 0; i++)
        rc = write_tensor(copy, s, h, i);
    return rc;
}

int source_save_llmc(struct source *s, const char *path, const struct save_config *c,
                     const struct progress *p)
{
    struct llmc h = {.config = s->config};
    unsigned char header[LLMC_HEADER_BYTES];
    struct file_writer f;
    h.padded = (s->config.n_vocab + LLMC_PADDING - 1) / LLMC_PADDING * LLMC_PADDING;
    int rc = check_config(&s->config);
    if (rc == 0)
        rc = choose_dtype(&h, s, c);
    if (rc == 0)
        rc = file_create(&f, path, c->force);
    if (rc != 0)
        return rc;
    struct tensor_copy copy = {.to = &f, .progress = p, .total = llmc_bytes(&h)};
    llmc_header(header, &h);
    if ((rc = file_write(&f, header, sizeof header)) == 0 &&
        (rc = write_tensors(&copy, s, &h)) == 0) {
        tensor_copy_warn(&copy, h.dtype);
        rc = file_commit(&f);
    }
    if (rc == 0 && s->tokenizer != NULL && !gpt2_vocab_is(&s->config))
        progress_note(p, "llm.c's files have no tokenizer: to read texts the model needs its own "
                         "tokenizer.json beside it");
    file_abandon(&f);
    tensor_copy_release(&copy);
    return rc;
}
