#ifndef PRATTLE_WEIGHTS_FOREIGN_LANGUINI_H
#define PRATTLE_WEIGHTS_FOREIGN_LANGUINI_H
#include "weights/foreign/foreign_kind.h"

/* The GPT of Languini Kitchen (projects/gpt): checkpoints/model.pt, and config.pickle in the folder
 * above or in the same. Heads of any width; the embedding is scaled by sqrt(C). */
extern const struct foreign_kind foreign_languini;

#endif
