#include "weights/hf/adapter_file.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "weights/bundled/bundled.h"
#include "weights/hf/adapter_half.h"
#include "weights/hf/safetensors.h"
#include "weights/hf/tensor_open.h"
#include "weights/tensors/folder.h"
#include "weights/tensors/half_exact.h"
#include "weights/tensors/weights_sample.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 160, MAX_JSON = 1 << 20 };

static const char CONFIG[] = "adapter_config.json", TENSORS[] = "adapter_model.safetensors",
                  PICKLED[] = "adapter_model.bin", BASE[] = "prattle.base_sample";

bool adapter_is_folder(const char *path)
{
    return file_exists_in(path, CONFIG);
}

/* ---- adapter_config.json ---- */

/* Settings that change what is computed: refused unless they are empty. */
static const char *const refused[] = {
    "use_dora",        "lora_bias",         "rank_pattern",
    "alpha_pattern",   "modules_to_save",   "layers_to_transform",
    "exclude_modules", "target_parameters", "trainable_token_indices",
    "use_qalora",      "layer_replication", "alora_invocation_tokens",
    "use_bdlora",      "arrow_config",      "kasa_config",
    "megatron_config", "monteclora_config",
};
/* Initializations that subtract from the base's weights, so that its files are not the base. */
static const char *const moved_bases[] = {"pissa", "olora", "corda", "loftq", "lora_ga"};

static bool is_set_value(const json_t *v)
{
    bool empty = (json_is_array(v) && json_array_size(v) == 0) ||
                 (json_is_object(v) && json_object_size(v) == 0) ||
                 (json_is_string(v) && *json_string_value(v) == '\0');
    return v != NULL && !json_is_null(v) && !json_is_false(v) && !empty;
}

static int check_plain_lora(const json_t *o)
{
    char shown[SHOWN];
    const char *type = NULL, *bias = "none";
    int rc = json_take_text(o, "peft_type", &type);
    if (rc == 0 && (type == NULL || strcmp(type, "LORA") != 0))
        rc = err_set(ERR_UNSUPPORTED, "peft_type is %s, only LORA is read",
                     type == NULL ? "missing" : file_show(shown, sizeof shown, type));
    if (rc == 0 && (rc = json_take_text(o, "bias", &bias)) == 0 && strcmp(bias, "none") != 0)
        rc = err_set(ERR_UNSUPPORTED, "bias is %s, only none is read",
                     file_show(shown, sizeof shown, bias));
    for (size_t i = 0; i < sizeof refused / sizeof *refused && rc == 0; i++)
        if (is_set_value(json_object_get(o, refused[i])))
            rc = err_set(ERR_UNSUPPORTED, "%s is %s, which is not read", refused[i],
                         json_shown(shown, sizeof shown, json_object_get(o, refused[i])));
    const char *start = json_string_value(json_object_get(o, "init_lora_weights"));
    for (size_t i = 0; i < sizeof moved_bases / sizeof *moved_bases && rc == 0; i++)
        if (start != NULL && strncmp(start, moved_bases[i], strlen(moved_bases[i])) == 0)
            rc = err_set(ERR_UNSUPPORTED,
                         "init_lora_weights is %s: it is for a base whose own weights were "
                         "changed, PEFT can convert it to plain LoRA",
                         moved_bases[i]);
    return rc;
}

/* a->targets is borrowed from `text`. */
static int read_config(struct adapter_config *a, struct buf *text, const json_t *o,
                       enum model_type type)
{
    int64_t rank = -1;
    double alpha = 8, dropout = 0;
    if (!json_is_object(o))
        return err_set(ERR_FORMAT, "it is no JSON object");
    int rc = check_plain_lora(o);
    if (rc == 0)
        rc = json_take_int(o, "r", 1, ADAPTER_MAX_RANK, &rank);
    if (rc == 0 && rank < 0)
        rc = err_set(ERR_FORMAT, "r, the adapter's rank, is missing");
    if (rc == 0 && (rc = json_take_number(o, "lora_alpha", -1e6, 1e6, &alpha)) == 0 &&
        (rc = json_take_number(o, "lora_dropout", 0, 0.99, &dropout)) == 0 &&
        (rc = json_take_bool(o, "use_rslora", &a->rslora)) == 0)
        rc = adapter_targets_read(text, &a->qkv, o, type);
    a->rank = (int)rank;
    a->alpha = (float)alpha;
    a->dropout = (float)dropout;
    a->targets = text->data;
    return rc != 0 || text->n > 0 ? rc : err_set(ERR_FORMAT, "target_modules is empty");
}

int adapter_open(struct adapter_folder *f, const char *path, const struct file_set *open)
{
    json_t *o = NULL;
    struct file file = {.fd = -1};
    *f = (struct adapter_folder){.path = mem_strdup(path), .open = open};
    int rc = f->path == NULL ? ERR_NOMEM : file_set_open(&file, open, path, CONFIG);
    if (rc == 0)
        rc = json_read_open_file(&o, &file, MAX_JSON);
    file_close(&file);
    f->config = o;
    if (rc != 0)
        adapter_close(f);
    return rc;
}

void adapter_close(struct adapter_folder *f)
{
    json_decref(f->config);
    mem_free(f->path);
    *f = (struct adapter_folder){0};
}

static int wrap_config(void)
{
    return err_wrap("%s", CONFIG);
}

/* ---- adapter_model.safetensors ---- */

static int open_tensors(struct tensor_file *t, const struct adapter_folder *f)
{
    struct file file;
    int rc = file_set_open(&file, f->open, f->path, TENSORS);
    if (rc == ERR_MISSING && (rc = file_set_open(&file, f->open, f->path, PICKLED)) == ERR_MISSING)
        rc = file_set_open(&file, f->open, f->path, TENSORS); /* the name to say */
    return rc == 0 ? tensor_file_open_file(t, file) : rc;
}

static int check_entry(const struct tensor_entry *e, const struct adapter *a,
                       const struct adapter_half *h)
{
    char name[ADAPTER_NAME], have[SHOWN];
    adapter_half_name(name, a, h, true);
    if (e == NULL)
        return err_set(ERR_MISSING, "tensor %s is missing", name);
    if (e->rank != 2 || e->shape[0] != (uint64_t)h->rows || e->shape[1] != (uint64_t)h->cols)
        return err_set(ERR_MISMATCH,
                       "tensor %s: shape %s, expected [%d,%d], r being %d and the model's matrix "
                       "[%d,%d]",
                       name, tensor_shape_text(have, sizeof have, e), h->rows, h->cols, h->rank,
                       h->t->K, h->t->N / h->parts);
    if (e->dtype == DTYPE_OTHER)
        return err_set(ERR_UNSUPPORTED, "tensor %s is %s, must be F32, F16 or BF16", name,
                       e->dtype_name);
    return 0;
}

/* Where parts share their A, that of each must be the first one's. */
static int store_half(const struct adapter *a, const struct adapter_half *h, const float *x,
                      size_t n)
{
    const bool again = h->half == 0 && h->part > 0 && !adapter_half_is_split(a, h);
    char name[ADAPTER_NAME];
    adapter_half_name(name, a, h, true);
    for (size_t i = 0; i < n; i++) {
        float *to = adapter_half_element(a, h, i);
        if (!isfinite(x[i]))
            return err_set(ERR_RANGE, "tensor %s has a value that is NaN or infinite", name);
        if (again && *to != x[i])
            return err_set(ERR_MISMATCH, "tensor %s is not that of the queries", name);
        *to = x[i];
    }
    return 0;
}

static int read_half(const struct tensor_file *f, const struct tensor_entry *e,
                     const struct adapter *a, const struct adapter_half *h)
{
    const size_t n = (size_t)h->rows * (size_t)h->cols;
    float *x = mem_array(n, sizeof *x);
    int rc = x == NULL ? ERR_NOMEM : file_read_at(&f->file, x, e->offset, (size_t)e->bytes);
    if (rc == 0) {
        half_exact_widen(x, x, e->dtype, n);
        rc = store_half(a, h, x, n);
    }
    mem_free(x);
    return rc;
}

/* ERR_MISMATCH names a tensor that belongs to no LoRA branch. */
static int refuse_extra_tensors(const struct tensor_file *f, const struct adapter *a)
{
    char name[ADAPTER_NAME], shown[SHOWN];
    for (int i = 0; i < f->n; i++) {
        bool known = false;
        for (struct adapter_half h = {0}; !known && adapter_half_next(&h, a);)
            for (int whole = 0; whole < 2 && !known; whole++) {
                adapter_half_name(name, a, &h, whole);
                known = strcmp(name, f->entries[i].name) == 0;
            }
        if (!known)
            return err_set(ERR_MISMATCH,
                           "tensor %s belongs to no matrix that target_modules names in this "
                           "model",
                           file_show(shown, sizeof shown, f->entries[i].name));
    }
    return 0;
}

static int read_tensors(struct adapter *a, const struct adapter_folder *folder)
{
    struct tensor_file f;
    int rc = open_tensors(&f, folder), found = 0;
    if (rc != 0)
        return rc;
    for (struct adapter_half h = {0}; rc == 0 && adapter_half_next(&h, a); found++) {
        char name[ADAPTER_NAME];
        adapter_half_name(name, a, &h, true);
        const struct tensor_entry *e = tensor_file_find(&f, name);
        if (e == NULL) {
            adapter_half_name(name, a, &h, false);
            e = tensor_file_find(&f, name);
        }
        if ((rc = check_entry(e, a, &h)) == 0)
            rc = read_half(&f, e, a, &h);
    }
    if (rc == 0 && found < f.n)
        rc = refuse_extra_tensors(&f, a);
    const char *base = json_string_value(json_object_get(f.metadata, BASE));
    if (rc == 0 && base != NULL)
        weights_sample_read(&a->base, base);
    tensor_file_close(&f);
    return rc;
}

static int wrap_adapter(const char *path)
{
    char shown[SHOWN];
    return err_wrap("cannot load the adapter %s", file_show(shown, sizeof shown, path));
}

static int read_adapter(struct adapter **out, const struct adapter_config *config,
                        const struct adapter_folder *f, const struct config *c)
{
    int rc = adapter_new(out, config, c);
    if (rc != 0)
        return wrap_config();
    if ((rc = read_tensors(*out, f)) == 0 && ((*out)->path = mem_strdup(f->path)) == NULL)
        rc = ERR_NOMEM;
    if (rc != 0) {
        adapter_free(*out);
        *out = NULL;
    }
    return rc;
}

int adapter_read_open(struct adapter **out, const struct adapter_folder *f, const struct config *c)
{
    struct adapter_config config = {0};
    struct adapter *a = NULL;
    struct buf targets = {0};
    int rc = read_config(&config, &targets, f->config, c->type);
    if (rc != 0)
        rc = wrap_config();
    const int qkv = config.qkv, all = 7;
    /* All three with one A, as prattle trains them, or each with its own. */
    config.qkv = qkv == all ? 0 : qkv;
    if (rc == 0)
        rc = read_adapter(&a, &config, f, c);
    if (rc == ERR_MISMATCH && c->type == MODEL_GPT_NEO && qkv == all) {
        config.qkv = all;
        rc = read_adapter(&a, &config, f, c);
    }
    buf_release(&targets);
    if (rc == 0) {
        *out = a;
        return 0;
    }
    return wrap_adapter(f->path);
}

int adapter_read(struct adapter **out, const char *path, const struct config *c)
{
    return adapter_read_files(out, path, NULL, c);
}

/* What has no configuration of an adapter but that of a model is no adapter. */
static void explain_missing(int rc, const char *path)
{
    char *model = rc == ERR_MISSING ? file_join(path, "config.json") : NULL;
    if (model != NULL && file_exists(model))
        err_set(rc, "it is a model (config.json), not an adapter (%s)", CONFIG);
    mem_free(model);
}

int adapter_read_files(struct adapter **out, const char *path, const struct file_set *open,
                       const struct config *c)
{
    struct adapter_folder f;
    int rc = adapter_open(&f, path, open);
    if (rc != 0) {
        explain_missing(rc, path);
        return wrap_adapter(path);
    }
    rc = adapter_read_open(out, &f, c);
    adapter_close(&f);
    return rc;
}

int adapter_base_name(char **out, const struct adapter_folder *f)
{
    const char *base = NULL;
    *out = NULL;
    if (json_take_text(f->config, "base_model_name_or_path", &base) != 0)
        return wrap_config();
    if (base != NULL && *base != '\0' && (*out = mem_strdup(base)) == NULL)
        return ERR_NOMEM;
    return 0;
}

/* ---- writing ---- */

/* A path that is valid from any folder; "bundled" is none, whatever has that name here. */
static char *absolute_path(const char *base)
{
    char real[PATH_MAX];
    const bool a_name = strncmp(base, "random:", 7) == 0 || bundled_is_name(base);
    return mem_strdup(a_name || realpath(base, real) == NULL ? base : real);
}

static int write_config(const struct adapter *a, const char *folder, const char *base)
{
    const struct adapter_config *c = &a->config;
    char *path = file_join(folder, CONFIG), *named = absolute_path(base);
    /* PEFT's alpha is a whole number, where it can be. */
    float alpha = c->alpha;
    json_t *alpha_json =
        alpha == floorf(alpha) ? json_integer((json_int_t)alpha) : json_of_float(alpha);
    json_t *o = json_pack(
        "{s:s,s:s,s:o,s:i,s:o,s:o,s:o,s:b,s:b,s:s,s:b,s:b}", "peft_type", "LORA", "task_type",
        "CAUSAL_LM", "base_model_name_or_path",
        json_of_text(named == NULL ? "" : named, named == NULL ? 0 : strlen(named)), "r", c->rank,
        "lora_alpha", alpha_json, "lora_dropout", json_of_float(c->dropout), "target_modules",
        adapter_targets_list(a), "fan_in_fan_out", a->type == MODEL_GPT2, "use_rslora", c->rslora,
        "bias", "none", "init_lora_weights", 1, "inference_mode", 1);
    int rc = path == NULL || named == NULL || o == NULL
                 ? err_set(ERR_NOMEM, "no memory for %s", CONFIG)
                 : json_write_file(path, o);
    json_decref(o);
    mem_free(path);
    mem_free(named);
    return rc;
}

static int describe_tensors(struct buf *head, const struct adapter *a)
{
    uint64_t at = 0;
    int rc = buf_str(head, "{\"__metadata__\":{\"format\":\"pt\"");
    if (rc == 0 && a->base.n > 0 && (rc = buf_printf(head, ",\"%s\":\"", BASE)) == 0 &&
        (rc = weights_sample_write(head, &a->base)) == 0)
        rc = buf_char(head, '"');
    if (rc == 0)
        rc = buf_char(head, '}');
    for (struct adapter_half h = {0}; rc == 0 && adapter_half_next(&h, a);) {
        char name[ADAPTER_NAME];
        uint64_t end = at + (uint64_t)h.rows * (uint64_t)h.cols * sizeof(float);
        adapter_half_name(name, a, &h, true);
        rc = buf_printf(head,
                        ",\"%s\":{\"dtype\":\"F32\",\"shape\":[%d,%d],\"data_offsets\":[%" PRIu64
                        ",%" PRIu64 "]}",
                        name, h.rows, h.cols, at, end);
        at = end;
    }
    return rc != 0 ? rc : buf_char(head, '}');
}

static int write_half(struct file_writer *f, const struct adapter *a, const struct adapter_half *h)
{
    float part[1024];
    const size_t n = (size_t)h->rows * (size_t)h->cols, fit = sizeof part / sizeof *part;
    int rc = 0;
    for (size_t done = 0, count; done < n && rc == 0; done += count) {
        count = n - done < fit ? n - done : fit;
        for (size_t i = 0; i < count; i++)
            part[i] = *adapter_half_element(a, h, done + i);
        rc = file_write(f, part, count * sizeof *part);
    }
    return rc;
}

static int write_halves(void *user, struct file_writer *f)
{
    const struct adapter *a = user;
    int rc = 0;
    for (struct adapter_half h = {0}; rc == 0 && adapter_half_next(&h, a);)
        rc = write_half(f, a, &h);
    return rc;
}

static int write_tensors(const struct adapter *a, const char *folder)
{
    struct buf head = {0};
    int rc = describe_tensors(&head, a);
    if (rc == 0)
        rc = safetensors_write(folder, TENSORS, &head, write_halves, (void *)a);
    buf_release(&head);
    return rc;
}

int adapter_write(const struct adapter *a, const char *folder, const char *base)
{
    int rc = write_config(a, folder, base);
    return rc != 0 ? rc : write_tensors(a, folder);
}

int adapter_spare_base(const char *path, const char *base)
{
    if (base == NULL || bundled_is_name(base) || strncmp(base, "random:", 7) == 0)
        return 0;
    char *folder = mem_strdup(base), *slash = folder == NULL ? NULL : strrchr(folder, '/');
    if (folder == NULL)
        return ERR_NOMEM;
    if (slash != NULL)
        *slash = '\0';
    const bool spoils = file_is_same(path, base) ||
                        (slash != NULL && !file_is_folder(base) && file_is_same(path, folder));
    mem_free(folder);
    return spoils ? file_refuse(ERR_EXISTS, path,
                                "is the base of the adapter, which needs it as it is; "
                                "choose another name")
                  : 0;
}

int adapter_save(struct adapter *a, const char *path, const char *base, bool force)
{
    struct folder_writer w;
    int rc = adapter_spare_base(path, base);
    if (rc == 0 && file_exists_in(path, "config.json"))
        rc = file_refuse(ERR_EXISTS, path,
                         "has a whole model, which no adapter replaces; choose another name");
    if (rc != 0)
        return rc;
    char *copy = mem_strdup(path);
    rc = copy == NULL ? ERR_NOMEM : folder_create(&w, path, force);
    if (rc == 0) {
        if ((rc = adapter_write(a, w.temp, base)) == 0)
            rc = folder_commit(&w);
        folder_abandon(&w);
    }
    if (rc != 0) {
        mem_free(copy);
        return rc;
    }
    mem_free(a->path);
    a->path = copy;
    a->changed = false;
    return 0;
}
