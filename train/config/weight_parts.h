#ifndef PRATTLE_TRAIN_CONFIG_WEIGHT_PARTS_H
#define PRATTLE_TRAIN_CONFIG_WEIGHT_PARTS_H
/*
 * Into how many files replicas that have the same weights divide the writing of a checkpoint's.
 * Where their moments are divided (zero), all of them write anyway, and writing and hashing of the
 * weights by one would be what the others wait for. A small model is soon written, and
 * one file is what everyone else expects: so there is a least size (checkpoint.min_part_mb).
 */
#include "train/config/run_config.h"

/* 1: one process writes them, or processes that have parts of them each write these. */
int weight_parts(const struct run_config *c, const struct config *shape);

#endif
