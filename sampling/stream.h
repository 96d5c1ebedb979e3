#ifndef PRATTLE_STREAM_H
#define PRATTLE_STREAM_H
/*
 * Ids -> text that can be shown: whole UTF-8 characters only, and nothing that might
 * be the beginning of a stop string. Used inside the device loop: stream_push does
 * not allocate (bytes held back are bounded by the longest stop string).
 */
#include "model/base/buf.h"
#include "model/tokenizer.h"

struct stop_strings; /* parsed once: the set of stop strings */
/* text: strings separated by commas, C escapes. NULL or "": none. */
int stop_strings_new(struct stop_strings **out, const char *text);
void stop_strings_free(struct stop_strings *s);

struct stream {
    const struct tokenizer *tokenizer;
    const struct stop_strings *stops;
    char *held; /* bytes not shown yet */
    size_t n_held, held_bytes;
    bool stopped; /* a stop string was seen */
};
int stream_init(struct stream *s, const struct tokenizer *t, const struct stop_strings *stops);
void stream_release(struct stream *s);
void stream_reset(struct stream *s);
/* Add one token; what may be shown now is appended to out (at most out_bytes, which
 * stream_max_bytes bounds); returns how many bytes. Sets stopped. */
size_t stream_push(struct stream *s, token_id id, char *out, size_t out_bytes);
/* The end of the text: what was held back (incomplete UTF-8 as it is). */
size_t stream_finish(struct stream *s, char *out, size_t out_bytes);
size_t stream_max_bytes(const struct stream *s);

#endif
