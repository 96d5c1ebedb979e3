#ifndef PRATTLE_WEIGHTS_HUB_MODEL_FILES_H
#define PRATTLE_WEIGHTS_HUB_MODEL_FILES_H
/* Which files of a repository a model, or an adapter, is made of. */
#include "weights/hub/repository.h"

/* How much of a model a snapshot in the cache has. */
enum hub_state {
    HUB_ABSENT,  /* nothing that loads */
    HUB_WEIGHTS, /* it loads, but it is not known whether there is a tokenizer */
    HUB_WHOLE
};
enum hub_state hub_model_state(const struct hub_repository *r, const char *commit);

/* The files that an index in a snapshot lists, in new memory, each once. ERR_FORMAT names one that
 * is no plain file of the index's folder. */
struct hub_file_list {
    char **names; /* [n], owned */
    int n;
};
int hub_index_files(struct hub_file_list *l, const struct hub_repository *r, const char *commit,
                    const char *index);
void hub_file_list_release(struct hub_file_list *l);

/* The names of weights in the order in which they are preferred, an index before what it lists;
 * NULL past the last. */
const char *hub_weights_name(int i);

#endif
