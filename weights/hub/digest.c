#include "weights/hub/digest.h"

#include "model/base/err.h"
#include "model/base/sha256.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

enum { SHA1_DIGITS = 40, SHA256_DIGITS = 64 };

bool hub_digest_is_hash(const char *etag)
{
    const size_t n = strlen(etag);
    return (n == SHA1_DIGITS || n == SHA256_DIGITS) && strspn(etag, "0123456789abcdef") == n;
}

int hub_digest_check(const struct file *f, const char *etag, bool *known, const struct progress *p)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    char hex[2 * EVP_MAX_MD_SIZE + 1], head[32];
    const size_t n = strlen(etag);
    unsigned bytes = 0;
    struct sha256_progress checking = {.what = "checking", .progress = p, .total = f->bytes};
    *known = hub_digest_is_hash(etag);
    if (!*known)
        return 0;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const EVP_MD *kind = n == SHA1_DIGITS ? EVP_sha1() : EVP_sha256();
    if (context == NULL || EVP_DigestInit_ex(context, kind, NULL) != 1) {
        EVP_MD_CTX_free(context);
        return err_set(ERR_NOMEM, "no memory for a checksum");
    }
    if (n == SHA1_DIGITS) {
        const int length = snprintf(head, sizeof head, "blob %" PRIu64, f->bytes);
        EVP_DigestUpdate(context, head, (size_t)length + 1);
    }
    int rc = digest_add_file(context, f, &checking);
    EVP_DigestFinal_ex(context, digest, &bytes);
    EVP_MD_CTX_free(context);
    if (rc != 0)
        return rc;
    text_hex(hex, digest, bytes);
    if (strcmp(hex, etag) == 0)
        return 0;
    return err_set(ERR_MISMATCH, "what arrived has the %s %.12s..., expected %.12s...",
                   n == SHA1_DIGITS ? "git hash" : "SHA-256", hex, etag);
}
