#include "weights/hf/save_hf.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "weights/hf/config_kept.h"
#include "weights/hf/hf_config.h"
#include "weights/hf/safetensors.h"
#include "weights/hf/vocab_write.h"
#include "weights/tensors/folder.h"
#include "weights/tensors/names.h"
#include "weights/tensors/tensor_copy.h"

#include <stdio.h>

static enum dtype dtype_asked(const struct save_config *c, enum dtype own)
{
    return c->convert ? c->dtype : own;
}

/* The parts of one tensor in a file of this naming; *at: where its bytes begin, then where they
 * end.
 */
static int describe_parts(struct buf *json, uint64_t *at, const struct source *s,
                          const struct param_tensor *t, enum dtype d)
{
    const struct naming *n = naming_hf(s->config.type);
    const int parts = naming_parts(n, t->name), cols = t->cols / parts;
    int rc = 0;
    for (int i = 0; i < parts && rc == 0; i++) {
        char name[NAMES_BYTES];
        const uint64_t end = *at + tensor_elements(t) / (uint64_t)parts * dtype_bytes(d);
        naming_part(name, sizeof name, n, t->name, i);
        rc = buf_printf(json, ",\"%s%s\":{\"dtype\":\"%s\",\"shape\":[",
                        names_is_head(t->name) ? "" : n->prefix, name, dtype_name(d));
        if (rc == 0 && t->kind == PARAM_VECTOR)
            rc = buf_printf(json, "%d", cols);
        else if (rc == 0 && t->kind == PARAM_CONV1D && n->out_major)
            rc = buf_printf(json, "%d,%d", cols, t->rows);
        else if (rc == 0)
            rc = buf_printf(json, "%d,%d", t->rows, cols);
        if (rc == 0)
            rc = buf_printf(json, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)*at,
                            (unsigned long long)end);
        *at = end;
    }
    return rc;
}

/* Which tensors a file has. */
struct file_part {
    const struct hf_parts *parts; /* NULL: all */
    int part;
};

static bool is_in_part(const struct file_part *f, int tensor)
{
    return f->parts == NULL || f->parts->of[tensor] == f->part;
}

/* The header's JSON; *total: bytes of data. Wide elements come first, so that each tensor's offset
 * is a multiple of its element's size. */
static int describe_tensors(struct buf *json, uint64_t *total, const struct source *s,
                            const struct save_config *c, const struct file_part *f)
{
    int rc = buf_str(json, "{\"__metadata__\":{\"format\":\"pt\"}");
    uint64_t at = 0;
    for (size_t size = 4; size >= 2; size -= 2)
        for (int i = 0; i < s->table.n_tensors && rc == 0; i++) {
            const struct param_tensor *t = &s->table.tensors[i];
            enum dtype d = dtype_asked(c, s->readers[i].dtype);
            if (dtype_bytes(d) == size && is_in_part(f, i))
                rc = describe_parts(json, &at, s, t, d);
        }
    *total = at;
    return rc != 0 ? rc : buf_char(json, '}');
}

/* What write_tensors writes, for safetensors_write. */
struct tensors_out {
    const struct source *source;
    const struct save_config *config;
    const struct file_part *part;
    struct tensor_copy copy;
};

static int write_tensors(void *user, struct file_writer *f)
{
    struct tensors_out *o = user;
    const struct source *s = o->source;
    int rc = 0;
    o->copy.to = f;
    for (size_t size = 4; size >= 2; size -= 2)
        for (int i = 0; i < s->table.n_tensors && rc == 0; i++) {
            enum dtype d = dtype_asked(o->config, s->readers[i].dtype);
            if (dtype_bytes(d) == size && is_in_part(o->part, i))
                rc = tensor_copy_write(&o->copy, &s->table.tensors[i], &s->readers[i], d,
                                       naming_hf(s->config.type)->out_major);
        }
    if (rc == 0)
        tensor_copy_warn(&o->copy, o->config->dtype == DTYPE_BF16 ? DTYPE_BF16 : DTYPE_F16);
    return rc;
}

static int write_safetensors(const char *folder, const char *name, const struct file_part *part,
                             const struct source *s, const struct save_config *c,
                             const struct progress *p)
{
    struct buf json = {0};
    struct tensors_out out = {.source = s, .config = c, .part = part, .copy = {.progress = p}};
    int rc = describe_tensors(&json, &out.copy.total, s, c, part);
    if (rc == 0)
        rc = safetensors_write(folder, name, &json, write_tensors, &out);
    tensor_copy_release(&out.copy);
    buf_release(&json);
    return rc;
}

static int write_text(const char *folder, const char *name, const struct buf *text)
{
    char *path = file_join(folder, name);
    int rc = path == NULL ? ERR_NOMEM : file_write_whole(path, text->data, text->n, false);
    mem_free(path);
    return rc;
}

static int write_config(const char *folder, const struct source *s, const struct save_config *c)
{
    struct buf text = {0};
    const struct kept_file *was = kept_files_find(&s->kept, "config.json");
    const enum dtype dtype = dtype_asked(c, s->dtype);
    int rc = was == NULL ? hf_config_write(&text, &s->config, dtype)
                         : hf_config_write_kept(&text, &s->config, dtype, was->bytes, was->n);
    if (rc == 0)
        rc = write_text(folder, "config.json", &text);
    buf_release(&text);
    return rc;
}

/* As the model came with it, or what its configuration says. */
static int write_generation_config(const char *folder, const struct source *s)
{
    const struct kept_file *was = kept_files_find(&s->kept, "generation_config.json");
    const struct config *c = &s->config;
    const struct {
        const char *name;
        token_id id;
    } ids[] = {{"bos_token_id", c->bos_token_id},
               {"eos_token_id", c->eos_token_id},
               {"pad_token_id", c->pad_token_id}};
    struct buf text = {0};
    if (was != NULL)
        return write_text(folder, was->name, &(struct buf){.data = was->bytes, .n = was->n});
    int rc = buf_str(&text, "{\n  \"_from_model_config\": true");
    for (size_t i = 0; i < sizeof ids / sizeof *ids && rc == 0; i++)
        if (ids[i].id != TOKEN_NONE)
            rc = buf_printf(&text, ",\n  \"%s\": %d", ids[i].name, ids[i].id);
    if (rc == 0 && (rc = buf_str(&text, "\n}\n")) == 0)
        rc = write_text(folder, "generation_config.json", &text);
    buf_release(&text);
    return rc;
}

/* Settings that a file written as it was says again need no file of their own. */
static int write_defaults(const char *folder, const struct source *s)
{
    struct buf text = {0};
    const char *of = s->defaults_file == NULL ? "" : s->defaults_file;
    if (s->defaults == NULL || kept_files_find(&s->kept, of) != NULL)
        return 0;
    int rc = buf_str(&text, s->defaults);
    if (rc == 0)
        rc = write_text(folder, "prattle.yaml", &text);
    buf_release(&text);
    return rc;
}

int hf_about_write(const char *folder, const struct source *s, const struct save_config *c)
{
    int rc = write_config(folder, s, c);
    if (rc == 0)
        rc = write_generation_config(folder, s);
    if (rc == 0 && s->tokenizer != NULL)
        rc = vocab_write_folder(s->tokenizer, source_begin_token(s), folder, false);
    return rc == 0 ? write_defaults(folder, s) : rc;
}

int hf_weights_write(const char *folder, const struct source *s, const struct save_config *c,
                     const struct progress *p)
{
    return write_safetensors(folder, "model.safetensors", &(struct file_part){0}, s, c, p);
}

int source_save_hf(struct source *s, const char *path, const struct save_config *c,
                   const struct progress *p)
{
    struct folder_writer f;
    int rc = folder_create(&f, path, c->force);
    if (rc != 0)
        return rc;
    if ((rc = hf_about_write(f.temp, s, c)) == 0 && (rc = hf_weights_write(f.temp, s, c, p)) == 0)
        rc = folder_commit(&f);
    folder_abandon(&f);
    return rc;
}

/* ---- by parts ---- */

void hf_part_name(char out[HF_PART_NAME], int part, int n)
{
    snprintf(out, HF_PART_NAME, "model-%05d-of-%05d.safetensors", part + 1, n);
}

int hf_part_write(const char *folder, int part, const struct hf_parts *parts,
                  const struct source *s, const struct progress *p)
{
    const struct save_config as = {.convert = false};
    const struct file_part f = {parts, part};
    char name[HF_PART_NAME];
    hf_part_name(name, part, parts->n);
    return write_safetensors(folder, name, &f, s, &as, p);
}

/* The names of a tensor in the files, and the file. */
static int index_tensor(struct buf *text, const struct source *s, int tensor, const char *file)
{
    const struct param_tensor *t = &s->table.tensors[tensor];
    const struct naming *n = naming_hf(s->config.type);
    int rc = 0;
    for (int i = 0; i < naming_parts(n, t->name) && rc == 0; i++) {
        char name[NAMES_BYTES];
        naming_part(name, sizeof name, n, t->name, i);
        rc = buf_printf(text, "%s\n    \"%s%s\": \"%s\"", tensor + i > 0 ? "," : "",
                        names_is_head(t->name) ? "" : n->prefix, name, file);
    }
    return rc;
}

int hf_index_write(const char *folder, const struct hf_parts *parts, const struct source *s)
{
    struct buf text = {0};
    char file[HF_PART_NAME];
    uint64_t total = 0;
    for (int i = 0; i < s->table.n_tensors; i++)
        total += tensor_bytes(&s->table.tensors[i], s->readers[i].dtype);
    int rc = buf_printf(&text,
                        "{\n  \"metadata\": {\n    \"total_size\": %llu\n  },\n"
                        "  \"weight_map\": {",
                        (unsigned long long)total);
    for (int i = 0; i < s->table.n_tensors && rc == 0; i++) {
        hf_part_name(file, parts->of[i], parts->n);
        rc = index_tensor(&text, s, i, file);
    }
    if (rc == 0 && (rc = buf_str(&text, "\n  }\n}\n")) == 0)
        rc = write_text(folder, "model.safetensors.index.json", &text);
    buf_release(&text);
    return rc;
}
