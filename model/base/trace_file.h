#ifndef PRATTLE_MODEL_BASE_TRACE_FILE_H
#define PRATTLE_MODEL_BASE_TRACE_FILE_H
/*
 * A profile as a Chrome trace: JSON with a list traceEvents, which ui.perfetto.dev and
 * chrome://tracing open (Trace Event Format, Google 2016). Spans are complete events ("X", times in
 * microseconds), threads have names ("M"), and where work was counted the rates of the whole team
 * are counters ("C"). The member otherData has the command, the times by category and how many
 * spans found no room. tests/golden/trace.schema.json says all this as a JSON Schema.
 */
#include "model/base/file.h"
#include "model/base/profile.h"

/* Write the trace; what is the command. Sorts the events of t. The caller commits w. */
int trace_file_write(struct file_writer *w, struct profile_trace *t, const char *command);

#endif
