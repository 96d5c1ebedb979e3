#ifndef PRATTLE_SAMPLING_TEXT_TEMPLATE_H
#define PRATTLE_SAMPLING_TEXT_TEMPLATE_H
/*
 * The setting template: a text that is read for a prompt, with the prompt in it. The escapes of
 * words_undo_escapes are undone in it, and nothing in the prompt.
 */
#include "model/base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* Stands for the prompt, every time. */
#define TEMPLATE_PLACE "{prompt}"

/*
 * Templates of training data (train/data/pairs.h) have names of fields in braces, this one has
 * {prompt}; one rule holds for both. A name is what stands between two braces without another
 * brace, a quote or a control character, and does not begin or end with a space; every other brace
 * is text, as in JSON. A name that is not asked for is text too.
 */
struct template_piece {
    const char *text; /* [n], of a place with its braces */
    size_t n;
    const char *name; /* [n_name]; NULL: it is no place */
    size_t n_name;
};
/* The piece at *at of a template whose escapes are undone, and *at behind it; false: its end. */
bool template_next(struct template_piece *p, const char **at);

/* 0 for none, NULL or "". ERR_RANGE: one without a place; ERR_FORMAT: one that is not UTF-8. */
int template_check(const char *template);
/* Append the template with a prompt of n bytes in its places; without a template the prompt. */
int template_fill(struct buf *out, const char *template, const char *text, size_t n);

#endif
