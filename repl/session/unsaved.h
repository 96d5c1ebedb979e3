#ifndef PRATTLE_REPL_SESSION_UNSAVED_H
#define PRATTLE_REPL_SESSION_UNSAVED_H
/*
 * Unsaved work, and whether a command may discard it. A command that would discard something is
 * refused once, with one message that names all of it; the same command in the next line is carried
 * out, unless something was not named before.
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
/* The same, and then free the run in memory. */
int unsaved_put_away(struct repl *r, enum discarder by, unsigned what);
/* Save the run if that is possible. Fails with ERR_INTERRUPTED only. */
int unsaved_try_save_run(struct repl *r);
/* Whether the run in memory has steps that are in no checkpoint. */
bool unsaved_has_steps(const struct repl *r);
/* Write a checkpoint of a run with steps that are in none; 0 if there is nothing to do. */
int unsaved_save_run(struct repl *r);
/* At the end of a session: how to open its run later, and how to resume it. */
void unsaved_report_resume(const struct repl *r);
/* For commands that discard other things than the model or its run: whether the line before was the
 * same command; if not, the next line may confirm. */
bool unsaved_is_confirmed(struct repl *r, enum discarder by);
/* To be called after each line: what it named may be confirmed by the next line only. */
void unsaved_next_line(struct repl *r);

#endif
