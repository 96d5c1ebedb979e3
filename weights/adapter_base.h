#ifndef PRATTLE_WEIGHTS_ADAPTER_BASE_H
#define PRATTLE_WEIGHTS_ADAPTER_BASE_H
#include "model/base/progress.h"
#include "weights/hf/adapter_file.h"
#include "weights/tensors/source.h"

/* The path of the base model that an adapter's folder names, as it is or relative to that folder;
 * of a run's folder, its newest whole checkpoint; of a name on the Hub, its folder in the
 * cache, downloaded if need be. New memory. ERR_MISSING: there is nothing;
 * ERR_UNSUPPORTED: the base is an adapter itself. */
int adapter_base(char **out, const struct adapter_folder *f, const struct progress *p);
/* The same for a run that goes on: the base is at `given` now, or, where that is NULL and nothing
 * has the name of the base, where it is if a folder above both was moved. Whether that has the
 * base's weights is for the caller to see. */
int adapter_base_resumed(char **out, const struct adapter_folder *f, const char *given,
                         const struct progress *p);
/* A prattle.yaml beside the adapter takes the place of the settings that come with its base, s. */
int adapter_settings(struct source *s, const struct adapter_folder *f);

#endif
