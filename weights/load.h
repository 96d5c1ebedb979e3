#ifndef PRATTLE_WEIGHTS_LOAD_H
#define PRATTLE_WEIGHTS_LOAD_H
/* From a source to a model in memory. */
#include "model/model.h"
#include "weights/source.h"

struct load_config {
    enum linear_kind kind; /* --dtype fp16 (default) or fp32 */
    uint64_t seed;         /* for random: */
};

/* path as source_open; an adapter's folder loads the base it names, the adapter beside it and
 * switched on. On failure *out is untouched. NaN, infinities: loaded, with a note that names the
 * first such tensor and how many. */
int model_load(struct model **out, const char *path, const struct load_config *c,
               const struct progress *p);

#endif
