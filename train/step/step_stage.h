#ifndef PRATTLE_TRAIN_STEP_STEP_STAGE_H
#define PRATTLE_TRAIN_STEP_STEP_STAGE_H
/*
 * A step of one stage of a pipeline (step_config.h: slots): a pass over a micro-batch in parts,
 * which other micro-batches' parts come between. What goes in and out lies in a slot:
 *
 *              forward            head                        backward
 *   in         STEP_INPUT         STEP_HEAD_INPUT             STEP_GRADIENT
 *   out        STEP_OUTPUT        STEP_HEAD_GRADIENT          STEP_GRADIENT
 *
 * A slot is of one of the stage's chunks of layers; those of the first come first. The first chunk
 * of the stage with the ends has no STEP_INPUT, and the head alone has the loss. Backwards of a
 * chunk, and heads, are done in the order of micro-batches, and then the bits are those of
 * step_run.
 */
#include "train/step/step.h"

enum step_part { STEP_FORWARD, STEP_HEAD, STEP_BACKWARD };
enum step_content { STEP_INPUT, STEP_OUTPUT, STEP_HEAD_INPUT, STEP_HEAD_GRADIENT, STEP_GRADIENT };

struct step_message {
    void *data; /* borrowed */
    size_t bytes;
};
struct step_message step_message(struct step *x, int slot, enum step_content content);

/* A micro-batch takes a slot until its backward is done; arguments as of step_run, copied. */
void step_take(struct step *x, int slot, const token_id *ids, const token_id *labels, int batch,
               int length, uint64_t sequence);
/* The same one in a slot of another chunk, as it is in `from`. */
void step_take_again(struct step *x, int slot, int from);
/* One part; the head adds to sums. Until it is done, `meanwhile` is called now and then, by this
 * thread. ERR_INTERRUPTED: after Ctrl-C, the step must begin anew. */
struct step_part_call {
    enum step_part part;
    int slot;
    float scale;
    bool ends_block; /* the micro-batch is the last of its gradient block */
    struct step_result *sums;
    void (*meanwhile)(void *user);
    void *user;
};
int step_run_part(struct step *x, const struct step_part_call *c);

#endif
