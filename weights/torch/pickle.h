#ifndef PRATTLE_WEIGHTS_TORCH_PICKLE_H
#define PRATTLE_WEIGHTS_TORCH_PICKLE_H
/*
 * The pickle of a torch state dict (Python's pickletools.py tells the opcodes). This
 * is no unpickler: it knows the few opcodes and the few globals that a dict of tensors
 * needs, builds plain values of its own, and refuses everything else by name. Nothing
 * is looked up, called or executed, and memory is bounded by the pickle's length.
 */
#include "weights/torch/pickle_tensor.h"

/*
 * The tensors of the dict in its order; items that are no tensors are passed over.
 * *out is to be freed with mem_free. ERR_FORMAT: broken; ERR_UNSUPPORTED: an opcode or
 * a global outside the lists, or a tensor that does not lie row by row.
 */
int pickle_read(struct pickle_tensor **out, int *n, const char *bytes, size_t n_bytes);

/* For the readers of pickles alone (weights/torch/pickle_machine.h): */
struct pickle_machine;
/* Every opcode up to STOP, at which m->at then is. */
int pickle_run(struct pickle_machine *m);
/* The tensors among the items of the dict on the stack, with their names; to be freed. */
int pickle_collect(struct pickle_machine *m, struct pickle_tensor **out, int *n);

#endif
