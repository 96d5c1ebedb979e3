#ifndef PRATTLE_SAMPLING_TEXT_STREAM_H
#define PRATTLE_SAMPLING_TEXT_STREAM_H
/*
 * Ids -> text that can be shown: whole UTF-8 characters only, and nothing that may become a stop
 * string. The text depends on the bytes alone, not on how they are divided into tokens. Bytes held
 * back are bounded by the longest stop string and the longest token, so stream_push does not
 * allocate: it runs inside the device loop.
 */
#include "model/tokenizer/tokenizer.h"

#include <stdbool.h>

struct stop_strings;
/* Stop strings from a text as words_parse reads it; NULL or "": *out is NULL. */
int stop_strings_new(struct stop_strings **out, const char *text);
void stop_strings_free(struct stop_strings *s);

struct stream {
    const struct tokenizer *tokenizer;      /* borrowed; NULL: a model of ids only, no text */
    const struct stop_strings *stops;       /* borrowed; NULL: none */
    char *held;                             /* [held_bytes], the first n_held are not shown yet */
    size_t n_held, held_bytes, token_bytes; /* token_bytes: of the longest token */
    bool skip_space;                        /* leave out the next byte if it is a space */
    bool stopped;                           /* a stop string was found: n_hidden bytes at the */
    size_t n_hidden;                        /* end of the ids' text are not shown */
};
int stream_init(struct stream *s, const struct tokenizer *t, const struct stop_strings *stops);
void stream_release(struct stream *s);
/* Start a new text. skip_space: leave out a space at its beginning, which is in the prompt. */
void stream_reset(struct stream *s, bool skip_space);
/* Add one token, and write what can be shown now to out (at most held_bytes). Returns how many
 * bytes. After a stop string, which sets `stopped`, that is always 0. */
size_t stream_push(struct stream *s, token_id id, char *out);
/* How many of the n ids pushed up to a stop string are shown whole; *part: bytes of the next. */
size_t stream_shown(const struct stream *s, const token_id *ids, size_t n, size_t *part);
/* End the text: write what was held back, incomplete UTF-8 too. Returns how many bytes. */
size_t stream_finish(struct stream *s, char *out);
/* The most that n pushes write together. */
size_t stream_run_bytes(const struct stream *s, size_t n);

#endif
