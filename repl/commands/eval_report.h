#ifndef PRATTLE_REPL_COMMANDS_EVAL_REPORT_H
#define PRATTLE_REPL_COMMANDS_EVAL_REPORT_H
/*
 * Results of evaluations for a person to read.
 */
#include "repl/settings/options.h"
#include "train/eval/history.h"

/* Of a figure that has no standard error. */
enum { EVAL_DIGITS = 4 };

/* On standard output. */
int eval_report_show(const struct eval_result *r, const struct model *m);
/*
 * The results kept, appended to out: models side by side, the oldest on the left; of those that do
 * not fit into width (0: all do) the newest, or with `all` each, in tables below each other.
 * Nothing where there are no results.
 */
int eval_report_history(const struct records *h, enum table_format format, int width, bool all,
                        struct buf *out);

#endif
