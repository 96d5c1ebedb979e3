#ifndef PRATTLE_MODEL_BASE_PROFILE_H
#define PRATTLE_MODEL_BASE_PROFILE_H
/*
 * Where the time of the thread team and of its caller goes: by category, and as a trace of spans
 * that nest. A thread calls profile_set when it begins work of another category, and puts
 * profile_begin and profile_end around a stage. Profiling is off unless a bench or the command
 * profile switches it on; each of these calls then costs one branch, else one reading of the clock.
 *
 * Each thread writes to memory of its own, without locks, and no more than was reserved for it at
 * the start: spans that find no room are counted and dropped, times by category go on.
 */
#include <stddef.h>
#include <stdint.h>

enum profile_part {
    PART_REST, /* everything not named below */
    PART_MATRICES,
    PART_HEAD, /* the products of the output head */
    PART_ATTENTION,
    PART_LAYERNORM,
    PART_ACTIVATION, /* on its own: inference has it in its matrix products */
    PART_LOSS,       /* without its matrix products */
    PART_OPTIMIZER,
    PART_SAMPLING,
    PART_LOADER,   /* waiting for, or preparing, a batch of training data */
    PART_FILES,    /* models loaded, checkpoints written */
    PART_EXCHANGE, /* messages to and from other processes, waiting for these, sums of both */
    PART_WAITS,    /* a thread for others at a barrier; the caller for the team */
    N_PARTS
};
const char *profile_part_name(enum profile_part part);

/* Stages. Those of the team are begun and ended by each of its threads. */
enum profile_span {
    SPAN_COMMAND,
    SPAN_LOAD,    /* a model */
    SPAN_DATA,    /* training data opened, its texts tokenized */
    SPAN_STEP,    /* of training, by its number */
    SPAN_PREPARE, /* a batch, by the data loader's thread */
    SPAN_BATCH,   /* its delivery */
    SPAN_OPTIMIZER,
    SPAN_EVALUATION,
    SPAN_CHECKPOINT,
    SPAN_PUBLISH, /* the trained weights to inference */
    SPAN_FEED,    /* tokens of a text, read in one pass */
    SPAN_DECODE,
    /* of the team */
    SPAN_PASS,
    SPAN_FORWARD,
    SPAN_LOSS,
    SPAN_BACKWARD,
    SPAN_SAMPLING,
    SPAN_EMBEDDING,
    SPAN_LAYER, /* by its index */
    N_SPANS
};
const char *profile_span_name(enum profile_span span);

/* ---- times by category ---- */

/* Start profiling a team of n_threads; not while a job runs. ERR_NOMEM. */
int profile_start(int n_threads);
/* Stop profiling. seconds: time since profile_start by category, summed over the team's threads;
 * time outside jobs does not count. */
void profile_stop(double seconds[N_PARTS]);

/* ---- a trace ---- */

struct profile_event {
    double begin, end;  /* clock_s */
    float flops, bytes; /* work of the span, of a category alone */
    int index;          /* of a stage; -1: it has none */
    int16_t span;       /* -1: a span of the category */
    int16_t part;
};

/* What one thread recorded. */
struct profile_lane {
    double seconds[N_PARTS], flops[N_PARTS], bytes[N_PARTS];
    struct profile_event *events; /* [n_events], in the order of their ends */
    size_t n_events, max_events;
    uint64_t n_dropped;
};

/* The team's threads, then the caller, then the data loader's thread. */
struct profile_trace {
    struct profile_lane *lanes; /* [n_threads + 2] */
    int n_threads;
    double begin, end;
};

/* Start a trace of a team of n_threads and of the calling thread, with room for about max_events
 * spans in all, 0: as many as suit a file. ERR_NOMEM; ERR_EXISTS: one is being recorded. */
int profile_trace_start(int n_threads, size_t max_events);
/* End the trace, of the same calling thread; *out is released by profile_trace_release. */
void profile_trace_stop(struct profile_trace *out);
void profile_trace_release(struct profile_trace *t);
/* Its categories: sums over the team alone, in seconds of one thread; and all that was dropped. */
double profile_trace_team_s(const struct profile_trace *t, enum profile_part part);
uint64_t profile_trace_dropped(const struct profile_trace *t);

/* ---- for the code that is profiled ---- */

/* This thread's category; PART_REST while profiling is off. */
enum profile_part profile_now(void);
/* Set this thread's category from now on; returns the one before. Does nothing outside jobs, but
 * in a trace's caller, nor while profiling is off. */
enum profile_part profile_set(enum profile_part part);
/* The same, where the thread is in another category: a span of this one goes on. */
enum profile_part profile_change(enum profile_part part);
/* The same behind a wait: of the category that was before, of which perhaps nothing is left. */
void profile_resume(enum profile_part part);
/* The same for a short moment within a category, whose span in the trace goes on. */
enum profile_part profile_within(enum profile_part part);
/* Add work to this thread's category: floating-point operations, and bytes of memory. */
void profile_work(double flops, double bytes);
/* Begin a stage and end it. The category is the same after the stage as before; index -1: none. */
void profile_begin(enum profile_span span, int64_t index);
void profile_end(void);

/* A stage of the data loader's thread, which is of no team: begun by a mark, and recorded, under a
 * lock, when it ends in the same trace. */
struct profile_mark {
    double begin;
    uint64_t trace; /* 0: none */
};
struct profile_mark profile_loader_begin(void);
void profile_loader_end(struct profile_mark begun, enum profile_span span);

/* For par.c: this thread begins a job, in PART_REST, and ends it. */
void profile_enter(int thread);
void profile_leave(void);

#endif
