#ifndef PRATTLE_TRAIN_EVAL_RECORD_H
#define PRATTLE_TRAIN_EVAL_RECORD_H
/*
 * A result as JSON, for --json and for the history of results.
 */
#include "model/base/json.h"
#include "model/model.h"
#include "train/eval/result.h"

/*
 * {"date", "model", "source", "fingerprint", "dtype", "changed", "evaluation", "definition",
 * "file", "sha256", "settings": {...}, "figures": {NAME: {"text", "value", "error"}, ...}, "unit",
 * "done", "total", "left_out", "targets", "tokens", "seconds", "partial"}; and "other" with the
 * first five of the model compared with, where there is one. sha256: of a regular file of at most
 * 256 MiB. NaN and infinite numbers are left out. NULL: no memory, or the weights cannot be read;
 * err_last() is set.
 */
json_t *eval_record(const struct eval_result *r, struct model *m, struct model *other);

#endif
