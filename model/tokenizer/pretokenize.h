#ifndef PRATTLE_MODEL_TOKENIZER_PRETOKENIZE_H
#define PRATTLE_MODEL_TOKENIZER_PRETOKENIZE_H
/*
 * GPT-2's pretokenizer (Radford et al. 2019), the pattern
 *
 *   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * \p{L} and \p{N} are the general categories of utf8proc, \s is the property
 * White_Space. A byte that is part of no valid UTF-8 sequence (stray, overlong, a surrogate, above
 * U+10FFFF) counts as a character that is neither letter, number nor space, so that any bytes can
 * be divided and none are lost.
 */
#include <stddef.h>

enum char_class { CHAR_OTHER, CHAR_LETTER, CHAR_NUMBER, CHAR_SPACE };

/* The class of the first character of n >= 1 bytes; *length: its bytes. */
enum char_class char_class(const char *text, size_t n, size_t *length);

/* The length of the first pre-token of n >= 1 bytes, which are all of the text. */
size_t pretokenize_next(const char *text, size_t n);

#endif
