#ifndef PRATTLE_REPL_COMMANDS_HELP_TOPICS_H
#define PRATTLE_REPL_COMMANDS_HELP_TOPICS_H
/* What the tables of training say: help systems, help presets, help training. */
#include "model/base/setting.h"
#include "repl/settings/options.h"

/* The i-th topic, NULL past the last. */
const char *help_topic_name(int i);
bool help_is_topic(const char *name);
int help_topic(const char *name, enum table_format format);
/* A setting of training runs. */
void help_training_row(const struct setting *row);

#endif
