#ifndef PRATTLE_TESTS_EVENTS_H
#define PRATTLE_TESTS_EVENTS_H
/* A reader of TensorBoard's event files that owes nothing to their writer. */
#include "tests/lib/test.h"

#include <stdbool.h>
#include <stdint.h>

/* What a reader of protobuf finds in an event, by field number and wire type. */
struct seen {
    double wall_s;
    int64_t step;
    char version[32], tag[32];
    float value;
    bool start;
};

/* The record at p, whose sums are right; where the next begins. */
const unsigned char *event_read(const unsigned char *p, struct seen *s);

#endif
