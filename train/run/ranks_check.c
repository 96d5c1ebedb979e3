#include "train/run/ranks_check.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/sha256.h"
#include "train/data/tokenizer_hash.h"
#include "train/parallel/world.h"
#include "train/run/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct fingerprint {
    char what[32];
    unsigned char digest[SHA256_BYTES];
};
enum { N_FINGERPRINTS = 5, N_OF_MODEL = 4 };

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

/* Those of a model, but for its weights: f[0], f[1] and f[2] of n. */
static int take_common(struct fingerprint *f, int n, const struct model *m)
{
    const size_t words[] = {sizeof(size_t), sizeof(long), sizeof(long double),
                            *(const unsigned char *)&(const int){1}};
    memset(f, 0, (size_t)n * sizeof *f);
    for (int i = 0; i < n; i++)
        snprintf(
            f[i].what, sizeof f[i].what, "%s",
            (const char *const[]){"machine word", "program", "vocabulary", "weights", "data"}[i]);
    int rc = hash_bytes(f[0].digest, words, sizeof words);
    if (rc == 0 && (rc = hash_program(f[1].digest)) == 0)
        rc = hash_vocabulary(f[2].digest, m->tokenizer);
    return rc;
}

static int take_fingerprints(struct fingerprint f[N_FINGERPRINTS], const struct run *r)
{
    const struct weights *w = &r->trainable;
    int rc = take_common(f, N_FINGERPRINTS, r->model);
    memcpy(f[4].digest, r->train.identity, sizeof f[4].digest);
    if (!r->weights.stage.alone)
        memcpy(f[3].digest, w->digest, sizeof f[3].digest);
    else if (rc == 0)
        rc = hash_bytes(f[3].digest, weights_block(w), w->n * dtype_bytes(w->dtype));
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

/* Of rank 0 to all, and compared there. */
int ranks_check_settings(const char *own)
{
    struct buf theirs = {0};
    if (world_size() == 1)
        return 0;
    uint64_t n = strlen(own);
    world_broadcast(&n, sizeof n, 0);
    int rc = world_agree(buf_reserve(&theirs, (size_t)n + 1));
    if (rc == 0) {
        if (world_rank() == 0)
            memcpy(theirs.data, own, (size_t)n);
        world_broadcast(theirs.data, (size_t)n, 0);
        theirs.n = (size_t)n;
        rc = world_agree(compare_settings(own, buf_text(&theirs)));
    }
    buf_release(&theirs);
    return rc;
}

/* First what others follow from, where they were not given. */
static int check_settings(const struct run *r)
{
    struct buf own = {0};
    int rc = buf_printf(&own, "seed: %" PRIu64 "\n", r->config.training.seed);
    if (rc == 0)
        rc = run_config_write(&r->config, &own);
    if ((rc = world_agree(rc)) == 0)
        rc = ranks_check_settings(buf_text(&own));
    buf_release(&own);
    return rc;
}

static int compare_fingerprints(const struct fingerprint *own, int n)
{
    struct fingerprint theirs[N_FINGERPRINTS];
    int rc = 0;
    memcpy(theirs, own, (size_t)n * sizeof *own);
    world_broadcast(theirs, (size_t)n * sizeof *theirs, 0);
    for (int i = 0; i < n && rc == 0; i++)
        if (memcmp(own[i].digest, theirs[i].digest, sizeof own[i].digest) != 0)
            rc = err_set(ERR_MISMATCH, "not the same %s as on rank 0", own[i].what);
    return world_agree(rc);
}

int ranks_check_model(struct model *m)
{
    struct fingerprint own[N_OF_MODEL];
    if (world_size() == 1)
        return 0;
    int rc = take_common(own, N_OF_MODEL, m);
    const unsigned char *weights = rc == 0 ? model_fingerprint(m) : NULL;
    if (weights != NULL)
        memcpy(own[3].digest, weights, sizeof own[3].digest);
    else if (rc == 0)
        rc = err_last();
    rc = world_agree(rc);
    return rc == 0 ? compare_fingerprints(own, N_OF_MODEL) : rc;
}

int run_ranks_check(const struct run *r)
{
    struct fingerprint own[N_FINGERPRINTS];
    if (world_size() == 1)
        return 0;
    int rc = check_settings(r);
    if (rc == 0)
        rc = world_agree(take_fingerprints(own, r));
    return rc == 0 ? compare_fingerprints(own, N_FINGERPRINTS) : rc;
}
