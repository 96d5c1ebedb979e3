#ifndef PRATTLE_WEIGHTS_HUB_GGUF_FILES_H
#define PRATTLE_WEIGHTS_HUB_GGUF_FILES_H
/*
 * GGUF files of a repository, each of which is a model: one is named as ORG/NAME/FILE.gguf, or by
 * its quantization as ORG/NAME:Q8_0, or is the only one.
 */
#include "weights/hub/model_files.h"
#include "weights/hub/session.h"

enum { HUB_GGUF_NAMES = 400 }; /* of names that are shown */

/* The .gguf files of a commit, or of the revision where commit is "", as the Hub lists them; none
 * where it does not list files. ERR_IO, ERR_FORMAT, ERR_INTERRUPTED. */
int hub_gguf_list(struct hub_file_list *l, const struct hub_name *n, const char *commit,
                  struct hub_session *s);
/* Those in the n bytes of such an answer, {"siblings": [{"rfilename": NAME}, ...]}, by name. */
int hub_gguf_read(struct hub_file_list *l, const char *text, size_t n);
/* The one that n means, borrowed from l. ERR_MISSING: none, or which there are. */
int hub_gguf_choose(const char **out, const struct hub_file_list *l, const struct hub_name *n);
/* Its path in the cache, in new memory; NULL without an error: it is not there, or not clear. */
char *hub_gguf_cached(const struct hub_repository *r, const char *commit, const struct hub_name *n);
/* Those that the cache has, for people; "" if none. */
void hub_gguf_cached_names(char shown[HUB_GGUF_NAMES], const struct hub_repository *r,
                           const char *commit);

#endif
