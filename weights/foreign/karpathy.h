#ifndef PRATTLE_WEIGHTS_FOREIGN_KARPATHY_H
#define PRATTLE_WEIGHTS_FOREIGN_KARPATHY_H
#include "weights/foreign/foreign_kind.h"

/* nanoGPT's ckpt.pt (train.py): weights and model_args. The exact GELU; without biases if it says
 * so. */
extern const struct foreign_kind foreign_nanogpt;
/* minGPT's model.pt (projects/chargpt): weights alone, beside a config.json with the number of
 * heads. The head is not tied. */
extern const struct foreign_kind foreign_mingpt;

#endif
