#ifndef PRATTLE_EVAL_VIEW_H
#define PRATTLE_EVAL_VIEW_H
/*
 * The result of an evaluation for a person to read, on standard output.
 */
#include "train/eval/eval.h"

void eval_view_show(const struct eval_result *r, const struct model *m);

#endif
