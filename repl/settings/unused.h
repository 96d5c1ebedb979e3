#ifndef PRATTLE_REPL_SETTINGS_UNUSED_H
#define PRATTLE_REPL_SETTINGS_UNUSED_H
/* Settings that change no answer in the shell, because of what others are. */
#include "repl/settings/options.h"

/*
 * Tell of each value of an origin that changes nothing, as "dry_base is not used: dry_multiplier is
 * 0". Of built-in values, and those that turn their setting off, nothing is said; nor of seeds and
 * draws, which a greedy answer may have.
 */
int options_say_unused(const struct options *o, enum origin origin,
                       void (*tell)(const char *sentence));

#endif
