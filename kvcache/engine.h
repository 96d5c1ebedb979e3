#ifndef PRATTLE_KVCACHE_ENGINE_H
#define PRATTLE_KVCACHE_ENGINE_H
/*
 * What running a model needs besides its weights: scratch for passes, and the pool of pages. One
 * engine serves every sequence and every slot of a batch, and drives every pass: of prompts, the
 * device loop, scores, beams and contrastive search.
 */
#include "kvcache/pages.h"
#include "model/base/progress.h"
#include "model/forward.h"
#include "model/model.h"

enum { ENGINE_DRAFT_ROWS = 16 }; /* of drafts of all texts together, in one pass */

struct engine {
    struct model *model; /* borrowed */
    /* Of a smaller model with the same tokenizer, which drafts what this one verifies
     * (sampling/draft_model.h); NULL: none; borrowed. */
    struct engine *drafter;
    float drafter_share; /* the time of one of its passes, as a share of one of this model's */
    struct forward forward;
    struct kvcache cache;
    int max_seqs;  /* full texts that the pool holds, besides the sequence's */
    float *logits; /* [max_seqs + ENGINE_DRAFT_ROWS,V] of the last pass */
    size_t logits_bytes;
    /* The pass being put together, or the last one that ran. */
    struct forward_seq *pass; /* [FORWARD_MAX_ROWS], the first n_pass in use */
    struct kv_seq **pass_kv;  /* [FORWARD_MAX_ROWS], whose positions they fill */
    int n_pass, n_pass_rows;
    int n_hidden; /* rows of forward.hidden: those not skipped */
};

/* Room for max_seqs full texts (slots, beams, samples) at once, and one more for the sequence. Keys
 * and values are of cache_dtype: DTYPE_F16, DTYPE_F32 or DTYPE_Q8. m is borrowed. ERR_NOMEM. */
int engine_init_as(struct engine *e, struct model *m, int max_seqs, enum dtype cache_dtype);
/* The same with keys and values as precise as the matrices: fp32, or else binary16. */
int engine_init(struct engine *e, struct model *m, int max_seqs);
void engine_release(struct engine *e);
/* The precision of weights, and that of keys and values where engine_init gives another: "fp16",
 * "fp16 with q8 cache". */
enum { ENGINE_PRECISION = 24 };
void engine_precision(char out[ENGINE_PRECISION], const struct engine *e);
void precision_words(char out[ENGINE_PRECISION], enum dtype weights, enum dtype cache);
/* Let another engine draft, or none (NULL): its pass takes the share that its weights have of this
 * one's, and a little. */
void engine_use_drafter(struct engine *e, struct engine *drafter);

/* Check that ids [n] are in the model's vocabulary. ERR_RANGE names the first that is not. */
int engine_check_ids(const struct engine *e, const token_id *ids, size_t n);

/*
 * One pass of the model over the next ids of some texts: the only place that drives the forward
 * pass. It is put together, then run, by a job of its own or inside one.
 *
 *     engine_begin
 *     engine_add      once for each text; reserves its pages
 *     engine_run      = engine_pass by all threads, then engine_advance
 *     engine_head     logits of some of the rows, as often as wanted
 */
void engine_begin(struct engine *e);
/* Rows that still fit into the pass. */
static inline int engine_room(const struct engine *e)
{
    return FORWARD_MAX_ROWS - e->n_pass_rows;
}
/* Append n <= engine_room ids to kv, which is added once to a pass; the first `skip` of them get no
 * hidden state. ERR_FULL: no page is left; the pass is unchanged. */
int engine_add(struct engine *e, struct kv_seq *kv, const token_id *ids, int n, int skip);
/* Called by every thread of a running job: the pass, and the logits [n_hidden,V] of its hidden rows
 * (NULL: none). */
void engine_pass(struct engine *e, float *logits, int thread, int n_threads);
/* The texts become longer by the ids of the pass. Called by one thread, once for each pass. */
void engine_advance(struct engine *e);
/* Fails only as engine_error; then the texts are as before engine_add. */
int engine_run(struct engine *e, float *logits);
/* Logits [n,V] of the last pass's hidden rows first .. first + n - 1. Fails as engine_error. */
int engine_head(struct engine *e, float *logits, int first, int n);
/* After a pass: whether a part of the model could not be read from its file (layer_stream.h), which
 * makes its results worthless, and the error. The next pass tries again. */
bool engine_failed(const struct engine *e);
int engine_error(const struct engine *e);

/*
 * Prefill: feed several sequences at once, in passes of FORWARD_MAX_ROWS rows. logits
 * [n_feeds,V] receives those after each feed's last id (NULL: none).
 *
 * n        of each feed >= 1; no sequence twice
 * returns  ERR_RANGE (an id outside the vocabulary) or ERR_FULL (context or pool):
 *          nothing was fed. ERR_INTERRUPTED, which is tested before each pass: the sequences
 *          keep what was read so far; as do they after an error of engine_run.
 */
struct engine_feed {
    struct kv_seq *seq;
    const token_id *ids;
    int n;
};
int engine_feed(struct engine *e, const struct engine_feed *feeds, int n_feeds, float *logits,
                const struct progress *p);

#endif
