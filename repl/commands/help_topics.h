#ifndef PRATTLE_REPL_COMMANDS_HELP_TOPICS_H
#define PRATTLE_REPL_COMMANDS_HELP_TOPICS_H
/* Pages of help by name: commands, settings, training, presets, systems, formats, and each group of
 * settings. */
#include "repl/settings/options.h"

/* The i-th topic, NULL past the last. */
const char *help_topic_name(int i);
bool help_is_topic(const char *name);
/* One that there is. */
int help_topic(const char *name, enum table_format format, bool shell);

#endif
