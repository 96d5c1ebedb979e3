#ifndef PRATTLE_WEIGHTS_HUB_FETCH_H
#define PRATTLE_WEIGHTS_HUB_FETCH_H
/* Getting a model from the Hub into the cache. */
#include "weights/hub/name.h"
#include "weights/hub/session.h"

/*
 * Fetch what is missing of a model, or of an adapter: first what is small, last the weights, each
 * file as of hub_transfer_run. All files are of one commit: that of the cache, unless anew is true,
 * which asks the Hub what the revision is now. Nothing large is fetched of a model that prattle
 * does not load.
 *
 * Of a repository without such a model, or where n names one, a GGUF file (gguf_files.h).
 *
 * *commit: which it is, also after a failure, if that is known by then; else ""
 * *file: of the snapshot, which is the model; "": all of it is
 */
int hub_fetch(char commit[HUB_COMMIT_BYTES], char file[HUB_FILE_BYTES], const struct hub_name *n,
              bool anew, struct hub_session *s);

#endif
