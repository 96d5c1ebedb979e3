#ifndef PRATTLE_WEIGHTS_TORCH_PICKLE_JSON_H
#define PRATTLE_WEIGHTS_TORCH_PICKLE_JSON_H
/* The plain values of a pickle as JSON. Private to pickle.c. */
#include "weights/torch/pickle_machine.h"

#include <jansson.h>

/* The item of a dict under this text; NULL: there is none. */
const struct pickle_value *pickle_item(const struct pickle_machine *m,
                                       const struct pickle_value *dict, const char *key);
/*
 * A value as JSON, to be freed with json_decref: tuples as lists, keys that are whole numbers as
 * text, None, tensors, and numbers that are NaN or infinite as null. ERR_RANGE: nested too deep, or
 * too many values where one is used in many places.
 */
int pickle_json(const struct pickle_machine *m, const struct pickle_value *v, json_t **out);

#endif
