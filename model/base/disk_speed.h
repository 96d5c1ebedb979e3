#ifndef PRATTLE_MODEL_BASE_DISK_SPEED_H
#define PRATTLE_MODEL_BASE_DISK_SPEED_H

/*
 * How fast working files in a folder are read and written: bytes a second, what is read and what is
 * written together, by a walk as an optimizer's (disk_walk.h), which reads four arrays and writes
 * three of them. Takes 0.5 GB of the disk meanwhile. ERR_NOMEM, ERR_IO (a full disk),
 * ERR_INTERRUPTED.
 */
int disk_speed_measure(double *bytes_per_s, const char *folder);

#endif
