#include "train/run/ranks_check.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/sha256.h"
#include "train/data/tokenizer_hash.h"
#include "train/parallel/world.h"
#include "train/run/inside.h"

#include <stdio.h>
#include <string.h>

struct fingerprint {
    char what[32];
    unsigned char digest[SHA256_BYTES];
};
enum { N_FINGERPRINTS = 5 };

static int hash_bytes(unsigned char digest[SHA256_BYTES], const void *bytes, size_t n)
{
    struct sha256 h;
    int rc = sha256_init(&h);
    if (rc != 0)
        return rc;
    sha256_add(&h, bytes, n);
    sha256_end(&h, digest);
    sha256_release(&h);
    return 0;
}

static int hash_program(unsigned char digest[SHA256_BYTES])
{
    struct file f;
    struct sha256 h;
    struct sha256_progress p = {.what = "", .ignores_interrupt = true};
    int rc = file_open(&f, "/proc/self/exe");
    if (rc != 0)
        return rc;
    if ((rc = sha256_init(&h)) == 0) {
        rc = sha256_add_file(&h, &f, &p);
        sha256_end(&h, digest);
        sha256_release(&h);
    }
    file_close(&f);
    return rc;
}

static int hash_vocabulary(unsigned char digest[SHA256_BYTES], const struct tokenizer *t)
{
    struct sha256 h;
    int rc = sha256_init(&h);
    if (rc != 0)
        return rc;
    if (t != NULL)
        tokenizer_hash(&h, t);
    sha256_end(&h, digest);
    sha256_release(&h);
    return 0;
}

static int take_fingerprints(struct fingerprint f[N_FINGERPRINTS], const struct run *r)
{
    const size_t words[] = {sizeof(size_t), sizeof(long), sizeof(long double),
                            *(const unsigned char *)&(const int){1}};
    const struct weights *w = &r->trainable;
    memset(f, 0, N_FINGERPRINTS * sizeof *f);
    for (int i = 0; i < N_FINGERPRINTS; i++)
        snprintf(
            f[i].what, sizeof f[i].what, "%s",
            (const char *const[]){"machine word", "program", "vocabulary", "data", "weights"}[i]);
    int rc = hash_bytes(f[0].digest, words, sizeof words);
    if (rc == 0 && (rc = hash_program(f[1].digest)) == 0)
        rc = hash_vocabulary(f[2].digest, r->model->tokenizer);
    memcpy(f[3].digest, r->train.identity, sizeof f[3].digest);
    if (!r->weights.stage.alone)
        memcpy(f[4].digest, w->digest, sizeof f[4].digest);
    else if (rc == 0)
        rc = hash_bytes(f[4].digest, weights_block(w), w->n * dtype_bytes(w->dtype));
    return rc;
}

/* Each setting of rank 0, which is written in `theirs`, against this rank's. */
static int compare_settings(const char *own, const char *theirs)
{
    enum { SHOWN = 200 };
    while (*own != '\0' || *theirs != '\0') {
        own += strspn(own, " ");
        theirs += strspn(theirs, " ");
        const size_t n = strcspn(own, "\n"), m = strcspn(theirs, "\n");
        if (n != m || memcmp(own, theirs, n) != 0)
            return err_set(ERR_MISMATCH, "its settings are others: %.*s, and on rank 0 %.*s",
                           (int)(n < SHOWN ? n : SHOWN), own, (int)(m < SHOWN ? m : SHOWN), theirs);
        own += n + (own[n] != '\0');
        theirs += m + (theirs[m] != '\0');
    }
    return 0;
}

/* The settings as text: of rank 0 to all, and compared there. */
static int check_settings(const struct run *r)
{
    struct buf own = {0}, theirs = {0};
    int rc = run_config_write(&r->config, &own);
    uint64_t n = own.n;
    world_broadcast(&n, sizeof n, 0);
    int room = buf_reserve(&theirs, (size_t)n + 1);
    rc = world_agree(rc != 0 ? rc : room);
    if (rc == 0) {
        if (world_rank() == 0)
            memcpy(theirs.data, buf_text(&own), (size_t)n);
        world_broadcast(theirs.data, (size_t)n, 0);
        theirs.n = (size_t)n;
        rc = world_agree(compare_settings(buf_text(&own), buf_text(&theirs)));
    }
    buf_release(&own);
    buf_release(&theirs);
    return rc;
}

int run_ranks_check(const struct run *r)
{
    struct fingerprint own[N_FINGERPRINTS], theirs[N_FINGERPRINTS];
    if (world_size() == 1)
        return 0;
    int rc = check_settings(r);
    if (rc != 0 || (rc = world_agree(take_fingerprints(own, r))) != 0)
        return rc;
    memcpy(theirs, own, sizeof own);
    world_broadcast(theirs, sizeof theirs, 0);
    for (int i = 0; i < N_FINGERPRINTS && rc == 0; i++)
        if (memcmp(own[i].digest, theirs[i].digest, sizeof own[i].digest) != 0)
            rc = err_set(ERR_MISMATCH, "not the same %s as on rank 0", own[i].what);
    return world_agree(rc);
}
