#ifndef PRATTLE_WEIGHTS_HUB_DIGEST_H
#define PRATTLE_WEIGHTS_HUB_DIGEST_H
#include "model/base/file.h"
#include "model/base/progress.h"

/* Whether an ETag is such a hash as hub_digest_check knows. */
bool hub_digest_is_hash(const char *etag);
/*
 * Check a file against the hash that the Hub names it by: 64 hexadecimal digits are its SHA-256, 40
 * are git's hash of it (SHA-1 of "blob SIZE", NUL and the bytes). Any other name says nothing, and
 * *known is false. ERR_MISMATCH: the file is another one.
 */
int hub_digest_check(const struct file *f, const char *etag, bool *known, const struct progress *p);

#endif
