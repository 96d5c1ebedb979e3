#ifndef PRATTLE_WEIGHTS_MODEL_SOURCE_H
#define PRATTLE_WEIGHTS_MODEL_SOURCE_H
/* A model in memory as a source, and the files that it was loaded from. */
#include "model/base/progress.h"
#include "model/model.h"
#include "weights/tensors/source.h"

/* A source that reads the parameters of a model in memory (weights that changed). */
int source_open_model(struct source *s, const struct model *m);
/* That, or the files m was loaded from while they have its weights: another precision is then
 * kept. Says so where they have been written to since. */
int source_of_model(struct source *s, const struct model *m, const struct progress *p);
/* The weights in memory are in these files now. Takes path; NULL changes nothing. */
void source_moved(struct model *m, char *path);
/* The same for other parameters of its shape (training's). */
int source_open_params(struct source *s, const struct params *p, const struct model *m);

#endif
