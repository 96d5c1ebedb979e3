#ifndef PRATTLE_SAMPLING_CHAIN_DRY_H
#define PRATTLE_SAMPLING_CHAIN_DRY_H
/*
 * "Don't Repeat Yourself" (p-e-w, text-generation-webui pull request 5677), as
 * llama.cpp has it: a token that would go on a repetition of the text's last m tokens,
 * m >= allowed_length, is lowered by multiplier * base ^ (m - allowed_length). No
 * repetition reaches back over a sequence breaker.
 */
#include "sampling/chain/penalties.h"

struct tokenizer;
struct words;

struct dry {
    float multiplier, base;
    int allowed_length;
    unsigned char *breaks; /* [V]: 1 the token holds a breaker, 2 it begins one of `tails` */
    struct phrases tails;  /* breakers that go on over tokens: the first and the rest */
    int *match, *count;    /* [n_ctx] and [V] scratch; count is zero between calls */
};

/* Find the tokens that break. The scratch is the caller's. */
int dry_init(struct dry *d, const struct words *breakers, const struct tokenizer *t, int n_vocab);
void dry_release(struct dry *d);
/* text: the newest n tokens, as many as the window lets be seen. */
void dry_apply(struct dry *d, float *logit, const token_id *text, size_t n);

#endif
