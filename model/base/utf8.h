#ifndef PRATTLE_MODEL_BASE_UTF8_H
#define PRATTLE_MODEL_BASE_UTF8_H
/*
 * Whether bytes are UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.
 */
#include <stdbool.h>
#include <stddef.h>

/* The bytes of the character at p, whose first byte is beyond ASCII; 0: there is none, or `end`
 * cuts it off. */
size_t utf8_bytes(const unsigned char *p, const unsigned char *end);
/* How many of the first n bytes are ASCII, up to the first that is not. */
size_t utf8_ascii(const char *text, size_t n);
/* How many of the first n bytes are whole characters, up to the first byte that begins none. */
size_t utf8_valid(const char *text, size_t n);
/* Whether n bytes may be the beginning of a character that has more. */
bool utf8_is_cut(const char *text, size_t n);

#endif
