#ifndef PRATTLE_WEIGHTS_TORCH_PICKLE_OBJECTS_H
#define PRATTLE_WEIGHTS_TORCH_PICKLE_OBJECTS_H
/*
 * The contents of a state dict: the closed list of globals that it may name, and the storages,
 * tensors and dicts made from them. Private to pickle.c and pickle_stream.c.
 */
#include "weights/torch/pickle_machine.h"

/* GLOBAL: push a global of the list. ERR_UNSUPPORTED: it is not in the list. */
int pickle_push_global(struct pickle_machine *m, const char *module, size_t n_module,
                       const char *name, size_t n_name);
/* BINPERSID: ('storage', type, key, device, number of elements) and, in a stream, None or
 * (key of a view, first element, number of elements). */
int pickle_storage(struct pickle_machine *m);
/* The description of a STORAGE value. */
struct pickle_storage_id pickle_storage_id(const struct pickle_machine *m,
                                           const struct pickle_value *v);
/* REDUCE: apply a global of the list to its arguments. */
int pickle_reduce(struct pickle_machine *m);
/* NEWOBJ: an object of the list, which is a dict of its attributes. */
int pickle_new_object(struct pickle_machine *m);
/* BUILD: an object's attributes. Those of a dict are skipped: state_dict() adds _metadata, which
 * weights do not need. */
int pickle_build(struct pickle_machine *m);

#endif
