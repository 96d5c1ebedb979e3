#ifndef PRATTLE_KVCACHE_SNAPSHOT_H
#define PRATTLE_KVCACHE_SNAPSHOT_H
/*
 * A session in a file: magic, version, fingerprint of the weights, ids, keys and values, logits,
 * the caller's settings as text, and SHA-256 of all that.
 */
#include "kvcache/sequence.h"
#include "model/base/file.h"

/* settings: NULL, or a text of at most 1 MiB. ERR_EXISTS without force; ERR_IO; ERR_RANGE. */
int snapshot_save(struct sequence *s, const char *path, const char *settings, bool force);
/* Called with the settings before the session is changed; an error code refuses the file. */
typedef int snapshot_check(void *user, const char *settings);
/* ERR_MISMATCH: other weights or version; ERR_FORMAT: damaged; or the code of check (NULL: no
 * check). On failure s is unchanged. *settings: new memory, the caller's; of a file of other
 * weights as they are, not checked for damage; else NULL. *unread: the file's keys and values are
 * of another type than the cache's, so s has the text alone, which the next feed reads again (NULL:
 * not asked for). */
int snapshot_load(struct sequence *s, const char *path, snapshot_check *check, void *user,
                  char **settings, bool *unread);
/* Whether a file is a session's, by its first bytes. */
bool snapshot_is(const struct file *f);

#endif
