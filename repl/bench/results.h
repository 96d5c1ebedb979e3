#ifndef PRATTLE_REPL_BENCH_RESULTS_H
#define PRATTLE_REPL_BENCH_RESULTS_H
/*
 * What benchmarks of a specification (spec.h) measured, stored in
 * $XDG_STATE_HOME/prattle/benchmarks.jsonl, one record per line:
 *
 *   date, machine (its name), cpu, threads, spec (a path), benchmark, parameters {NAME: text; model
 *   where the command has {model}; precisions, threads and the like where the session had given
 *   them}, command, figures {NAME: {unit, values: [one of each run]}}
 */
#include "model/base/record_file.h"
#include "repl/bench/pattern.h"

int results_add(const json_t *record);                          /* as record_file_add */
int results_read(struct records *r);                            /* as record_file_read */
int results_clear(void);                                        /* as record_file_clear */
const char *result_text(const json_t *record, const char *key); /* "": it has none */
/* Whether both measured the same: benchmark, parameters and command. */
bool result_is_same(const json_t *a, const json_t *b);
/* "NAME batch=4 length=256" */
int result_title(struct buf *out, const json_t *record);
/* Append a figure's values; none where the record has no such figure. */
int result_values(struct numbers *out, const json_t *record, const char *figure);

/*
 * A side of a comparison: all records of a day ("2026-11-23"), of a machine (its name), or of both
 * ("MACHINE/2026-11-23").
 */
bool result_is_of(const json_t *record, const char *side);
/* "MACHINE/DAY" of a record. */
int result_side(struct buf *out, const json_t *record);

#endif
