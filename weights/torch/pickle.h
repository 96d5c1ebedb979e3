#ifndef PRATTLE_WEIGHTS_TORCH_PICKLE_H
#define PRATTLE_WEIGHTS_TORCH_PICKLE_H
/*
 * The pickle of a torch state dict (Python's pickletools.py documents the opcodes). This is not a
 * general unpickler: it knows the opcodes and globals that a dict of tensors needs, builds plain
 * values, and refuses everything else by name. Nothing is looked up, called or executed, and memory
 * is bounded by the pickle's length.
 */
#include "weights/torch/pickle_tensor.h"

/*
 * The tensors of the dict, in its order; other items are skipped. *out is to be freed with
 * mem_free; its texts are borrowed from bytes. ERR_FORMAT: broken; ERR_UNSUPPORTED: an opcode or
 * global that is not listed, or a tensor that is not contiguous.
 */
int pickle_read(struct pickle_tensor **out, int *n, const char *bytes, size_t n_bytes);

/* For the readers of pickles alone (weights/torch/pickle_machine.h): */
struct pickle_machine;
/* Run every opcode up to STOP, where m->at then is. */
int pickle_run(struct pickle_machine *m);
/* The tensors among the items of the dict on the stack, with their names; to be freed. */
int pickle_collect(struct pickle_machine *m, struct pickle_tensor **out, int *n);

#endif
