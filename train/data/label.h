#ifndef PRATTLE_TRAIN_DATA_LABEL_H
#define PRATTLE_TRAIN_DATA_LABEL_H
/* The label of a position that does not count. */
#include "model/base/ids.h"

#define LABEL_NONE ((token_id)-100)

#endif
