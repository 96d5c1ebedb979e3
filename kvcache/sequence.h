#ifndef PRATTLE_KVCACHE_SEQUENCE_H
#define PRATTLE_KVCACHE_SEQUENCE_H
/*
 * One text in progress: its ids, their keys and values, and the logits after the last
 * one. Only what is new is computed; a change of weights makes it read again.
 *
 * Ctrl-C while a text is read ends the feed between two passes with ERR_INTERRUPTED: the sequence
 * has the text and the logits it had, and what was read stays in the cache for the next feed of
 * the same ids.
 *
 * After a feed, set or slide that returned 0, kv.n == ids.n == n_logits. Whoever
 * advances kv by itself (the device loop) appends the same ids to ids, and sets
 * n_logits if it writes logits. Only such a text may be n_ctx + 1 ids long, whose last is
 * never fed (kvcache_text_room).
 */
#include "kvcache/engine.h"

struct sequence {
    struct engine *engine; /* borrowed */
    struct kv_seq kv;
    struct ids ids; /* all ids; room for every text there can be */
    float *logits;  /* [V] after the last id; valid when n_logits == ids.n */
    size_t n_logits;
    uint64_t version; /* of the weights that made the cache */
    token_id
        *cached_ids;   /* [n_ctx], the first kv.n in use: what the cache holds, if cached_apart; */
    bool cached_apart; /* else it holds the first kv.n of ids */
};

int sequence_init(struct sequence *s, struct engine *e);
void sequence_release(struct sequence *s);
/* Before its engine goes: keep the ids alone, in which sequence_assign works on. */
void sequence_park(struct sequence *s);
/* The other way round, of a parked or zeroed one; on failure it is parked still. */
int sequence_resume(struct sequence *s, struct engine *e);
/* From position `from` <= ids.n on the text is these n ids, and nothing is read: what the cache
 * holds stays there for the next feed that has use for it. ERR_NOMEM: s is unchanged.
 * sequence_assign: the whole text, which may be a beginning of its own. */
int sequence_replace(struct sequence *s, size_t from, const token_id *ids, size_t n);
int sequence_assign(struct sequence *s, const token_id *ids, size_t n);
/*
 * Append n ids to the text and leave the logits after the last one in s->logits. With
 * n = 0 it only makes sure that cache and logits are there.
 *
 * returns  0; ERR_FULL if the text would pass n_ctx, ERR_RANGE for an id outside the
 *          vocabulary, ERR_INTERRUPTED: text and logits unchanged. What was read stays
 *          in the cache, and the same feed again goes on from there.
 */
int sequence_feed(struct sequence *s, const token_id *ids, size_t n, const struct progress *p);
/* Make the text exactly these ids, with the logits after them: keeps the common
 * beginning, feeds the rest. Fails as sequence_feed. */
int sequence_set(struct sequence *s, const token_id *ids, size_t n, const struct progress *p);
/* The same for a text to be kept rather than gone on from: of n_ctx + 1 ids the last is
 * not fed, and there are no logits after it. */
int sequence_keep(struct sequence *s, const token_id *ids, size_t n, const struct progress *p);
/* The text is these ids, n >= 1, of which only what they have in common with another text's
 * (or with its own) counts as read: its pages are shared. At least the last one is left to be
 * read, by whoever calls. */
void sequence_begin(struct sequence *s, const struct sequence *other, const token_id *ids,
                    size_t n);
/* Keep the first n ids; nothing if there are no more. */
void sequence_truncate(struct sequence *s, size_t n);
/* dst becomes the first n ids of src, at most all, sharing pages. Both have the same
 * engine. */
void sequence_fork(struct sequence *dst, const struct sequence *src, size_t n);
/* Keep the newest n ids and read them again from position 0 (--on-full slide). Fails
 * as sequence_feed. */
int sequence_slide(struct sequence *s, size_t n, const struct progress *p);

/* How many of these ids, from the beginning, are those whose keys and values are there. */
size_t sequence_common(const struct sequence *s, const token_id *ids, size_t n);
/* How many of its own are. */
size_t sequence_cached(const struct sequence *s);
/* s->logits are those after the whole text, under the weights as they are. */
bool sequence_has_logits(const struct sequence *s);
/* s becomes this text of n ids, with its keys and values (seq's pages, which are then
 * shared) and its logits [V], or NULL: those of a file. */
void sequence_become(struct sequence *s, const struct kv_seq *seq, const token_id *ids, size_t n,
                     const float *logits);

#endif
