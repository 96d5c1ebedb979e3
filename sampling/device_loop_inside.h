#ifndef PRATTLE_SAMPLING_DEVICE_LOOP_INSIDE_H
#define PRATTLE_SAMPLING_DEVICE_LOOP_INSIDE_H
/* The inside of the device loop: for device_loop.c and the test of its ring. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct engine;
struct decode_slot;
struct drawn;
struct token_event;

struct device_loop {
    struct engine *engine;
    struct decode_slot *slots; /* [n_slots] */
    int n_slots;
    int max_steps;
    size_t max_events;
    char *scratch; /* [threads][scratch_bytes], for sampler_use */
    size_t scratch_bytes;
    struct drawn *drawn;   /* [n_slots], by this step */
    struct draft **drafts; /* [n_drafts] of this step, that the drafter makes */
    int n_drafts;
    struct token_event *ring; /* [max_events], written by the team, read by the caller */
    size_t n_written, n_read;
    _Alignas(64) atomic_size_t n_emitted; /* events that the caller may read */
    _Alignas(64) atomic_int next;         /* the next slot to draw for */
    atomic_bool halt;
    int steps, steps_wanted, tokens_held, device_iterations, n_live;
    bool until_ended, ended, leave;
};

#endif
