#include "weights/tensors/names.h"

#include "model/schema.h"

#include <stdio.h>
#include <string.h>

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

static const char TRANSFORMER[] = "transformer.";

void names_hf(char *out, size_t n, const char *name)
{
    snprintf(out, n, "%s%s", names_is_head(name) ? "" : TRANSFORMER, name);
}

const char *names_plain(const char *name)
{
    const size_t n = sizeof TRANSFORMER - 1;
    return strncmp(name, TRANSFORMER, n) == 0 ? name + n : name;
}

bool names_is_head(const char *plain)
{
    const struct schema_tensor t = schema_find(plain);
    return t.row != NULL && t.row->untied_only;
}

bool names_is_mask(const char *plain)
{
    int layer, used = 0;
    if (sscanf(plain, "h.%d.attn.%n", &layer, &used) != 1 || used == 0)
        return false;
    return strcmp(plain + used, "bias") == 0 || strcmp(plain + used, "masked_bias") == 0;
}
