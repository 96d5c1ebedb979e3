#include "weights/tensors/source.h"

#include "model/base/mem.h"

#include <stdio.h>
#include <string.h>

void source_close(struct source *s)
{
    if (s == NULL)
        return;
    if (s->close != NULL)
        s->close(s->format);
    if (!s->tokenizer_borrowed)
        tokenizer_free(s->tokenizer);
    params_release(&s->table);
    mem_free(s->readers);
    mem_free(s->files);
    mem_free(s->name);
    mem_free(s->base);
    mem_free(s->defaults);
    kept_files_release(&s->kept);
    buf_release(&s->keys);
    buf_release(&s->token_types);
    *s = (struct source){0};
}

/* The last line of the settings about `begin` decides. */
static bool begins_texts(const struct source *s)
{
    bool on = s->tokenizer != NULL && tokenizer_begins(s->tokenizer);
    for (const char *line = s->defaults; line != NULL && *line != '\0';) {
        char value[8] = "";
        if (sscanf(line, "begin: %7[a-z]", value) == 1)
            on = strcmp(value, "on") == 0 || strcmp(value, "true") == 0;
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return on;
}

token_id source_begin_token(const struct source *s)
{
    const struct config *c = &s->config;
    if (!begins_texts(s))
        return TOKEN_NONE;
    return c->bos_token_id != TOKEN_NONE   ? c->bos_token_id
           : c->eos_token_id != TOKEN_NONE ? c->eos_token_id
           : s->tokenizer != NULL          ? tokenizer_eos(s->tokenizer)
                                           : TOKEN_NONE;
}

bool source_is_q8(const struct source *s)
{
    bool some = false;
    for (int i = 0; i < s->table.n_tensors; i++) {
        const struct param_tensor *t = &s->table.tensors[i];
        const int K = t->kind == PARAM_CONV1D ? t->rows : t->cols;
        if (t->kind == PARAM_VECTOR || t->kind == PARAM_ROWS || K % Q8_BLOCK != 0)
            continue;
        if (s->readers[i].read_q8 == NULL)
            return false;
        some = true;
    }
    return some;
}

struct type_share {
    const char *name;
    uint64_t elements;
};
enum { MAX_TYPES = 16 };

/* Returns how many. */
static int count_types(struct type_share types[MAX_TYPES], const struct source *s,
                       enum source_types which)
{
    int n = 0;
    for (int i = 0; i < s->table.n_tensors; i++) {
        const struct param_tensor *t = &s->table.tensors[i];
        const struct tensor_reader *r = &s->readers[i];
        const char *name = r->stored != NULL ? r->stored : dtype_name(r->dtype);
        int k = 0;
        if (t->kind == PARAM_VECTOR || t->kind == PARAM_ROWS ||
            (which != SOURCE_TYPES_ALL && r->stored == NULL) ||
            (which == SOURCE_TYPES_WIDENED && r->read_q8 != NULL))
            continue;
        while (k < n && strcmp(types[k].name, name) != 0)
            k++;
        if (k == MAX_TYPES)
            continue;
        if (k == n)
            types[n++] = (struct type_share){.name = name};
        types[k].elements += (uint64_t)t->rows * (uint64_t)t->cols;
    }
    return n;
}

/* Those of most elements first; of equal ones, that of the first tensor. */
static void sort_types(struct type_share *types, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && types[k].elements > types[k - 1].elements; k--) {
            const struct type_share less = types[k - 1];
            types[k - 1] = types[k];
            types[k] = less;
        }
}

const char *source_types(char out[MODEL_TYPES], const struct source *s, enum source_types which)
{
    struct type_share types[MAX_TYPES];
    const int n = count_types(types, s, which);
    size_t at = 0;
    sort_types(types, n);
    out[0] = '\0';
    for (int i = 0; i < n && at < MODEL_TYPES; i++) {
        const char *between = i == 0 ? "" : i + 1 == n ? " and " : ", ";
        at += (size_t)snprintf(out + at, MODEL_TYPES - at, "%s%s", between, types[i].name);
    }
    return out;
}
