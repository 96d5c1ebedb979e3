#ifndef PRATTLE_WEIGHTS_MODEL_SOURCE_H
#define PRATTLE_WEIGHTS_MODEL_SOURCE_H
/* A model in memory as a source, or the files that it was loaded from. */
#include "model/base/progress.h"
#include "model/model.h"
#include "weights/tensors/source.h"

/* A source that reads the parameters of a model in memory. ERR_NOMEM. */
int source_open_model(struct source *s, const struct model *m);
/* The files that m was loaded from, with their own precision, if m's weights are unchanged; else
 * memory. If the files have changed since, a note says so and memory is used. */
int source_of_model(struct source *s, const struct model *m, const struct progress *p);
/* Record that m's weights have been saved to path, which m takes over, and has the name of what is
 * there; NULL changes nothing. */
void source_moved(struct model *m, char *path);
/* As source_open_model, for other parameters of m's shape (training's). */
int source_open_params(struct source *s, const struct params *p, const struct model *m);

#endif
