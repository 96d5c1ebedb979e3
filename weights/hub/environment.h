#ifndef PRATTLE_WEIGHTS_HUB_ENVIRONMENT_H
#define PRATTLE_WEIGHTS_HUB_ENVIRONMENT_H
/*
 * The environment variables of huggingface_hub (docs: package_reference/environment_variables), as
 * it reads them. Functions that return char * return new memory, or NULL after err_set.
 */
#include "model/base/progress.h"

#include <stdbool.h>

/* HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, else "hub" in HF_HOME, else in $XDG_CACHE_HOME/huggingface
 * or ~/.cache/huggingface; ~ and $NAME in the variables are expanded, as Python does. ERR_MISSING:
 * none of these is set, nor HOME. */
char *hub_cache_path(void);
/* HF_ENDPOINT without its last slashes, or https://huggingface.co. ERR_RANGE: it is no http or
 * https address. */
char *hub_endpoint(void);
/* HF_TOKEN, HUGGING_FACE_HUB_TOKEN, else the text of the file HF_TOKEN_PATH or "token" in HF_HOME,
 * without blanks around. *out is NULL with 0 where there is none, or HF_HUB_DISABLE_IMPLICIT_TOKEN
 * is set. ERR_FORMAT: it has blanks or control characters in it.
 */
int hub_token(char **out);
/* HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE, or so set: no request is made. */
bool hub_is_offline(void);
void hub_set_offline(bool offline);
/* Who is told of a download that begins where no progress is at hand; borrowed. NULL: nobody. */
void hub_set_progress(const struct progress *p);
/* p, or that where it is NULL. */
const struct progress *hub_progress(const struct progress *p);
/* HF_HUB_DOWNLOAD_TIMEOUT: seconds without an answer, or with less than 1 KiB of one, after which a
 * connection counts as stalled. */
double hub_stall_s(void);

#endif
