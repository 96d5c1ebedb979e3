#ifndef PRATTLE_SAMPLING_TEXT_STREAM_H
#define PRATTLE_SAMPLING_TEXT_STREAM_H
/*
 * Ids -> text that can be shown: whole UTF-8 characters only, and nothing that might
 * be the beginning of a stop string. The text depends on its bytes alone, not on how
 * they are cut into tokens: each token is decoded once, here, and where a stop string cut the ids
 * is known here too. Used inside the device loop: stream_push does not allocate
 * (bytes held back are bounded by the longest stop string and the longest token).
 */
#include "model/tokenizer/tokenizer.h"

#include <stdbool.h>

struct stop_strings; /* parsed once: the set of stop strings */
/* text as words_parse reads it. NULL or "": none, *out is NULL. */
int stop_strings_new(struct stop_strings **out, const char *text);
void stop_strings_free(struct stop_strings *s);

struct stream {
    const struct tokenizer *tokenizer;      /* borrowed; NULL: a model of ids only, no text */
    const struct stop_strings *stops;       /* borrowed; NULL: none */
    char *held;                             /* [held_bytes], n_held of them not shown yet */
    size_t n_held, held_bytes, token_bytes; /* token_bytes: of the longest token */
    bool skip_space;                        /* the next byte is left out if it is a space */
    bool stopped;                           /* a stop string was seen: so many bytes at the end */
    size_t n_hidden;                        /* of the ids' text are not shown */
};
int stream_init(struct stream *s, const struct tokenizer *t, const struct stop_strings *stops);
void stream_release(struct stream *s);
/* Back to the beginning of a text. skip_space: it begins with a space that was in the
 * prompt already. */
void stream_reset(struct stream *s, bool skip_space);
/* Add one token; what may be shown now is written to out (at most held_bytes);
 * returns how many bytes. Sets stopped; after that nothing comes any more. */
size_t stream_push(struct stream *s, token_id id, char *out);
/* Of the n ids pushed until a stop string was seen: how many are shown whole, and in *part how many
 * bytes of the next one are. */
size_t stream_shown(const struct stream *s, const token_id *ids, size_t n, size_t *part);
/* The end of the text: what was held back (incomplete UTF-8 as it is). */
size_t stream_finish(struct stream *s, char *out);
/* What n pushes, one behind the other, write at most. */
size_t stream_run_bytes(const struct stream *s, size_t n);

#endif
