#ifndef PRATTLE_TRAIN_CONFIG_DISK_ROOM_H
#define PRATTLE_TRAIN_CONFIG_DISK_ROOM_H
/* Whether the disk of a run's folder holds what the run is to write there. */
#include "model/base/buf.h"
#include "train/config/run_config.h"

struct disk_room {
    double checkpoint; /* bytes of the weights, or the adapter, and of the optimizer's moments */
    double working;    /* bytes of phased=on's working files, while there is no folder yet */
    double free;       /* bytes free for this user; INFINITY where the system does not say */
    char path[256];    /* a part of the folder's that is there, for a message */
};

/* c: resolved; working: bytes of phased=on's working files, 0: none (run_memory of plan.h). */
int run_config_disk_room(struct disk_room *out, const struct run_config *c,
                         const struct config *shape, double working);
/*
 * ERR_IO, with the sizes: not one checkpoint fits, and the run would lose all that it does. (Older
 * ones go only after a newer one is whole, so on disks with less room than two, later ones fail.)
 */
int run_config_disk_fits(const struct run_config *c, const struct config *shape, double working);
/* The same as a line of the plan's; nothing where all fits. */
int run_config_disk_note(const struct run_config *c, const struct config *shape, double working,
                         struct buf *out);

#endif
