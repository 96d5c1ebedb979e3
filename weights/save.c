#include "weights/save.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "weights/adapter_file.h"

#include <string.h>

static bool is_gguf(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".gguf") == 0;
}

int source_save(struct source *s, const char *path, const struct save_config *c,
                const struct progress *p)
{
    return is_gguf(path) ? source_save_gguf(s, path, c, p) : source_save_hf(s, path, c, p);
}

int weights_convert(const char *in, const char *out, uint64_t seed, const struct save_config *c,
                    const struct progress *p)
{
    struct source s;
    int rc = source_open(&s, in, seed, true, p);
    if (rc != 0)
        return rc;
    rc = source_save(&s, out, c, p);
    source_close(&s);
    return rc;
}

static bool same_shape(const struct config *a, const struct config *b)
{
    return a->n_layer == b->n_layer && a->n_head == b->n_head && a->n_embd == b->n_embd &&
           a->n_ctx == b->n_ctx && a->n_vocab == b->n_vocab && a->n_inner == b->n_inner &&
           a->tie_word_embeddings == b->tie_word_embeddings;
}

/* What was changed in memory is in the file now: that is the model's source. */
static int move_source(struct model *m, const char *path)
{
    char *source = mem_strdup(path);
    if (source == NULL)
        return ERR_NOMEM;
    mem_free(m->source);
    m->source = source;
    m->changed = false;
    return 0;
}

int model_save(struct model *m, const char *path, const struct save_config *c,
               const struct progress *p)
{
    struct source s;
    int rc = m->changed ? source_open_model(&s, m) : source_open(&s, m->source, 0, true, p);
    if (rc != 0)
        return rc;
    bool adapted = m->adapter != NULL && m->adapter->on;
    if (!same_shape(&s.config, &m->config))
        rc = err_set(ERR_MISMATCH, "%s is another model than when it was loaded; :load it again",
                     m->source);
    if (rc == 0 && adapted && !m->changed)
        rc = source_adapt(&s, m->adapter, true);
    if (rc == 0)
        rc = source_save(&s, path, c, p);
    if (rc == 0 && m->changed && !adapted && c->dtype == SAVE_KEEP)
        rc = move_source(m, path);
    source_close(&s);
    return rc;
}
