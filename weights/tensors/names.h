#ifndef PRATTLE_WEIGHTS_TENSORS_NAMES_H
#define PRATTLE_WEIGHTS_TENSORS_NAMES_H
/*
 * What a parameter is called in each format. The table of params.h has the Hugging
 * Face name without "transformer.": "h.0.attn.c_attn.weight".
 */
#include <stdbool.h>
#include <stddef.h>

/* The GGUF name of a parameter of the table: "blk.0.attn_qkv.weight". out holds n
 * bytes; 64 are always enough. A name that is none of GPT-2's gives "". */
void names_gguf(char *out, size_t n, const char *name);

/* A name as a Hugging Face file has it, without its "transformer."; borrowed from it. */
const char *names_plain(const char *name);
/* A buffer that old files carry and no one needs: "h.0.attn.bias", the causal mask,
 * and "h.0.attn.masked_bias". plain is without "transformer.". */
bool names_mask_buffer(const char *plain);

#endif
