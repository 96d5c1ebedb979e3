#ifndef PRATTLE_TRAIN_DATA_PICKLE_ARRAY_H
#define PRATTLE_TRAIN_DATA_PICKLE_ARRAY_H
/*
 * NumPy's arrays and numbers in a pickle of ids: the closed list of globals that they need, and
 * what is made with them. Private to pickle_ids.c.
 */
#include "train/data/pickle_stack.h"

/* GLOBAL: push a global of the list, by the n bytes "MODULE NAME". ERR_UNSUPPORTED: another one. */
int array_push_global(struct pickle_stack *m, const char *name, size_t n);
/* STACK_GLOBAL: module and name are on the stack. */
int array_stack_global(struct pickle_stack *m);
/* REDUCE: a global of the list and its arguments. */
int array_reduce(struct pickle_stack *m);
/* BUILD: the state of an array or of its type. */
int array_build(struct pickle_stack *m);

#endif
