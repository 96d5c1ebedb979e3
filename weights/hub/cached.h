#ifndef PRATTLE_WEIGHTS_HUB_CACHED_H
#define PRATTLE_WEIGHTS_HUB_CACHED_H
/* What is in the Hugging Face cache, and its removal. */
#include "model/base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct cached {
    char *name;     /* "openai-community/gpt2"; "datasets/org/name" for what is no model; owned */
    char *folder;   /* owned */
    uint64_t bytes; /* of all its files */
    bool in_part;   /* a part of a file, or a name without its file, is among them */
    time_t used;    /* when a file of it was last read or written; 0: it has none */
    struct buf revisions; /* "main 607a30d, 0123456" */
};
struct cached_list {
    struct cached *all; /* [n], by name */
    int n;
};
/* Look through the cache; empty where there is none. Repositories without a file, of which it may
 * only be noted what they lack, are left out, but can be removed. */
int cached_list_read(struct cached_list *l);
void cached_list_release(struct cached_list *l);

/* Remove what is named: all of a repository, or with @REVISION that revision and the files that no
 * other has. *bytes: so many are free again. Links are removed, never followed. ERR_MISSING: it is
 * not there. ERR_EXISTS: a process is downloading it. */
int cached_remove(uint64_t *bytes, const char *name);

#endif
