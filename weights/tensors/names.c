#include "weights/tensors/names.h"

#include <stdio.h>
#include <string.h>

/* Stems; ".weight" and ".bias" are the same in both formats. */
static const struct {
    const char *hf, *gguf;
} whole[] = {{"wte", "token_embd"},
             {"wpe", "position_embd"},
             {"ln_f", "output_norm"},
             {"lm_head", "output"}},
  in_layer[] = {{"ln_1", "attn_norm"}, {"attn.c_attn", "attn_qkv"}, {"attn.c_proj", "attn_output"},
                {"ln_2", "ffn_norm"},  {"mlp.c_fc", "ffn_up"},      {"mlp.c_proj", "ffn_down"}};

void names_gguf(char *out, size_t n, const char *name)
{
    int layer, used = 0;
    const char *end = strrchr(name, '.');
    out[0] = '\0';
    if (end == NULL)
        return;
    if (sscanf(name, "h.%d.%n", &layer, &used) == 1 && used > 0 && name + used < end) {
        size_t stem = (size_t)(end - name) - (size_t)used;
        for (size_t i = 0; i < sizeof in_layer / sizeof *in_layer; i++)
            if (strlen(in_layer[i].hf) == stem && strncmp(name + used, in_layer[i].hf, stem) == 0)
                snprintf(out, n, "blk.%d.%s%s", layer, in_layer[i].gguf, end);
        return;
    }
    size_t stem = (size_t)(end - name);
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (strlen(whole[i].hf) == stem && strncmp(name, whole[i].hf, stem) == 0)
            snprintf(out, n, "%s%s", whole[i].gguf, end);
}

const char *names_plain(const char *name)
{
    static const char prefix[] = "transformer.";
    size_t n = sizeof prefix - 1;
    return strncmp(name, prefix, n) == 0 ? name + n : name;
}

bool names_mask_buffer(const char *plain)
{
    int layer, used = 0;
    if (sscanf(plain, "h.%d.attn.%n", &layer, &used) != 1 || used == 0)
        return false;
    return strcmp(plain + used, "bias") == 0 || strcmp(plain + used, "masked_bias") == 0;
}
