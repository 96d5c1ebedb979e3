#ifndef PRATTLE_WEIGHTS_FIND_H
#define PRATTLE_WEIGHTS_FIND_H
/* From what the user names to the path of a model's files. */
#include "model/base/progress.h"

/*
 * The path to open for `name`, with ~ expanded, in the order of:
 *
 *     a run's folder        its newest whole checkpoint (run_folder.h); *title names it
 *     a file or folder      itself
 *     a name on the Hub     its folder in the Hugging Face cache, downloaded if need be (hub/); a
 *                           note says where something here hides a model of the cache
 *     anything else         itself, so that opening it fails
 *
 * *title is NULL otherwise; both are in new memory. Fails as run_folder_resolve and hub_model_path.
 */
int weights_find(char **out, char **title, const char *name, const struct progress *p);
/* Whether that is a name on the Hub, and nothing here. */
bool weights_is_hub_name(const char *name);

#endif
