#ifndef PRATTLE_WEIGHTS_TENSORS_SAVE_CONFIG_H
#define PRATTLE_WEIGHTS_TENSORS_SAVE_CONFIG_H
/* How a source is written, in any format. */
#include <stdbool.h>

enum save_dtype { SAVE_KEEP, SAVE_F32, SAVE_F16, SAVE_BF16 };

struct save_config {
    enum save_dtype dtype; /* KEEP: tensors bit for bit */
    bool force;            /* overwrite */
    bool compat;           /* GGUF: write output.weight also when tied */
};

#endif
