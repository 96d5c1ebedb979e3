#ifndef PRATTLE_WEIGHTS_TENSORS_SAVE_CONFIG_H
#define PRATTLE_WEIGHTS_TENSORS_SAVE_CONFIG_H
/* How a source is written, in any format. */
#include "model/base/dtype.h"

#include <stdbool.h>

struct save_config {
    bool convert; /* to dtype; false: tensors bit for bit */
    enum dtype dtype;
    bool force;  /* overwrite */
    bool compat; /* GGUF: write output.weight also when tied */
};

#endif
