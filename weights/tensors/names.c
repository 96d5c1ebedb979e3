#include "weights/tensors/names.h"

#include "model/schema.h"

#include <stdio.h>
#include <string.h>

static const struct naming gpt2 = {.title = "GPT-2", .prefix = "transformer."};

/* Black et al. 2021, as transformers' GPTNeoForCausalLM. */
#define ATTENTION "h." NAMING_LAYER ".attn.attention."
static const struct naming_row gpt_neo_rows[] = {
    {"attn.c_attn.weight",
     {ATTENTION "q_proj.weight", ATTENTION "k_proj.weight", ATTENTION "v_proj.weight"}},
    {"attn.c_proj.weight", {ATTENTION "out_proj.weight"}},
    {"attn.c_proj.bias", {ATTENTION "out_proj.bias"}},
};
static const struct naming gpt_neo = {.title = "GPT-Neo",
                                      .prefix = "transformer.",
                                      .out_major = true,
                                      .rows = gpt_neo_rows,
                                      .n_rows = sizeof gpt_neo_rows / sizeof *gpt_neo_rows};

const struct naming *naming_hf(enum model_type type)
{
    return type == MODEL_GPT_NEO ? &gpt_neo : &gpt2;
}

/* NULL: the naming has the schema's own name. */
static const struct naming_row *find_row(const struct naming *n, const struct schema_row *row)
{
    for (int i = 0; i < n->n_rows; i++)
        if (row != NULL && strcmp(n->rows[i].tensor, row->name) == 0)
            return &n->rows[i];
    return NULL;
}

int naming_parts(const struct naming *n, const char *name)
{
    const struct naming_row *row = find_row(n, schema_find(name).row);
    int parts = 1;
    while (row != NULL && parts < NAMING_PARTS && row->parts[parts] != NULL)
        parts++;
    return parts;
}

void naming_part(char *out, size_t size, const struct naming *n, const char *name, int part)
{
    const struct schema_tensor t = schema_find(name);
    const struct naming_row *row = find_row(n, t.row);
    if (row == NULL) {
        snprintf(out, size, "%s", name);
        return;
    }
    const char *pattern = row->parts[part], *number = strstr(pattern, NAMING_LAYER);
    if (number == NULL)
        snprintf(out, size, "%s", pattern);
    else
        snprintf(out, size, "%.*s%d%s", (int)(number - pattern), pattern, t.layer,
                 number + strlen(NAMING_LAYER));
}

void names_gguf(char *out, size_t n, const char *name)
{
    const struct schema_tensor t = schema_find(name);
    out[0] = '\0';
    if (t.row == NULL)
        return;
    const char *end = strrchr(t.row->name, '.');
    if (t.layer >= 0)
        snprintf(out, n, "blk.%d.%s%s", t.layer, t.row->gguf, end);
    else
        snprintf(out, n, "%s%s", t.row->gguf, end);
}

const char *names_plain(const char *name)
{
    static const char *const wrappers[] = {"_orig_mod.", "module.", "transformer."};
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
        if (strncmp(name, wrappers[i], strlen(wrappers[i])) == 0) {
            name += strlen(wrappers[i]);
            i = (size_t)-1; /* in any order, as "module._orig_mod." */
        }
    return name;
}

bool names_is_head(const char *plain)
{
    const struct schema_tensor t = schema_find(plain);
    return t.row != NULL && t.row->untied_only;
}

bool names_is_mask(const char *plain)
{
    static const char NEO[] = "attention.";
    int layer, used = 0;
    if (sscanf(plain, "h.%d.attn.%n", &layer, &used) != 1 || used == 0)
        return false;
    plain += used;
    if (strncmp(plain, NEO, sizeof NEO - 1) == 0)
        plain += sizeof NEO - 1;
    return strcmp(plain, "bias") == 0 || strcmp(plain, "masked_bias") == 0;
}
