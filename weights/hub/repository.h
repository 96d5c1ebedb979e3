#ifndef PRATTLE_WEIGHTS_HUB_REPOSITORY_H
#define PRATTLE_WEIGHTS_HUB_REPOSITORY_H
/*
 * A model's folder in the Hugging Face cache, laid out as huggingface_hub has it
 * (https://huggingface.co/docs/hub/local-cache):
 *
 *     models--openai-community--gpt2/
 *         refs/main                        the commit of the branch when it was last asked for
 *         blobs/HASH                       bytes, by the ETag that the Hub has for them
 *         blobs/HASH.incomplete            a part of those
 *         snapshots/COMMIT/config.json     a link to ../../blobs/HASH
 *         .no_exist/COMMIT/vocab.json      a file that the commit does not have
 *     .locks/models--openai-community--gpt2/HASH.lock
 *
 * Names of files are as of hub_is_file_name, commits as of hub_is_commit.
 */
#include "weights/hub/name.h"

struct hub_repository {
    char *folder, *locks; /* owned */
};
/* Of a model's id; touches nothing. ERR_MISSING: there is no place for a cache. */
int hub_repository_init(struct hub_repository *r, const char *id);
void hub_repository_release(struct hub_repository *r);

/* The commit of a revision, as far as the cache knows; "": it does not. A commit of the cache may
 * be named by its first digits, from HUB_SHORT_COMMIT on. */
void hub_repository_commit(const struct hub_repository *r, char commit[HUB_COMMIT_BYTES],
                           const char *revision);
/* New memory; NULL: ERR_NOMEM. */
char *hub_repository_snapshot(const struct hub_repository *r, const char *commit);
char *hub_repository_blob(const struct hub_repository *r, const char *etag);
/* Whether the snapshot has the file, and whether it is known not to. */
bool hub_repository_has(const struct hub_repository *r, const char *commit, const char *file);
bool hub_repository_lacks(const struct hub_repository *r, const char *commit, const char *file);

int hub_repository_set_commit(const struct hub_repository *r, const char *revision,
                              const char *commit);
int hub_repository_set_lacking(const struct hub_repository *r, const char *commit,
                               const char *file);
/* Make the snapshot's file a link to a blob. */
int hub_repository_link(const struct hub_repository *r, const char *commit, const char *file,
                        const char *etag);

/* "openai-community/gpt2" for a path that is a snapshot in a cache; new memory. NULL without an
 * error: it is none. */
char *hub_snapshot_id(const char *path);

#endif
