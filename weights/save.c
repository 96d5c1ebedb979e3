#include "weights/save.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "weights/gguf/gguf_write.h"
#include "weights/hf/adapter_file.h"
#include "weights/hf/save_hf.h"
#include "weights/hf/source_adapter.h"
#include "weights/llmc/source_llmc.h"
#include "weights/model_source.h"
#include "weights/open.h"
#include "weights/run_folder.h"
#include "weights/tensors/folder.h"

#include <string.h>

static bool is_gguf(const char *path)
{
    return text_ends_in(path, ".gguf") || text_ends_in(path, ".GGUF");
}

/* A model of llm.c; pytorch_model.bin would be Hugging Face's. */
static bool is_llmc(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash == NULL ? path : slash + 1;
    return text_ends_in(base, ".bin") && strncmp(base, "pytorch_model", 13) != 0;
}

/* ERR_RANGE for names of files that are not written: only folders, GGUF files and llm.c's are, and
 * Q8_0 only in GGUF files. */
static int refuse_file_name(const char *path, const struct save_config *c)
{
    static const char *const endings[] = {".safetensors", ".bin", ".pt",   ".pth",
                                          ".ckpt",        ".pkl", ".json", ".ggml",
                                          ".onnx",        ".h5",  ".zip",  ".tar"};
    char shown[256];
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (text_ends_in(path, endings[i]) && !is_llmc(path))
            return err_set(ERR_RANGE,
                           "%s: name a folder, which gets a model.safetensors and what belongs to "
                           "it, or a file that ends in .gguf, or in .bin for llm.c",
                           file_show(shown, sizeof shown, path));
    if (c->convert && c->dtype == DTYPE_Q8 && !is_gguf(path))
        return err_set(ERR_RANGE,
                       "%s: q8 is written to GGUF files only; name a file that ends in .gguf, or "
                       "choose another dtype",
                       file_show(shown, sizeof shown, path));
    return 0;
}

/* Check the target before anything is read. */
static int check_target(const char *path, const struct save_config *c)
{
    int rc = refuse_file_name(path, c);
    if (rc == 0)
        rc = run_folder_spare(path);
    if (rc == 0 && !is_gguf(path) && !is_llmc(path))
        return folder_check(path, c->force);
    if (rc == 0 && !c->force && file_exists(path))
        rc = file_refuse(ERR_EXISTS, path, "exists already; --force overwrites it");
    return rc;
}

/* What is not written in the file's own types; GGUF files have Q8_0 too. */
static void note_quantized(const struct source *s, bool gguf, const struct progress *p)
{
    char types[MODEL_TYPES];
    if (*source_types(types, s, gguf ? SOURCE_TYPES_WIDENED : SOURCE_TYPES_QUANTIZED) != '\0')
        progress_note(p,
                      "quantized weights (%s) are written as F32, which holds their exact values; "
                      "--dtype fp16 takes half the space",
                      types);
}

/* What no file of this format can say. */
static int check_format(const struct source *s, const char *path)
{
    const struct config *c = &s->config;
    if (is_gguf(path) && config_heads_width(c) != c->n_embd)
        return err_set(
            ERR_UNSUPPORTED,
            "%d heads of %d are not as wide as the model's %d, which GGUF cannot say of a "
            "GPT-2: name a folder",
            c->n_head, config_head_size(c), c->n_embd);
    size_t n;
    if (is_gguf(path) && s->tokenizer != NULL && tokenizer_file(s->tokenizer, &n) != NULL)
        return err_set(ERR_UNSUPPORTED, "a GGUF file does not hold the SentencePiece tokenizer of "
                                        "this model: name a folder");
    if (is_gguf(path) && c->type != MODEL_GPT2)
        return err_set(ERR_UNSUPPORTED,
                       "no program reads a GPT-Neo from GGUF: name a folder, which "
                       "gets a model.safetensors that transformers reads");
    return 0;
}

int source_save(struct source *s, const char *path, const struct save_config *c,
                const struct progress *p)
{
    int rc = refuse_file_name(path, c);
    if (rc == 0)
        rc = run_folder_spare(path);
    if (rc == 0)
        rc = adapter_spare_base(path, s->base);
    if (rc == 0)
        rc = check_format(s, path);
    if (rc == 0)
        rc = is_gguf(path)   ? source_save_gguf(s, path, c, p)
             : is_llmc(path) ? source_save_llmc(s, path, c, p)
                             : source_save_hf(s, path, c, p);
    if (rc == 0 && !c->convert)
        note_quantized(s, is_gguf(path), p);
    if (rc == 0 && config_heads_width(&s->config) != s->config.n_embd)
        progress_note(p,
                      "heads of %d make another width than the model's %d: config.json says so as "
                      "head_dim, which transformers does not read for this kind of model",
                      config_head_size(&s->config), s->config.n_embd);
    return rc;
}

int weights_convert(const char *in, const char *out, uint64_t seed, const struct save_config *c,
                    const struct progress *p)
{
    struct source s;
    int rc = refuse_file_name(out, c);
    if (rc == 0)
        rc = source_open(&s, in, seed, true, p);
    if (rc != 0)
        return rc;
    rc = source_save(&s, out, c, p);
    source_close(&s);
    return rc;
}

int model_save(struct model *m, const char *path, const struct save_config *c,
               const struct progress *p)
{
    struct source s;
    int rc = check_target(path, c);
    if (rc == 0)
        rc = source_of_model(&s, m, p);
    if (rc != 0)
        return rc;
    bool adapted = m->adapter != NULL && m->adapter->on;
    if (adapted && m->source != NULL && (s.base = mem_strdup(m->source)) == NULL)
        rc = ERR_NOMEM;
    if (rc == 0 && adapted && !s.in_memory) /* which has it in its weights */
        rc = source_adapt(&s, m->adapter);
    if (rc == 0)
        rc = source_save(&s, path, c, p);
    const bool widened = m->params.dtype == DTYPE_Q8 && !is_gguf(path);
    if (rc == 0 && (m->changed || m->narrower) && !adapted && !c->convert) {
        source_moved(m, mem_strdup(path));
        m->narrower = widened;
    }
    source_close(&s);
    return rc;
}
