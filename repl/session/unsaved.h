#ifndef PRATTLE_REPL_SESSION_UNSAVED_H
#define PRATTLE_REPL_SESSION_UNSAVED_H
/*
 * What is in memory and in no file, and whether it may go. A command that would discard something
 * is refused once, with one sentence that names all of it; the same command right after it goes on.
 * What was not named then is asked about first.
 */
#include "repl/session/repl.h"

#include <stdbool.h>

enum unsaved {
    UNSAVED_RUN = 1, /* its steps since the last checkpoint, where another cannot be written */
    UNSAVED_WEIGHTS = 2,
    UNSAVED_ADAPTER = 4,
    UNSAVED_MODEL = UNSAVED_WEIGHTS | UNSAVED_ADAPTER,
    UNSAVED_ALL = UNSAVED_RUN | UNSAVED_MODEL
};

/*
 * Before `by` discards `what` (of enum unsaved): the run in memory is saved. 0 where nothing would
 * be lost or all of it was named to the same command by the line before; else ERR_EXISTS, or the
 * code of the run's failure, and the sentence. ERR_INTERRUPTED: while it was saved.
 */
int unsaved_may_discard(struct repl *r, enum discarder by, unsigned what);
/* The same, and then the run goes out of memory. */
int unsaved_put_away(struct repl *r, enum discarder by, unsigned what);
/* Save the run where that is possible. Fails by ERR_INTERRUPTED alone. */
int unsaved_try_save_run(struct repl *r);
/* Whether the run in memory has steps that are in no checkpoint. */
bool unsaved_has_steps(const struct repl *r);
/* Write a checkpoint of a run whose weights are in none; 0 when there is nothing to do. */
int unsaved_save_run(struct repl *r);
/* At the end of a session: how its run opens, and goes on, on another day. */
void unsaved_report_resume(const struct repl *r);
/* Whether the line before was the same command, of what is no part of the model or its run; else
 * the next one may confirm. */
bool unsaved_is_confirmed(struct repl *r, enum discarder by);
/* A line has come to its end: what it named may be confirmed by the next, and no later. */
void unsaved_next_line(struct repl *r);

#endif
