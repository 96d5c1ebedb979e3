#include "weights/hf/config_kept.h"

#include "model/base/err.h"
#include "model/base/json.h"
#include "weights/hf/hf_config.h"

#include <string.h>

/* *same: whether a file says all of c, by itself or by transformers' defaults. */
static int compare_configs(bool *same, const struct config *c, const char *text, size_t n)
{
    struct config said;
    struct buf a = {0}, b = {0};
    *same = false;
    int rc = hf_config_parse(&said, text, n);
    if (rc != 0)
        return rc == ERR_NOMEM ? rc : 0;
    if ((rc = hf_config_write(&a, c, DTYPE_F32)) == 0 &&
        (rc = hf_config_write(&b, &said, DTYPE_F32)) == 0)
        *same = strcmp(buf_text(&a), buf_text(&b)) == 0;
    buf_release(&a);
    buf_release(&b);
    return rc;
}

/* Give a member another object's value. */
static int take_member(json_t *o, bool *changed, const char *key, json_t *value)
{
    if (json_equal(json_object_get(o, key), value))
        return 0;
    *changed = true;
    return json_object_set(o, key, value) == 0
               ? 0
               : err_set(ERR_NOMEM, "no memory for the configuration");
}

/* Bring the file's object up to date; newer files of transformers have dtype for torch_dtype. */
static int update_members(json_t *o, bool *changed, const json_t *ours)
{
    json_t *dtype = json_object_get(ours, "torch_dtype");
    const bool newer = json_object_get(o, "dtype") != NULL;
    int rc = take_member(o, changed, "architectures", json_object_get(ours, "architectures"));
    if (rc == 0)
        rc = take_member(o, changed, "model_type", json_object_get(ours, "model_type"));
    if (rc == 0 && newer)
        rc = take_member(o, changed, "dtype", dtype);
    if (rc == 0 && (!newer || json_object_get(o, "torch_dtype") != NULL))
        rc = take_member(o, changed, "torch_dtype", dtype);
    return rc;
}

/* Merge the file's object into ours, or ours into it where it says the same. */
static int print_merged(struct buf *out, json_t *o, json_t *ours, bool same, bool *changed)
{
    if (!same && json_object_update_missing(ours, o) != 0)
        return err_set(ERR_NOMEM, "no memory for the configuration");
    *changed = !same;
    int rc = same ? update_members(o, changed, ours) : 0;
    if (rc == 0 && *changed && (rc = json_print(out, same ? o : ours, JSON_INDENT(2))) == 0)
        rc = buf_char(out, '\n');
    return rc;
}

int hf_config_write_kept(struct buf *out, const struct config *c, enum dtype dtype,
                         const char *text, size_t n)
{
    json_t *o = NULL, *ours = NULL;
    struct buf own = {0};
    bool same, changed = false;
    const size_t before = out->n;
    int rc = compare_configs(&same, c, text, n);
    if (rc == 0)
        rc = hf_config_write(&own, c, dtype);
    if (rc == 0)
        rc = json_read_text(&ours, own.data, own.n);
    if (rc == 0)
        rc = json_read_text(&o, text, n);
    if (rc == 0)
        rc = print_merged(out, o, ours, same, &changed);
    if (rc == 0 && !changed)
        rc = buf_add(out, text, n);
    if (rc != 0 && out->data != NULL)
        out->data[out->n = before] = '\0';
    json_decref(o);
    json_decref(ours);
    buf_release(&own);
    return rc;
}
