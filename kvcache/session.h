#ifndef PRATTLE_SESSION_H
#define PRATTLE_SESSION_H
/*
 * One text in progress: its ids, their keys and values, and the logits after the last
 * one. Only what is new is computed; a change of weights makes it read again.
 */
#include "kvcache/engine.h"

struct session {
    struct engine *engine; /* borrowed */
    struct kv_seq seq;
    struct ids text; /* all ids; seq.n of them are in the cache */
    float *logits;   /* [V] after the last id; valid when n_logits == text.n */
    size_t n_logits;
    uint64_t version; /* of the weights that made the cache */
};

int session_init(struct session *s, struct engine *e);
void session_release(struct session *s);
/*
 * Append n ids to the text and leave the logits after the last one in s->logits.
 * 0, ERR_FULL if the text would pass n_ctx (s unchanged), ERR_INTERRUPTED (text
 * unchanged; what was read stays in the cache).
 */
int session_feed(struct session *s, const token_id *ids, size_t n, const struct progress *p);
/* Make the text exactly these ids: keeps the common beginning, feeds the rest. */
int session_set(struct session *s, const token_id *ids, size_t n, const struct progress *p);
void session_truncate(struct session *s, size_t n);
/* dst becomes the first n ids of src, sharing pages. Both have the same engine. */
int session_fork(struct session *dst, const struct session *src, size_t n);
/* Keep the newest n ids and read them again from position 0 (--on-full slide). */
int session_slide(struct session *s, size_t n, const struct progress *p);

#endif
