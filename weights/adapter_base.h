#ifndef PRATTLE_WEIGHTS_ADAPTER_BASE_H
#define PRATTLE_WEIGHTS_ADAPTER_BASE_H
#include "weights/hf/adapter_file.h"

/* The base model that an adapter's folder names, as a path to load: as it stands, or from that
 * folder on, in fresh memory. ERR_MISSING when that is not there. */
int adapter_base(char **out, const struct adapter_folder *f);

#endif
