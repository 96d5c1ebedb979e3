#include "model/model.h"

#include "model/adapter.h"
#include "model/base/mem.h"

void model_free(struct model *m)
{
    if (m == NULL)
        return;
    adapter_free(m->adapter);
    params_release(&m->params);
    tokenizer_free(m->tokenizer);
    mem_free(m->name);
    mem_free(m->source);
    mem_free(m->defaults);
    kept_files_release(&m->kept);
    mem_free(m);
}

const char *model_precision(const struct model *m)
{
    return dtype_short_name(m->params.dtype);
}

const unsigned char *model_fingerprint(struct model *m)
{
    if (m->fingerprint_version != m->version) {
        if (params_hash(&m->params, m->fingerprint) != 0)
            return NULL;
        m->fingerprint_version = m->version;
    }
    return m->fingerprint;
}
