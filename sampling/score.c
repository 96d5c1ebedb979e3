#include "sampling/score.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"

/* Rows of logits at once: enough for the matrix kernels to be at full speed. */
enum { SLICE_ROWS = 64 };

struct score_job {
    struct engine *engine;
    struct forward_seq seq;
    float *logits; /* [SLICE_ROWS,V] */
    int first, n;  /* rows of the hidden state, from which on and how many */
};

static void run_pass(void *arg, int thread, int n_threads)
{
    struct score_job *job = arg;
    forward_pass(&job->engine->forward, &job->seq, 1, thread, n_threads);
}

static void run_slice(void *arg, int thread, int n_threads)
{
    struct score_job *job = arg;
    int rows[SLICE_ROWS];
    for (int i = 0; i < job->n; i++)
        rows[i] = job->first + i;
    forward_head(&job->engine->forward, job->logits, (size_t)job->engine->model->config.n_vocab,
                 rows, job->n, thread, n_threads);
}

int score_text(struct engine *e, const token_id *ids, size_t n, size_t first,
               void (*f)(void *user, size_t i, const float *logits), void *user,
               const struct progress *p)
{
    struct score_job job = {.engine = e};
    struct kv_seq seq = {0};
    size_t V = (size_t)e->model->config.n_vocab, bytes = SLICE_ROWS * V * sizeof(float);
    if (first < 1)
        first = 1;
    if (n <= first)
        return 0;
    if (n - 1 > (size_t)e->cache.n_ctx)
        return err_set(ERR_FULL, "cannot score %zu tokens at once, the context holds %d", n,
                       e->cache.n_ctx);
    int rc = engine_check_ids(e, ids, n);
    if (rc != 0)
        return rc;
    rc = ERR_NOMEM;
    if (kv_seq_init(&seq, &e->cache) != 0 || (job.logits = mem_map(bytes)) == NULL ||
        (rc = kv_seq_reserve(&seq, &e->cache, (int)n - 1)) != 0)
        goto out;

    /* Position i predicts ids[i + 1]; the last id predicts nothing here. */
    for (size_t at = 0; at < n - 1; at += (size_t)job.seq.n) {
        size_t rows = n - 1 - at < FORWARD_MAX_ROWS ? n - 1 - at : FORWARD_MAX_ROWS;
        size_t skip = first - 1 <= at ? 0 : first - 1 - at < rows ? first - 1 - at : rows;
        job.seq = (struct forward_seq){
            .ids = ids + at, .n = (int)rows, .skip = (int)skip, .kv = kv_seq_view(&seq)};
        if ((rc = progress_step(p, "scoring", at, n - 1)) != 0)
            goto out;
        par_run(run_pass, &job);
        kv_seq_advance(&seq, (int)rows);
        int wanted = (int)(rows - skip);
        for (job.first = 0; job.first < wanted; job.first += job.n) {
            job.n = wanted - job.first < SLICE_ROWS ? wanted - job.first : SLICE_ROWS;
            par_run(run_slice, &job);
            for (int i = 0; i < job.n; i++)
                f(user, at + skip + (size_t)(job.first + i) + 1, job.logits + (size_t)i * V);
        }
    }
out:
    mem_unmap(job.logits, bytes);
    kv_seq_release(&seq, &e->cache);
    return rc;
}
