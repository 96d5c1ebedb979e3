#ifndef PRATTLE_MODEL_BASE_SHA256_H
#define PRATTLE_MODEL_BASE_SHA256_H
/*
 * SHA-256 (FIPS 180-4) of bytes that come part by part. The computation is libcrypto's.
 */
#include "model/base/file.h"
#include "model/base/progress.h"

enum { SHA256_BYTES = 32, SHA256_HEX = 2 * SHA256_BYTES + 1 };

struct sha256 {
    struct evp_md_ctx_st *context; /* owned */
};

/* Of no bytes so far. ERR_NOMEM. */
int sha256_init(struct sha256 *h);
void sha256_release(struct sha256 *h); /* also of a zeroed one */
void sha256_add(struct sha256 *h, const void *bytes, size_t n);

/* Progress over all the files that are hashed together. */
struct sha256_progress {
    const char *what; /* as of progress_step */
    const struct progress *progress;
    uint64_t done, total;   /* bytes */
    bool ignores_interrupt; /* Ctrl-C does not stop it */
};
/* Add the whole file. p->done grows by what was read. ERR_IO, ERR_FORMAT, ERR_NOMEM,
 * ERR_INTERRUPTED
 */
int sha256_add_file(struct sha256 *h, const struct file *f, struct sha256_progress *p);

/* The same into any digest of libcrypto's. */
int digest_add_file(struct evp_md_ctx_st *context, const struct file *f, struct sha256_progress *p);

/* The digest, once; then h can only be released. */
void sha256_end(struct sha256 *h, unsigned char digest[SHA256_BYTES]);
/* The same in hexadecimal digits. */
void sha256_end_hex(struct sha256 *h, char hex[SHA256_HEX]);

#endif
