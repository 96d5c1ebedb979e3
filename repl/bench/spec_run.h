#ifndef PRATTLE_REPL_BENCH_SPEC_RUN_H
#define PRATTLE_REPL_BENCH_SPEC_RUN_H
/* A benchmark of a specification, run. */
#include "model/base/progress.h"
#include "model/base/setting.h"
#include "repl/bench/spec.h"

/* What the session says of the machine and of precisions: the command has it too, where it does not
 * say it itself, and the record has it as a parameter. */
enum { SPEC_SETTINGS = 8 };
struct spec_setting {
    const struct setting *row;
    struct buf value; /* owned */
};
struct spec_run {
    const char *path;                    /* of the specification */
    const char *model;                   /* for {model} */
    const struct spec_setting *settings; /* [n_settings] */
    int n_settings;                      /* up to SPEC_SETTINGS */
    int repeats;                         /* 0: the benchmark's own */
    const char *label;                   /* of the progress */
    const struct progress *progress;
};
/* Run a benchmark with one of its combinations of parameters, and make its record (results.h), to
 * be freed with json_decref; NULL after an error. After ERR_INTERRUPTED it has the repetitions that
 * were whole, if there is one. */
int spec_run(json_t **record, const struct spec_run *how, const struct spec_entry *e,
             const json_t *variant);

#endif
