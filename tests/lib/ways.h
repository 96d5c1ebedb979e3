#ifndef PRATTLE_TESTS_WAYS_H
#define PRATTLE_TESTS_WAYS_H
/* Settings of answers: everything that has to do with where a text goes and where it ends. */
#include "sampling/text/request.h"

enum { WAYS = 37, WAYS_TEXTS = 3 /* answers at most */ };
/* Settings number `way` of them. */
void ways_choose(int way, struct generate_config *g, struct sampler_config *c);

#endif
