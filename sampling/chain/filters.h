#ifndef PRATTLE_SAMPLING_CHAIN_FILTERS_H
#define PRATTLE_SAMPLING_CHAIN_FILTERS_H
/*
 * Stages that shape or cut the distribution. Each does nothing when its setting is off
 * and leaves at least one candidate. Of equal logits the lowest ids stay, so that
 * top_k is exactly k (transformers keeps all that equal the k-th).
 */
#include "sampling/chain/candidates.h"

/* Logits / t, t >= 0 (0: only the most likely stays). Where that would leave float's
 * range the largest is first made 0, which changes no probability. */
void filter_temperature(struct candidates *c, float t);
/*
 * llama.cpp's dynamic temperature (entropy sampling): from t - range (at least 0) for
 * a certain next token to t + range for an even distribution over the n candidates:
 * low + (high - low) (entropy / log n) ^ exponent.
 */
void filter_dynamic_temperature(struct candidates *c, float t, float range, float exponent);
/* The k highest logits; 0: all (Fan et al., 2018). */
void filter_top_k(struct candidates *c, int k);
/* The fewest most likely tokens whose probabilities reach p (Holtzman et al., "The
 * Curious Case of Neural Text Degeneration", 2019). */
void filter_top_p(struct candidates *c, float p);
/* Those at least p times as likely as the most likely (Nguyen et al., "Turning Up the
 * Heat: Min-p Sampling", 2024). */
void filter_min_p(struct candidates *c, float p);
/* The fewest whose probabilities reach p, in order of how near -log(probability) is to
 * the entropy (Meister et al., "Locally Typical Sampling", 2022). */
void filter_typical_p(struct candidates *c, float p);
/* Logits within n standard deviations (of all finite logits left) of the highest (Tang
 * et al., "Top-n-sigma: Not All Logits Are You Need", 2024). */
void filter_top_n_sigma(struct candidates *c, float n);
/*
 * Exclude Top Choices, as llama.cpp has it: with the given probability (u in [0, 1) is
 * the lot drawn), of the tokens as likely as the threshold or more, all but the least
 * likely go.
 */
void filter_xtc(struct candidates *c, float probability, float threshold, double u);
/* The k highest logits (0: all), each as likely as the other: the sampling of the
 * PopTorch GPT-2's generation. */
void filter_topk_uniform(struct candidates *c, int k);

#endif
