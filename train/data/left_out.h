#ifndef PRATTLE_TRAIN_DATA_LEFT_OUT_H
#define PRATTLE_TRAIN_DATA_LEFT_OUT_H
/*
 * What stands beside the data and is not read: why the first is not, and the names of a few more.
 */
#include "model/base/buf.h"
#include "model/base/progress.h"

struct left_out {
    size_t n;
    struct buf first; /* a message */
    struct buf more;  /* names: ", b.png, c.png" */
};
/* One more, of this name; err_text() says why. Returns 0 or ERR_NOMEM. */
int left_out_add(struct left_out *l, const char *name);
/* One note on all of them; none if there are none. */
void left_out_note(const struct left_out *l, const struct progress *p);
void left_out_release(struct left_out *l);

#endif
