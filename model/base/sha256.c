#include "model/base/sha256.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <openssl/evp.h>

enum { PART_BYTES = 1 << 20 };

int sha256_init(struct sha256 *h)
{
    h->context = EVP_MD_CTX_new();
    if (h->context != NULL && EVP_DigestInit_ex(h->context, EVP_sha256(), NULL) == 1)
        return 0;
    sha256_release(h);
    return err_set(ERR_NOMEM, "no memory for a SHA-256 checksum");
}

void sha256_release(struct sha256 *h)
{
    EVP_MD_CTX_free(h->context);
    h->context = NULL;
}

void sha256_add(struct sha256 *h, const void *bytes, size_t n)
{
    EVP_DigestUpdate(h->context, bytes, n);
}

int sha256_add_file(struct sha256 *h, const struct file *f, struct sha256_progress *p)
{
    return digest_add_file(h->context, f, p);
}

int digest_add_file(struct evp_md_ctx_st *context, const struct file *f, struct sha256_progress *p)
{
    char *part = mem_alloc(PART_BYTES);
    int rc = part == NULL ? ERR_NOMEM : 0;
    for (uint64_t at = 0; at < f->bytes && rc == 0; at += PART_BYTES) {
        const uint64_t left = f->bytes - at;
        const size_t n = left < PART_BYTES ? (size_t)left : PART_BYTES;
        if ((rc = file_read_at(f, part, at, n)) != 0)
            break;
        EVP_DigestUpdate(context, part, n);
        p->done += n;
        rc = progress_step(p->progress, p->what, p->done, p->total);
        if (rc == ERR_INTERRUPTED && p->ignores_interrupt)
            rc = 0;
    }
    mem_free(part);
    return rc;
}

void sha256_end(struct sha256 *h, unsigned char digest[SHA256_BYTES])
{
    EVP_DigestFinal_ex(h->context, digest, NULL);
}

void sha256_end_hex(struct sha256 *h, char hex[SHA256_HEX])
{
    unsigned char digest[SHA256_BYTES];
    sha256_end(h, digest);
    text_hex(hex, digest, sizeof digest);
}
