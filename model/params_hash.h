#ifndef PRATTLE_MODEL_PARAMS_HASH_H
#define PRATTLE_MODEL_PARAMS_HASH_H
/* The fingerprint of weights, by which what was computed with them is recognized. */
#include "model/params.h"

/* SHA-256 over configuration and weights, by the whole thread team. Fails only where layers are
 * read from a file (layer_stream.h). */
int params_hash(const struct params *p, unsigned char out[32]);

#endif
