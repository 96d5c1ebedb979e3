#ifndef PRATTLE_WEIGHTS_FOREIGN_KINDS_H
#define PRATTLE_WEIGHTS_FOREIGN_KINDS_H
/* The trainers whose checkpoints are read. */
#include "weights/foreign/foreign_kind.h"

/* The first kind that matches; NULL: none. */
const struct foreign_kind *foreign_kind_of(const struct checkpoint *k);

#endif
