#ifndef PRATTLE_KVCACHE_SNAPSHOT_H
#define PRATTLE_KVCACHE_SNAPSHOT_H
/*
 * A session in a file: magic, version, fingerprint of the weights, ids, keys and
 * values, logits, a block of the caller's own (settings, as text), SHA-256 of it all.
 */
#include "kvcache/sequence.h"

int snapshot_save(struct sequence *s, const char *path, const char *settings, bool force);
/* What the caller makes of the settings before anything is taken: a code refuses the file. */
typedef int snapshot_check(void *user, const char *settings);
/* ERR_MISMATCH: other weights or version; ERR_FORMAT: damaged; or what check says (NULL: none).
 * On failure s is unchanged. *settings: fresh memory for the caller. */
int snapshot_load(struct sequence *s, const char *path, snapshot_check *check, void *user,
                  char **settings);

#endif
