#ifndef PRATTLE_WEIGHTS_LOAD_H
#define PRATTLE_WEIGHTS_LOAD_H
/* From a source to a model in memory. */
#include "model/base/progress.h"
#include "model/model.h"

struct load_config {
    enum dtype dtype; /* of the matrices in memory: fp16 or fp32 */
    uint64_t seed;    /* for random: */
};

/* path as source_open; an adapter's folder loads the base it names, the adapter beside it and
 * switched on. On failure *out is untouched. NaN, infinities: loaded, with a note that names the
 * first such tensor and how many. */
int model_load(struct model **out, const char *path, const struct load_config *c,
               const struct progress *p);

/*
 * Put an adapter beside m, switched on, from m's source in its own precision, or from memory
 * where that has changed. a is m's on success and the caller's on failure; m is then as it
 * was. One that m had goes.
 */
int adapter_load(struct adapter *a, struct model *m, const struct progress *p);

#endif
