#ifndef PRATTLE_TRAIN_CONFIG_FITS_H
#define PRATTLE_TRAIN_CONFIG_FITS_H
/* Whether a run fits into this machine, before it begins. */
#include "train/config/run_config.h"

/*
 * ERR_RANGE, with both sizes: the machine's memory and swap, or those of the control group, do not
 * hold the run's processes on it, and the system would end the program in the first step. ERR_IO:
 * the disk of its folder does not hold a checkpoint (disk_room.h).
 *
 * c         resolved
 * held      the precision of the model for prompts
 * launched  the run is by other processes, all of them on this machine; else by this world's ranks,
 *           of which those of this host count
 */
int run_config_fits(const struct run_config *c, const struct config *shape, enum dtype held,
                    bool launched);

#endif
