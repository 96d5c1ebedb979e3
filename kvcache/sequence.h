#ifndef PRATTLE_KVCACHE_SEQUENCE_H
#define PRATTLE_KVCACHE_SEQUENCE_H
/*
 * One text in progress: its ids, their keys and values, and the logits after the last one. Only
 * what is new is computed; after a change of weights all of it is read again.
 *
 * Ctrl-C ends a feed between two passes with ERR_INTERRUPTED: text and logits are as before, and
 * what was read stays in the cache for the next feed of the same ids.
 *
 * After a feed, set or slide that returned 0, kv.n == ids.n == n_logits. A caller that advances kv
 * itself (the device loop) appends the same ids to `ids`, and sets n_logits if it writes logits.
 * Only such a text may have n_ctx + 1 ids, of which the last is never fed (kvcache_text_room).
 */
#include "kvcache/engine.h"

struct sequence {
    struct engine *engine; /* borrowed */
    struct kv_seq kv;
    struct ids ids; /* the text; has room for kvcache_text_max */
    float *logits;  /* [V] after the last id; valid when n_logits == ids.n */
    size_t n_logits;
    uint64_t version; /* of the weights (model.h) that the cache was computed with */
    token_id
        *cached_ids;   /* [n_ctx], the first kv.n in use: what the cache holds, if cached_apart; */
    bool cached_apart; /* else it holds the first kv.n of ids */
};

int sequence_init(struct sequence *s, struct engine *e);
void sequence_release(struct sequence *s);
/* Before the engine is released: keep only the ids. sequence_assign and sequence_replace still
 * work. */
void sequence_park(struct sequence *s);
/* Attach a parked or zeroed sequence to an engine; on failure it stays parked. */
int sequence_resume(struct sequence *s, struct engine *e);
/* Replace the text from position `from` <= ids.n on by n ids, or all of it, without reading
 * anything; the next feed reuses what the cache still holds. ERR_NOMEM: s is unchanged. */
int sequence_replace(struct sequence *s, size_t from, const token_id *ids, size_t n);
int sequence_assign(struct sequence *s, const token_id *ids, size_t n);
/*
 * Append n ids to the text and leave the logits after the last one in s->logits. With
 * n = 0 it only brings cache and logits up to date.
 *
 * returns  0; ERR_FULL if the text would pass n_ctx, ERR_RANGE for an id outside the
 *          vocabulary, ERR_INTERRUPTED: text and logits unchanged. What was read stays
 *          in the cache, and the same feed continues from there.
 */
int sequence_feed(struct sequence *s, const token_id *ids, size_t n, const struct progress *p);
/* Make the text exactly these ids, with the logits after them: keeps the common beginning and feeds
 * the rest. Fails as sequence_feed. */
int sequence_set(struct sequence *s, const token_id *ids, size_t n, const struct progress *p);
/* As sequence_set, for a text of up to n_ctx + 1 ids: the last of n_ctx + 1 is not fed, and there
 * are no logits after it. */
int sequence_keep(struct sequence *s, const token_id *ids, size_t n, const struct progress *p);
/* Make the text n >= 1 ids and share the pages of what they have in common with `other` (which may
 * be s), except the last id. The caller reads the rest. */
void sequence_begin(struct sequence *s, const struct sequence *other, const token_id *ids,
                    size_t n);
/* Keep the first n ids; nothing if there are no more. */
void sequence_truncate(struct sequence *s, size_t n);
/* dst becomes the first n ids of src, at most all, sharing pages. Both have the same
 * engine. */
void sequence_fork(struct sequence *dst, const struct sequence *src, size_t n);
/* Keep the newest n ids and read them from position 0 (--on-full slide). Fails as sequence_feed. */
int sequence_slide(struct sequence *s, size_t n, const struct progress *p);

/* How many ids at the beginning of ids [n] are in the cache. */
size_t sequence_common(const struct sequence *s, const token_id *ids, size_t n);
/* How many of the text's own. */
size_t sequence_cached(const struct sequence *s);
/* Whether s->logits are those after the whole text, under the present weights. */
bool sequence_has_logits(const struct sequence *s);
/* Make the text n ids whose keys and values are seq's (its pages are then shared), with these
 * logits [V], or none (NULL): for a session file. */
void sequence_become(struct sequence *s, const struct kv_seq *seq, const token_id *ids, size_t n,
                     const float *logits);

#endif
