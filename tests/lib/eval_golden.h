#ifndef PRATTLE_TESTS_EVAL_GOLDEN_H
#define PRATTLE_TESTS_EVAL_GOLDEN_H
/* Evaluations of the model of tests/golden/comparison, and what PyTorch measured on it. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"
#include "train/eval/eval.h"
#include "weights/load.h"

#include <jansson.h>

/* The model's folder; the program's own folders are below it. */
extern struct scratch eval_scratch;
/* What PyTorch found, by group; may be another's for a while. */
extern json_t *eval_reference;

/* With tests/golden/NAME/reference.json. */
void eval_golden_open(const char *name);
void eval_golden_close(void);

/* tests/golden/FROM/FILE as FILE of the scratch folder, with `to` for `what` where that is not
 * NULL; and the model, its config.json changed so. */
void eval_golden_copy(const char *from, const char *file, const char *what, const char *to);
struct model *eval_golden_model(enum dtype kind, const char *what, const char *to);

/* Run one by name, with `other` (NULL: none); path as of eval_run. */
int eval_golden_run(struct eval_result *r, const char *name, const struct eval_config *c,
                    const char *path, struct model *m, struct model *other, int max_seqs);

/* What the reference has, and what the result: a test fails that asks for what there is not. */
double eval_golden_number(const char *group, const char *name);
double eval_figure_value(const struct eval_result *r, const char *name);

#endif
