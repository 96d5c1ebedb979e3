#ifndef PRATTLE_TRAIN_DATA_PUBLISHED_H
#define PRATTLE_TRAIN_DATA_PUBLISHED_H
/* Texts by name: where they are published, and by which hash they are the right ones. */
#include "model/base/progress.h"

#include <stdint.h>

struct published {
    const char *name;   /* "wikitext" */
    const char *help;   /* what it is, at most 45 characters */
    const char *file;   /* its place in the data folder: "wikitext/wiki.test.raw" */
    const char *url;    /* an address; one that begins with "/" is the Hub's */
    const char *member; /* the file in the zip that is there; NULL: it is the file itself */
    const char *sha256; /* of the file */
    int64_t bytes;
    const char *next; /* a command that uses it; its path is to follow "data=" */
};
/* Row i of the table, NULL past the end; and by name. */
const struct published *published_at(int i);
const struct published *published_find(const char *name);

/*
 * Download a text to its place in `folder`, or in the user's data folder if that is NULL or "". A
 * file that is there and right is left as it is, and nothing is asked for.
 *
 * path      its path in new memory, also after ERR_IO, ERR_MISSING and ERR_MISMATCH
 * returns  ERR_EXISTS: another file is there; ERR_MISMATCH: what is published is not that text any
 *          more; ERR_IO, ERR_MISSING: no download, with what to fetch and where to put it
 */
int published_get(char **path, const struct published *t, const char *folder,
                  const struct progress *p);

#endif
