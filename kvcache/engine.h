#ifndef PRATTLE_ENGINE_H
#define PRATTLE_ENGINE_H
/*
 * What running a model needs beside its weights: scratch for the passes and the pool
 * of pages. One engine serves every session and every slot of a batch.
 */
#include "kvcache/kvcache.h"
#include "model/base/progress.h"
#include "model/forward.h"
#include "model/model.h"

struct engine {
    struct model *model; /* borrowed */
    struct forward forward;
    struct kvcache cache;
    int max_seqs;  /* full texts the pool holds */
    float *logits; /* [max_seqs,V] of the last pass */
};

/* max_seqs: how many full texts (slots, beams, samples) may live at once; one more is
 * always kept for the session. */
int engine_init(struct engine *e, struct model *m, int max_seqs);
void engine_release(struct engine *e);

/*
 * Feed several sequences at once, in parts of FORWARD_MAX_ROWS rows: prefill. Each
 * gets the logits after its last id at logits + i * V (NULL: none wanted).
 * ERR_INTERRUPTED between parts: the sequences keep what they had at that point.
 */
struct engine_feed {
    struct kv_seq *seq;
    const token_id *ids;
    int n;
};
int engine_feed(struct engine *e, const struct engine_feed *feeds, int n_feeds, float *logits,
                const struct progress *p);

#endif
