#ifndef PRATTLE_REPL_COMMANDS_EVAL_REPORT_H
#define PRATTLE_REPL_COMMANDS_EVAL_REPORT_H
/*
 * Results of evaluations for a person to read.
 */
#include "repl/settings/options.h"
#include "train/eval/history.h"

/* On standard output. */
int eval_report_show(const struct eval_result *r, const struct model *m);
/*
 * The results kept, appended to out: models side by side, the oldest on the left; of those that do
 * not fit into width the newest (0: all). Nothing where there are no results.
 */
int eval_report_history(const struct records *h, enum table_format format, int width,
                        struct buf *out);

#endif
