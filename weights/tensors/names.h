#ifndef PRATTLE_WEIGHTS_TENSORS_NAMES_H
#define PRATTLE_WEIGHTS_TENSORS_NAMES_H
/*
 * The names of parameters in each format. The table of params.h has the Hugging Face name without
 * "transformer.": "h.0.attn.c_attn.weight".
 */
#include <stdbool.h>
#include <stddef.h>

enum { NAMES_BYTES = 80 }; /* enough for every name of the table, in every format */

/* The GGUF name of a parameter of the table: "blk.0.attn_qkv.weight". A name that is none of
 * GPT-2's gives "". */
void names_gguf(char *out, size_t n, const char *name);
/* Its name in Hugging Face files: "transformer.h.0.attn.c_attn.weight"; of the output head, which
 * stands outside the transformer, the table's own. */
void names_hf(char *out, size_t n, const char *name);

/* A name as a Hugging Face file has it, without its "transformer."; borrowed from it. */
const char *names_plain(const char *name);
/* Whether a name without "transformer." is that of the output head. */
bool names_is_head(const char *plain);
/* Whether it is a buffer of old files that no one needs: the causal mask "h.0.attn.bias", or
 * "h.0.attn.masked_bias". */
bool names_is_mask(const char *plain);

#endif
