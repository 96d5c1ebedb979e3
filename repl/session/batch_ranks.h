#ifndef PRATTLE_REPL_SESSION_BATCH_RANKS_H
#define PRATTLE_REPL_SESSION_BATCH_RANKS_H
/*
 * A batch of prompts by the ranks of a world: all read all lines, rank r answers every size-th from
 * line r on, and rank 0 writes the answers in the order of the lines. So each knows what is before
 * a line, and draws for its answers what one process would.
 */
#include "model/base/buf.h"

#include <stdbool.h>

/* What came of one line. */
struct line_output {
    struct buf out; /* to be written */
    char *warning;  /* to be said before; NULL: none */
    long failures;  /* to be counted */
    bool cut;       /* an answer was interrupted */
    bool full;      /* an answer ended at the end of the context */
};
void line_output_release(struct line_output *o);

struct batch_ranks;

/* By all ranks: rank 0 reads fd to its end, and all get it. */
int batch_ranks_read(struct buf *text, int fd);
/* Whether a line, counted from 1, is this rank's to answer. */
bool batch_ranks_owns(long line);
/* write: of rank 0, called in the order of lines. ERR_NOMEM. */
int batch_ranks_open(struct batch_ranks **out, int (*write)(void *user, struct line_output *o),
                     void *user);
/* The next line, in order: o, which is taken, or NULL where another rank answers it. Errors of
 * write.
 */
int batch_ranks_next(struct batch_ranks *b, long line, struct line_output *o);
/* Rank 0 wants no more. */
bool batch_ranks_stopped(struct batch_ranks *b);
/* By all ranks, after the last line or for an error rc, which is returned: rank 0 writes what
 * others have still to send, up to the first line that is missing. */
int batch_ranks_close(struct batch_ranks *b, int rc);

#endif
