#ifndef PRATTLE_MODEL_DEFAULTS_H
#define PRATTLE_MODEL_DEFAULTS_H
/*
 * Settings that come with a model (model.h), as the text of a prattle.yaml.
 */
#include <stdbool.h>

/*
 * Have *defaults, which may be NULL, say that prompts are read in this template; *file becomes
 * prattle.yaml. "", or what they say already, and the prompt alone where they say nothing, change
 * nothing: *changed. Comments go. ERR_FORMAT: their text cannot be read; ERR_NOMEM.
 */
int defaults_set_template(char **defaults, const char **file, const char *template, bool *changed);

#endif
