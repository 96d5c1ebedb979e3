#ifndef PRATTLE_WEIGHTS_TORCH_PICKLE_OBJECTS_H
#define PRATTLE_WEIGHTS_TORCH_PICKLE_OBJECTS_H
/*
 * What a state dict is made of: the globals it may name, a closed list, and what comes of
 * them: storages, tensors, dicts. Private to pickle.c and pickle_stream.c.
 */
#include "weights/torch/pickle_machine.h"

/* ERR_UNSUPPORTED: not of the list. */
int pickle_push_global(struct pickle_machine *m, const char *module, size_t n_module,
                       const char *name, size_t n_name);
/* BINPERSID: ('storage', type, key, device, number of elements) and, in a stream, None or
 * (key of a view, first element, number of elements). */
int pickle_storage(struct pickle_machine *m);
/* What a STORAGE says of itself. */
struct pickle_storage_id pickle_storage_id(const struct pickle_machine *m,
                                           const struct pickle_value *v);
/* REDUCE: a global of the list, with its arguments. */
int pickle_reduce(struct pickle_machine *m);
/* BUILD: state_dict() gives its dict an attribute _metadata, which weights do not need. */
int pickle_build(struct pickle_machine *m);

#endif
