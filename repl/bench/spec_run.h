#ifndef PRATTLE_REPL_BENCH_SPEC_RUN_H
#define PRATTLE_REPL_BENCH_SPEC_RUN_H
/* A benchmark of a specification, run. */
#include "model/base/progress.h"
#include "repl/bench/spec.h"

struct spec_run {
    const char *path;  /* of the specification */
    const char *model; /* for {model} */
    /* Of weights, and of keys and values, where the command does not say; "auto": as the program
     * chooses. */
    const char *dtype, *cache_dtype;
    int repeats;       /* 0: the benchmark's own */
    const char *label; /* of the progress */
    const struct progress *progress;
};
/* Run a benchmark with one of its combinations of parameters, and make its record (results.h), to
 * be freed with json_decref; NULL after an error. After ERR_INTERRUPTED it has the repetitions that
 * were whole, if there is one. */
int spec_run(json_t **record, const struct spec_run *how, const struct spec_entry *e,
             const json_t *variant);

#endif
