#ifndef PRATTLE_SAMPLING_TEXT_TEMPLATE_H
#define PRATTLE_SAMPLING_TEXT_TEMPLATE_H
/*
 * The setting template: a text that is read for a prompt, with the prompt in it. The escapes of
 * words_undo_escapes are undone in it, and nothing in the prompt.
 */
#include "model/base/buf.h"

/* Stands for the prompt, every time. */
#define TEMPLATE_PLACE "{prompt}"

/* 0 for none, NULL or "". ERR_RANGE: one without a place; ERR_FORMAT: one that is not UTF-8. */
int template_check(const char *template);
/* Append the template with a prompt of n bytes in its places; without a template the prompt. */
int template_fill(struct buf *out, const char *template, const char *text, size_t n);

#endif
