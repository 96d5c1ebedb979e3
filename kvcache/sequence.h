#ifndef PRATTLE_KVCACHE_SEQUENCE_H
#define PRATTLE_KVCACHE_SEQUENCE_H
/*
 * One text in progress: its ids, their keys and values, and the logits after the last
 * one. Only what is new is computed; a change of weights makes it read again.
 *
 * After a feed, set or slide that returned 0, seq.n == text.n == n_logits. Whoever
 * advances seq by itself (the device loop) appends the same ids to text, and sets
 * n_logits if it writes logits. Only such a text may be n_ctx + 1 ids long, whose last is
 * never fed (kvcache_text_room).
 */
#include "kvcache/engine.h"

struct session {
    struct engine *engine; /* borrowed */
    struct kv_seq seq;
    struct ids text; /* all ids; room for every text there can be */
    float *logits;   /* [V] after the last id; valid when n_logits == text.n */
    size_t n_logits;
    uint64_t version; /* of the weights that made the cache */
    token_id *ahead;  /* [n_ctx], what an interrupted feed has read: the first seq.n */
    bool is_ahead;    /* the cache holds ahead; else the beginning of text */
};

int session_init(struct session *s, struct engine *e);
void session_release(struct session *s);
/*
 * Append n ids to the text and leave the logits after the last one in s->logits. With
 * n = 0 it only makes sure that cache and logits are there.
 *
 * returns  0; ERR_FULL if the text would pass n_ctx, ERR_RANGE for an id outside the
 *          vocabulary, ERR_INTERRUPTED: text and logits unchanged. What was read stays
 *          in the cache, and the same feed again goes on from there.
 */
int session_feed(struct session *s, const token_id *ids, size_t n, const struct progress *p);
/* Make the text exactly these ids, with the logits after them: keeps the common
 * beginning, feeds the rest. Fails as session_feed. */
int session_set(struct session *s, const token_id *ids, size_t n, const struct progress *p);
/* The same for a text to be kept rather than gone on from: of n_ctx + 1 ids the last is
 * not fed, and there are no logits after it. */
int session_keep(struct session *s, const token_id *ids, size_t n, const struct progress *p);
/* Keep the first n ids; nothing if there are no more. */
void session_truncate(struct session *s, size_t n);
/* dst becomes the first n ids of src, at most all, sharing pages. Both have the same
 * engine. */
void session_fork(struct session *dst, const struct session *src, size_t n);
/* Keep the newest n ids and read them again from position 0 (--on-full slide). Fails
 * as session_feed. */
int session_slide(struct session *s, size_t n, const struct progress *p);

/* How many ids from the beginning have valid keys and values. */
size_t session_cached(const struct session *s);
/* s->logits are those after the whole text, under the weights as they are. */
bool session_has_logits(const struct session *s);
/* s becomes this text of n ids, with its keys and values (seq's pages, which are then
 * shared) and its logits [V], or NULL: those of a file. */
void session_become(struct session *s, const struct kv_seq *seq, const token_id *ids, size_t n,
                    const float *logits);

#endif
