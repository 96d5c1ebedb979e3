#ifndef PRATTLE_TESTS_CURVE_H
#define PRATTLE_TESTS_CURVE_H
/* The small model and the data of tests/golden/curve_reference.py. */
#include "tests/lib/golden_floats.h"
#include "tests/lib/tiny.h"
#include "train/step/weights.h"
#include "train/optim/optimizer.h"
#include "train/step/step.h"

enum { STEPS = 10, MICRO = 2, B = 2, T = 18, IDS = STEPS * MICRO * B * T };

struct config curve_shape(void);

struct curve {
    struct weights w;
    token_id ids[IDS], labels[IDS];
};

void curve_open_as(struct curve *x, enum dtype dtype);
void curve_open(struct curve *x);

/* PLAIN of curve_reference.py. */
struct optimizer_config curve_config(enum optimizer_kind kind);

/* Ten steps of `learning`, which is x->w or beside it, in micro-batches of `batch` sequences;
 * curve [STEPS][2] receives loss and norm. */
void curve_train(struct curve *x, struct weights *learning, struct step_config s,
                 const struct optimizer_config *c, double rate, int batch, double curve[STEPS][2]);

#endif
