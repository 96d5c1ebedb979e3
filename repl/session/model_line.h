#ifndef PRATTLE_REPL_SESSION_MODEL_LINE_H
#define PRATTLE_REPL_SESSION_MODEL_LINE_H
/*
 * The model in memory in a line, as the program's start and :load show it.
 */
#include "repl/session/repl.h"

/* "bundled, 7.1M parameters, fp16, 2 threads, avx512", and of the model that ships a second line
 * with what to try; appended to out. The first loses its last parts, and then its name's beginning,
 * where it would be wider than `width` (0: any). Needs a model. */
int model_line_format(const struct repl *r, int width, struct buf *out);

#endif
