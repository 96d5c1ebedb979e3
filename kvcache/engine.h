#ifndef PRATTLE_KVCACHE_ENGINE_H
#define PRATTLE_KVCACHE_ENGINE_H
/*
 * What running a model needs beside its weights: scratch for the passes and the pool
 * of pages. One engine serves every sequence and every slot of a batch.
 */
#include "kvcache/pages.h"
#include "model/base/progress.h"
#include "model/forward.h"
#include "model/model.h"

struct engine {
    struct model *model; /* borrowed */
    struct forward forward;
    struct kvcache cache;
    int max_seqs;  /* full texts the pool holds, beside the sequence's */
    float *logits; /* [max_seqs,V] of the last pass */
    size_t logits_bytes;
    struct forward_seq *pass; /* [FORWARD_MAX_ROWS], room to put a pass together */
};

/* max_seqs: how many full texts (slots, beams, samples) may live at once; one more is
 * always kept for the sequence. Keys and values are of the matrices' precision. */
int engine_init(struct engine *e, struct model *m, int max_seqs);
void engine_release(struct engine *e);

/* Ids can be fed to this model. ERR_RANGE names the first that is not in its vocabulary. */
int engine_check_ids(const struct engine *e, const token_id *ids, size_t n);

/*
 * Feed several sequences at once, in parts of FORWARD_MAX_ROWS rows: prefill. Each
 * gets the logits after its last id at logits + i * V (NULL: none wanted).
 *
 * n        of each feed >= 1; no sequence twice
 * returns  ERR_RANGE (an id outside the vocabulary) or ERR_FULL (context or pool):
 *          nothing was fed. ERR_INTERRUPTED between parts: the sequences keep what
 *          they had at that point.
 */
struct engine_feed {
    struct kv_seq *seq;
    const token_id *ids;
    int n;
};
int engine_feed(struct engine *e, const struct engine_feed *feeds, int n_feeds, float *logits,
                const struct progress *p);

#endif
