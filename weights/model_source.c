#include "weights/model_source.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/half.h"
#include "model/base/mem.h"
#include "weights/open.h"

#include <string.h>

enum { READ_PART = 4096 };

/* As which a tensor in memory is read; Q8_0 as fp32. */
static enum dtype element_dtype(const struct param_tensor *t)
{
    bool half = t->half != NULL || (t->linear != NULL && t->linear->dtype == DTYPE_F16);
    return half ? DTYPE_F16 : DTYPE_F32;
}

static int read_param(void *user, void *dst, uint64_t first, size_t n)
{
    const struct param_tensor *t = user;
    if (element_dtype(t) == DTYPE_F32) {
        params_read(t, dst, first, n);
        return 0;
    }
    uint16_t *out = dst;
    if (t->half != NULL) {
        memcpy(out, t->half + first, n * sizeof *out);
        return 0;
    }
    float part[READ_PART];
    for (size_t done = 0; done < n;) {
        size_t count = n - done < READ_PART ? n - done : READ_PART;
        params_read(t, part, first + done, count);
        for (size_t i = 0; i < count; i++)
            out[done + i] = half_from_f32(part[i]);
        done += count;
    }
    return 0;
}

/* Blocks in rows [out,in]: columns of panels. */
static int read_param_q8(void *user, struct q8_block *dst, uint64_t first, size_t n)
{
    const struct param_tensor *t = user;
    const size_t each = (size_t)t->linear->K / Q8_BLOCK;
    for (size_t count; n > 0; n -= count, dst += count, first += count) {
        const size_t at = (size_t)(first % each);
        count = each - at < n ? each - at : n;
        linear_read_q8(t->linear, (int)(first / each), (int)at, (int)count, dst);
    }
    return 0;
}

static int describe_model(struct source *s, const struct params *p, const struct model *m)
{
    int rc = params_describe(&s->table, &m->config);
    if (rc != 0)
        return rc;
    /* Trained, it is another model than the one of that name. */
    s->name = m->changed ? NULL : mem_strdup(m->name);
    s->defaults = m->defaults == NULL ? NULL : mem_strdup(m->defaults);
    s->defaults_file = m->defaults_file;
    s->readers = mem_array((size_t)s->table.n_tensors, sizeof *s->readers);
    if ((s->name == NULL && !m->changed) || s->readers == NULL ||
        (m->defaults != NULL && s->defaults == NULL))
        return ERR_NOMEM;
    if ((rc = kept_files_copy(&s->kept, &m->kept)) != 0)
        return rc;
    s->dtype = element_dtype(&p->tensors[0]);
    for (int i = 0; i < s->table.n_tensors; i++) {
        struct param_tensor *t = &p->tensors[i];
        const bool q8 = t->linear != NULL && t->linear->dtype == DTYPE_Q8;
        s->readers[i] = (struct tensor_reader){.read = read_param,
                                               .user = t,
                                               .dtype = element_dtype(t),
                                               .stored = q8 ? dtype_name(DTYPE_Q8) : NULL,
                                               .read_q8 = q8 ? read_param_q8 : NULL};
    }
    return 0;
}

int source_open_params(struct source *s, const struct params *p, const struct model *m)
{
    *s = (struct source){.config = m->config,
                         .tokenizer = m->tokenizer,
                         .tokenizer_borrowed = true,
                         .in_memory = true};
    int rc = params_need_memory(p, "saving the weights in use");
    if (rc == 0)
        rc = describe_model(s, p, m);
    if (rc != 0)
        source_close(s);
    return rc;
}

int source_open_model(struct source *s, const struct model *m)
{
    return source_open_params(s, &m->params, m);
}

/* ---- or the files that it came from ---- */

int source_of_model(struct source *s, const struct model *m, const struct progress *p)
{
    char shown[256];
    if (m->changed || m->narrower || m->source == NULL)
        return source_open_model(s, m);
    const bool random = strncmp(m->source, "random:", 7) == 0;
    int rc = source_open(s, m->source, 0, true, NULL);
    if (rc == ERR_NOMEM) /* which says nothing of the files */
        return rc;
    if (rc == 0) {
        if ((random || s->stamp == m->source_stamp) && config_same_shape(&s->config, &m->config)) {
            s->config = m->config;
            return 0;
        }
        source_close(s);
    }
    progress_note(p, "%s is not what it was when it was loaded: the weights are those in memory",
                  file_show(shown, sizeof shown, m->source));
    return source_open_model(s, m);
}

void source_moved(struct model *m, char *path)
{
    struct source s;
    if (path == NULL)
        return;
    mem_free(m->source);
    m->source = path;
    m->source_stamp = 0;
    m->changed = m->narrower = false;
    if (source_open(&s, path, 0, true, NULL) == 0) {
        m->source_stamp = s.stamp;
        source_types(m->file_types, &s, SOURCE_TYPES_ALL);
        mem_free(m->name);
        m->name = s.name;
        s.name = NULL;
        source_close(&s);
    }
}
