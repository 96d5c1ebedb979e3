#ifndef PRATTLE_WEIGHTS_HUB_TRANSFER_H
#define PRATTLE_WEIGHTS_HUB_TRANSFER_H
/* Downloading one file. */
#include "weights/hub/session.h"

struct hub_transfer {
    const char *url;
    const char *path;     /* where it goes; its part is PATH.incomplete until then */
    const char *digest;   /* as of hub_digest_check; "" where it says nothing */
    int64_t bytes;        /* -1: not known */
    uint64_t done, total; /* of all the files of this download, for progress; total 0: bytes */
};

/*
 * Download to t->path, going on from t->path.incomplete if there is one. A part goes on only where
 * the server answers with the right range of a file of the right size, and of the ETag that it had
 * before; else it begins anew. The whole file is checked by size and digest, and synced, before it
 * gets its name. A part stays for another time unless it is wrong.
 *
 * ERR_MISMATCH: what the server sends is another file; ERR_MISSING: it has none (404, 401, 403);
 * ERR_IO, also of a full disk; ERR_INTERRUPTED.
 */
int hub_transfer_run(const struct hub_transfer *t, struct hub_session *s);
/* The bytes that are there of it already, of the part or of the file. */
int64_t hub_transfer_there(const struct hub_transfer *t);
/* ERR_IO: the folder's file system has less than so many bytes free. */
int hub_need_space(const char *path, uint64_t bytes);

#endif
