#ifndef PRATTLE_REPL_COMMANDS_SETTINGS_LIST_H
#define PRATTLE_REPL_COMMANDS_SETTINGS_LIST_H
/*
 * The settings in force, a line each: value, range and meaning, and who gave a value that is not
 * built in.
 */
#include "repl/settings/options.h"

/* A value as it would have to be typed. */
int settings_list_value(struct buf *out, const struct options *o, const struct setting *row);
/* group: "sampling", or NULL for all. false: there is no such group, and nothing was shown. */
bool settings_list_show(const struct options *o, const char *group);

#endif
