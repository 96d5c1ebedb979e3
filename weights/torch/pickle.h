#ifndef PRATTLE_WEIGHTS_TORCH_PICKLE_H
#define PRATTLE_WEIGHTS_TORCH_PICKLE_H
/*
 * The pickle of a torch state dict (Python's pickletools.py documents the opcodes). This is not a
 * general unpickler: it knows the opcodes and globals that a dict of tensors needs, builds plain
 * values, and refuses everything else by name. Nothing is looked up, called or executed, and memory
 * is bounded by the pickle's length.
 */
#include "weights/torch/pickle_tensor.h"

#include <jansson.h>

/*
 * The tensors of the dict, in its order, or of the weights in it where it is what a trainer saved;
 * other items are skipped. *out is to be freed with mem_free; its texts are borrowed from bytes.
 * *about: what a trainer said of the model, under "model_args", "cfg", "args" and "config", or
 * NULL; to be freed with json_decref, also after a failure. ERR_FORMAT: broken; ERR_UNSUPPORTED: an
 * opcode or global that is not listed, or a tensor that is not contiguous.
 */
int pickle_read(struct pickle_tensor **out, int *n, json_t **about, const char *bytes,
                size_t n_bytes);
/* A pickled dict of plain values as JSON, to be freed with json_decref. Fails as pickle_read. */
int pickle_read_plain(json_t **out, const char *bytes, size_t n_bytes);

/* What pickletools.py calls an opcode; "without a name" where it has none. */
const char *pickle_opcode_name(unsigned char op);

/* For the readers of pickles alone (weights/torch/pickle_machine.h): */
struct pickle_machine;
/* Run every opcode up to STOP, where m->at then is. */
int pickle_run(struct pickle_machine *m);
/* *about of pickle_read. */
int pickle_about(struct pickle_machine *m, json_t **out);
/* The tensors among the items of the dict on the stack, with their names; to be freed. */
int pickle_collect(struct pickle_machine *m, struct pickle_tensor **out, int *n);

#endif
