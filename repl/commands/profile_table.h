#ifndef PRATTLE_REPL_COMMANDS_PROFILE_TABLE_H
#define PRATTLE_REPL_COMMANDS_PROFILE_TABLE_H
/*
 * Where the time of a profiled command went, as a table: seconds of one thread, which add up to the
 * command's, and the team's rates beside what the machine can do.
 */
#include "model/base/profile.h"
#include "model/model.h"

#include <stdio.h>

/* What the team's rates are shares of, measured here and now in about 0.2 s; m NULL: there is no
 * memory bandwidth to measure it with. Not for a profile without work. */
struct profile_limits {
    double flops, bytes; /* a second; 0: not known */
};
struct profile_limits profile_limits_measure(const struct profile_trace *t, const struct model *m);

int profile_table_print(FILE *f, const struct profile_trace *t, struct profile_limits limits);

#endif
