#ifndef PRATTLE_SAMPLING_CHAIN_FILTERS_H
#define PRATTLE_SAMPLING_CHAIN_FILTERS_H
/*
 * Stages that shape or cut the distribution. Each does nothing when its setting is off and leaves
 * at least one candidate. Of equal logits the lowest ids stay, so that top_k keeps exactly k
 * (transformers keeps all that equal the k-th).
 */
#include "sampling/chain/candidates.h"

/* Divide logits by t >= 0 (0: only the most likely stays). Where that would overflow, all are first
 * shifted so that the largest is 0, which changes no probability. */
void filter_temperature(struct candidates *c, float t);
/*
 * llama.cpp's dynamic temperature (entropy sampling): low + (high - low) (entropy / log n) ^
 * exponent over n candidates, from low = t - range (at least 0) for a certain token to high = t +
 * range for a uniform distribution.
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
 * Exclude Top Choices, as in llama.cpp: with the given probability (decided by the random draw u in
 * [0, 1)), remove all tokens at least as likely as the threshold, except the least likely of them.
 */
void filter_xtc(struct candidates *c, float probability, float threshold, double u);
/* The k highest logits (0: all), equally likely: the sampling of the PopTorch GPT-2. */
void filter_topk_uniform(struct candidates *c, int k);

#endif
