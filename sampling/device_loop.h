#ifndef PRATTLE_SAMPLING_DEVICE_LOOP_H
#define PRATTLE_SAMPLING_DEVICE_LOOP_H
/*
 * The device loop: one call runs many decode steps for all its slots (forward pass, filters, draw,
 * cache append, stop test) inside one job of the thread team, and emits token events through a ring
 * that the caller reads meanwhile. The job neither allocates, locks nor calls the system, but to
 * wait for layers that are read from disk (layer_stream.h). One step a call gives the same tokens.
 *
 * A slot may have a draft of its next tokens (draft.h): the pass reads these as well, and the next
 * step draws after each of them in turn, until it draws another. The tokens, and all that depends
 * on them, are those of one token a pass, since a row has the same bits whatever else is in a pass.
 */
#include "kvcache/sequence.h"
#include "sampling/chain/sampler.h"
#include "sampling/draft.h"
#include "sampling/text/request.h"
#include "sampling/text/stream.h"

/*
 * One text being decoded. Between runs the last id of a live slot either is in the cache, with
 * logits to draw from (ready), or is yet to be fed.
 */
struct decode_slot {
    bool live, ready;
    struct sequence
        *seq;           /* prompt and new tokens; in the cache when ready, else all but the last */
    int n_new, max_new; /* n_new < max_new, and the context has room, while live */
    float *logits; /* [1 + n_draft,V] after the last id and after the draft's, when ready; the loop
                      moves it */
    struct draft *draft; /* proposes what follows; NULL: one token a pass */
    int n_draft;         /* ids of its draft, behind the text, that the cache has too; 0 when the
                            logits are the caller's */
    int n_read;          /* the loop's own: ids in the text at its last draw */
    struct sampler *sampler;
    struct stop_tokens stop_tokens;
    struct stream *stream; /* decodes the tokens and finds stop strings; NULL: neither */
    char *bytes;           /* [stream_run_bytes of n_ctx] the text of one run */
    size_t n_bytes;
};

/* One token emitted to the caller, or the failure of a text (rc). */
struct token_event {
    int slot;
    int rc; /* ERR_FULL: no page was left; ERR_NOT_FINITE: the logits (chain/logits.h); ERR_IO: a
             * layer could not be read. Then there is no token, and finish is an error */
    bool ended;
    enum finish finish;   /* when ended */
    struct sampled token; /* the stop token too */
    const char *text;     /* [n_text] the text it adds; valid until the next run */
    size_t n_text;
};

struct device_loop;

/* n_slots at most e->max_seqs; all slots zeroed. */
int device_loop_new(struct device_loop **out, struct engine *e, int n_slots);
void device_loop_free(struct device_loop *l);
/* [n_slots], the caller's to fill between runs. */
struct decode_slot *device_loop_slots(struct device_loop *l);
/*
 * Run up to `steps` steps: each draws a token for each live slot, and more where its draft is
 * right. Returns earlier when no slot is live, when one has ended (until_ended), on an interrupt,
 * after device_loop_halt, or before the ring could overflow. take receives the events, in the
 * caller's thread, whenever a slot has device_iterations more tokens, and at the end. Returns the
 * number of steps.
 */
int device_loop_run(struct device_loop *l, int steps, int device_iterations, bool until_ended,
                    void (*take)(void *user, const struct token_event *event), void *user);
/* Called from take: stop after the present step. */
void device_loop_halt(struct device_loop *l);

#endif
