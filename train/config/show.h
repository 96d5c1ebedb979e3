#ifndef PRATTLE_TRAIN_CONFIG_SHOW_H
#define PRATTLE_TRAIN_CONFIG_SHOW_H
#include "train/config/run_config.h"

/* Every setting in force with its origin, by sections; "follows" where resolving changed it. In
 * columns that fit `width` as far as values do; 0: no limit. */
int run_config_show(const struct run_config *c, int width, struct buf *out);
/* The same of the n settings named. ERR_MISSING: there is no such setting. */
int run_config_show_named(const struct run_config *c, int width, char *const *names, int n,
                          struct buf *out);

#endif
