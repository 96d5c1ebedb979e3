#ifndef PRATTLE_SAMPLING_CHAIN_DRY_H
#define PRATTLE_SAMPLING_CHAIN_DRY_H
/*
 * "Don't Repeat Yourself" (p-e-w, text-generation-webui pull request 5677), as in llama.cpp: a
 * token that would continue a repetition of the text's last m tokens, m >= allowed_length, has its
 * logit lowered by multiplier * base ^ (m - allowed_length). No repetition extends over a sequence
 * breaker.
 */
#include "sampling/chain/penalties.h"

struct tokenizer;
struct words;

struct dry {
    float multiplier, base;
    int allowed_length;
    unsigned char
        *breaks; /* [V]: bit 0, the token contains a breaker; bit 1, it begins one of tails */
    struct phrases tails; /* breakers over several tokens: the first, which may have text before it,
                             and the rest */
    int *match, *count;   /* [n_ctx] and [V] scratch; count is zero between calls */
};

/* Find the tokens that contain or begin a breaker. The scratch is the caller's. t may be NULL. */
int dry_init(struct dry *d, const struct words *breakers, const struct tokenizer *t, int n_vocab);
void dry_release(struct dry *d);
/* Lower logits [V] by the newest n tokens, those within the window. */
void dry_apply(struct dry *d, float *logit, const token_id *text, size_t n);

#endif
