#ifndef PRATTLE_TESTS_RANDOM_ADAPTER_H
#define PRATTLE_TESTS_RANDOM_ADAPTER_H
#include "model/adapter.h"

/* An adapter of a model of this shape whose A and B are both random; alpha is 3. */
struct adapter *random_adapter(const struct config *c, const char *targets, int rank, bool rslora);

#endif
