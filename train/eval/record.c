#include "train/eval/record.h"

#include "model/adapter.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/sha256.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Bytes that are no UTF-8 cannot stand in JSON: made visible. */
static json_t *text_value(const char *s)
{
    char shown[1024];
    json_t *value = json_string(s);
    return value != NULL ? value : json_string(file_show(shown, sizeof shown, s));
}

/* One file has one name, from wherever it was measured; a pattern and a list are of a folder. */
static json_t *path_value(const char *path)
{
    char *whole = realpath(path, NULL), *here = NULL, *joined = NULL;
    if (whole == NULL && *path != '\0' && *path != '/' && (here = realpath(".", NULL)) != NULL)
        joined = file_join(here, path);
    json_t *value = text_value(whole != NULL ? whole : joined != NULL ? joined : path);
    mem_free(joined);
    free(here);
    free(whole);
    return value;
}

/* What a file had in it, NULL: it is none that can be read once more, or too large to be at once.
 */
static json_t *contents_value(const char *path)
{
    const uint64_t most = (uint64_t)256 << 20;
    char hex[SHA256_HEX] = "";
    struct sha256_progress silent = {.ignores_interrupt = true};
    struct sha256 h = {0};
    struct file f;
    if (file_open(&f, path) != 0) {
        err_clear();
        return NULL;
    }
    if (f.bytes <= most && sha256_init(&h) == 0 && sha256_add_file(&h, &f, &silent) == 0)
        sha256_end_hex(&h, hex);
    sha256_release(&h);
    file_close(&f);
    return *hex == '\0' ? NULL : json_string(hex);
}

static json_t *number_value(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

/* Adds the members that say which model, whose fingerprint is known, and takes o. */
static json_t *add_model(json_t *o, struct model *m, const char *precision)
{
    char hex[65];
    text_hex(hex, m->fingerprint, 32);
    int rc = json_object_set_new(o, "model", text_value(m->name));
    rc |= json_object_set_new(o, "source", text_value(m->source));
    rc |= json_object_set_new(o, "fingerprint", json_string(hex));
    rc |= json_object_set_new(o, "dtype", json_string(precision));
    rc |= json_object_set_new(o, "changed", json_boolean(m->changed));
    if (m->adapter != NULL && m->adapter->on)
        rc |= json_object_set_new(
            o, "adapter", m->adapter->path == NULL ? json_true() : text_value(m->adapter->path));
    if (rc == 0)
        return o;
    json_decref(o);
    return NULL;
}

static json_t *figures_value(const struct eval_result *r)
{
    json_t *all = json_object();
    for (int i = 0; i < r->n_figures; i++) {
        const struct eval_figure *f = &r->figures[i];
        json_t *o = json_pack("{s:s, s:o}", "text", f->text, "value", number_value(f->value));
        if (isfinite(f->error))
            json_object_set_new(o, "error", json_real(f->error));
        json_object_set_new(all, f->name, o);
    }
    return all;
}

/* Without those that the evaluation does not read. */
static json_t *config_value(const char *name, const struct eval_config *c)
{
    const bool strides = strcmp(name, "text") != 0;
    return json_pack("{s:i, s:o*, s:i, s:I, s:b, s:b, s:o*}", "seq_length", c->seq_length,
                     "overlap", strides ? json_integer(c->overlap) : NULL, "last_n", c->last_n,
                     "limit", (json_int_t)c->limit, "detokenize", c->detokenize, "strict",
                     c->strict, "special", c->special ? json_true() : NULL);
}

static json_t *date_value(void)
{
    char date[32];
    time_t t = time(NULL);
    struct tm utc;
    gmtime_r(&t, &utc);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return json_string(date);
}

json_t *eval_record(const struct eval_result *r, struct model *m, struct model *other)
{
    /* Which may read layers from disk, and fail with an error of its own. */
    if (model_fingerprint(m) == NULL || (other != NULL && model_fingerprint(other) == NULL))
        return NULL;
    json_t *o = json_object();
    int rc = o == NULL ? -1 : json_object_set_new(o, "date", date_value());
    if (rc == 0 && (o = add_model(o, m, r->precision)) != NULL) {
        json_t *rest = json_pack(
            "{s:s, s:s, s:o, s:o*, s:o, s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:b}", "evaluation",
            r->name, "definition", r->definition, "file", path_value(r->path), "sha256",
            contents_value(r->path), "settings", config_value(r->name, &r->config), "figures",
            figures_value(r), "unit", r->unit, "done", (json_int_t)r->done, "total",
            (json_int_t)r->total, "left_out", (json_int_t)r->left_out, "targets",
            (json_int_t)r->targets, "tokens", (json_int_t)r->tokens, "seconds", r->seconds,
            "partial", r->partial);
        rc = rest == NULL ? -1 : json_object_update(o, rest);
        json_decref(rest);
        if (rc == 0 && other != NULL)
            rc = json_object_set_new(o, "other",
                                     add_model(json_object(), other, r->other_precision));
    }
    if (rc == 0 && o != NULL)
        return o;
    json_decref(o);
    err_set(ERR_NOMEM, "no memory for the record of a result");
    return NULL;
}
