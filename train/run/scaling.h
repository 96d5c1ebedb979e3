#ifndef PRATTLE_TRAIN_RUN_SCALING_H
#define PRATTLE_TRAIN_RUN_SCALING_H
/*
 * What a step takes by several processes: the time of its parts, and the memory of each process.
 * Reckoned from how many operations and bytes there are and how many of them a second a process and
 * its link do; nothing is run.
 *
 * A layout has copies of the model, replicas, each of which may be divided by layers over stages or
 * by heads and columns among shards. The time of a pipeline is that of its order of work
 * (parallel/pipeline.h), with the link's time for each message; that of shards comes from following
 * their sums from rank to rank (model/shard.h).
 */
#include "model/base/buf.h"
#include "train/run/scaling_parts.h"

double step_time_total(const struct step_time *t);

/* ERR_RANGE: the layout is none of this run; ERR_NOMEM: its memory is too little for it. */
int scaling_time(struct step_time *out, const struct scaling_run *run, const struct cluster *k,
                 const struct scaling_layout *l);
/* The same of n layouts, with zero=l->zero and the n - 1 behind it. */
int scaling_times(struct step_time *out, int n, const struct scaling_run *run,
                  const struct cluster *k, const struct scaling_layout *l);
/* Not more than the sum of that, and known at once: the computation of the stage with most. */
int scaling_time_least(double *out, const struct scaling_run *run, const struct cluster *k,
                       const struct scaling_layout *l);
/* Bytes of the process that has most. */
int scaling_memory(double *out, const struct scaling_run *run, const struct scaling_layout *l);
/* Not more than that, and known at once. */
int scaling_memory_least(double *out, const struct scaling_run *run,
                         const struct scaling_layout *l);
/* The fewest gradient blocks of n replicas, not less than the run has; 0: its step does not divide
 * into so many. */
int scaling_blocks(const struct run_config *c, int replicas);
/* Append its settings as they are typed: "replicas=2 zero=1 gradient_blocks=2
 * layers_per_device=6,6 virtual_stages=2", the last ones where they are not 1; and "phased=off"
 * where the run has it on and the layout is of several processes, which do not train from disk. */
int scaling_words(struct buf *out, const struct run_config *c, const struct scaling_layout *l);
/* Of those that are tried, run->given among them, that of the least time that fits the memory;
 * where none fits, that of the least memory. ERR_RANGE: there is none for so many processes, and
 * for how many there is. */
int scaling_best(struct scaling_layout *out, const struct scaling_run *run,
                 const struct cluster *k);

#endif
