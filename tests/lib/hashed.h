#ifndef PRATTLE_TESTS_HASHED_H
#define PRATTLE_TESTS_HASHED_H
/* The numbers that tests/golden/training_reference.py makes weights and ids of. */
#include "train/step/weights.h"

/* Number i of a stream: 24 bits. */
uint32_t hashed(uint64_t stream, uint64_t i);
/* fp32 weights for training, tensor i of the table with stream i + 1; c is checked and completed.
 */
void hashed_weights(struct weights *w, struct config *c);

#endif
