#ifndef PRATTLE_TRAIN_RUN_ASK_H
#define PRATTLE_TRAIN_RUN_ASK_H
/*
 * A model that was trained on prompts in a template is asked in it: the template of the run's
 * prompts goes to the settings that come with the model.
 */
#include <stdbool.h>

struct run;

/*
 * Have *defaults and *file, as model.h has them, say so. *said: they do now, also where they did
 * before; false: the run has no such template (pairs_ask), or the text of these settings cannot be
 * read, which is noted. ERR_NOMEM.
 */
int run_ask(const struct run *r, char **defaults, const char **file, bool *said, bool *changed);

#endif
